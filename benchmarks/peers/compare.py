#!/usr/bin/env python3
"""paternoster beside llama.cpp and OpenVINO GenAI: same file, same threads, same run.

Rounds are interleaved (each engine once a round, in turn), every figure is the median over the rounds.
"ours / best" is ours over the best peer's; "of limit" is ours over what this machine's memory and multipliers
allow, measured in the same rounds. The result is printed and kept in benchmarks/results/.

--clock processor (one thread only) times every engine by the processor time that it used instead of by the
wall clock, so that others on a busy machine take nothing from anybody's figures but cache and bandwidth.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import results  # noqa: E402

CACHE = pathlib.Path(subprocess.check_output([ROOT / "scripts/cache-dir"], text=True).strip())
PEERS = CACHE / "peers"
OURS = "paternoster"
LIMIT = "limit"


def read_options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default=str(CACHE / "models/smollm2-135m-instruct-q4_1.gguf"))
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--sequences", default="1,2,4,8,16,32")
    parser.add_argument("--prompt", type=int, default=128)
    parser.add_argument("--decode", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engines", default="paternoster,llama.cpp,openvino")
    parser.add_argument("--bench", default=str(ROOT / "build/release/engine_bench"))
    parser.add_argument("--kernels-bench", default=str(ROOT / "build/release/kernels_bench"))
    parser.add_argument("--clock", choices=("wall", "processor"), default="wall")
    options = parser.parse_args()
    if options.clock == "processor" and options.threads != 1:
        parser.error("--clock processor measures one thread: add --threads 1")
    return options


def environment(options):
    """What the engines run with: for --clock processor, a preloaded clock."""
    if options.clock == "wall":
        return None
    library = PEERS / "processor_clock.so"
    source = ROOT / "benchmarks/peers/processor_clock.c"
    if not library.exists() or library.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    return {**os.environ, "LD_PRELOAD": str(library)}


def commands(options):
    common = ["--model", options.model, "--threads", str(options.threads), "--sequences",
              options.sequences, "--prompt", str(options.prompt), "--decode", str(options.decode)]
    most = max(map(int, options.sequences.split(",")))
    context = most * (options.prompt + options.decode)
    (llama,) = PEERS.glob("llama.cpp-*/build/bin/llama-batched-bench")
    (openvino,) = PEERS.glob("openvino-*/bin/python")
    table = {
        OURS: [options.bench, *common, "--json"],
        "llama.cpp": [str(llama), "-m", options.model, "-c", str(context), "-b", "2048", "-ub", "512",
                      "-t", str(options.threads), "-tb", str(options.threads), "-npp", str(options.prompt),
                      "-ntg", str(options.decode), "-npl", options.sequences,
                      "--output-format", "jsonl"],
        "openvino": [str(openvino), str(ROOT / "benchmarks/peers/openvino_bench.py"), *common],
    }
    return {name: table[name] for name in options.engines.split(",")}


def one_run(command, env):
    """The JSON lines that a program printed, and its peak resident memory in MiB."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{command[0]} exited with {process.returncode}")
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return lines, usage.ru_maxrss / 1024


def normalized(line):
    if "pl" in line:  # llama-batched-bench
        return line["pl"], line["speed_pp"], line["speed_tg"]
    if "prefill" in line:
        return line["sequences"], line["prefill"], line["decode"]
    return line["sequences"], line["prefill_tokens_per_second"], line["decode_tokens_per_second"]


def machine_limits(options, env):
    """Bytes a second from memory and integer operations a second, of one thread each."""
    command = [options.kernels_bench, "--benchmark_filter=^(read_loop|peak)$", "--benchmark_format=json",
               "--benchmark_min_time=0.2"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env,
                          check=True)
    rates = {entry["name"]: entry for entry in json.loads(done.stdout)["benchmarks"]}
    return rates["read_loop"]["bytes"], rates["peak"]["ops"]


def add_limits(samples, line, bandwidth, peak):
    """The least time of a step is that of its weights through memory or of its products, the larger."""
    sequences = line["sequences"]
    layers, vocabulary = 2.0 * line["layer_products"], 2.0 * line["vocabulary_products"]
    prefill = peak / layers
    step = max(line["weight_bytes"] / bandwidth, sequences * (layers + vocabulary) / peak)
    samples.setdefault(("prefill", sequences), {}).setdefault(LIMIT, []).append(prefill)
    samples.setdefault(("decode", sequences), {}).setdefault(LIMIT, []).append(sequences / step)


def measure(options):
    samples = {}
    failures = {}
    env = environment(options)
    for number in range(options.rounds):
        limits = machine_limits(options, env) if options.threads == 1 else None
        for name, command in commands(options).items():
            if name in failures:
                continue
            print(f"round {number + 1} of {options.rounds}: {name}", file=sys.stderr, flush=True)
            try:
                lines, memory = one_run(command, env)
            except (RuntimeError, OSError) as error:
                failures[name] = str(error)
                continue
            samples.setdefault(("memory MiB", 0), {}).setdefault(name, []).append(memory)
            if name == OURS and limits:
                for line in lines:
                    add_limits(samples, line, *limits)
            for sequences, prefill, decode in map(normalized, lines):
                samples.setdefault(("prefill", sequences), {}).setdefault(name, []).append(prefill)
                samples.setdefault(("decode", sequences), {}).setdefault(name, []).append(decode)
    return samples, failures


def rows(samples, names):
    order = {"prefill": 0, "decode": 1, "memory MiB": 2}
    for (what, sequences), by_name in sorted(samples.items(), key=lambda item: (order[item[0][0]], item[0][1])):
        medians = {name: statistics.median(by_name[name]) for name in names if name in by_name}
        peers = [value for name, value in medians.items() if name != OURS]
        best = (min if what == "memory MiB" else max)(peers, default=None)
        ratio = medians[OURS] / best if best and OURS in medians else None
        limit = statistics.median(by_name[LIMIT]) if LIMIT in by_name else None
        share = medians[OURS] / limit if limit and OURS in medians else None
        yield what, sequences, medians, ratio, share


def table(options, samples, failures):
    names = options.engines.split(",")
    text = ["| | sequences | " + " | ".join(names) + " | ours / best peer | of limit |",
            "|---|---|" + "---|" * (len(names) + 2)]
    for what, sequences, medians, ratio, share in rows(samples, names):
        cells = [f"{medians[name]:.0f}" if name in medians else "-" for name in names]
        unit = what if what == "memory MiB" else f"{what} tok/s"
        text.append(f"| {unit} | {sequences or ''} | " + " | ".join(cells) +
                    f" | {f'{ratio:.2f}' if ratio else '-'} | {f'{share:.0%}' if share else '-'} |")
    text += [f"{name} failed: {reason}" for name, reason in failures.items()]
    return "\n".join(text)


def main():
    options = read_options()
    samples, failures = measure(options)
    head = (f"{pathlib.Path(options.model).name}, {options.threads} threads, prompts of {options.prompt}, "
            f"{options.decode} decoded, median of {options.rounds} interleaved rounds, {options.clock} clock.")
    name = f"{pathlib.Path(options.model).stem}-{options.threads}t"
    results.keep(name, head, table(options, samples, failures), samples)
    return 1 if OURS in failures else 0


if __name__ == "__main__":
    sys.exit(main())
