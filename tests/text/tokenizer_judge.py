"""Token ids and round trips of both test models against Hugging Face's tokenizers and SentencePiece."""
import argparse
import pathlib
import sys

import nasty_strings
import vocabularies

# SmolLM2 has no tokens for these bytes: they vanish, for the judge as for us.
MISSING = set(b"\x04\x06\x13\x14\x16\x1d\xf1\xf2")


def complain(model, text, parse, ours, judge):
    print(f"{model}, special {'parsed' if parse else 'as text'}: {text!r}\n  ours  {ours}\n  judge {judge}")


def compare(model, path, judge_of, probe, texts, may_return):
    judges = judge_of(vocabularies.gguf_metadata(path))
    records = [verb + vocabularies.packed(text) for verb in (b"P", b"T") for text in texts]
    lines = iter(vocabularies.ask(probe, path, records))
    different = 0
    for parse, judge in zip((True, False), judges):
        for text in texts:
            ids, again = next(lines).split("|")
            ids = [int(number) for number in ids.split()]
            repaired = text.decode("utf-8", "replace")
            expected = judge(repaired)
            if ids != expected:
                different += 1
                if different <= 10:
                    complain(model, repaired, parse, ids, expected)
            if may_return(repaired) and bytes.fromhex(again).decode() != repaired:
                different += 1
                print(f"{model}: {repaired!r} came back as {bytes.fromhex(again)!r}")
    print(f"{model}: {2 * len(texts)} comparisons, {different} differ")
    return different


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--probe", required=True)
    arguments.add_argument("--models", required=True, type=pathlib.Path)
    arguments.add_argument("--generated", type=int, default=20000)
    arguments.add_argument("--seed", type=int, default=3)
    options = arguments.parse_args()
    picked = nasty_strings.picked()
    assert len(picked) >= 280, len(picked)
    print(f"{len(picked)} picked strings, {options.generated} generated with seed {options.seed}")
    texts = picked + list(nasty_strings.generated(options.generated, options.seed))
    cases = [
        ("SmolLM2", "smollm2-135m-instruct-q4_1.gguf", vocabularies.byte_level_judge,
         lambda text: not MISSING & set(text.encode())),
        # A literal U+2581 is a space to SentencePiece.
        ("Gemma 3", "gemma3-270m-q4_k_m.gguf", vocabularies.sentencepiece_judge,
         lambda text: "\u2581" not in text),
    ]
    different = 0
    for model, name, judge_of, may_return in cases:
        if not (options.models / name).exists():
            print(f"{options.models / name} is missing: run `paternoster pull` first")
            return 77
        different += compare(model, options.models / name, judge_of, options.probe, texts, may_return)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
