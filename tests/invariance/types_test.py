"""Every type of weights: a small random model each, held to equal bits by types_probe."""

import pathlib
import subprocess
import sys
import tempfile

from make_gguf import TYPES, Recipe, make_gguf


def main():
    failed = []
    with tempfile.TemporaryDirectory() as place:
        for number, kind in enumerate(TYPES):
            path = pathlib.Path(place) / f"{kind}.gguf"
            # 256 inputs: a whole K-quant block. Odd types are turned the other way round.
            make_gguf(path, Recipe(architecture="llama" if number % 2 else "qwen2", type=kind, embedding=256,
                                   heads=4, kv_heads=2, feed_forward=512, seed=number))
            done = subprocess.run([sys.argv[1], path], stdout=subprocess.PIPE, text=True)
            print(done.stdout, end="", flush=True)
            if done.returncode != 0:
                failed.append(kind)
    print("differ: " + ", ".join(failed) if failed else f"{len(TYPES)} types, equal bits")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
