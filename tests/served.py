"""A running `paternoster serve` for a test, and streams against it. Standard library only."""

import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

BINARY = os.environ["PATERNOSTER_BINARY"]
CACHE = pathlib.Path(
    os.environ.get("PATERNOSTER_CACHE")
    or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "paternoster"
)
SMOLLM2 = CACHE / "models" / "smollm2-135m-instruct-q4_1.gguf"
GEMMA3 = CACHE / "models" / "gemma3-270m-q4_k_m.gguf"

# How much longer everything may take: sanitizers make a forward pass several times slower.
PATIENCE = int(os.environ.get("PATERNOSTER_TEST_PATIENCE", "1"))


def need(model):
    if not model.exists():
        raise AssertionError(f"{model} is not there; `make test` fetches it")
    return str(model)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Served:
    """The server as a context: ready on entry, drained on exit."""

    def __init__(self, model, *flags):
        self.port = free_port()
        self.origin = f"http://127.0.0.1:{self.port}"
        self.log = open(f"serve-{self.port}.log", "w+")
        command = [BINARY, "serve", str(model), "--port", str(self.port), *flags]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT)

    def __enter__(self):
        for _ in range(600 * PATIENCE):
            if self.process.poll() is not None:
                break
            try:
                with urllib.request.urlopen(self.origin + "/health/ready", timeout=2):
                    return self
            except (OSError, urllib.error.URLError):
                time.sleep(0.1)
        self.process.kill()
        self.log.seek(0)
        raise AssertionError("the server did not get ready:\n" + self.log.read()[-4000:])

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(60 * PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError("the server did not drain within a minute") from None
        finally:
            self.log.close()
        assert code == 0, f"serve ended with {code}"

    def metric(self, name):
        with urllib.request.urlopen(self.origin + "/metrics", timeout=10) as response:
            for line in response.read().decode().splitlines():
                if line.split("{")[0].split(" ")[0] == name:
                    return float(line.rsplit(" ", 1)[1])
        raise AssertionError(f"no metric {name}")

    def running(self):
        return self.metric("vllm:num_requests_running")

    def quiet(self, within=20):
        """Waits until nobody runs."""
        return eventually(lambda: self.running() == 0, within)


class Stream(threading.Thread):
    """One streamed completion over the API; `times` holds when each token came."""

    def __init__(self, server, prompt="Once upon a time", tokens=200, request_id=None, **fields):
        super().__init__(daemon=True)
        self.server = server
        self.body = {"prompt": prompt, "max_tokens": tokens, "stream": True, "ignore_eos": True, **fields}
        self.headers = {"Content-Type": "application/json"}
        if request_id is not None:
            self.headers["X-Request-Id"] = request_id
        self.times = []
        self.failure = None
        self.stopped = False
        self.start()

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=300)
        try:
            connection.request("POST", "/v1/completions", json.dumps(self.body), self.headers)
            response = connection.getresponse()
            if response.status != 200:
                raise AssertionError(f"{response.status}: {response.read(500)}")
            for line in response:
                if line.startswith(b"data: {"):
                    self.times.append(time.time())
                if self.stopped:
                    break
        except Exception as error:  # told by the test, in its own thread
            self.failure = error
        finally:
            connection.close()

    def stop(self):
        """Goes away after the next token, as a client does; the server cancels the rest."""
        self.stopped = True
        return self.done()

    def done(self):
        self.join(300)
        assert not self.is_alive(), "the stream did not end"
        assert self.failure is None, self.failure
        return self.times


def eventually(condition, within=20):
    end = time.time() + within * PATIENCE
    while time.time() < end:
        if condition():
            return True
        time.sleep(0.05)
    return bool(condition())
