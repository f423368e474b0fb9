#!/usr/bin/env python3
"""What the server costs beside its engine: the same closed loop with HTTP and without, and idle streams.

Both are measured in processor seconds a token on one compute thread, so that a busy machine does not matter:
the share is the engine's alone over the server's (engine, text, HTTP and all). Then 1,000 streams that are open
and have nothing to receive: processor share and resident bytes of each.
"""

import argparse
import asyncio
import json
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
import results  # noqa: E402
import served_process  # noqa: E402
import stream_client  # noqa: E402

CACHE = pathlib.Path(subprocess.check_output([ROOT / "scripts/cache-dir"], text=True).strip())
TOKENS = 64


def read_options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default=str(CACHE / "models/smollm2-135m-instruct-q4_1.gguf"))
    parser.add_argument("--streams", default="1,8,32,64")
    parser.add_argument("--idle", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--build", default=str(ROOT / "build/release"))
    return parser.parse_args()


def serve(options, *more):
    return served_process.Server([f"{options.build}/paternoster", "serve", options.model, "--port", "{port}",
                                  "--threads", "1", "--max-len", "512", *more])


def requests_of(streams):
    return max(4, 2 * streams)


def with_http(options, streams, first):
    with serve(options, "--max-seqs", str(streams)) as server:
        asyncio.run(stream_client.closed_loop(server.port, 1, 1, first=1_000_000))
        before = server.processor_seconds()
        answers, _ = asyncio.run(stream_client.closed_loop(server.port, streams, requests_of(streams), first=first))
        return sum(answer.tokens for answer in answers) / (server.processor_seconds() - before)


def without(options, streams):
    done = subprocess.run([f"{options.build}/engine_bench", "--model", options.model, "--threads", "1", "--closed",
                           str(requests_of(streams)), "--sequences", str(streams), "--prompt", "150", "--decode",
                           str(TOKENS), "--json"], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)["tokens_per_processor_second"]


async def open_streams(port, count):
    """Streams whose answers wait behind one long one: a server with a single seat."""
    pairs = []
    body = json.dumps({"prompt": "wait", "max_tokens": 4, "stream": True}).encode()
    request = (b"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
               b"Content-Length: " + str(len(body)).encode() + b"\r\n\r\n" + body)
    for _ in range(count):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        pairs.append((reader, writer))
    return pairs


async def idle_connections(server, count):
    """Connections that have said nothing yet."""
    pairs = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(count)]
    await asyncio.sleep(1)
    before, begin = server.processor_seconds(), time.perf_counter()
    await asyncio.sleep(5)
    share = (server.processor_seconds() - before) / (time.perf_counter() - begin)
    resident = server.resident_bytes()
    for _, writer in pairs:
        writer.close()
    return share, resident


async def waiting_streams(server, count):
    """Streams in the queue: their bytes each, while another request computes."""
    long = asyncio.ensure_future(stream_client.completion(server.port, 1, 100, 350))
    await asyncio.sleep(0.3)
    before = server.resident_bytes()
    pairs = await open_streams(server.port, count)
    await asyncio.sleep(0.5)
    grown = server.resident_bytes() - before
    for _, writer in pairs:
        writer.close()
    await long
    return grown / count


def main():
    options = read_options()
    samples = {}
    for number in range(options.rounds):
        for streams in map(int, options.streams.split(",")):
            print(f"round {number + 1} of {options.rounds}: {streams} streams", file=sys.stderr, flush=True)
            by_name = samples.setdefault((streams, "tok/s of one processor"), {})
            by_name.setdefault("server", []).append(with_http(options, streams, 100_000 * (number + 1)))
            by_name.setdefault("engine alone", []).append(without(options, streams))
    lines = ["| streams | server | engine alone | share |", "|---|---|---|---|"]
    for (streams, _), by_name in samples.items():
        server, engine = (statistics.median(by_name[name]) for name in ("server", "engine alone"))
        lines.append(f"| {streams} | {server:.1f} | {engine:.1f} | {server / engine:.1%} |")
    with serve(options, "--max-seqs", "1", "--max-queue", str(options.idle + 10)) as server:
        asyncio.run(stream_client.closed_loop(server.port, 1, 1, tokens=8))
        quiet = server.resident_bytes()
        share, resident = asyncio.run(idle_connections(server, options.idle))
        each = (resident - quiet) / options.idle
        waiting = asyncio.run(waiting_streams(server, options.idle))
    lines += ["", f"{options.idle} idle connections: {share:.1%} of a processor, {each / 1024:.1f} KiB each. "
              f"{options.idle} streams that wait for a seat: {waiting / 1024:.1f} KiB each."]
    samples[("idle", options.idle)] = {"share": [share], "bytes each": [each], "waiting bytes each": [waiting]}
    results.keep("server-overhead", f"{pathlib.Path(options.model).name}, one compute thread, prompts of ~150 tokens, "
                 f"{TOKENS} generated, medians of {options.rounds} rounds.", "\n".join(lines), samples)


if __name__ == "__main__":
    sys.exit(main())
