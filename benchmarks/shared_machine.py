#!/usr/bin/env python3
"""How decoding fares on a machine that others use: one busy process beside us, fewer processors, no work at all.

1. decode at every thread count, quiet and with one busy process that may run anywhere, in turn;
2. the default number of threads against every explicit one, under taskset (and a quota, where this user may make
   control groups);
3. the processor share of a server that has nothing to do.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
import results  # noqa: E402
import served_process  # noqa: E402

CACHE = pathlib.Path(subprocess.check_output([ROOT / "scripts/cache-dir"], text=True).strip())
QUOTA_GROUP = pathlib.Path("/sys/fs/cgroup/cpu/paternoster-bench")


def read_options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default=str(CACHE / "models/smollm2-135m-instruct-q4_1.gguf"))
    parser.add_argument("--sequences", default="1,8")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--build", default=str(ROOT / "build/release"))
    return parser.parse_args()


def decode(options, threads, prefix=()):
    """Tokens a second by number of sequences; threads 0: the default."""
    done = subprocess.run([*prefix, f"{options.build}/engine_bench", "--model", options.model, "--threads",
                           str(threads), "--sequences", options.sequences, "--prompt", "32", "--decode", "48",
                           "--json"], stdout=subprocess.PIPE, text=True, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {line["sequences"]: line["decode_tokens_per_second"] for line in lines}


def beside_a_busy_process(options, threads):
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        return decode(options, threads)
    finally:
        busy.kill()
        busy.wait()


def add(samples, row, name, figures):
    for sequences, speed in figures.items():
        samples.setdefault((*row, sequences), {}).setdefault(name, []).append(speed)


def under_quota(options, processors, threads):
    """Decode inside a control group that may use so many processors, or None without the right to make one."""
    try:
        QUOTA_GROUP.mkdir(exist_ok=True)
        (QUOTA_GROUP / "cpu.cfs_period_us").write_text("100000")
        (QUOTA_GROUP / "cpu.cfs_quota_us").write_text(str(int(processors * 100000)))
    except OSError:
        return None
    try:
        return decode(options, threads, ("sh", "-c", f'echo $$ > {QUOTA_GROUP}/cgroup.procs; exec "$0" "$@"'))
    finally:
        QUOTA_GROUP.rmdir()


def main():
    options = read_options()
    samples = {}
    counts = range(1, os.cpu_count() + 1)
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
        for threads in counts:
            add(samples, ("busy neighbour", threads), "quiet", decode(options, threads))
            add(samples, ("busy neighbour", threads), "beside", beside_a_busy_process(options, threads))
        for threads in (0, *counts):
            add(samples, ("one processor", "threads"), threads, decode(options, threads, ("taskset", "-c", "0")))
            quota = under_quota(options, 1.5, threads)
            if quota:
                add(samples, ("quota of 1.5", "threads"), threads, quota)
    lines = ["| beside one busy process: threads | sequences | quiet | beside | kept |", "|---|---|---|---|---|"]
    for (what, threads, sequences), by_name in samples.items():
        if what == "busy neighbour":
            quiet, beside = (statistics.median(by_name[name]) for name in ("quiet", "beside"))
            lines.append(f"| {threads} | {sequences} | {quiet:.1f} | {beside:.1f} | {beside / quiet:.0%} |")
    lines += ["", "| confined to | sequences | default | best explicit | share |", "|---|---|---|---|---|"]
    for (what, _, sequences), by_name in samples.items():
        if what != "busy neighbour":
            medians = {threads: statistics.median(values) for threads, values in by_name.items()}
            best = max(value for threads, value in medians.items() if threads)
            lines.append(f"| {what} | {sequences} | {medians[0]:.1f} | {best:.1f} | {medians[0] / best:.0%} |")
    with served_process.Server([f"{options.build}/paternoster", "serve", options.model, "--port", "{port}"]) as server:
        time.sleep(1)
        before = server.processor_seconds()
        time.sleep(10)
        idle = (server.processor_seconds() - before) / 10
    lines += ["", f"An idle server uses {idle:.2%} of a processor (clock ticks of 10 ms)."]
    samples[("idle server",)] = {"share": [idle]}
    results.keep("shared-machine", f"{pathlib.Path(options.model).name}, decode tok/s, medians of {options.rounds} "
                 "interleaved rounds.", "\n".join(lines), {str(row): by_name for row, by_name in samples.items()})


if __name__ == "__main__":
    sys.exit(main())
