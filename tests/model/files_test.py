"""`paternoster inspect` on files of every architecture and type, and on files that lie."""

import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

from make_gguf import ARCHITECTURES, TYPES, Recipe, make_gguf

BINARY = os.environ["PATERNOSTER_BINARY"]
MEMORY_KIB = 256 * 1024


# A process's peak counts that of whoever forked it, so a small one stands between: it prints seconds of
# processor time and resident memory in KiB on its last line.
MEASURE = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
sys.exit(code if code >= 0 else 128 - code)
"""


def inspect(path, *flags):
    """Exit code, standard output, standard error, seconds of processor time, resident memory in KiB."""
    done = subprocess.run([sys.executable, "-c", MEASURE, BINARY, "inspect", str(path), *flags],
                          capture_output=True, text=True, check=False)
    *out, measured = done.stdout.splitlines()
    seconds, memory = measured.split()
    return done.returncode, "\n".join(out), done.stderr, float(seconds), int(memory)


def string(text):
    data = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(data)) + data


def header(tensors, keys, *parts):
    return b"GGUF" + struct.pack("<IQQ", 3, tensors, keys) + b"".join(parts)


def strings(key, count, one):
    return string(key) + struct.pack("<IIQ", 9, 8, count) + one * count


class Files(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name)

    def test_every_architecture_and_type_is_read(self):
        for architecture in ARCHITECTURES:
            for kind in TYPES if architecture == "llama" else ("F16", "Q6_K"):
                with self.subTest(architecture=architecture, type=kind):
                    width = 256 if kind.endswith("K") else 64
                    recipe = Recipe(architecture=architecture, type=kind, embedding=width,
                                    feed_forward=width)
                    path = self.place / "model.gguf"
                    make_gguf(path, recipe)
                    code, out, errors, _, _ = inspect(path, "--json")
                    self.assertEqual(code, 0, errors)
                    said = json.loads(out)
                    self.assertEqual(said["architecture"], architecture)
                    self.assertIn(kind, [row["type"] for row in said["types"]])

    def refused(self, content, expected, size=None):
        path = self.place / "bad.gguf"
        path.write_bytes(content)
        if size:
            os.truncate(path, size)
        code, out, errors, seconds, memory = inspect(path)
        self.assertEqual((code, out), (1, ""), errors)
        self.assertIn(expected, errors)
        self.assertEqual(errors.count("\n"), 1, errors)
        self.assertLess(memory, MEMORY_KIB)
        self.assertLess(seconds, 2)

    def test_a_file_that_lies_costs_little_whatever_its_size(self):
        million = 1 << 20
        many = strings("tokenizer.ggml.tokens", 4 * million, bytes(8))
        self.refused(header(0, 1, many), "general.architecture")
        self.refused(header(0, 1, strings("x", 9 * million, bytes(8))), "larger than 64 MiB")
        self.refused(header(0, 1, string("x"), struct.pack("<IIQ", 9, 8, 1 << 33)), "key 'x'",
                     size=1 << 37)
        self.refused(header(1 << 60, 1), "tensor count", size=1 << 37)
        keys = b"".join(string(f"{number:05}" + "k" * 900) + struct.pack("<IB", 0, 0)
                        for number in range(65536))
        self.refused(header(0, 65536, keys), "general.architecture")
        tensors = b"".join(string(f"{number}") + struct.pack("<IQIQ", 1, 1, 0, 32 * number)
                           for number in range(65536))
        self.refused(header(65536, 0, tensors) + bytes(65536 * 32 + 32), "general.architecture")

    def test_the_largest_vocabulary_fits_the_limit(self):
        path = self.place / "large.gguf"
        make_large_vocabulary(path)
        code, _, errors, seconds, memory = inspect(path)
        self.assertEqual(code, 0, errors)
        self.assertLess(memory, MEMORY_KIB)
        self.assertLess(seconds, 2)


def make_large_vocabulary(path):
    """A llama of one layer whose header is all vocabulary, as long as a header may be."""
    tokens, merges, width = 1 << 22, 2_900_000, 32

    def number(key, value):
        return string(key) + struct.pack("<II", 4, value)

    keys = [string("general.architecture") + struct.pack("<I", 8) + string("llama"),
            number("llama.block_count", 1), number("llama.context_length", 64),
            number("llama.embedding_length", width), number("llama.feed_forward_length", width),
            number("llama.attention.head_count", 2),
            string("llama.attention.layer_norm_rms_epsilon") + struct.pack("<If", 6, 1e-5),
            string("tokenizer.ggml.model") + struct.pack("<I", 8) + string("gpt2"),
            strings("tokenizer.ggml.tokens", tokens, bytes(8)),
            strings("tokenizer.ggml.merges", merges, string("a b"))]
    vectors = ["blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"]
    squares = ["blk.0." + name for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate",
                                            "ffn_up", "ffn_down")]
    shapes = {name: (width,) for name in vectors} | {name: (width, width) for name in squares}
    shapes["token_embd"] = (width, tokens)
    records, offset = [], 0
    for name, shape in shapes.items():
        kind = 0 if len(shape) == 1 else 2
        records.append(string(name + ".weight") + struct.pack("<I", len(shape)) +
                       struct.pack(f"<{len(shape)}Q", *shape) + struct.pack("<IQ", kind, offset))
        size = 4 * width if len(shape) == 1 else shape[1] * 18
        offset = (offset + size + 31) // 32 * 32
    content = header(len(records), len(keys), *keys, *records)
    path.write_bytes(content)
    os.truncate(path, (len(content) + 31) // 32 * 32 + offset)


if __name__ == "__main__":
    unittest.main()
