#!/usr/bin/env python3
"""Writes a small GGUF model with random weights: a real file of any supported architecture and type.

The same arguments give the same bytes (one seeded generator), so that a test can name a model by its
arguments. Needs PyPI `gguf`. As a module: make_gguf(path, Recipe(...)).
"""
import argparse
import dataclasses
import pathlib
import sys

import gguf
import numpy as np

ARCHITECTURES = ("llama", "qwen2", "qwen3", "gemma3")
PLAIN = ("F32", "F16", "BF16")
QUANTIZED = ("Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1")
K_QUANTS = ("Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K")
TYPES = PLAIN + QUANTIZED + K_QUANTS

# Where a K-quant block keeps its half-precision scales, and values that give weights of about 0.1:
# (byte offset, value). Everything else in a block may be any byte.
K_SCALES = {
    "Q2_K": ((80, 0.01), (82, 0.015)),
    "Q3_K": ((108, 0.002),),
    "Q4_K": ((0, 0.0003), (2, 0.002)),
    "Q5_K": ((0, 0.00015), (2, 0.002)),
    "Q6_K": ((208, 0.0001),),
}

CHATML = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content']"
    " + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{'<|im_start|>assistant\n'}}"
    "{% endif %}"
)


@dataclasses.dataclass
class Recipe:
    architecture: str = "llama"
    type: str = "F32"  # of every matrix
    embedding_type: str | None = None  # of the token embedding, if another
    layers: int = 2
    embedding: int = 64
    heads: int = 4
    kv_heads: int = 2
    head_dim: int | None = None  # embedding / heads when not given
    feed_forward: int = 128
    context: int = 256
    tied: bool = True
    biases: bool = False  # llama only; qwen2 always has them
    rope_base: float = 10000.0
    rope_dimensions: int | None = None
    rope_freqs: bool = False
    rope_scaling: str = "none"  # "linear:FACTOR" or "yarn:FACTOR"
    sliding_window: int = 0
    vocabulary: str = "gpt2"  # or "llama"
    chat_template: bool = True
    split: int = 0  # tensors a file; 0: one file
    seed: int = 1


def byte_letters() -> list[str]:
    """GPT-2's printable letter for each byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters, spare = {byte: chr(byte) for byte in plain}, 256
    for byte in range(256):
        if byte not in letters:
            letters[byte], spare = chr(spare), spare + 1
    return [letters[byte] for byte in range(256)]


WORDS = ("the", "and", "lift", "rider", "floor", "step", "never", "stops", "up", "down", "is", "of")


def add_gpt2_vocabulary(writer: gguf.GGUFWriter) -> int:
    """Three control tokens, 256 bytes, and merges that spell a few words."""
    control = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    tokens, merges = control + byte_letters(), []
    for word in WORDS:
        for text in ("\u0120" + word, word):
            piece = text[0]
            for letter in text[1:]:
                merge, piece = f"{piece} {letter}", piece + letter
                if piece not in tokens:
                    tokens.append(piece)
                    merges.append(merge)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([3] * len(control) + [1] * (len(tokens) - len(control)))
    writer.add_token_merges(merges)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(False)
    return len(tokens)


def add_llama_vocabulary(writer: gguf.GGUFWriter) -> int:
    """Unknown, BOS, EOS, 256 byte tokens, and pieces with scores by rank."""
    tokens, types = ["<unk>", "<s>", "</s>"], [2, 3, 3]
    tokens += [f"<0x{byte:02X}>" for byte in range(256)]
    types += [6] * 256
    pieces = []
    for word in WORDS:
        for text in ("\u2581" + word, word):
            pieces += [text[:length] for length in range(2, len(text) + 1)]
    letters = ["\u2581"] + sorted(set("".join(WORDS)))
    pieces = list(dict.fromkeys(pieces)) + letters
    scores = [0.0] * len(tokens) + [-float(rank) for rank in range(len(pieces))]
    tokens += pieces
    types += [1] * len(pieces)
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_scores(scores)
    writer.add_token_types(types)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(True)
    return len(tokens)


class Weights:
    """Adds random tensors of the wanted types, drawing from one generator in a fixed order."""

    def __init__(self, writer: gguf.GGUFWriter, recipe: Recipe):
        self.writer, self.recipe = writer, recipe
        self.random = np.random.Generator(np.random.PCG64(recipe.seed))

    def vector(self, name: str, length: int, mean: float, spread: float):
        values = mean + spread * self.random.standard_normal(length)
        self.writer.add_tensor(name, values.astype(np.float32))

    def matrix(self, name: str, rows: int, columns: int, kind: str | None = None):
        kind = kind or self.recipe.type
        number = gguf.GGMLQuantizationType[kind]
        if kind in K_QUANTS:
            data = self.k_quant(kind, rows, columns)
        else:
            values = self.random.standard_normal((rows, columns)) / np.sqrt(columns)
            data = gguf.quants.quantize(values.astype(np.float32), number)
        self.writer.add_tensor(name, data, raw_dtype=number)

    def k_quant(self, kind: str, rows: int, columns: int) -> np.ndarray:
        elements, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind]]
        if columns % elements:
            sys.exit(f"{kind} needs rows of a multiple of {elements} elements, not {columns}")
        blocks = self.random.integers(0, 256, (rows * columns // elements, size), dtype=np.uint8)
        for offset, value in K_SCALES[kind]:
            scales = value * (0.5 + self.random.random(len(blocks)))
            blocks[:, offset : offset + 2] = scales.astype(np.float16)[:, None].view(np.uint8)
        return blocks.reshape(rows, -1)


def add_layer(weights: Weights, recipe: Recipe, number: int):
    def named(field: str) -> str:
        return f"blk.{number}.{field}"

    head_dim = recipe.head_dim or recipe.embedding // recipe.heads
    query, key = recipe.heads * head_dim, recipe.kv_heads * head_dim
    width, inner = recipe.embedding, recipe.feed_forward
    gemma, qwen2 = recipe.architecture == "gemma3", recipe.architecture == "qwen2"
    weights.vector(named("attn_norm.weight"), width, 1, 0.1)
    for field, rows in (("attn_q", query), ("attn_k", key), ("attn_v", key)):
        weights.matrix(named(field + ".weight"), rows, width)
        if qwen2 or recipe.biases:
            weights.vector(named(field + ".bias"), rows, 0, 0.2)
    if gemma or recipe.architecture == "qwen3":
        weights.vector(named("attn_q_norm.weight"), head_dim, 1, 0.1)
        weights.vector(named("attn_k_norm.weight"), head_dim, 1, 0.1)
    weights.matrix(named("attn_output.weight"), width, query)
    if recipe.biases and not qwen2:
        weights.vector(named("attn_output.bias"), width, 0, 0.2)
    if gemma:
        weights.vector(named("post_attention_norm.weight"), width, 1, 0.1)
    weights.vector(named("ffn_norm.weight"), width, 1, 0.1)
    weights.matrix(named("ffn_gate.weight"), inner, width)
    weights.matrix(named("ffn_up.weight"), inner, width)
    weights.matrix(named("ffn_down.weight"), width, inner)
    if gemma:
        weights.vector(named("post_ffw_norm.weight"), width, 1, 0.1)


def add_hyperparameters(writer: gguf.GGUFWriter, recipe: Recipe, tokens: int):
    writer.add_name(f"random {recipe.architecture} {recipe.type} seed {recipe.seed}")
    writer.add_license("cc0-1.0")
    writer.add_context_length(recipe.context)
    writer.add_embedding_length(recipe.embedding)
    writer.add_block_count(recipe.layers)
    writer.add_feed_forward_length(recipe.feed_forward)
    writer.add_head_count(recipe.heads)
    writer.add_head_count_kv(recipe.kv_heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(recipe.rope_base)
    writer.add_vocab_size(tokens)
    if recipe.head_dim:
        writer.add_key_length(recipe.head_dim)
        writer.add_value_length(recipe.head_dim)
    if recipe.rope_dimensions:
        writer.add_rope_dimension_count(recipe.rope_dimensions)
    if recipe.sliding_window:
        writer.add_sliding_window(recipe.sliding_window)
    kind, _, factor = recipe.rope_scaling.partition(":")
    if kind != "none":
        writer.add_rope_scaling_type(gguf.RopeScalingType(kind))
        writer.add_rope_scaling_factor(float(factor))
        if kind == "yarn":
            original = round(recipe.context / float(factor))
            writer.add_rope_scaling_orig_ctx_len(original)


def make_gguf(path: str | pathlib.Path, recipe: Recipe):
    """Writes the model; with recipe.split, path "x.gguf" becomes x-00001-of-0000N.gguf and so on."""
    writer = gguf.GGUFWriter(path, recipe.architecture, split_max_tensors=recipe.split)
    add = add_gpt2_vocabulary if recipe.vocabulary == "gpt2" else add_llama_vocabulary
    tokens = add(writer)
    if recipe.chat_template and recipe.vocabulary == "gpt2":
        writer.add_chat_template(CHATML)
    add_hyperparameters(writer, recipe, tokens)
    weights = Weights(writer, recipe)
    weights.matrix("token_embd.weight", tokens, recipe.embedding, recipe.embedding_type)
    for number in range(recipe.layers):
        add_layer(weights, recipe, number)
    weights.vector("output_norm.weight", recipe.embedding, 1, 0.1)
    if not recipe.tied:
        weights.matrix("output.weight", tokens, recipe.embedding, recipe.embedding_type)
    if recipe.rope_freqs:
        pairs = (recipe.rope_dimensions or recipe.head_dim or recipe.embedding // recipe.heads) // 2
        factors = np.linspace(1, 8, pairs, dtype=np.float32)  # Llama 3's rise from 1 to its factor
        writer.add_tensor("rope_freqs.weight", factors)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("path")
    choices = {"architecture": ARCHITECTURES, "type": TYPES, "embedding_type": TYPES,
               "vocabulary": ("gpt2", "llama")}
    for field in dataclasses.fields(Recipe):
        flag = "--" + field.name.replace("_", "-")
        if field.type is bool or field.type == "bool":
            action = argparse.BooleanOptionalAction
            parser.add_argument(flag, action=action, default=field.default)
        else:
            kind = {"int": int, "float": float}.get(
                getattr(field.type, "__name__", str(field.type)).split(" ")[0], str)
            if field.name in ("head_dim", "rope_dimensions"):
                kind = int
            parser.add_argument(flag, type=kind, default=field.default,
                                choices=choices.get(field.name))
    arguments = vars(parser.parse_args())
    path = arguments.pop("path")
    make_gguf(path, Recipe(**arguments))


if __name__ == "__main__":
    main()
