#!/usr/bin/env python3
"""What three times as much as the server can do does to it: `paternoster serve` under an open loop.

First what an idle server does with single requests, then its capacity (a closed loop with twice as many streams as
seats), then the storm: requests at --times the capacity's rate for --seconds, whatever becomes of the others. Each line
says PASS or MISS against its target; the server keeps one processor less than there are, for the clients are here too.
"""

import argparse
import asyncio
import os
import pathlib
import statistics
import subprocess
import sys
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
import results  # noqa: E402
import served_process  # noqa: E402
import stream_client  # noqa: E402

CACHE = pathlib.Path(subprocess.check_output([ROOT / "scripts/cache-dir"], text=True).strip())
THROUGHPUT, REFUSAL_MS, GROWTH = 0.95, 200, 0.05


def read_options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default=str(CACHE / "models/smollm2-135m-instruct-q4_1.gguf"))
    parser.add_argument("--preset", default="vllm")
    parser.add_argument("--times", type=float, default=3)
    parser.add_argument("--seconds", type=float, default=60, help="of the storm; half of it for the capacity")
    parser.add_argument("--seats", type=int, default=8)
    parser.add_argument("--queue", type=int, default=16)
    parser.add_argument("--words", type=int, default=50, help="of each prompt")
    parser.add_argument("--tokens", type=int, default=48, help="of each answer")
    parser.add_argument("--threads", type=int, default=max(1, os.cpu_count() - 1))
    parser.add_argument("--binary", default=str(ROOT / "build/release/paternoster"))
    return parser.parse_args()


def metric(server, name):
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=30) as response:
        lines = response.read().decode().splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.split("{")[0].split(" ")[0] == name)


class Meter:
    """Tokens that the server says it generated, over time."""

    def __init__(self, server):
        self.server = server
        self.begin = time.perf_counter()
        self.tokens = metric(server, "vllm:generation_tokens_total")

    def rate(self):
        tokens = metric(self.server, "vllm:generation_tokens_total")
        return (tokens - self.tokens) / (time.perf_counter() - self.begin)


async def idle_requests(server, options, count, first):
    return [await stream_client.completion(server.port, first + i, options.words, options.tokens) for i in range(count)]


async def capacity(server, options):
    """Output tokens a second with every seat taken all the time."""
    end = time.perf_counter() + options.seconds / 2
    numbers = iter(range(100_000, 1_000_000))

    async def one():
        while time.perf_counter() < end:
            await stream_client.completion(server.port, next(numbers), options.words, options.tokens)

    streams = [asyncio.ensure_future(one()) for _ in range(2 * options.seats)]
    await asyncio.sleep(min(2, options.seconds / 8))  # until all seats are taken
    meter = Meter(server)
    await asyncio.sleep(max(0, end - time.perf_counter()))
    rate = await asyncio.to_thread(meter.rate)
    await asyncio.gather(*streams)
    if rate == 0:
        raise SystemExit("not a token came while the capacity was measured: the machine is too busy, or --seconds too few")
    return rate


async def storm(server, options, rate):
    """Requests at `rate` a second; all that became of them, and the tokens a second meanwhile."""
    begin = time.perf_counter()
    meter = Meter(server)
    asked = []
    while (due := begin + len(asked) / rate) < begin + options.seconds:
        await asyncio.sleep(max(0, due - time.perf_counter()))
        asked.append(asyncio.ensure_future(
            stream_client.ask(server.port, 1_000_000 + len(asked), options.words, options.tokens)))
    served = await asyncio.to_thread(meter.rate)
    lateness = max(0, time.perf_counter() - begin - options.seconds)
    answers = await asyncio.gather(*asked, return_exceptions=True)
    return answers, served, lateness


async def settle(server):
    for _ in range(600):
        if metric(server, "vllm:num_requests_running") + metric(server, "vllm:num_requests_waiting") == 0:
            return
        await asyncio.sleep(0.1)
    raise RuntimeError("somebody is still served a minute after the storm")


async def measure(server, options):
    await idle_requests(server, options, 2, 10)
    idle = await idle_requests(server, options, 5, 20)
    most = await capacity(server, options)
    await settle(server)
    before = server.resident_bytes()
    rate = options.times * most / options.tokens
    answers, served, lateness = await storm(server, options, rate)
    await settle(server)
    after = (await idle_requests(server, options, 1, 30))[0]
    return {"idle": [one.first for one in idle], "capacity": most, "rate": rate, "answers": answers, "served": served,
            "lateness": lateness, "before": before, "after_bytes": server.resident_bytes(), "after": after.first}


def judge(found, options):
    """(what, measured, target, whether it is met) a line."""
    answers = [one for one in found["answers"] if not isinstance(one, Exception)]
    refused = [one for one in answers if one.status in (429, 503)]
    done = [one for one in answers if one.status == 200 and one.whole]
    lost = len(found["answers"]) - len(refused) - len(done)
    share = found["served"] / found["capacity"]
    slowest = max((1000 * (one.end - one.begin) for one in refused), default=0)
    middle = statistics.median([1000 * (one.end - one.begin) for one in refused] or [0])
    growth = found["after_bytes"] / found["before"] - 1
    usual = max(found["idle"])
    return [
        ("throughput in the storm", f"{found['served']:.1f} of {found['capacity']:.1f} tok/s ({share:.1%})",
         f">= {THROUGHPUT:.0%}", share >= THROUGHPUT),
        ("requests", f"{len(found['answers'])} offered at {found['rate']:.1f}/s: {len(done)} whole, {len(refused)} refused, "
         f"{lost} otherwise", "none otherwise", lost == 0 and len(refused) > 0),
        ("refusals", f"slowest {slowest:.0f} ms, median {middle:.1f} ms", f"<= {REFUSAL_MS} ms", slowest <= REFUSAL_MS),
        ("resident memory", f"{found['before'] / 2**20:.1f} to {found['after_bytes'] / 2**20:.1f} MiB ({growth:+.1%})",
         f"<= {GROWTH:+.0%}", growth <= GROWTH),
        ("first request afterwards", f"TTFT {1000 * found['after']:.0f} ms; idle {1000 * min(found['idle']):.0f} to "
         f"{1000 * usual:.0f} ms", "as on an idle server (at most a tenth more)", found["after"] <= 1.1 * usual),
    ]


def main():
    options = read_options()
    command = [options.binary, "serve", options.model, "--port", "{port}", "--threads", str(options.threads), "--preset",
               options.preset, "--max-seqs", str(options.seats), "--max-queue", str(options.queue), "--max-len", "1024"]
    with served_process.Server(command) as server:
        found = asyncio.run(measure(server, options))
    lines = judge(found, options)
    table = "\n".join(["| | measured | target | |", "|---|---|---|---|"] +
                      [f"| {what} | {got} | {target} | {'PASS' if met else 'MISS'} |" for what, got, target, met in lines])
    head = (f"{pathlib.Path(options.model).name}, --preset {options.preset}, {options.threads} compute threads, {options.seats} "
            f"seats, a queue of {options.queue}; prompts of ~{options.words} words, {options.tokens} tokens each; "
            f"{options.times:g} x capacity for {options.seconds:g} s (clients {1000 * found['lateness']:.0f} ms late in the end).")
    samples = {("storm", options.seconds): {"capacity": [found["capacity"]], "served": [found["served"]],
                                            "idle ttft": found["idle"], "ttft after": [found["after"]],
                                            "bytes": [found["before"], found["after_bytes"]]}}
    results.keep("overload", head, table, samples)
    return 0 if all(met for *_, met in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
