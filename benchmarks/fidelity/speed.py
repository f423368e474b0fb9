#!/usr/bin/env python3
"""How fast the simulator is: a million requests of the Azure conversation trace, repeated, under `vllm` on one processor,
beside a discrete-event simulation of the same policy in Python on simpy (PyPI).

    benchmarks/fidelity/speed.py AzureLLMInferenceTrace_conv.csv [REQUESTS]

Time is processor time (user + system), since the machine may be shared; memory is the peak of the process. The Python
simulation has continuous batching with chunked prompts and one step's time from the same four coefficients, and nothing
else: no KV blocks, no preemption, no metrics. It runs on fewer requests, since it takes its time.

Vidur (PyPI, 0.0.26) is not the peer: its package has no profiles and fetches them from Hugging Face when it starts.
"""

import csv
import datetime
import resource
import subprocess
import sys
import time

import common

SEATS, BUDGET = 128, 2048
C0, C1, C2, C3 = 0.0099, 4.0e-5, 9.6e-8, 1.4e-10  # llama-3.1-8b-rtxpro6000


def read(path, count):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    begin = datetime.datetime.fromisoformat(rows[0]["TIMESTAMP"][:26])
    for row in rows[:count]:
        at = (datetime.datetime.fromisoformat(row["TIMESTAMP"][:26]) - begin).total_seconds()
        yield at, int(row["ContextTokens"]), int(row["GeneratedTokens"])


class Sequence:
    __slots__ = ("prompt", "output", "computed", "made")

    def __init__(self, prompt, output):
        self.prompt, self.output, self.computed, self.made = prompt, output, 0, 0


def python_simulation(requests):
    import simpy

    environment = simpy.Environment()
    waiting, running = [], []
    wake = [environment.event()]
    counts = {"steps": 0, "sequence_steps": 0, "done": 0}

    def arrivals():
        for at, prompt, output in requests:
            yield environment.timeout(at - environment.now)
            waiting.append(Sequence(prompt, output))
            if not wake[0].triggered:
                wake[0].succeed()

    def engine():
        while counts["done"] < len(requests):
            budget, context, pairs, plan = BUDGET, 0, 0, []
            for one in running:
                if one.computed >= one.prompt:
                    plan.append((one, 1))
                    budget -= 1
                    context += one.computed
            for one in running:
                if one.computed < one.prompt and budget > 0:
                    chunk = min(budget, one.prompt - one.computed)
                    plan.append((one, chunk))
                    budget -= chunk
                    pairs += chunk * (one.computed + chunk / 2)
            while waiting and budget > 0 and len(running) < SEATS:
                one = waiting.pop(0)
                running.append(one)
                chunk = min(budget, one.prompt)
                plan.append((one, chunk))
                budget -= chunk
                pairs += chunk * chunk / 2
            if not plan:
                wake[0] = environment.event()
                yield wake[0]
                continue
            yield environment.timeout(C0 + C1 * (BUDGET - budget) + C2 * context + C3 * pairs)
            counts["steps"] += 1
            counts["sequence_steps"] += len(plan)
            for one, tokens in plan:
                one.computed += tokens
                if one.computed >= one.prompt:
                    one.made += 1
                    if one.made >= one.output:
                        running.remove(one)
                        counts["done"] += 1

    environment.process(arrivals())
    environment.process(engine())
    began = time.process_time()
    environment.run()
    return counts, time.process_time() - began


def ours(trace, requests):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = common.simulate("--on", "llama-3.1-8b-rtxpro6000", "--trace", trace, "--requests", requests)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return result, seconds, after.ru_maxrss / 1024


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    rows = []

    def row(name, requests, seconds, steps, sequence_steps, memory):
        rows.append([name, f"{requests:,}", f"{seconds:.1f}", f"{requests / seconds:,.0f}", f"{steps / seconds:,.0f}",
                     f"{sequence_steps / seconds:,.0f}", memory])

    for requests in (count // 10, count):
        result, seconds, memory = ours(sys.argv[1], requests)
        row("paternoster simulate", requests, seconds, result["steps"], result["sequence_steps"], f"{memory:.0f}")
    try:
        requests = list(read(sys.argv[1], 3000))
        counts, seconds = python_simulation(requests)
        row("simpy", len(requests), seconds, counts["steps"], counts["sequence_steps"], "")
    except ImportError:
        print("no simpy: pip install simpy for the comparison")
    common.table(["simulator", "requests", "processor s", "requests/s", "steps/s", "sequence-steps/s", "peak MiB"], rows)


if __name__ == "__main__":
    main()
