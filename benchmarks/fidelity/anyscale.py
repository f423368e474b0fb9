#!/usr/bin/env python3
"""The Anyscale benchmark of 2023 (OPT-13B, one A100-40GB; 1000 prompts of 512 tokens at once, answers exponential with
mean 128, drawn again above a cap), simulated with DistServe's published coefficients.

Its two peculiarities are switched on: the naive server runs every batch to the longest answer of *all* requests, and
tokens/s counts prompts. Beside it what the blog does not show: batches that stop at their own longest, and output alone.

Assumed, not measured: Hugging Face kernels take 1.25 times as long as FasterTransformer's, reserving ones of 2023 twice
as long, and a paged step has 5 ms of host time.
"""

import common

BATCH = {32: 16, 128: 12, 512: 8, 1536: 4}
QUOTA = {32: 8700, 128: 7500, 512: 8100, 1536: 8100}
PUBLISHED = {"naive": "81", "FasterTransformer-like": "about 4x: 324", "reserving": "about 8x: 650",
             "paged": "23x: about 1,900"}


def engines(cap):
    seats = ["--max-seqs", BATCH[cap], "--step-tokens", BATCH[cap] * 512]
    yield "naive", ["--preset", "naive", *seats, "--pace", 125]
    yield "static to each batch's longest", ["--preset", "static", *seats, "--pace", 125]
    yield "FasterTransformer-like", ["--preset", "static", *seats]
    yield "reserving", ["--preset", "orca", "--pace", 200, "--kv-tokens", QUOTA[cap], "--step-tokens", QUOTA[cap]]
    yield "paged", ["--preset", "vllm", "--prefill", "whole", "--step-tokens", QUOTA[cap], "--step-overhead", "5ms"]


def main():
    rows = []
    for cap in BATCH:
        load = ["--on", "opt-13b-a100-40g", "--requests", 1000, "--arrivals", "at-once", "--input", "fixed:512",
                "--output", f"exponential:128:{cap}", "--seed", 51966]
        naive = None
        for name, settings in engines(cap):
            result = common.simulate(*load, *settings)
            total = result["total_token_throughput"]
            naive = naive or total
            rows.append([cap, name, f"{total:.0f}", f"{total / naive:.1f}x", f"{result['output_throughput']:.0f}",
                         PUBLISHED.get(name, "") if cap == 1536 else ""])
    common.table(["cap", "engine", "tok/s with prompts", "over naive", "output tok/s", "published at cap 1536"], rows)


if __name__ == "__main__":
    main()
