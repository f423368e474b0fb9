"""tests/corpus/gguf and tests/golden/dequantize are what the scripts make: --write makes them anew."""

import pathlib
import sys
import tempfile
import unittest

import make_dequantize_goldens
from make_gguf import Recipe, make_gguf

ROOT = pathlib.Path(__file__).parents[2]
CORPUS = ROOT / "tests/corpus/gguf"
GOLDENS = ROOT / "tests/golden/dequantize"

SMALL = {"layers": 1, "embedding": 32, "heads": 2, "kv_heads": 1, "feed_forward": 32, "context": 64}
MODELS = {
    "llama-q4_1": Recipe(**SMALL, type="Q4_1", embedding_type="Q8_0"),
    "llama-untied-yarn": Recipe(**SMALL, type="Q8_0", tied=False, rope_scaling="yarn:4",
                                vocabulary="llama"),
    "llama-factors-linear": Recipe(**SMALL, type="Q4_0", rope_freqs=True, rope_scaling="linear:2",
                                   biases=True),
    "qwen2-q5_0": Recipe(**SMALL, architecture="qwen2", type="Q5_0"),
    "qwen3-q5_1": Recipe(**SMALL, architecture="qwen3", type="Q5_1", head_dim=32),
    "gemma3-f16": Recipe(**SMALL | {"layers": 7}, architecture="gemma3", type="F16",
                         embedding_type="Q4_0", vocabulary="llama", sliding_window=16),
    "split": Recipe(**SMALL, type="Q4_0", split=5),
}


def make_all(corpus, goldens):
    for name, recipe in MODELS.items():
        make_gguf(corpus / f"{name}.gguf", recipe)
    make_dequantize_goldens.make_goldens(goldens)


class Committed(unittest.TestCase):
    def test_files_are_what_the_scripts_make(self):
        with tempfile.TemporaryDirectory() as place:
            place = pathlib.Path(place)
            make_all(place, place)
            made = sorted(path.name for path in place.iterdir())
            self.assertGreater(len(made), 20)
            for name in made:
                kept = (CORPUS if name.endswith(".gguf") else GOLDENS) / name
                with self.subTest(name):
                    self.assertEqual(kept.read_bytes(), (place / name).read_bytes())


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        make_all(CORPUS, GOLDENS)
    else:
        unittest.main()
