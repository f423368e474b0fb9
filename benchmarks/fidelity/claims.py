#!/usr/bin/env python3
"""Three papers, one claim each, as a scenario: the direction of the effect, and its size here.

Sarathi-Serve (OSDI'24): prompts in chunks of what decodes leave never stall streams: more load within the same tail gap.
VTC (OSDI'24): a tenant who floods the server does not take the others' service.
FastServe (NSDI'26): multi-level feedback shortens the mean completion when a few answers are very long.
"""

import common

ENGINE = ["--on", "llama-3.1-8b-rtxpro6000", "--max-len", 8192, "--step-tokens", 512]


def sarathi():
    load = ["--requests", 800, "--arrivals", "poisson", "--input", "lognormal:1730:0.8:6000", "--output",
            "lognormal:415:0.4:1000", "--seed", 3, "--max-seqs", 128]
    rows = []
    for rate in (1, 2, 3):
        for preset in ("orca", "sarathi"):
            result = common.simulate(*ENGINE, *load, "--rate", rate, "--preset", preset)
            rows.append([rate, preset, f"{result['p99_itl_ms']:.0f}", f"{result['max_itl_ms']:.0f}",
                         f"{result['median_ttft_ms']:.0f}", f"{result['output_throughput']:.0f}"])
    print("\nSarathi-Serve: gaps between tokens\n")
    common.table(["requests/s", "preset", "ITL p99 ms", "longest gap ms", "TTFT p50 ms", "output tok/s"], rows)


def vtc():
    load = ["--requests", 1500, "--arrivals", "poisson", "--rate", 15, "--input", "fixed:256", "--output", "fixed:256",
            "--tenant", "flooder:9", "--tenant", "quiet:1", "--seed", 3]
    rows = []
    for preset in ("vllm", "vtc"):
        result = common.simulate(*ENGINE, *load, "--max-seqs", 32, "--preset", preset)
        tenants = result["tenants"]
        rows.append([preset, f"{tenants['quiet']['mean_ttft_ms'] / 1e3:.2f}", f"{tenants['quiet']['p95_ttft_ms'] / 1e3:.2f}",
                     f"{tenants['flooder']['mean_ttft_ms'] / 1e3:.2f}", f"{result['output_throughput']:.0f}"])
    print("\nVTC: one tenant sends nine requests in ten, and more than there is room for\n")
    common.table(["preset", "quiet tenant's TTFT mean s", "p95 s", "flooder's TTFT mean s", "output tok/s"], rows)


def fastserve():
    load = ["--requests", 800, "--arrivals", "poisson", "--input", "fixed:128", "--output", "lognormal:60:1.6:2000",
            "--seed", 3, "--max-seqs", 16]
    rows = []
    for rate in (5, 7, 9):
        for preset in ("orca", "vllm", "fastserve"):
            result = common.simulate(*ENGINE, *load, "--rate", rate, "--preset", preset)
            rows.append([rate, preset, f"{result['mean_e2el_ms'] / 1e3:.2f}", f"{result['median_e2el_ms'] / 1e3:.2f}",
                         f"{result['p99_e2el_ms'] / 1e3:.2f}", f"{result['mean_ttft_ms'] / 1e3:.2f}", result["preemptions"]])
    print("\nFastServe: completion times when a few answers are very long\n")
    common.table(["requests/s", "preset", "E2E mean s", "p50 s", "p99 s", "TTFT mean s", "preemptions"], rows)


if __name__ == "__main__":
    sarathi()
    vtc()
    fastserve()
