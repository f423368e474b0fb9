#!/usr/bin/env python3
"""Real vLLM 0.19 runs: coefficients fitted to the first half of the requests, times predicted for the second.

    benchmarks/fidelity/vllm.py FOLDER     FOLDER has *_requests.jsonl of LLMServingSim's bench/examples/*/vllm
"""

import pathlib
import re
import sys

import common

# The engines' own settings, from the *_meta.json beside each log; the two large cards' KV caches never fill.
RUNS = {
    "RTX4090_Llama-3.1-8B": (256, 41408),
    "RTXPRO6000_Llama-3.1-8B": (128, 800000),
    "RTXPRO6000_Qwen3-32B": (128, 800000),
}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    rows = []
    for name, (seats, kv_tokens) in RUNS.items():
        log = pathlib.Path(sys.argv[1]) / f"{name}_requests.jsonl"
        text = common.run("calibrate", "--requests", log, "--share", 0.5, "--max-seqs", seats, "--step-tokens", 2048,
                          "--kv-tokens", kv_tokens, "--max-len", 32768)
        for part in ("fitted", "predicted"):
            line = next(line for line in text.splitlines() if line.strip().startswith(part))
            rows.append([name, part, *re.findall(r"\(([+-][0-9.]+ %)\)", line)])
        rows[-1].append(re.search(r"makespan .*?\(([+-][0-9.]+ %)\)", text).group(1))
        rows[-2].append("")
        rows[-1].append(re.search(r"off by ([0-9.]+ %)", text).group(1))
        rows[-2].append("")
    common.table(["run", "half", "mean TTFT", "mean TPOT", "mean E2E", "makespan", "E2E of one request"], rows)


if __name__ == "__main__":
    main()
