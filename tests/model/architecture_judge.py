"""Every architecture's mathematics against llama.cpp: random float32 models, next-token distributions.

A wrong rotation, window, norm, scale or bias changes a distribution by far more than the rounding of
llama.cpp's 16-bit keys and values, which the bound allows. The fast path, which keeps
float32 weights but rounds keys and values to 16 bits too, is held to the reference by its divergence.
"""

import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np
import xllamacpp

from make_gguf import Recipe, make_gguf

PROBE = sys.argv[1]
LARGEST_DIFFERENCE = 0.02  # of log-probabilities; 16-bit keys and values give about 0.002
LARGEST_DIVERGENCE = 0.0001  # of the fast path from the reference; 16-bit keys and values give less than 0.000001
LETTER_A = 3 + ord("a")  # in both vocabularies
LENGTHS = (1, 2, 7, 33, 100)

GEMMA = {"architecture": "gemma3", "layers": 7, "head_dim": 32, "vocabulary": "llama"}
MODELS = {
    "llama": Recipe(),
    "llama, one key-value head": Recipe(kv_heads=1),
    "llama, as many key-value heads": Recipe(kv_heads=4),
    "llama, untied": Recipe(tied=False, vocabulary="llama"),
    "llama, own head width": Recipe(head_dim=32),
    "llama, large rope base": Recipe(rope_base=500000.0),
    "llama, factors by pair": Recipe(rope_freqs=True),
    "llama, linear scaling": Recipe(rope_scaling="linear:4"),
    "llama, yarn": Recipe(rope_scaling="yarn:4"),
    "llama, biases": Recipe(biases=True),
    "qwen2": Recipe(architecture="qwen2"),
    "qwen2, yarn": Recipe(architecture="qwen2", rope_scaling="yarn:4"),
    "qwen3": Recipe(architecture="qwen3", head_dim=32),
    "gemma3": Recipe(**GEMMA, sliding_window=16),
    "gemma3, linear scaling": Recipe(**GEMMA, sliding_window=16, rope_scaling="linear:8"),
    "gemma3, window longer than the text": Recipe(**GEMMA, sliding_window=200),
}


def log_softmax(logits):
    shifted = logits - logits.max()
    return shifted - np.log(np.exp(shifted).sum())


def ours(path, prompts, which="reference"):
    lines = "\n".join(" ".join(map(str, prompt)) for prompt in prompts) + "\n"
    done = subprocess.run([PROBE, str(path), which], input=lines, capture_output=True, text=True,
                          check=True)
    return [log_softmax(np.array(line.split(), dtype=np.float64)) for line in done.stdout.splitlines()]


def theirs(path, prompts, tokens):
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    parameters.n_ctx = 256
    parameters.n_parallel = 1
    parameters.warmup = False
    parameters.verbosity = -1
    parameters.cpuparams.n_threads = 1
    server = xllamacpp.Server(parameters)
    found = []
    for prompt in prompts:
        # The bias makes it answer "a" (half a character would be held back, and its probabilities with
        # it); probabilities are told as they are before it.
        answer = server.handle_completions({"prompt": prompt, "n_predict": 1, "n_probs": tokens,
                                            "temperature": 0.0, "cache_prompt": False,
                                            "logit_bias": [[LETTER_A, 100.0]]})
        row = np.full(tokens, -np.inf)
        for entry in answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]:
            row[entry["id"]] = entry["logprob"]
        found.append(row)
    return found


def judge(name, recipe, place):
    path = pathlib.Path(place) / "model.gguf"
    make_gguf(path, recipe)
    draw = random.Random(7)
    prompts = [[draw.randrange(3, 250) for _ in range(length)] for length in LENGTHS]
    mine = ours(path, prompts)
    judged = theirs(path, prompts, len(mine[0]))
    largest = 0.0
    for left, other in zip(mine, judged, strict=True):
        known = np.isfinite(other)
        if known.sum() < len(other) // 2:
            sys.exit(f"{name}: llama.cpp gave {known.sum()} of {len(other)} probabilities")
        largest = max(largest, float(np.abs(left - other)[known].max()))
    divergence = max(float((np.exp(left) * (left - right)).sum())
                     for left, right in zip(mine, ours(path, prompts, "fast"), strict=True))
    right = largest < LARGEST_DIFFERENCE and divergence < LARGEST_DIVERGENCE
    print(f"{'ok  ' if right else 'FAIL'} {largest:.5f} {divergence:.6f}  {name}", flush=True)
    return right


def main():
    with tempfile.TemporaryDirectory() as place:
        results = [judge(name, recipe, place) for name, recipe in MODELS.items()]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
