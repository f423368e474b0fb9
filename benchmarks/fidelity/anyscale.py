#!/usr/bin/env python3
"""The Anyscale benchmark of 2023 (OPT-13B, one A100-40GB; 1000 prompts of 512 tokens at once, answers exponential with
mean 128, drawn again above a cap), simulated with DistServe's published coefficients.

Its two peculiarities are switched on: the naive server runs every batch to the longest answer of *all* requests, and
tokens/s counts prompts. Beside it what the blog does not show: batches that stop at their own longest, and output alone.

Assumed, not measured: Hugging Face kernels take 1.25 times as long as FasterTransformer's, reserving ones of 2023 twice
as long, and a paged step has 5 ms of host time. The continuous engines of 2023 computed prompts and decodes in passes of
their own (vLLM before V1; TGI), each with its constant.
"""

import statistics
import sys

import common

SEEDS = range(1, 6)  # naive goes by the single longest answer of all: one seed says little
BATCH = {32: 16, 128: 12, 512: 8, 1536: 4}
QUOTA = {32: 8700, 128: 7500, 512: 8100, 1536: 8100}
PUBLISHED = {"naive": "81", "FasterTransformer-like": "about 4x: 324", "reserving": "about 8x: 650",
             "paged": "23x: about 1,900"}


def engines(cap, load):
    # Batches of the time computed everybody's next token until the last had stopped.
    static = ["--fleet", "sls", "--instances", 1, "--max-batch", BATCH[cap], "--interval", "1ms"]
    longest = int(common.simulate(*load, "--preset", "vllm")["max_output_len"])
    yield "naive", [*static, "--pace", 125, "--allowed-tokens", longest, "--no-early-return"]
    yield "static to each batch's longest", [*static, "--pace", 125]
    yield "FasterTransformer-like", static
    yield "reserving", ["--preset", "orca", "--separate-passes", "--pace", 200, "--kv-tokens", QUOTA[cap], "--step-tokens", QUOTA[cap]]
    yield "paged", ["--preset", "vllm", "--prefill", "whole", "--separate-passes", "--step-tokens", QUOTA[cap],
                    "--step-overhead", "5ms"]


def run(cap):
    """Each engine's total and output tok/s, for each seed."""
    figures = {}
    for seed in SEEDS:
        load = ["--on", "opt-13b-a100-40g", "--requests", 1000, "--arrivals", "at-once", "--input", "fixed:512",
                "--output", f"exponential:128:{cap}", "--seed", seed]
        for name, settings in engines(cap, load):
            result = common.simulate(*load, *settings)
            figures.setdefault(name, []).append((result["total_token_throughput"], result["output_throughput"]))
    return figures


def main():
    rows = []
    for cap in map(int, sys.argv[1:] or BATCH):
        figures = run(cap)
        naive = statistics.median(total for total, _ in figures["naive"])
        for name, runs in figures.items():
            totals = [total for total, _ in runs]
            total = statistics.median(totals)
            rows.append([cap, name, f"{total:.0f} ({min(totals):.0f}-{max(totals):.0f})", f"{total / naive:.1f}x",
                         f"{statistics.median(output for _, output in runs):.0f}",
                         PUBLISHED.get(name, "") if cap == 1536 else ""])
    common.table(["cap", "engine", "tok/s with prompts, median (range)", "over naive", "output tok/s",
                  "published at cap 1536"], rows)


if __name__ == "__main__":
    main()
