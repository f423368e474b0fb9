"""simulate, advise and calibrate as a person calls them: files that come out, words that are refused."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

BINARY = os.environ["PATERNOSTER_BINARY"]
LOAD = ["--on", "opt-13b-a100-80g", "--requests", "60", "--rate", "4", "--input", "uniform:20-200", "--output",
        "uniform:5-60"]


def load(**instead):
    """LOAD with some values replaced or added."""
    words = list(LOAD)
    for name, value in instead.items():
        flag = "--" + name.replace("_", "-")
        if flag in words:
            words[words.index(flag) + 1] = value
        else:
            words += [flag, value]
    return words


def run(*arguments):
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False)


class Simulate(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_every_output_holds_the_same_run(self):
        names = {name: self.folder / name for name in ("json", "records", "perfetto", "html", "journal")}
        done = run("simulate", *LOAD, "--slo", "ttft=1s,itl=80ms@p95", *[word for name, path in names.items()
                                                                       for word in (f"--{name}", path)])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("60 completed", done.stdout)
        self.assertIn("if every coefficient is off by 10 %", done.stdout)
        summary = json.loads(names["json"].read_text())
        records = [json.loads(line) for line in names["records"].read_text().splitlines()]
        self.assertEqual(summary["completed"], 60)
        self.assertEqual(len(records), 60)
        self.assertEqual(sum(record["output_tokens"] for record in records), summary["total_output_tokens"])
        ttft = sum(record["first_token_ns"] - record["scheduled_ns"] for record in records) / 60 / 1e6
        self.assertAlmostEqual(ttft, summary["mean_ttft_ms"], places=6)
        trace = json.loads(names["perfetto"].read_text())
        self.assertEqual(sum(event["name"] == "decode" for event in trace["traceEvents"]), 60)
        self.assertEqual(names["journal"].read_bytes()[:4], b"PNJ3")
        page = names["html"].read_text()
        self.assertIn("<html", page)
        self.assertNotIn("src=\"http", page)

    def test_equal_seeds_give_equal_bytes(self):
        texts = []
        for seed in (1, 1, 2):
            path = self.folder / "records"
            self.assertEqual(run("simulate", *LOAD, "--no-bands", "--seed", seed, "--records", path).returncode, 0)
            texts.append(path.read_bytes())
        self.assertEqual(texts[0], texts[1])
        self.assertNotEqual(texts[0], texts[2])

    def test_presets_and_fleets(self):
        done = run("simulate", *LOAD, "--preset", "vllm,orca,static", "--no-bands")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("60 completed"), 3)
        done = run("simulate", *LOAD, "--instances", 2, "--fleet", "scls", "--fault", "die#2@3s")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("60 completed", done.stdout)
        self.assertIn("slices a request", done.stdout)

    def test_records_are_a_trace_and_a_measurement(self):
        path = self.folder / "records"
        run("simulate", *load(requests=80, records=path), "--no-bands")
        again = run("simulate", "--on", "opt-13b-a100-80g", "--trace", path, "--no-bands")
        self.assertIn("80 requests of the records trace", again.stdout)
        fit = run("calibrate", "--requests", path, "--max-seqs", 256, "--step-tokens", 2048, "--kv-tokens", 66144,
                  "--max-len", 2048, "-o", self.folder / "fit")
        self.assertEqual(fit.returncode, 0, fit.stderr)
        self.assertEqual(run("simulate", *load(on=self.folder / "fit"), "--no-bands").returncode, 0)

    def test_what_is_wrong_is_said_in_one_line(self):
        bad = self.folder / "bad.csv"
        bad.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,5,x\n")
        for instead, words in (({"on": "absent"}, "no file absent"), ({"preset": "best"}, "no preset"),
                               ({"order": "best"}, "no order 'best'"), ({"slo": "x"}, "objective"),
                               ({"input": "x"}, "length distribution"), ({"fault": "x"}, "fault"),
                               ({"trace": bad}, "bad.csv:2:"), ({"json": "/absent/x"}, "/absent/x")):
            done = run("simulate", *load(**instead))
            self.assertEqual(done.returncode, 1, instead)
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for words, text in ((["--max-batch", 4], "--fleet"), (["--window", "1s"], "--boarding window"),
                            (["--instances", 2, "--journal", "x"], "--journal"),
                            (["--fleet", "scls", "--preset", "vllm"], "static batches"),
                            (["--preset", "vllm", "--swap-tokens", 100], "--relief swap")):
            done = run("simulate", *LOAD, *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(text, done.stderr)
        for words, text in ((["--speed", 2], "--speed"), (["--guess-sigma", 1], "--guesses"),
                            (["--trace-format", "azure"], "--trace")):
            done = run("simulate", *LOAD, *words)
            self.assertEqual(done.returncode, 1, words)
            self.assertIn(text, done.stderr)
        self.assertEqual(run("simulate").returncode, 2)
        self.assertEqual(run("simulate", *load(rate="fast")).returncode, 2)


class Advise(unittest.TestCase):
    def test_names_a_command_and_a_runner_up(self):
        done = run("advise", *LOAD, "--slo", "ttft=1s,itl=80ms@p95", "--preset", "vllm,static", "--max-seqs", 32)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("paternoster serve MODEL --preset", done.stdout)
        self.assertIn("runner-up", done.stdout)
        self.assertIn("why: ", done.stdout)

    def test_names_how_many_engines_it_takes(self):
        done = run("advise", *load(rate="40", requests="300"), "--slo", "ttft=1s,itl=80ms@p95", "--preset", "vllm",
                   "--max-seqs", 32, "--step-tokens", 512)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"on each of [2-8] machines, requests to the least loaded")
        self.assertIn("on so many engines", done.stdout)
        refused = run("advise", *LOAD, "--slo", "ttft=1s", "--instances", "4,2")
        self.assertEqual(refused.returncode, 2)

    def test_says_when_nobody_meets_another(self):
        done = run("advise", "--on", "opt-13b-a100-80g", "--requests", 20, "--arrivals", "constant", "--rate", "0.01",
                   "--slo", "ttft=1s", "--preset", "vllm,static", "--max-seqs", 8, "--step-tokens", 512)
        self.assertIn("One user never overlaps another", done.stdout)


if __name__ == "__main__":
    unittest.main()
