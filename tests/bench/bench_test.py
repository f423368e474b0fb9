"""`paternoster bench` against `paternoster mock`, as a person runs them; the report in Chromium."""

import asyncio
import json
import os
import pathlib
import shutil
import signal
import ssl
import subprocess
import tempfile
import threading
import unittest
import urllib.request

from playwright.sync_api import sync_playwright

BINARY = os.environ["PATERNOSTER_BINARY"]
CHROMIUM = os.environ.get("PATERNOSTER_CHROMIUM") or shutil.which("chromium")
SCREENSHOTS = pathlib.Path(os.environ.get("PATERNOSTER_SCREENSHOTS", "."))

# What programs that read vLLM's results look for.
VLLM_KEYS = """date backend label model_id tokenizer_id num_prompts request_rate burstiness max_concurrency duration
completed failed total_input_tokens total_output_tokens request_throughput request_goodput output_throughput
total_token_throughput max_output_tokens_per_s max_concurrent_requests mean_ttft_ms median_ttft_ms std_ttft_ms
p99_ttft_ms mean_tpot_ms median_tpot_ms mean_itl_ms p99_itl_ms mean_e2el_ms p99_e2el_ms input_lens output_lens ttfts
itls start_times errors""".split()


class Mock:
    def __init__(self, *flags):
        self.process = subprocess.Popen([BINARY, "mock", "--port", "0", *flags], stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split()[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)
        self.process.stdout.close()
        assert self.process.returncode == 0, self.process.returncode


def bench(*arguments, code=0, environment=None):
    done = subprocess.run([BINARY, "bench", *map(str, arguments)], capture_output=True, text=True, timeout=300,
                          env={**os.environ, **(environment or {})})
    assert done.returncode == code, f"{done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


class TlsProxy:
    """TLS in front of a server, with a certificate of its own for 127.0.0.1, as a proxy terminates it."""

    def __init__(self, target, folder):
        self.certificate = folder / "certificate.pem"
        key = folder / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", self.certificate],
                       check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, key)
        self.target = target.removeprefix("http://").split(":")
        self.context = context
        self.loop = asyncio.new_event_loop()
        self.server = self.loop.run_until_complete(asyncio.start_server(self.serve, "127.0.0.1", 0, ssl=context))
        self.url = f"https://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()

    async def serve(self, reader, writer):
        there, back = await asyncio.open_connection(self.target[0], int(self.target[1]))

        async def copy(source, sink):
            try:
                while data := await source.read(65536):
                    sink.write(data)
                    await sink.drain()
            except (OSError, ssl.SSLError):
                pass
            sink.close()

        await asyncio.gather(copy(reader, back), copy(there, writer))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.server.close()
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.run_until_complete(asyncio.sleep(0.05))
        self.loop.close()


QUICK = ["--ttft", "10ms", "--itl", "2ms"]
SMALL = ["--input", "fixed:20", "--output", "fixed:6", "--warm-up", "2"]


class BenchTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_a_run_writes_what_vllms_readers_want(self):
        path = self.folder / "run.json"
        with Mock(*QUICK, "--fault", "refuse:10") as mock:
            out = bench(mock.url, *SMALL, "--arrivals", "closed:4", "--requests", "58", "--json", path, "--slo", "ttft=1s")
        result = json.loads(path.read_text())
        self.assertEqual([key for key in VLLM_KEYS if key not in result], [])
        # The two of the warm-up were numbers one and two: six of sixty are refused.
        self.assertEqual((result["completed"], result["failed"]), (52, 6))
        self.assertEqual(result["total_output_tokens"], 52 * 6)
        self.assertEqual(result["total_input_tokens"], 52 * 20)
        self.assertEqual(len(result["ttfts"]), 58)
        self.assertEqual(sum(1 for error in result["errors"] if error), 6)
        self.assertIn("52 completed, 6 refused", out)
        self.assertIn("The commonest reason: status 503", out)

    def test_records_are_a_trace_that_plays_again(self):
        records = self.folder / "seen.jsonl"
        again = self.folder / "again.jsonl"
        with Mock(*QUICK) as mock:
            bench(mock.url, *SMALL, "--rate", "50", "--requests", "20", "--records", records)
            bench(mock.url, "--trace", records, "--records", again, "--warm-up", "0")
        lines = [json.loads(line) for line in again.read_text().splitlines()]
        self.assertEqual(len(lines), 20)
        self.assertEqual({(line["input_tokens"], line["output_tokens"]) for line in lines}, {(20, 6)})

    def test_a_sweep_finds_the_knee_of_a_server_of_known_capacity(self):
        # Two seats of 60 ms: 33 requests a second, no more.
        path = self.folder / "sweep.json"
        with Mock("--ttft", "50ms", "--itl", "2ms", "--seats", "2") as mock:
            out = bench(mock.url, *SMALL, "--arrivals", "constant", "--duration", "3s", "--sweep", "8,16,80",
                        "--slo", "ttft=400ms", "--json", path)
        self.assertIn("Knee: the server keeps up to 16 requests/s.", out)
        self.assertIn("is met up to 16 requests/s", out)
        self.assertEqual([json.loads(line)["request_rate"] for line in path.read_text().splitlines()], [8, 16, 80])

    def test_the_highest_rate_that_meets_a_target_is_found(self):
        with Mock("--ttft", "50ms", "--itl", "2ms", "--seats", "2") as mock:
            out = bench(mock.url, *SMALL, "--arrivals", "constant", "--duration", "2s", "--find-limit", "--rate", "16",
                        "--precision", "0.5", "--slo", "ttft=300ms")
        self.assertRegex(out, r"The highest rate that meets ttft=300ms\S* is (16|24|32|36|48) requests/s")

    def test_compare_tells_a_slower_server_from_noise(self):
        files = [self.folder / name for name in ("a.json", "b.json")]
        for path, ttft in zip(files, ("20ms", "60ms")):
            with Mock("--ttft", ttft, "--itl", "2ms") as mock:
                bench(mock.url, *SMALL, "--arrivals", "closed:2", "--requests", "40", "--json", path, "--label", ttft)
        out = bench("compare", *files)
        self.assertRegex(out, r"median_ttft_ms .* worse")
        self.assertRegex(out, r"success_rate .* within noise")
        self.assertIn("Nothing differs", bench("compare", files[0], files[0]))

    def test_wrong_calls_say_what_to_do(self):
        for arguments, code, text in [
            (["ftp://x"], 1, "http://HOST"),
            (["http://127.0.0.1:1"], 1, "cannot connect to http://127.0.0.1:1"),
            (["--find-limit"], 2, "--slo"),
            (["--sweep", "4,2"], 2, "ascending"),
            (["--slo", "soon"], 1, "soon"),
            (["--prompts", "/nowhere"], 1, "/nowhere"),
            (["compare", "/nowhere", "/nowhere"], 1, "/nowhere"),
        ]:
            if arguments[0] == "--prompts":
                with Mock(*QUICK) as mock:
                    self.assertIn(text, bench(mock.url, *arguments, code=code))
            else:
                self.assertIn(text, bench(*arguments, code=code))

    def test_prompts_of_a_file_are_sent_as_they_are(self):
        prompts = self.folder / "prompts.jsonl"
        prompts.write_text('plain words here\n{"messages":[{"role":"user","content":"one two"}],"max_tokens":3}\n'
                           '{"conversations":[{"from":"human","value":"a b c d"}]}\n')
        records = self.folder / "seen.jsonl"
        with Mock(*QUICK) as mock:
            bench(mock.url, "--prompts", prompts, "--requests", "6", "--arrivals", "closed:1", "--output", "fixed:5",
                  "--records", records)
        seen = [json.loads(line) for line in records.read_text().splitlines()]
        self.assertEqual([line["input_tokens"] for line in seen], [4, 3, 5, 4, 3, 5])
        self.assertEqual([line["output_tokens"] for line in seen], [5, 3, 5, 5, 3, 5])

    def test_https_servers_are_measured_and_their_certificates_checked(self):
        path = self.folder / "run.json"
        with Mock(*QUICK) as mock, TlsProxy(mock.url, self.folder) as proxy:
            load = [*SMALL, "--arrivals", "closed:4", "--requests", "40", "--json", path]
            self.assertIn("certificate", bench(proxy.url, *load, code=1))
            bench(proxy.url, *load, environment={"SSL_CERT_FILE": str(proxy.certificate)})
            trusted = json.loads(path.read_text())
            bench(proxy.url, *load, "--insecure")
        for result in (trusted, json.loads(path.read_text())):
            self.assertEqual((result["completed"], result["failed"]), (40, 0))
            self.assertEqual(result["total_output_tokens"], 40 * 6)

    def test_a_ramp_sends_faster_and_faster(self):
        records = self.folder / "seen.jsonl"
        with Mock("--ttft", "1ms", "--itl", "1ms") as mock:
            out = bench(mock.url, *SMALL, "--arrivals", "ramp:5:45:2s", "--records", records)
        self.assertIn("from 5/s to 45/s in 2s", out)
        times = [json.loads(line)["scheduled_ns"] / 1e9 for line in records.read_text().splitlines()]
        self.assertEqual(len(times), 50)
        self.assertLess(sum(time < 1 for time in times), sum(1 <= time < 2 for time in times))

    def test_what_a_class_asks_for_is_sent(self):
        with Mock(*QUICK) as mock:
            bench(mock.url, *SMALL, "--class", "hurried,priority=-1,deadline=30s", "--requests", "5", "--rate", "50",
                  "--guesses", "--guess-sigma", "0.5", "--arrivals", "constant")
            lines = urllib.request.urlopen(mock.url + "/mock/requests", timeout=10).read().decode().splitlines()
        asked = [json.loads(line) for line in lines if '"bench-' in line]
        self.assertEqual({(entry["priority"], entry["timeout_ms"]) for entry in asked}, {(-1, 30000)})
        self.assertTrue(all(1 <= entry["expected_tokens"] <= 6 for entry in asked))

    def test_what_nothing_would_read_is_refused(self):
        for words, code, text in [
            (["--class", "hurried,deadline=30s", "--plain"], 1, "--plain leaves out"),
            (["--class", "hurried,priority=2", "--plain"], 1, "--plain leaves out"),
            (["--guess-sigma", "0.5"], 1, "--guesses"),
            (["--guesses", "--plain"], 2, "--plain"),
            (["--speed", "2"], 1, "--speed"),
            (["--arrivals", "closed:2", "--rate", "3"], 1, "--rate"),
            (["--prefix-count", "2"], 1, "--prefix-tokens"),
            (["--trace-format", "azure"], 1, "--trace"),
            (["--overlay", "x"], 2, "--html"),
            (["--precision", "0.1"], 2, "--find-limit"),
            (["--sweep", "1,2", "--rate", "3"], 2, "--rate"),
            (["--duration", "1s", "--requests", "3"], 2, "--requests"),
            (["--tenant-key", "a=b"], 2, "--tenant"),
        ]:
            self.assertIn(text, bench("http://127.0.0.1:1", *words, code=code), words)

    def test_the_report_opens_offline_and_draws(self):
        first, report = self.folder / "first.jsonl", self.folder / "report.html"
        with Mock(*QUICK, "--seats", "4") as mock:
            classes = ["--class", "chat,share=3,output=fixed:10", "--class", "batch,output=fixed:40"]
            bench(mock.url, *SMALL, *classes, "--rate", "40", "--requests", "60", "--records", first)
            bench(mock.url, *SMALL, *classes, "--rate", "60", "--requests", "60", "--html", report, "--overlay", first,
                  "--slo", "ttft=100ms", "--label", "faster")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.set_default_timeout(180_000)  # a busy machine starts browsers slowly
            faults, fetched = [], []
            page.on("pageerror", lambda error: faults.append(str(error)))
            page.on("request", lambda request: fetched.append(request.url))
            page.goto(report.as_uri())
            self.assertGreaterEqual(page.locator("figure svg").count(), 7)
            self.assertGreater(page.locator("svg .curve").count(), 8)
            self.assertIn("TTFT p95, ms", page.locator("table").first.inner_text())
            figure = page.locator("figure").first
            figure.locator("svg").hover()
            self.assertTrue(page.locator(".tip").is_visible())
            figure.locator(".legend button").first.click()
            self.assertEqual(page.evaluate("document.body.scrollWidth <= innerWidth"), True)
            page.screenshot(path=str(SCREENSHOTS / "report.png"), full_page=True)
            browser.close()
        self.assertEqual(faults, [])
        self.assertEqual(fetched, [report.as_uri()])


if __name__ == "__main__":
    unittest.main()
