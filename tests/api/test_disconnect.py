"""A client that goes away is cancelled at once, whatever it was waiting for."""

import pytest
import served

import raw

LONG = {"prompt": "Tell me everything", "max_tokens": 3000, "ignore_eos": True}


def quiet(server):
    return served.eventually(lambda: server.running() == 0 and server.waiting() == 0, 10)


@pytest.mark.parametrize("stream", [True, False])
def test_in_decode(server, stream):
    with raw.connect(server) as sock:
        sock.sendall(raw.request("/v1/completions", {**LONG, "stream": stream}))
        assert served.eventually(lambda: server.running() == 1)
        if stream:
            sock.recv(1000)
    assert quiet(server)
    assert server.value("paternoster_kv_blocks", state="used") == 0


@pytest.mark.parametrize("stream", [True, False])
def test_in_prefill(server, stream):
    prompt = " ".join(str(number) for number in range(800))
    before = server.value("paternoster_requests_finished_total", reason="abort")
    with raw.connect(server) as sock:
        sock.sendall(raw.request("/v1/completions", {"prompt": prompt, "max_tokens": 10, "stream": stream}))
        assert served.eventually(lambda: server.running() == 1)
    assert quiet(server)
    assert served.eventually(
        lambda: server.value("paternoster_requests_finished_total", reason="abort") == before + 1)


@pytest.mark.parametrize("stream", [True, False])
def test_in_the_queue(start, stream):
    server = start("--max-seqs", "1", "--kv-tokens", "8192")
    with raw.connect(server) as first:
        first.sendall(raw.request("/v1/completions", LONG))
        assert served.eventually(lambda: server.running() == 1)
        with raw.connect(server) as second:
            second.sendall(raw.request("/v1/completions", {**LONG, "stream": stream}))
            assert served.eventually(lambda: server.waiting() == 1)
        assert served.eventually(lambda: server.waiting() == 0, 5)
        assert server.running() == 1
    assert quiet(server)


def test_of_many_choices(server):
    with raw.connect(server) as sock:
        sock.sendall(raw.request("/v1/completions", {**LONG, "prompt": ["a b", "c d"], "n": 3, "stream": True}))
        assert served.eventually(lambda: server.running() == 6)
    assert quiet(server)


def test_a_slow_reader_is_dropped_and_others_go_on(server):
    before = server.value("paternoster_client_disconnects_total", phase="answering")
    body = {**LONG, "n": 8, "max_tokens": 2500, "stream": True, "logprobs": 20, "prompt": "x"}
    with raw.connect(server) as sock:
        sock.setsockopt(raw.socket.SOL_SOCKET, raw.socket.SO_RCVBUF, 4096)
        sock.sendall(raw.request("/v1/completions", body))
        assert served.eventually(
            lambda: server.value("paternoster_client_disconnects_total", phase="answering") > before, 120)
    assert server.value("paternoster_slow_readers_dropped_total") >= 1
    assert quiet(server)
