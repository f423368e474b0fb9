import collections
import threading
import time

import served

import raw

LONG = {"prompt": "Tell me everything", "max_tokens": 3000, "ignore_eos": True}


def test_a_full_queue_answers_503_with_retry_after(start):
    server = start("--max-seqs", "1", "--max-queue", "2", "--kv-tokens", "8192")
    server.complete(max_tokens=2)
    held = []
    try:
        for number in range(3):
            held.append(raw.connect(server))
            held[-1].sendall(raw.request("/v1/completions", LONG))
            assert served.eventually(lambda: server.running() + server.waiting() == number + 1)
        for stream in (False, True):
            response = server.http.post("/v1/completions", json={**LONG, "stream": stream})
            assert response.status_code == 503
            assert response.headers["content-type"] == "application/json"
            error = response.json()["error"]
            assert error["type"] == "overloaded_error" and error["code"] == "queue_full"
            assert 1 <= int(response.headers["retry-after"]) <= 60
            assert int(response.headers["retry-after-ms"]) == error["retry_after_ms"]
            again = server.http.get("/health")
            assert again.status_code == 200, "a full queue is no illness"
    finally:
        for sock in held:
            sock.close()
    assert served.eventually(lambda: server.running() + server.waiting() == 0)
    assert server.complete(max_tokens=2)["choices"]


def test_more_sequences_than_seats_all_end(start):
    server = start("--max-seqs", "2", "--kv-tokens", "2048", "--max-len", "1024")
    answers = []

    def ask(number):
        answers.append(server.http.post("/v1/completions", json={
            "prompt": f"Item {number}:", "max_tokens": 40, "ignore_eos": True, "temperature": 0}))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answer.status_code for answer in answers] == [200] * 12
    assert all(answer.json()["usage"]["completion_tokens"] == 40 for answer in answers)


def test_many_more_than_can_be_served_each_get_a_status_and_the_server_is_fine_afterwards(start):
    server = start("--max-seqs", "2", "--max-queue", "3", "--kv-tokens", "2048", "--max-len", "1024")
    answers = []

    def ask(number, stream):
        with server.http.stream("POST", "/v1/completions", json={
                "prompt": f"Item {number}:", "max_tokens": 30, "ignore_eos": True, "stream": stream}) as response:
            answers.append((response.status_code, stream, response.read().decode()))

    threads = []
    for number in range(60):  # far faster than two seats can answer
        threads.append(threading.Thread(target=ask, args=(number, number % 2 == 0)))
        threads[-1].start()
        time.sleep(0.01)
    for thread in threads:
        thread.join(120 * served.PATIENCE)
    statuses = collections.Counter(status for status, _, _ in answers)
    assert set(statuses) == {200, 503} and sum(statuses.values()) == 60
    assert statuses[200] >= 5, "what seats and queue can hold is served"
    for status, stream, body in answers:
        if status == 503:
            assert '"code":"queue_full"' in body
        else:
            assert body.endswith("data: [DONE]\n\n") if stream else '"completion_tokens":30' in body
    assert served.eventually(lambda: server.running() + server.waiting() == 0)
    assert server.value("paternoster_requests_rejected_total", reason="queue_full") == statuses[503]
    assert server.value("paternoster_kv_blocks", state="used") == 0
    assert server.http.get("/health/ready").status_code == 200
    alone = server.complete(max_tokens=20, prompt="The lift never stops")["choices"][0]["text"]
    assert alone == start().complete(max_tokens=20, prompt="The lift never stops")["choices"][0]["text"]


def test_as_many_at_once_as_seats_and_queue_hold_are_all_served(start):
    server = start("--max-seqs", "8", "--max-queue", "1", "--kv-tokens", "4096", "--max-len", "1024")
    statuses = []

    def ask(number):
        statuses.append(server.http.post("/v1/completions", json={"prompt": f"{number}:", "max_tokens": 3}).status_code)

    for _ in range(5):
        threads = [threading.Thread(target=ask, args=(number,)) for number in range(9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert served.eventually(lambda: server.running() + server.waiting() == 0)
    assert statuses == [200] * 45
