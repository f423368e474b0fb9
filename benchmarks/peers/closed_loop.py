#!/usr/bin/env python3
"""C streams that ask again as soon as they are answered, against our server and llama-server in turn.

Prompts of about 150 tokens, 64 generated. For each C: output tokens a second, p95 time to first token, largest
and median gap between two tokens of a stream. Rounds are interleaved; figures are medians over the rounds.
"""

import argparse
import asyncio
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import results  # noqa: E402
import served_process  # noqa: E402
import stream_client  # noqa: E402

CACHE = pathlib.Path(subprocess.check_output([ROOT / "scripts/cache-dir"], text=True).strip())


def read_options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default=str(CACHE / "models/smollm2-135m-instruct-q4_1.gguf"))
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--streams", default="1,4,8,16,32")
    parser.add_argument("--each", type=int, default=2, help="requests a stream")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--servers", default="paternoster,llama-server")
    return parser.parse_args()


def commands(options):
    most = max(map(int, options.streams.split(",")))
    threads = str(options.threads)
    table = {"paternoster": [str(ROOT / "build/release/paternoster"), "serve", options.model, "--port", "{port}",
                             "--threads", threads, "--max-seqs", str(most), "--max-len", "512"]}
    for llama in (CACHE / "peers").glob("llama.cpp-*/build/bin/llama-server"):
        table["llama-server"] = [str(llama), "-m", options.model, "--port", "{port}", "-np", str(most),
                                 "--kv-unified", "-c", str(most * 256), "-t", threads, "-tb", threads]
    return {name: table[name] for name in options.servers.split(",") if name in table}


def one(command, options, number):
    """Figures by C, from one server."""
    figures = {}
    with served_process.Server(command) as server:
        asyncio.run(stream_client.closed_loop(server.port, 1, 1, first=1_000_000))  # warm
        for streams in map(int, options.streams.split(",")):
            answers, seconds = asyncio.run(stream_client.closed_loop(
                server.port, streams, streams * options.each, first=1000 * number + 10_000 * streams))
            firsts = sorted(answer.first for answer in answers)
            gaps = [gap for answer in answers for gap in answer.gaps]
            figures[streams] = {
                "output tok/s": sum(answer.tokens for answer in answers) / seconds,
                "p95 TTFT s": firsts[min(len(firsts) - 1, int(0.95 * len(firsts)))],
                "largest gap s": max(gaps), "median gap s": statistics.median(gaps)}
    return figures


def main():
    options = read_options()
    samples = {}
    for number in range(options.rounds):
        for name, command in commands(options).items():
            print(f"round {number + 1} of {options.rounds}: {name}", file=sys.stderr, flush=True)
            for streams, figures in one(command, options, number).items():
                for what, value in figures.items():
                    samples.setdefault((streams, what), {}).setdefault(name, []).append(value)
    names = list(commands(options))
    lines = ["| streams | | " + " | ".join(names) + " | ours / theirs |", "|---|---|" + "---|" * (len(names) + 1)]
    for (streams, what), by_name in sorted(samples.items(), key=lambda item: item[0][0]):
        medians = [statistics.median(by_name[name]) for name in names]
        ratio = f"{medians[0] / medians[1]:.2f}" if len(medians) > 1 else "-"
        lines.append(f"| {streams} | {what} | " + " | ".join(f"{m:.3g}" for m in medians) + f" | {ratio} |")
    head = (f"Closed loop, {pathlib.Path(options.model).name}, {options.threads} threads, prompts of ~150 tokens, 64 "
            f"generated, {options.each} requests a stream, {options.rounds} rounds.")
    results.keep(f"closed-loop-{options.threads}t", head, "\n".join(lines), samples)


if __name__ == "__main__":
    sys.exit(main())
