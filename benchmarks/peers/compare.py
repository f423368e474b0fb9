#!/usr/bin/env python3
"""paternoster beside llama.cpp and OpenVINO GenAI: same file, same threads, same run.

Rounds are interleaved (each engine once a round, in turn), every figure is the median over the rounds,
and the last column is ours over the best peer's. The result is printed and kept in benchmarks/results/.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = pathlib.Path(subprocess.check_output([ROOT / "scripts/cache-dir"], text=True).strip())
PEERS = CACHE / "peers"
OURS = "paternoster"


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
    return parser.parse_args()


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


def one_run(command):
    """The JSON lines that a program printed, and its peak resident memory in MiB."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
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


def measure(options):
    samples = {}
    failures = {}
    for number in range(options.rounds):
        for name, command in commands(options).items():
            if name in failures:
                continue
            print(f"round {number + 1} of {options.rounds}: {name}", file=sys.stderr, flush=True)
            try:
                lines, memory = one_run(command)
            except (RuntimeError, OSError) as error:
                failures[name] = str(error)
                continue
            samples.setdefault(("memory MiB", 0), {}).setdefault(name, []).append(memory)
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
        yield what, sequences, medians, ratio


def table(options, samples, failures):
    names = options.engines.split(",")
    text = ["| | sequences | " + " | ".join(names) + " | ours / best peer |",
            "|---|---|" + "---|" * (len(names) + 1)]
    for what, sequences, medians, ratio in rows(samples, names):
        cells = [f"{medians[name]:.0f}" if name in medians else "-" for name in names]
        unit = what if what == "memory MiB" else f"{what} tok/s"
        text.append(f"| {unit} | {sequences or ''} | " + " | ".join(cells) +
                    f" | {f'{ratio:.2f}' if ratio else '-'} |")
    text += [f"{name} failed: {reason}" for name, reason in failures.items()]
    return "\n".join(text)


def machine():
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo")
                if line.startswith("model name")), platform.machine())
    flags = next((line for line in open("/proc/cpuinfo") if line.startswith("flags")), "").split()
    sets = [name for name in ("avx2", "f16c", "avx_vnni", "avx512_vnni", "avx512_bf16", "amx_int8")
            if name in flags]
    return f"{cpu}, {os.cpu_count()} processors, {' '.join(sets)}"


def main():
    options = read_options()
    load = os.getloadavg()[0]
    samples, failures = measure(options)
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"],
                            capture_output=True, text=True).stdout.strip() or "unknown"
    head = (f"{pathlib.Path(options.model).name}, {options.threads} threads, prompts of {options.prompt}, "
            f"{options.decode} decoded, median of {options.rounds} interleaved rounds.\n"
            f"{machine()}; load before the run {load:.1f}; commit {commit}.")
    text = f"{head}\n\n{table(options, samples, failures)}\n"
    print(text)
    stamp = datetime.datetime.now().strftime("%Y-%m-%d")
    stem = f"{stamp}-{commit}-{pathlib.Path(options.model).stem}-{options.threads}t"
    folder = ROOT / "benchmarks/results"
    folder.mkdir(exist_ok=True)
    (folder / f"{stem}.md").write_text(text)
    raw = [{"what": what, "sequences": sequences, "samples": by_name}
           for (what, sequences), by_name in samples.items()]
    (folder / f"{stem}.json").write_text(json.dumps({"head": head, "raw": raw}, indent=1) + "\n")
    return 1 if OURS in failures else 0


if __name__ == "__main__":
    sys.exit(main())
