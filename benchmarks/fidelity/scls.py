#!/usr/bin/env python3
"""Slice-level scheduling (SCLS, arXiv 2406.13511) against sequence level (SLS) and iteration level (ILS), in simulation:
engines of OPT-13B on an A100-80G, answers capped at 1024 tokens, one minute of arrivals that no fleet keeps up with.

The ladder adds one idea at a time: slices only, padding mitigation, adaptive batching, load balancing, adaptive interval.
ILS is run twice: with a conservative cap on its seats and the worst case of memory reserved, as the paper's baseline, and
as vLLM pages today.
"""

import sys

import common

LADDER = ["sls", "so", "pm", "ab", "lb", "scls", "scls_keep"]
# Fixed batches are as small as the longest answers demand; adaptive ones are bounded by a slice's memory alone.
LARGEST = {preset: 128 for preset in ("ab", "lb", "scls", "scls_keep")}
RATE = 2.5  # requests a second and engine


def load(instances, seconds):
    rate = RATE * instances
    return ["--on", "opt-13b-a100-80g", "--requests", int(rate * seconds), "--rate", rate, "--arrivals", "poisson",
            "--input", "lognormal:160:1.0:1024", "--output", "lognormal:220:0.9:1024", "--allowed-tokens", 1024,
            "--instances", instances, "--kv-tokens", 60000, "--max-len", 2100, "--seed", 7]


def row(name, result, base):
    rate = result["request_throughput"]
    sliced = "slices_per_request" in result and result["tokens_padded"] + result["tokens_invalid"] > 0
    return [name, f"{rate:.2f}", f"{100 * (rate / base - 1):+.1f} %", f"{result['mean_e2el_ms'] / 1e3:.1f}",
            f"{result['p95_e2el_ms'] / 1e3:.1f}", f"{result.get('completion_deviation_s', 0):.1f}",
            f"{result['tokens_padded']:,}" if sliced else "-", f"{result['tokens_invalid']:,}" if sliced else "-",
            f"{result['tokens_reprefilled']:,}" if sliced else "-",
            f"{result['slices_per_request']:.2f}" if sliced else "-",
            f"{100 * result['early_return_ratio']:.0f} %" if sliced else "-"]


HEAD = ["scheduler", "requests/s", "over SLS", "E2E mean s", "E2E p95 s", "engines' ends, deviation s", "padded",
        "invalid", "prefilled again", "slices a request", "early returns"]


def compare(instances, seconds):
    print(f"\n{instances} engine(s)\n")
    base = None
    rows = []
    for preset in LADDER:
        result = common.simulate(*load(instances, seconds), "--fleet", preset, "--max-batch", LARGEST.get(preset, 12),
                                 *([] if preset == "sls" else ["--slice-tokens", 128]))
        base = base or result["request_throughput"]
        rows.append(row(preset, result, base))
    for name, settings in (("ILS, 22 seats, reserving", ["--preset", "orca", "--max-seqs", 22]),
                           ("ILS, vllm", ["--preset", "vllm"])):
        result = common.simulate(*load(instances, seconds), "--fleet", "spread", *settings)
        rows.append(row(name, result, base))
    common.table(HEAD, rows)


def sweep(seconds):
    print("\nslice length, 4 engines, scls\n")
    rows = []
    for tokens in (32, 64, 128, 256, 512, 1024):
        result = common.simulate(*load(4, seconds), "--fleet", "scls", "--max-batch", 128, "--slice-tokens",
                                 tokens)
        rows.append(row(tokens, result, result["request_throughput"]))
    common.table(["S", *HEAD[1:2], *HEAD[3:]], [[one[0], one[1], *one[3:]] for one in rows])


def main():
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 120
    for instances in [int(word) for word in sys.argv[2:]] or (1, 2, 4, 8):
        compare(instances, seconds)
    sweep(seconds)


if __name__ == "__main__":
    main()
