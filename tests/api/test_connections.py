import json
import socket
import time

import served

import raw
from catalogue import TEXT


def test_a_connection_is_used_again_after_a_stream(server):
    with raw.connect(server) as sock:
        for _ in range(3):
            sock.sendall(raw.request("/v1/completions", {**TEXT, "stream": True}))
            assert raw.read_response(sock)[2].endswith(b"data: [DONE]\n\n")
            sock.sendall(raw.request("/health"))
            assert raw.read_response(sock)[0] == 200


def test_pipelined_requests_are_answered_in_order(server):
    with raw.connect(server) as sock:
        sock.sendall(raw.request("/v1/completions", TEXT) + raw.request("/health"))
        assert b"text_completion" in raw.read_response(sock)[2]
        assert raw.read_response(sock)[0] == 200


def test_expect_100_continue(server):
    data = json.dumps(TEXT).encode()
    whole = raw.request("/v1/completions", data, headers=["Expect: 100-continue"])
    with raw.connect(server) as sock:
        sock.sendall(whole[:-len(data)])
        assert sock.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(data)
        assert raw.read_response(sock)[0] == 200


def test_a_body_in_chunks(server):
    data = json.dumps(TEXT).encode()
    head = ("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            "Transfer-Encoding: chunked\r\n\r\n").encode()
    with raw.connect(server) as sock:
        sock.sendall(head)
        for at in range(0, len(data), 7):
            piece = data[at:at + 7]
            sock.sendall(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        sock.sendall(b"0\r\n\r\n")
        assert raw.read_response(sock)[0] == 200


def test_one_byte_at_a_time(server):
    with raw.connect(server) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in raw.request("/v1/completions", TEXT):
            sock.send(bytes([byte]))
        assert raw.read_response(sock)[0] == 200


def test_bodies_that_are_too_large_get_413(server):
    with raw.connect(server) as sock:
        sock.sendall(raw.request("/v1/completions", None, method="POST", headers=[
            "Content-Type: application/json", "Content-Length: 100000000"]))
        status, headers, _ = raw.read_response(sock)
    assert status == 413 and headers["connection"] == "close"
    response = server.http.post("/v1/completions", content=b" " * 9_000_000,
                                headers={"Content-Type": "application/json"})
    assert response.status_code == 413 and response.json()["error"]["code"] == "body_too_large"


def test_headers_that_are_too_large_get_431(server):
    with raw.connect(server) as sock:
        sock.sendall(raw.request("/health", headers=["X-Long: " + "x" * 100_000]))
        assert raw.read_response(sock)[0] == 431


def test_other_media_types_get_415(server):
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        response = server.http.post("/v1/completions", content=json.dumps(TEXT), headers={"Content-Type": kind})
        assert response.status_code == 415, kind
    kind = "Application/JSON; charset=utf-8"
    assert server.http.post("/v1/completions", content=json.dumps(TEXT),
                            headers={"Content-Type": kind}).status_code == 200


def test_what_is_not_http_gets_400(server):
    for data in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
                 b"POST /tokenize HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
                 b"POST /tokenize HTTP/1.1\r\nContent-Length: -5\r\n\r\n"):
        with raw.connect(server) as sock:
            sock.sendall(data)
            assert raw.read_response(sock)[0] == 400, data


def test_request_ids_are_echoed_or_made(server, client):
    mine = server.http.get("/health", headers={"X-Request-Id": "mine-17"})
    assert mine.headers["x-request-id"] == "mine-17"
    made = {server.http.get("/health").headers["x-request-id"] for _ in range(5)}
    assert len(made) == 5
    bad = server.http.get("/health", headers={"X-Request-Id": "<script>"}).headers["x-request-id"]
    assert bad != "<script>"
    assert client.completions.create(model="smollm2", prompt="x", max_tokens=1,
                                     extra_headers={"X-Request-Id": "abc"}).id == "cmpl-abc"


def test_a_thousand_idle_connections(server):
    idle = [raw.connect(server) for _ in range(1000)]
    try:
        assert served.eventually(lambda: server.value("paternoster_http_connections") >= 1000)
        began = time.monotonic()
        assert server.http.get("/health").status_code == 200
        assert server.complete(max_tokens=4)["choices"]
        assert time.monotonic() - began < 10
    finally:
        for sock in idle:
            sock.close()
    assert served.eventually(lambda: server.value("paternoster_http_connections") < 10)


def test_health_and_metrics_answer_during_a_long_prefill(server):
    prompt = " ".join(str(number) for number in range(800))
    with raw.connect(server) as sock:
        sock.sendall(raw.request("/v1/completions", {"prompt": prompt, "max_tokens": 32, "ignore_eos": True}))
        assert served.eventually(lambda: server.running() == 1, 30)
        took = []
        while server.running() == 1 and len(took) < 50:
            for path in ("/health", "/metrics"):
                began = time.monotonic()
                assert server.http.get(path).status_code == 200
                took.append(time.monotonic() - began)
        assert raw.read_response(sock)[0] == 200
    took.sort()
    assert took[len(took) // 2] < 0.2, took[-5:]
