#!/usr/bin/env python3
"""How true `paternoster bench` is: against `paternoster mock`, whose timing is known exactly.

Each case plays a load to a mock and compares, request by request, what the load generator reports with
what the mock really did (its own stamps, same monotonic clock) and with what it was told to do. Counts
must be equal; the largest error of any reported time is printed and must stay within 2 ms, which wants a
machine with little else to do.

    benchmarks/bench/accuracy.py [--binary build/release/paternoster] [--limit-ms 2]
"""

import argparse
import json
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]

# name, flags of the mock, flags of the bench, what must come out
CASES = [
    ("steady", ["--ttft", "60ms", "--itl", "12ms"],
     ["--arrivals", "poisson", "--rate", "20", "--requests", "100"], {}),
    ("200 streams", ["--ttft", "200ms", "--itl", "40ms"],
     ["--arrivals", "closed:200", "--requests", "600"], {}),
    ("queue of 2 seats", ["--ttft", "30ms", "--itl", "5ms", "--seats", "2"],
     ["--arrivals", "burst:8", "--rate", "6", "--requests", "64"], {}),
    ("4 tokens a chunk", ["--ttft", "50ms", "--itl", "5ms", "--tokens-per-chunk", "4"],
     ["--arrivals", "closed:8", "--requests", "64"], {}),
    ("held by a buffer", ["--ttft", "50ms", "--itl", "5ms", "--hold-chunks", "8"],
     ["--arrivals", "closed:4", "--requests", "32"], {"note": "bunched"}),
    ("bytes in sevens", ["--ttft", "50ms", "--itl", "5ms", "--split-bytes", "7"],
     ["--arrivals", "closed:4", "--requests", "32"], {}),
    ("faults", ["--ttft", "40ms", "--itl", "5ms", "--fault", "refuse:10", "--fault", "disconnect:7",
                "--fault", "error:9", "--fault", "garble:13"],
     ["--arrivals", "closed:4", "--requests", "200"], {"faults": [10, 7, 9, 13]}),
]
INPUT, OUTPUT = 24, 24


def start_mock(binary, flags):
    process = subprocess.Popen([binary, "mock", "--port", "0", *flags], stdout=subprocess.PIPE, text=True)
    return process, process.stdout.readline().split()[-1]


def run_case(binary, mock_flags, bench_flags, folder):
    mock, url = start_mock(binary, mock_flags)
    try:
        subprocess.run([binary, "bench", url, *bench_flags, "--warm-up", "0", "--route", "completions",
                        "--input", f"fixed:{INPUT}", "--output", f"fixed:{OUTPUT}",
                        "--json", folder / "run.json", "--records", folder / "run.jsonl"],
                       check=True, stdout=subprocess.DEVNULL)
        truth = urllib.request.urlopen(url + "/mock/requests", timeout=10).read().decode()
    finally:
        mock.send_signal(signal.SIGTERM)
        mock.wait(10)
    summary = json.loads((folder / "run.json").read_text())
    records = [json.loads(line) for line in (folder / "run.jsonl").read_text().splitlines()]
    by_id = {entry["request_id"]: entry for entry in map(json.loads, truth.splitlines()) if entry["request_id"]}
    return summary, records, by_id


def errors_ms(records, truth):
    """What each reported time was off by: the client's duration minus the mock's own."""
    found = []
    for record in records:
        if record["status"] != "completed":
            continue
        mine = truth[f"bench-{record['id']}"]
        first = (record["first_token_ns"] - record["sent_ns"]) - (mine["first_ns"] - mine["arrived_ns"])
        last = (record["last_token_ns"] - record["sent_ns"]) - (mine["last_ns"] - mine["arrived_ns"])
        found += [first / 1e6, last / 1e6]
    return found


def wrong_counts(summary, records, truth, expected):
    wrong = []
    completed = [record for record in records if record["status"] == "completed"]
    faults = expected.get("faults", [])
    broken = sum(any(number % every == 0 for every in faults) for number in range(1, len(records) + 1))
    if len(completed) != len(records) - broken:
        wrong.append(f"{len(completed)} completed of {len(records)}, {broken} were broken on purpose")
    if summary["completed"] != len(completed) or summary["failed"] != len(records) - len(completed):
        wrong.append("the summary counts otherwise than the records")
    if any(record["output_tokens"] != OUTPUT or record["input_tokens"] != INPUT for record in completed):
        wrong.append("tokens are miscounted")
    if summary["total_output_tokens"] != OUTPUT * len(completed):
        wrong.append("the sum of tokens is wrong")
    codes = [note["code"] for note in summary["notes"]]
    if "note" in expected and expected["note"] not in codes:
        wrong.append(f"no note `{expected['note']}`")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(ROOT / "build/release/paternoster"))
    parser.add_argument("--limit-ms", type=float, default=2)
    options = parser.parse_args()
    good = True
    print(f"{'':<18} {'requests':>8} {'counts':>7} {'error p50':>10} {'p99':>8} {'largest':>8} {'generator late p99':>19}")
    for name, mock_flags, bench_flags, expected in CASES:
        with tempfile.TemporaryDirectory() as folder:
            summary, records, truth = run_case(options.binary, mock_flags, bench_flags, pathlib.Path(folder))
        wrong = wrong_counts(summary, records, truth, expected)
        errors = sorted(errors_ms(records, truth))
        p99 = errors[int(0.99 * (len(errors) - 1))]
        within = errors[0] >= 0 and errors[-1] <= options.limit_ms
        good = good and within and not wrong
        print(f"{name:<18} {len(records):>8} {'exact' if not wrong else 'WRONG':>7} {statistics.median(errors):>7.3f} ms"
              f" {p99:>5.2f} ms {errors[-1]:>5.2f} ms {summary['p99_lateness_ms']:>16.2f} ms"
              f"{'' if within else '   outside the limit'}")
        for line in wrong:
            print("    " + line)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
