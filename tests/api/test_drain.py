import signal
import threading

import httpx
import pytest
import served

from conftest import Api, api


def begin_stream(server, tokens):
    """A stream under way: (its lines as they come, the thread that reads them)."""
    lines = []

    def read():
        body = {"prompt": "Count:", "max_tokens": tokens, "ignore_eos": True, "stream": True}
        try:
            with httpx.stream("POST", server.origin + "/v1/completions", json=body, timeout=120) as response:
                lines.extend(response.iter_lines())
        except httpx.HTTPError as error:
            lines.append(repr(error))

    reader = threading.Thread(target=read)
    reader.start()
    assert served.eventually(lambda: server.running() == 1)
    return lines, reader


def test_sigterm_lets_streams_finish_and_refuses_new_ones():
    with api("--kv-tokens", "8192") as server:
        lines, reader = begin_stream(server, 600)
        server.process.send_signal(signal.SIGTERM)
        assert served.eventually(lambda: server.http.get("/health/ready").status_code == 503, 5)
        ready = server.http.get("/health")
        assert ready.json()["error"]["code"] == "draining"
        assert ready.headers["connection"] == "close" and "retry-after" in ready.headers
        assert server.http.get("/health/live").status_code == 200
        refused = server.http.post("/v1/completions", json={"prompt": "x"})
        assert refused.status_code == 503 and refused.json()["error"]["code"] == "draining"
        reader.join()
        assert "data: [DONE]" in lines and sum(line.startswith("data: {") for line in lines) > 500
        assert server.process.wait(10) == 0


@pytest.mark.parametrize("stream", [True, False])
def test_the_drain_has_an_end(stream):
    with api("--kv-tokens", "8192", "--drain-timeout", "1") as server:
        answers = []

        def ask():
            body = {"prompt": "Count:", "max_tokens": 3000, "ignore_eos": True, "stream": stream}
            answers.append(server.http.post("/v1/completions", json=body))

        asking = threading.Thread(target=ask)
        asking.start()
        assert served.eventually(lambda: server.running() == 1)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(20 * served.PATIENCE) == 0
        asking.join()
    answer = answers[0]
    if stream:
        assert answer.status_code == 200 and answer.text.rstrip().endswith("data: [DONE]")
    else:
        assert answer.status_code == 503
    assert '"code":"draining"' in answer.text and "before the answer was complete" in answer.text


def test_sigterm_ends_an_idle_server_at_once():
    with api("--kv-tokens", "8192") as server:
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(5) == 0


def test_a_second_signal_stops_at_once():
    server = Api(served.need(served.SMOLLM2), "--kv-tokens", "8192").__enter__()
    lines, reader = begin_stream(server, 3000)
    server.process.send_signal(signal.SIGTERM)
    assert served.eventually(lambda: server.http.get("/health").status_code == 503, 5)
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(5) == 1
    reader.join()
    assert "data: [DONE]" not in lines
    server.http.close()
