"""Requests under way: why they wait, where they stand, and how they are ended from outside."""

import json
import threading

import served

import raw

LONG = {"prompt": "My secret words", "max_tokens": 3000, "ignore_eos": True}


def ask(server, body, request_id, answers):
    def post():
        answers[request_id] = server.http.post("/v1/completions", json=body, headers={"X-Request-Id": request_id})

    thread = threading.Thread(target=post)
    thread.start()
    return thread


def test_the_list_says_why_each_waits_and_not_what_it_asks(start):
    server = start("--max-seqs", "1", "--kv-tokens", "8192")
    server.complete(max_tokens=2)
    held = []
    for number in range(3):
        held.append(raw.connect(server))
        body = {**LONG, "user": f"tenant-{number}", "priority": 1, "timeout_ms": 600000}
        held[-1].sendall(raw.request("/v1/completions", body, headers=[f"X-Request-Id: req-{number}"]))
        assert served.eventually(lambda: server.running() + server.waiting() == number + 1)
    text = server.http.get("/debug/requests").text
    assert "secret" not in text
    first, second, third = json.loads(text)["requests"]
    assert (first["id"], first["tenant"], first["class"]) == ("req-0", "tenant-0", "flex")
    assert first["choices"][0]["state"] in ("prefill", "decode") and first["queue_position"] is None
    assert second["queue_position"] == 0 and third["queue_position"] == 1
    assert third["choices"][0]["state"] == "waiting" and third["choices"][0]["reason"] == "seat_limit"
    assert "--max-seqs" in third["choices"][0]["why"]
    assert third["estimated_start_ms"] >= second["estimated_start_ms"] >= 0
    assert 0 < third["deadline_in_ms"] < 600000 and third["age_ms"] >= 0
    for sock in held:
        sock.close()
    assert served.eventually(lambda: server.http.get("/debug/requests").json() == {"requests": []})


def test_an_answer_tells_its_place_in_the_queue(start):
    server = start("--max-seqs", "1", "--kv-tokens", "8192")
    free = server.http.post("/v1/completions", json={"prompt": "x", "max_tokens": 2})
    assert free.headers["x-queue-position"] == "0" and free.headers["x-estimated-start-ms"] == "0"
    answers = {}
    with raw.connect(server) as first:
        first.sendall(raw.request("/v1/completions", LONG))
        assert served.eventually(lambda: server.running() == 1)
        threads = []
        for number in range(2):
            threads.append(ask(server, {"prompt": "x", "max_tokens": 2}, f"req-{number}", answers))
            assert served.eventually(lambda: server.waiting() == number + 1)
    for thread in threads:
        thread.join()
    assert [answers[f"req-{n}"].headers["x-queue-position"] for n in range(2)] == ["0", "1"]
    assert int(answers["req-1"].headers["x-estimated-start-ms"]) > 0
    with server.http.stream("POST", "/v1/completions", json={
            "prompt": "x", "max_tokens": 2, "stream": True, "stream_options": {"include_usage": True}}) as stream:
        assert stream.headers["x-queue-position"] == "0"
        events = [json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: {")]
    assert events[-1]["timings"]["queue_position"] == 0


def test_delete_ends_a_stream_with_what_it_has(server):
    events = []
    ready = threading.Event()

    def read():
        with server.http.stream("POST", "/v1/completions", json={**LONG, "stream": True},
                                headers={"X-Request-Id": "to-end"}) as stream:
            for line in stream.iter_lines():
                if line.startswith("data: "):
                    events.append(line[6:])
                    ready.set()

    reader = threading.Thread(target=read)
    reader.start()
    assert ready.wait(60 * served.PATIENCE)
    ended = server.http.delete("/v1/requests/cmpl-to-end")
    assert ended.status_code == 200 and ended.json()["cancelled"] is True
    reader.join(60)
    assert events[-1] == "[DONE]"
    assert json.loads(events[-2])["choices"][0]["finish_reason"] == "abort"
    assert server.quiet() and server.value("paternoster_kv_blocks", state="used") == 0


def test_delete_ends_what_waits_and_what_decodes(start):
    server = start("--max-seqs", "1", "--kv-tokens", "8192")
    answers = {}
    decodes = ask(server, LONG, "decodes", answers)
    assert served.eventually(lambda: server.running() == 1)
    waits = ask(server, LONG, "waits", answers)
    assert served.eventually(lambda: server.waiting() == 1)
    assert server.http.delete("/v1/requests/waits").status_code == 200
    waits.join(60)
    choice = answers["waits"].json()["choices"][0]
    assert answers["waits"].status_code == 200 and choice["text"] == "" and choice["finish_reason"] == "abort"
    assert served.eventually(lambda: server.http.get("/debug/requests").json()["requests"][0]
                             ["choices"][0]["output_tokens"] > 2)
    assert server.http.delete("/v1/requests/decodes").status_code == 200
    decodes.join(60)
    answer = answers["decodes"].json()
    assert answer["choices"][0]["text"] and answer["choices"][0]["finish_reason"] == "abort"
    assert 0 < answer["usage"]["completion_tokens"] < 3000


def test_delete_of_nothing_is_404(server):
    response = server.http.delete("/v1/requests/nobody")
    assert response.status_code == 404 and response.json()["error"]["code"] == "request_not_found"
