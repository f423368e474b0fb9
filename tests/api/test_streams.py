import json
import threading
import time

import httpx
import pytest

import raw
from catalogue import CHAT, TEXT

ROUTES = {"/v1/chat/completions": CHAT, "/v1/completions": TEXT}


def events(response):
    """The parsed events; [DONE] must come last."""
    lines = [line for line in response.text.split("\n\n") if line and not line.startswith(":")]
    assert lines[-1] == "data: [DONE]"
    return [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]


@pytest.mark.parametrize("path", ROUTES)
def test_framing_to_the_byte(server, path):
    with raw.connect(server) as sock:
        sock.sendall(raw.request(path, {**ROUTES[path], "stream": True, "ignore_eos": True}))
        status, headers, body = raw.read_response(sock)
    assert status == 200 and headers["content-type"] == "text/event-stream"
    assert headers["cache-control"] == "no-cache" and headers["x-accel-buffering"] == "no"
    assert b"\r" not in body and body.endswith(b"\n\ndata: [DONE]\n\n")
    for event in body.decode().split("\n\n")[:-1]:
        assert event.startswith("data: ") and not event.startswith("data:  ") and "\n" not in event


def test_chat_chunks_in_order(server):
    body = {**CHAT, "stream": True, "ignore_eos": True, "stream_options": {"include_usage": True}}
    chunks = events(server.http.post("/v1/chat/completions", json=body))
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert chunks[-2]["choices"][0]["delta"] == {} and chunks[-2]["choices"][0]["finish_reason"] == "length"
    assert chunks[-1]["choices"] == [] and chunks[-1]["usage"]["completion_tokens"] == 4
    assert all(chunk["usage"] is None for chunk in chunks[:-1])
    assert len({chunk["id"] for chunk in chunks}) == 1
    assert all(chunk["object"] == "chat.completion.chunk" for chunk in chunks)


@pytest.mark.parametrize("path", ROUTES)
def test_no_usage_unless_wished_for(server, path):
    chunks = events(server.http.post(path, json={**ROUTES[path], "stream": True}))
    assert all("usage" not in chunk and chunk["choices"] for chunk in chunks)


def test_continuous_usage_counts_up(server):
    body = {**TEXT, "max_tokens": 12, "stream": True, "ignore_eos": True,
            "stream_options": {"include_usage": True, "continuous_usage_stats": True}}
    chunks = events(server.http.post("/v1/completions", json=body))
    counts = [chunk["usage"]["completion_tokens"] for chunk in chunks]
    assert counts == sorted(counts) and counts[-1] == 12 and counts[0] <= 2
    assert all(chunk["usage"]["prompt_tokens"] == chunks[-1]["usage"]["prompt_tokens"] for chunk in chunks)


@pytest.mark.parametrize("path", ROUTES)
def test_a_stream_says_what_the_whole_answer_says(server, path):
    body = {**ROUTES[path], "max_tokens": 20, "n": 2, "seed": 3, "temperature": 1, "return_token_ids": True}
    body |= {"logprobs": 2} if path == "/v1/completions" else {"logprobs": True, "top_logprobs": 2}
    whole = server.http.post(path, json=body).json()
    chunks = events(server.http.post(path, json={**body, "stream": True}))
    for choice in whole["choices"]:
        mine = [part for chunk in chunks for part in chunk["choices"] if part["index"] == choice["index"]]
        ids = [token for part in mine for token in part.get("token_ids", [])]
        assert ids == choice["token_ids"]
        if path == "/v1/completions":
            assert "".join(part["text"] for part in mine) == choice["text"]
            for key in ("tokens", "token_logprobs", "text_offset", "top_logprobs"):
                assert [x for part in mine if part["logprobs"] for x in part["logprobs"][key]] == \
                    choice["logprobs"][key]
        else:
            assert "".join(part["delta"].get("content", "") for part in mine) == choice["message"]["content"]
            assert [x for part in mine if part["logprobs"] for x in part["logprobs"]["content"]] == \
                choice["logprobs"]["content"]
        assert mine[-1]["finish_reason"] == choice["finish_reason"]


def test_openai_streams(client):
    stream = client.chat.completions.create(model="smollm2", stream=True, max_tokens=6,
                                            stream_options={"include_usage": True},
                                            messages=[{"role": "user", "content": "Hi"}])
    chunks = list(stream)
    assert chunks[-1].usage.completion_tokens <= 6 and chunks[-1].choices == []


def test_five_streams_run_together(server):
    began = threading.Barrier(5)
    spans, failures = [], []

    def one(number):
        try:
            began.wait()
            body = {"prompt": f"Story {number}:", "max_tokens": 120, "ignore_eos": True, "stream": True}
            times = []
            with httpx.stream("POST", server.origin + "/v1/completions", json=body, timeout=120) as response:
                for line in response.iter_lines():
                    if line.startswith("data: {"):
                        times.append(time.monotonic())
            spans.append((times[0], times[-1]))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert max(first for first, _ in spans) < min(last for _, last in spans), "they took turns"


def test_http_1_0_gets_a_plain_stream(server):
    with raw.connect(server) as sock:
        sock.sendall(raw.request("/v1/completions", {**TEXT, "stream": True}, version="1.0"))
        status, headers, rest = raw.read_head(sock)
        while more := sock.recv(65536):
            rest += more
    assert status == 200 and "transfer-encoding" not in headers
    assert rest.endswith(b"data: [DONE]\n\n")


def test_live_feed_shows_a_running_sequence(server):
    with httpx.stream("GET", server.origin + "/live", timeout=30) as live:
        lines = live.iter_lines()
        sender = threading.Thread(target=server.complete, kwargs={"max_tokens": 150, "ignore_eos": True})
        sender.start()
        for line in lines:
            if not line.startswith("data: "):
                continue
            frame = json.loads(line[6:])
            if any(sequence["state"] == "decode" for sequence in frame["sequences"]):
                break
        sender.join()
    sequence = frame["sequences"][0]
    assert {"id", "engine", "request", "tenant", "class", "choice", "state", "reason", "tokens", "computed", "prompt", "output",
            "max_output"} == set(sequence)
    assert frame["kv"]["total"] == frame["kv"]["used"] + frame["kv"]["cached"] + frame["kv"]["free"] > 0
