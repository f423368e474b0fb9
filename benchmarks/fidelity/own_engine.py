#!/usr/bin/env python3
"""The simulator against our own engine: calibrate once, serve six workloads for real, simulate the same arrivals.

    benchmarks/fidelity/own_engine.py [--rounds 2] [--requests 120] [MODEL]    about a quarter of an hour
    benchmarks/fidelity/own_engine.py --short                                  a few minutes: whether all of it runs

The server and the load generator share this machine, so the figures are only worth something on a quiet one; the spread of the
real rounds stands beside them. Latencies of real runs count from when a request was due.
"""

import argparse
import json
import pathlib
import re
import subprocess
import tempfile

import common

SEATS, BUDGET, KV = 16, 256, 6144
LENGTHS = ["--input", "lognormal:96:0.6:384", "--output", "lognormal:48:0.6:160"]
CLASSES = ["--class", "chat,share=3,input=lognormal:64:0.5:256,output=lognormal:32:0.5:96",
           "--class", "batch,share=1,input=lognormal:256:0.4:400,output=lognormal:96:0.4:160"]


def workloads(knee):
    """Name, arrivals and lengths, KV tokens of the engine; rates relative to the measured knee."""
    yield "light", ["--arrivals", "poisson", "--rate", 0.3 * knee, *LENGTHS], KV
    yield "at the knee", ["--arrivals", "poisson", "--rate", 0.9 * knee, *LENGTHS], KV
    yield "120 % load", ["--arrivals", "poisson", "--rate", 1.2 * knee, *LENGTHS], KV
    yield "KV exhausted", ["--arrivals", "poisson", "--rate", 1.2 * knee, *LENGTHS], 1024
    yield "bursty", ["--arrivals", "gamma:0.25", "--rate", 0.7 * knee, *LENGTHS], KV
    yield "mixed classes", ["--arrivals", "poisson", "--rate", 0.6 * knee, *CLASSES], KV


class Server:
    def __init__(self, model, kv_tokens):
        self.process = subprocess.Popen(
            [common.binary(), "serve", model, "--port", "0", "--max-seqs", str(SEATS), "--step-tokens", str(BUDGET),
             "--kv-tokens", str(kv_tokens), "--max-len", "768", "--max-queue", "100000"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        self.url = re.search(r"http://\S+", line).group(0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def real(url, load, requests):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "run.json"
        common.run("bench", url, "--route", "completions", "--requests", requests, "--seed", 5, "--json", path, *load)
        return json.loads(path.read_text())


def simulated(profile, load, requests, kv_tokens):
    return common.simulate("--on", profile, "--requests", requests, "--seed", 5, "--preset", "vllm", "--max-seqs", SEATS,
                           "--step-tokens", BUDGET, "--kv-tokens", kv_tokens, "--max-len", 768, *load)


def off(real_runs, simulation, key):
    mean = sum(run[key] for run in real_runs) / len(real_runs)
    spread = (max(run[key] for run in real_runs) - min(run[key] for run in real_runs)) / mean * 100
    return f"{100 * (simulation[key] / mean - 1):+.1f} % (real +-{spread / 2:.1f} %)"


KEYS = ["mean_ttft_ms", "mean_tpot_ms", "mean_e2el_ms", "p95_ttft_ms", "p95_tpot_ms", "p95_e2el_ms", "duration",
        "output_throughput"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default="smollm2:135m")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--requests", type=int, default=120)
    parser.add_argument("--seconds", type=int, default=25, help="of calibration")
    parser.add_argument("--short", action="store_true", help="one round of 16 requests: says nothing about fidelity")
    options = parser.parse_args()
    if options.short:
        options.rounds, options.requests, options.seconds = 1, 16, 10
    with tempfile.TemporaryDirectory() as folder:
        profile = pathlib.Path(folder) / "calibration.json"
        print(common.run("calibrate", options.model, "--seconds", options.seconds, "--max-seqs", SEATS, "--step-tokens",
                         BUDGET, "--kv-tokens", KV, "--max-len", 768, "-o", profile))
        # The knee: what the engine serves when everybody is there at once.
        burst = simulated(profile, ["--arrivals", "at-once", *LENGTHS], options.requests, KV)
        knee = burst["request_throughput"]
        print(f"knee: {knee:.2f} requests/s", flush=True)
        rows = []
        for name, load, kv_tokens in workloads(knee):
            with Server(options.model, kv_tokens) as server:
                runs = [real(server.url, load, options.requests) for _ in range(options.rounds)]
            simulation = simulated(profile, load, options.requests, kv_tokens)
            rows.append([name, *[off(runs, simulation, key) for key in KEYS], simulation["preemptions"]])
            print(f"{name}: {runs[0]['completed']} requests in {runs[0]['duration']:.0f} s", flush=True)
        common.table(["workload", *KEYS, "preemptions simulated"], rows)


if __name__ == "__main__":
    main()
