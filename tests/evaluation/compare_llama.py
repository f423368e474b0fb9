#!/usr/bin/env python3
"""The full evaluation: 20,480 tokens, and the same windows through llama.cpp where peers have built it.

Fails when evaluate fails, or when the perplexities are more than one per cent apart."""
import argparse
import glob
import json
import os
import subprocess
import sys

FILES = {"smollm2": "smollm2-135m-instruct-q4_1.gguf", "gemma3-270m": "gemma3-270m-q4_k_m.gguf"}


def build_llama(root, program):
    """Compiles llama_perplexity.cc against the peers' build; None when there is none."""
    source, build = os.path.join(root, "source"), os.path.join(root, "build")
    archives = [os.path.join(build, "src/libllama.a")]
    for name in ("ggml", "ggml-cpu", "ggml-base"):
        archives += glob.glob(os.path.join(build, f"ggml/src/**/lib{name}.a"), recursive=True)
    if len(archives) < 4 or not all(map(os.path.exists, archives)):
        return None
    here = os.path.dirname(os.path.abspath(__file__))
    command = ["c++", "-std=c++17", "-O2", f"-I{source}/include", f"-I{source}/ggml/include",
               os.path.join(here, "llama_perplexity.cc"), "-o", program, "-Wl,--start-group", *archives,
               "-Wl,--end-group", "-fopenmp", "-lpthread", "-ldl", "-lm"]
    subprocess.run(command, check=True)
    return program


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--evaluate", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--cache", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--tokens", default="20480")
    parser.add_argument("--reference-tokens", default="4096")
    parser.add_argument("--prompts", default="50")
    options = parser.parse_args()
    ids = os.path.join(options.work, f"{options.model}.ids")
    done = subprocess.run([options.evaluate, options.model, "--tokens", options.tokens, "--reference-tokens",
                           options.reference_tokens, "--prompts", options.prompts, "--ids", ids],
                          stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout, flush=True)
    if done.returncode != 0:
        return done.returncode
    ours = json.loads(done.stdout)
    roots = sorted(glob.glob(os.path.join(options.cache, "peers", "llama.cpp-*")))
    llama = build_llama(roots[-1], os.path.join(options.work, "llama_perplexity")) if roots else None
    if llama is None:
        print("llama.cpp is not built (benchmarks/peers/fetch.sh): not compared")
        return 77
    model = os.path.join(options.cache, "models", FILES[options.model])
    theirs = json.loads(subprocess.run([llama, model, ids], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                       text=True, check=True).stdout)
    ratio = ours["perplexity"] / theirs["perplexity"]
    print(f"perplexity: ours {ours['perplexity']}, llama.cpp {theirs['perplexity']}, ratio {ratio:.4f}")
    return 0 if theirs["tokens"] == ours["tokens"] and abs(ratio - 1) < 0.01 else 1


if __name__ == "__main__":
    sys.exit(main())
