#!/usr/bin/env python3
"""What guessing ahead (serve --speculate ngram) gives: two servers side by side, one guesses and one does not.

Three sets of prompts (benchmarks/speculation_prompts/): texts to summarise, code to edit, and ordinary chat, where
nothing is to be copied. Rounds alternate between the servers, each with the same requests at 1, 2 and 4 streams; a
round's pair gives a ratio, and the median of ratios is told. Answers must be equal to the letter, or it fails.
Gains are told twice: in tokens a second, and in tokens a second of processor time, which a busy machine does not
disturb as much.
"""

import argparse
import concurrent.futures
import json
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

CACHE = pathlib.Path(subprocess.check_output([ROOT / "scripts/cache-dir"], text=True).strip())
SETS = ("summarise", "edit_code", "chat")
COUNTERS = {"drafted": "paternoster_draft_tokens_total", "accepted": "paternoster_accepted_draft_tokens_total",
            "steps": "paternoster_steps_total"}


def read_options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default=str(CACHE / "models/smollm2-135m-instruct-q4_1.gguf"))
    parser.add_argument("--streams", default="1,2,4")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--tokens", type=int, default=160, help="most of an answer")
    parser.add_argument("--temperature", type=float, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--build", default=str(ROOT / "build/release"))
    parser.add_argument("--serve", default="", help="further flags of the server that guesses")
    return parser.parse_args()


def prompts_of(name):
    prompts = json.loads((ROOT / f"benchmarks/speculation_prompts/{name}.json").read_text())
    return [f"{one['ask']}\n\n{one['text']}" for one in prompts]


def serve(options, *more):
    return served_process.Server([f"{options.build}/paternoster", "serve", options.model, "--port", "{port}",
                                  "--threads", str(options.threads), "--max-len", "2048", *more])


def counters(server):
    text = urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics").read().decode()
    values = dict(line.split(" ") for line in text.splitlines() if line and line[0] != "#" and "{" not in line)
    return {name: float(values[family]) for name, family in COUNTERS.items()}


def ask(server, options, prompt):
    body = {"messages": [{"role": "user", "content": prompt}], "max_tokens": options.tokens,
            "temperature": options.temperature, "seed": 1}
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}/v1/chat/completions",
                                     json.dumps(body).encode(), {"Content-Type": "application/json"})
    answer = json.load(urllib.request.urlopen(request))
    return answer["choices"][0]["message"]["content"], answer["usage"]["completion_tokens"]


def play(server, options, prompts, streams):
    """All prompts, so many at a time: answers, and what they took."""
    before, processor, begin = counters(server), server.processor_seconds(), time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(streams) as pool:
        answers = list(pool.map(lambda prompt: ask(server, options, prompt), prompts))
    seconds, processor = time.perf_counter() - begin, server.processor_seconds() - processor
    tokens = sum(count for _, count in answers)
    figures = {name: value - before[name] for name, value in counters(server).items()}
    figures |= {"tokens": tokens, "per_second": tokens / seconds, "per_processor_second": tokens / processor}
    return [text for text, _ in answers], figures


def pair(servers, options, prompts, streams, first):
    """Both servers, the one named first first. Figures by name; the answers are compared."""
    said, figures = {}, {}
    for name in (first, *(other for other in servers if other != first)):
        said[name], figures[name] = play(servers[name], options, prompts, streams)
    if said["off"] != said["ngram"]:
        raise SystemExit(f"the answers differ: {said}")
    return figures


def table(samples):
    def median_of(pairs, value):
        return statistics.median(value(one["off"], one["ngram"]) for one in pairs)

    lines = ["| prompts | streams | accepted | tokens a step, without | with | tokens/s, without | with | gain | "
             "gain in processor time |", "|---|---|---|---|---|---|---|---|---|"]
    for (name, streams), pairs in samples.items():
        drafted = sum(one["ngram"]["drafted"] for one in pairs)
        accepted = sum(one["ngram"]["accepted"] for one in pairs) / drafted if drafted else 0
        cells = [f"{accepted:.0%} of {drafted / len(pairs):.0f}",
                 f"{median_of(pairs, lambda off, on: off['tokens'] / off['steps']):.2f}",
                 f"{median_of(pairs, lambda off, on: on['tokens'] / on['steps']):.2f}",
                 f"{median_of(pairs, lambda off, on: off['per_second']):.1f}",
                 f"{median_of(pairs, lambda off, on: on['per_second']):.1f}",
                 f"{median_of(pairs, lambda off, on: on['per_second'] / off['per_second']):.2f}",
                 f"{median_of(pairs, lambda off, on: on['per_processor_second'] / off['per_processor_second']):.2f}"]
        lines.append(f"| {name} | {streams} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    options = read_options()
    samples = {}
    with serve(options, "--speculate", "off") as off, \
            serve(options, "--speculate", "ngram", *options.serve.split()) as ngram:
        servers = {"off": off, "ngram": ngram}
        for name in options.sets.split(","):
            for streams in map(int, options.streams.split(",")):
                prompts = prompts_of(name)
                for server in servers.values():  # warm: prefix caches and the cost model
                    play(server, options, prompts, streams)
                for number in range(options.rounds):
                    print(f"{name}, {streams} streams, round {number + 1}", file=sys.stderr, flush=True)
                    samples.setdefault((name, streams), []).append(
                        pair(servers, options, prompts, streams, ("off", "ngram")[number % 2]))
    head = (f"{pathlib.Path(options.model).name}, {options.threads} compute thread(s), answers of at most "
            f"{options.tokens} tokens, temperature {options.temperature:g}, medians of {options.rounds} pairs; "
            "every pair gave the same answers.")
    results.keep("speculation", head, table(samples), {row: {"pairs": pairs} for row, pairs in samples.items()})


if __name__ == "__main__":
    sys.exit(main())
