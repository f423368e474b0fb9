#!/usr/bin/env python3
"""Writes tests/golden/dequantize/TYPE.bin: random blocks and what PyPI `gguf` decodes them to.

Layout: u32 number of elements, the packed bytes, then the elements as float32 (little-endian). Scales
are any finite half-precision numbers, subnormals included; all other bytes are any.
"""
import pathlib
import sys

import gguf
import numpy as np

BLOCKS = 6
# Byte offsets of the half-precision numbers in a block.
SCALES = {"F32": (), "F16": (0,), "BF16": (), "Q8_0": (0,), "Q4_0": (0,), "Q4_1": (0, 2), "Q5_0": (0,),
          "Q5_1": (0, 2), "Q2_K": (80, 82), "Q3_K": (108,), "Q4_K": (0, 2), "Q5_K": (0, 2),
          "Q6_K": (208,)}
PLAIN_BLOCKS = 512


def blocks_of(kind: str, random: np.random.Generator) -> np.ndarray:
    number = gguf.GGMLQuantizationType[kind]
    elements, size = gguf.GGML_QUANT_SIZES[number]
    count = BLOCKS if elements > 1 else PLAIN_BLOCKS
    blocks = random.integers(0, 256, (count, size), dtype=np.uint8)
    if kind == "F32":
        return random.standard_normal(count).astype(np.float32).view(np.uint8).reshape(count, size)
    if kind == "BF16":
        blocks[:, 1] &= 0xBF  # no exponent of all ones
    for offset in SCALES[kind]:
        exponents = random.integers(0, 31, count) << 10
        signs = random.integers(0, 2, count) << 15
        halves = (exponents | signs | random.integers(0, 1024, count)).astype(np.uint16)
        halves[0] &= 0x83FF  # one subnormal
        blocks[:, offset : offset + 2] = halves[:, None].view(np.uint8)
    return blocks


def make_goldens(target: pathlib.Path):
    target.mkdir(parents=True, exist_ok=True)
    random = np.random.Generator(np.random.PCG64(20))
    for kind in SCALES:
        blocks = blocks_of(kind, random)
        number = gguf.GGMLQuantizationType[kind]
        data = blocks.reshape(1, -1)
        if kind == "F16":
            data = data.view(np.float16)
        elif kind == "F32":
            data = data.view(np.float32)
        values = gguf.quants.dequantize(data, number).astype(np.float32).reshape(-1)
        header = np.array([values.size], dtype=np.uint32).tobytes()
        (target / f"{kind}.bin").write_bytes(header + blocks.tobytes() + values.tobytes())


if __name__ == "__main__":
    default = pathlib.Path(__file__).parent.parent / "tests/golden/dequantize"
    make_goldens(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default)
