"""A served SmolLM2 for the whole run, and clients for it. Tests that need other flags start their own."""

import contextlib

import httpx
import openai
import pytest

import served


class Api(served.Served):
    """The running server, with a plain HTTP client beside it."""

    def __enter__(self):
        super().__enter__()
        self.http = httpx.Client(base_url=self.origin, timeout=120 * served.PATIENCE)
        return self

    def __exit__(self, *failure):
        self.http.close()
        super().__exit__(*failure)

    def openai(self, **options):
        return openai.OpenAI(base_url=self.origin + "/v1", api_key="none", max_retries=0, timeout=120 * served.PATIENCE,
                             **options)

    def complete(self, prompt="Once upon a time", **fields):
        response = self.http.post("/v1/completions", json={"prompt": prompt, "temperature": 0, **fields})
        assert response.status_code == 200, response.text
        return response.json()

    def value(self, name, **labels):
        """One sample of /metrics."""
        wanted = [f'{key}="{value}"' for key, value in labels.items()]
        for line in self.http.get("/metrics").text.splitlines():
            if line.startswith(name + "{") and all(label in line for label in wanted):
                return float(line.rsplit(" ", 1)[1])
        raise AssertionError(f"no {name} {labels}")

    def waiting(self):
        return self.value("vllm:num_requests_waiting")


@contextlib.contextmanager
def api(*flags, model=None):
    with Api(served.need(model or served.SMOLLM2), *flags) as running:
        yield running


@pytest.fixture(scope="session")
def server():
    with api("--max-seqs", "8", "--max-queue", "64", "--kv-tokens", "32768", "--max-len", "4096",
             "--served-model-name", "smollm2,org/alias-model") as running:
        yield running


@pytest.fixture
def client(server):
    with server.openai() as opened:
        yield opened


@pytest.fixture
def start():
    """start(*flags): another server, drained at the test's end."""
    with contextlib.ExitStack() as stack:
        yield lambda *flags, **options: stack.enter_context(api(*flags, **options))
