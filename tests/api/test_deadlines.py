"""A timeout that the client gives is kept in the queue, in prefill and in decode."""

import json

import pytest
import served

import raw

LONG = {"prompt": "Tell me everything", "max_tokens": 3000, "ignore_eos": True}
SLOW = "".join(f" {number}" for number in range(100, 1000))  # 3600 tokens: much longer than SOON
SOON = str(150 * served.PATIENCE)


def missed(server, stage, group="default"):
    return server.value("paternoster_deadline_missed_total", stage=stage, **{"class": group})


def assert_408(response, where):
    assert response.status_code == 408, response.text
    error = response.json()["error"]
    assert error["type"] == "timeout_error" and error["code"] == "deadline_exceeded" and where in error["message"]
    assert response.headers["x-should-retry"] == "false"


@pytest.mark.parametrize("stream", [False, True])
def test_in_the_queue_it_is_408_streaming_or_not(start, stream):
    server = start("--max-seqs", "1", "--kv-tokens", "8192")
    with raw.connect(server) as first:
        first.sendall(raw.request("/v1/completions", LONG))
        assert served.eventually(lambda: server.running() == 1)
        assert_408(server.http.post("/v1/completions", json={**LONG, "stream": stream, "timeout_ms": 200,
                                                             "service_tier": "flex"}), "queue")
        assert missed(server, "queue", "flex") == 1
        assert server.running() == 1 and server.waiting() == 0


@pytest.mark.parametrize("stream", [False, True])
def test_in_prefill_it_is_408_streaming_or_not(server, stream):
    before = missed(server, "prefill")
    body = {"prompt": f"{stream} {SLOW}", "max_tokens": 5, "stream": stream}
    assert_408(server.http.post("/v1/completions", json=body, headers={"X-Request-Timeout-Ms": SOON}), "prefill")
    assert missed(server, "prefill") == before + 1
    assert server.quiet() and server.value("paternoster_kv_blocks", state="used") == 0


def test_in_decode_a_stream_ends_with_the_error(server):
    before = missed(server, "decode")
    body = {**LONG, "stream": True, "timeout_ms": 1500 * served.PATIENCE}
    with server.http.stream("POST", "/v1/completions", json=body) as response:
        assert response.status_code == 200
        events = [line.removeprefix("data: ") for line in response.iter_lines() if line.startswith("data: ")]
    assert events[-1] == "[DONE]" and len(events) > 3
    assert json.loads(events[-2])["error"]["code"] == "deadline_exceeded"
    assert missed(server, "decode") == before + 1
    assert server.quiet()


def test_in_decode_a_whole_answer_is_408(server):
    assert_408(server.http.post("/v1/completions", json={**LONG, "timeout_ms": 1500 * served.PATIENCE}), "decode")


def test_the_shorter_of_body_and_header_counts(server):
    assert_408(server.http.post("/v1/completions", json={**LONG, "timeout_ms": 600000},
                                headers={"X-Request-Timeout-Ms": str(1500 * served.PATIENCE)}), "decode")


def test_time_enough_changes_nothing(server):
    plain = server.complete("Once", max_tokens=8, seed=3)
    timed = server.complete("Once", max_tokens=8, seed=3, timeout_ms=600000)
    assert timed["choices"] == plain["choices"]


@pytest.mark.parametrize("header", ["X-Request-Timeout-Ms", "X-Priority"])
def test_a_header_that_is_no_number_is_named(server, header):
    response = server.http.post("/v1/completions", json={"prompt": "x"}, headers={header: "soon"})
    assert response.status_code == 400 and response.json()["error"]["param"] == header.lower()
