#!/usr/bin/env python3
"""What guessing ahead (serve --speculate ngram) gives: the same requests with and without, in turn, in one process.

Three sets of prompts (benchmarks/speculation_prompts/): texts to summarise, code to edit, and ordinary chat, where
nothing is to be copied. Each set at 1, 2 and 4 streams; two engines on the same weights, whose rounds alternate and
begin with the other one each time; a round's pair gives a ratio, and the median of ratios is told. The tokens and
log-probabilities of both must be equal to the bit, or it fails. Gains are told twice: in tokens a second, and in
tokens a second of processor time, which a busy machine does not disturb as much.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
import results  # noqa: E402

CACHE = pathlib.Path(subprocess.check_output([ROOT / "scripts/cache-dir"], text=True).strip())
SETS = ("summarise", "edit_code", "chat")


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
    return parser.parse_args()


def play(options, name):
    """Pairs of figures by number of streams."""
    done = subprocess.run([f"{options.build}/engine_bench", "--model", options.model, "--threads", str(options.threads),
                           "--sequences", options.streams, "--rounds", str(options.rounds), "--decode",
                           str(options.tokens), "--temperature", str(options.temperature), "--texts",
                           str(ROOT / f"benchmarks/speculation_prompts/{name}.json")],
                          stdout=subprocess.PIPE, text=True, check=True)
    pairs = {}
    for line in map(json.loads, done.stdout.splitlines()):
        pairs.setdefault((name, line["sequences"]), []).append({"off": line["off"], "ngram": line["ngram"]})
    return pairs


def row(name, streams, pairs):
    def median_of(value):
        return statistics.median(value(pair["off"], pair["ngram"]) for pair in pairs)

    drafted, accepted = (sum(pair["ngram"][which] for pair in pairs) for which in ("drafted", "accepted"))
    cells = (name, streams, f"{accepted / drafted:.0%}" if drafted else "none made",
             f"{drafted / sum(pair['ngram']['tokens'] for pair in pairs):.2f}",
             f"{median_of(lambda off, on: off['tokens_a_decoding_step']):.2f}",
             f"{median_of(lambda off, on: on['tokens_a_decoding_step']):.2f}",
             f"{median_of(lambda off, on: off['per_second']):.1f}",
             f"{median_of(lambda off, on: on['per_second']):.1f}",
             f"{median_of(lambda off, on: on['per_second'] / off['per_second']):.2f}",
             f"{median_of(lambda off, on: on['per_processor_second'] / off['per_processor_second']):.2f}")
    return "| " + " | ".join(map(str, cells)) + " |"


def main():
    options = read_options()
    samples = {}
    for name in options.sets.split(","):
        print(name, file=sys.stderr, flush=True)
        samples |= play(options, name)
    lines = ["| prompts | streams | guesses right | guesses a token | tokens a step, without | with | "
             "tokens/s, without | with | gain | gain in processor time |", "|---" * 10 + "|"]
    lines += [row(*key, pairs) for key, pairs in samples.items()]
    head = (f"{pathlib.Path(options.model).name}, {options.threads} compute thread(s), answers of at most "
            f"{options.tokens} tokens, temperature {options.temperature:g}, medians of {options.rounds} pairs; "
            "both of every pair said the same, to the bit.")
    results.keep("speculation", head, "\n".join(lines), {key: {"pairs": pairs} for key, pairs in samples.items()})


if __name__ == "__main__":
    sys.exit(main())
