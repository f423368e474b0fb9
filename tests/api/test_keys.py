import signal

import openai
import pytest
import served

import raw
from catalogue import TEXT
from test_command import last_line, run


def test_keys_guard_everything_but_health_metrics_and_the_page(start, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("# comment\nfirst-key\n\n  second-key  \n")
    server = start("--kv-tokens", "4096", "--api-key-file", str(keys))
    for path in ("/health", "/health/live", "/health/ready", "/metrics", "/", "/app.js"):
        assert server.http.get(path).status_code == 200, path
    for path in ("/v1/models", "/props", "/live"):
        refused = server.http.get(path)
        assert refused.status_code == 401, path
        assert refused.headers["www-authenticate"] == "Bearer"
        assert refused.json()["error"]["code"] == "invalid_api_key"
    for headers in ({"Authorization": "Bearer second-key"}, {"x-api-key": "first-key"}):
        assert server.http.post("/v1/completions", json=TEXT, headers=headers).status_code == 200
    for key in ("first", "first-key2", "", "FIRST-KEY"):
        headers = {"x-api-key": key}
        assert server.http.post("/v1/completions", json=TEXT, headers=headers).status_code == 401, key
    with server.openai() as client, pytest.raises(openai.AuthenticationError):
        client.models.list()


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


def test_requests_at_once_are_limited_by_key(start, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("one-at-once name=alice concurrent=1\nfree\n")
    server = start("--kv-tokens", "8192", "--api-key-file", str(keys))
    long = {"prompt": "x", "max_tokens": 3000, "ignore_eos": True}
    with raw.connect(server) as held:
        held.sendall(raw.request("/v1/completions", long, headers=["Authorization: Bearer one-at-once"]))
        assert served.eventually(lambda: server.running() == 1)
        for stream in (False, True):
            refused = server.http.post("/v1/completions", json={**long, "stream": stream}, headers=bearer("one-at-once"))
            assert refused.status_code == 429
            assert refused.json()["error"]["type"] == "rate_limit_error"
            assert refused.json()["error"]["code"] == "tenant_queue_full"
            assert int(refused.headers["retry-after"]) >= 1
        assert server.http.post("/v1/completions", json=TEXT, headers=bearer("free")).status_code == 200
    assert served.eventually(lambda: server.running() == 0)
    assert server.http.post("/v1/completions", json=TEXT, headers=bearer("one-at-once")).status_code == 200


def test_tokens_a_minute_are_limited_by_key(start, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("little tokens-per-minute=60\nfree\n")
    server = start("--kv-tokens", "8192", "--api-key-file", str(keys))
    body = {"prompt": "x", "max_tokens": 100, "ignore_eos": True}
    assert server.http.post("/v1/completions", json=body, headers=bearer("little")).status_code == 200
    refused = server.http.post("/v1/completions", json=body, headers=bearer("little"))
    assert refused.status_code == 429 and refused.json()["error"]["code"] == "rate_limited"
    # 41 tokens or more below zero, and one fills in each second.
    assert 30 <= int(refused.headers["retry-after"]) <= 60
    assert refused.json()["error"]["retry_after_ms"] == int(refused.headers["retry-after-ms"])
    assert server.http.post("/v1/completions", json=body, headers=bearer("free")).status_code == 200


def test_the_file_is_read_again_on_hangup_and_a_bad_one_changes_nothing(start, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("old\n")
    server = start("--kv-tokens", "4096", "--api-key-file", str(keys))

    def status(key):
        return server.http.get("/v1/models", headers=bearer(key)).status_code

    keys.write_text("new name=alice\nother name=alice\n")
    server.process.send_signal(signal.SIGHUP)
    assert served.eventually(lambda: "another key has the name" in open(server.log.name).read())
    assert (status("old"), status("new")) == (200, 401)
    keys.write_text("new name=alice\n")
    server.process.send_signal(signal.SIGHUP)
    assert served.eventually(lambda: status("new") == 200)
    assert status("old") == 401


def test_a_key_sees_and_ends_only_its_own_requests(start, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("ka name=alice\nkb name=bob priority=1\n")
    server = start("--kv-tokens", "8192", "--api-key-file", str(keys))
    long = {"prompt": "x", "max_tokens": 3000, "ignore_eos": True, "user": "somebody else", "priority": -5}
    with raw.connect(server) as alice, raw.connect(server) as bob:
        for sock, key in ((alice, "ka"), (bob, "kb")):
            sock.sendall(raw.request("/v1/completions", long,
                                     headers=[f"Authorization: Bearer {key}", f"X-Request-Id: of-{key}"]))
        assert served.eventually(lambda: server.running() == 2)
        mine = server.http.get("/debug/requests", headers=bearer("kb")).json()["requests"]
        assert [(one["id"], one["tenant"], one["priority"]) for one in mine] == [("of-kb", "bob", 1)]
        assert server.http.get("/debug/requests").status_code == 401
        assert server.http.delete("/v1/requests/of-ka", headers=bearer("kb")).status_code == 404
        assert server.http.delete("/v1/requests/of-ka", headers=bearer("ka")).status_code == 200
        assert served.eventually(lambda: server.running() == 1)


def test_a_gateway_says_on_whose_behalf_it_asks(start, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("edge gateway\n")
    server = start("--kv-tokens", "8192", "--api-key-file", str(keys))
    headers = ["Authorization: Bearer edge", "X-Gateway-Inference-Fairness-Id: team-a",
               "X-Gateway-Inference-Objective: critical"]
    with raw.connect(server) as sock:
        sock.sendall(raw.request("/v1/completions", {"prompt": "x", "max_tokens": 3000, "ignore_eos": True,
                                                     "user": "nobody", "priority": 7}, headers=headers))
        assert served.eventually(lambda: server.running() == 1)
        (one,) = server.http.get("/debug/requests", headers=bearer("edge")).json()["requests"]
        assert (one["tenant"], one["class"], one["priority"]) == ("team-a", "priority", -1)


@pytest.mark.parametrize("flags, shared", [([], False), (["--share-prefixes"], True)])
def test_cached_prefixes_stay_with_their_key(start, tmp_path, flags, shared):
    keys = tmp_path / "keys"
    keys.write_text("ka\nkb\n")
    server = start("--kv-tokens", "8192", "--api-key-file", str(keys), *flags)
    body = {"prompt": "one two three four five six seven eight nine ten " * 4, "max_tokens": 2}

    def cached(key, **more):
        answer = server.http.post("/v1/completions", json={**body, **more}, headers=bearer(key)).json()
        return answer["usage"]["prompt_tokens_details"]["cached_tokens"]

    assert cached("ka") == 0
    assert cached("ka") > 0
    assert (cached("kb") > 0) == shared
    assert cached("ka", cache_salt="salt") == 0
    assert cached("ka", cache_salt="salt") > 0


@pytest.mark.parametrize("line, words", [
    ("key weight=0", "weight"), ("key weight=x", "weight"), ("key colour=red", "colour"), ("key name=", "name"),
    ("key concurrent=0", "concurrent"), ("key tokens-per-minute=-5", "tokens-per-minute"),
    ("key priority=9999", "priority")])
def test_a_wrong_term_is_named_with_its_line(tmp_path, line, words):
    keys = tmp_path / "keys"
    keys.write_text("fine\n" + line + "\n")
    result = run(served.need(served.SMOLLM2), "--api-key-file", str(keys))
    assert result.returncode == 1
    assert "line 2" in last_line(result) and words in last_line(result)
