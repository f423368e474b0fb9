"""`paternoster serve` itself: what is wrong is said in one line."""

import json
import os
import socket
import subprocess

import pytest
import served

from conftest import api


def run(*flags, **environment):
    return subprocess.run([served.BINARY, "serve", *flags], capture_output=True, text=True, timeout=60,
                          env={**os.environ, **environment})


def last_line(result):
    lines = result.stderr.strip().splitlines()
    return lines[-1] if lines else ""


def test_a_port_in_use_is_one_line_and_exit_1():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        result = run(served.need(served.SMOLLM2), "--port", port, "--kv-tokens", "4096")
    assert result.returncode == 1
    assert "port is in use" in last_line(result) and port in last_line(result)


def test_a_bad_file_is_one_line_and_exit_1(tmp_path):
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(b"GGUF" + b"\xff" * 100)
    for path in (str(bad), str(tmp_path / "absent.gguf")):
        result = run(path)
        assert result.returncode == 1 and "Traceback" not in result.stderr
        assert len(result.stderr.strip().splitlines()) <= 2


@pytest.mark.parametrize("flags", [["--port", "70000"], ["--max-seqs", "0"], ["--nonsense"], ["--kv-memory", "x"],
                                   ["--kv-tokens", "1", "--kv-memory", "1G"], ["--kv-type", "q3"]])
def test_wrong_flags_exit_2(flags):
    result = run(*flags)
    assert result.returncode == 2 and len(result.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("flags, words", [
    (["--preset", "best"], "there are"), (["--order", "random"], "fcfs, priority"),
    (["--itl-target", "50ms"], "latency_target"), (["--itl-target", "soon", "--preset", "home"], "--itl-target"),
    (["--slice-tokens", "64"], "sliced"),
    (["--swap-memory", "1G"], "--relief swap"), (["--window", "1s", "--preset", "orca"], "--boarding window"),
    (["--ageing", "5s", "--order", "fair"], "--order priority"), (["--window", "0s", "--preset", "window"], "above 0")])
def test_scheduling_that_makes_no_sense_exits_2_and_says_why(flags, words):
    result = run(*flags)
    assert result.returncode == 2 and words in last_line(result)
    assert len(result.stderr.strip().splitlines()) == 1


def test_choices_that_do_not_go_together_are_refused():
    result = run(served.need(served.SMOLLM2), "--kv-tokens", "4096", "--preset", "static", "--order", "multilevel")
    assert result.returncode == 1 and "multilevel" in last_line(result)


def test_help_names_every_stable_flag():
    text = run("--help").stdout
    for flag in ("--host", "--port", "--max-seqs", "--max-len", "--kv-tokens", "--kv-memory", "--kv-type", "--step-tokens",
                 "--max-queue", "--threads", "--preset", "--api-key-file", "--log-json", "--config"):
        assert flag in text


def test_file_environment_and_flags_in_their_order(tmp_path):
    config = tmp_path / "serve.toml"
    config.write_text('max-len = 512\nkv-tokens = 4096\nserved-model-name = ["from-file", "second"]\nmax-seqs = 3\n')
    previous = dict(os.environ)
    os.environ |= {"PATERNOSTER_MAX_SEQS": "5", "PATERNOSTER_MAX_LEN": "600"}
    try:
        with api("--config", str(config), "--max-len", "700") as server:
            props = server.http.get("/props").json()
            assert props["n_ctx"] == 700 and props["total_slots"] == 5
            models = server.http.get("/v1/models").json()["data"]
            names = [model["id"] for model in models]
            assert names[0] == "from-file" and "second" in names
    finally:
        os.environ.clear()
        os.environ.update(previous)


@pytest.mark.parametrize("text", ["colour = 5", "[section]\nport = 1", "port = [", "port = \"x\""])
def test_a_bad_configuration_file_is_an_error(tmp_path, text):
    config = tmp_path / "serve.toml"
    config.write_text(text)
    result = run("--config", str(config))
    assert result.returncode in (1, 2) and len(result.stderr.strip().splitlines()) == 1


def test_the_log_can_be_json():
    with api("--kv-tokens", "4096", "--log-json") as server:
        server.complete(max_tokens=2)
        server.http.get("/nothing\"here")
    with open(server.log.name) as log:
        lines = [line for line in log.read().splitlines() if line.startswith("{")]
    entries = [json.loads(line) for line in lines]
    assert any(entry.get("path") == "/v1/completions" and entry["status"] == 200 for entry in entries)
    assert any(entry.get("status") == 404 for entry in entries)


def test_a_base_model_refuses_chat_and_completes():
    with api("--kv-tokens", "4096", "--max-len", "2048", model=served.GEMMA3) as server:
        body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 4}
        for stream in (False, True):
            refused = server.http.post("/v1/chat/completions", json={**body, "stream": stream})
            assert refused.status_code == 400
            assert refused.json()["error"]["code"] == "chat_template_error"
            assert "--chat-template" in refused.json()["error"]["message"]
        assert server.complete(max_tokens=4)["choices"]


def test_a_chat_template_file_opens_the_chat_route(tmp_path):
    template = tmp_path / "chat.jinja"
    template.write_text("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:")
    flags = ["--kv-tokens", "4096", "--max-len", "2048", "--chat-template", str(template)]
    with api(*flags, model=served.GEMMA3) as server:
        body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 4}
        assert server.http.post("/v1/chat/completions", json=body).status_code == 200
