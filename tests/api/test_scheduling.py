"""Every preset serves, and single choices go over it: by flags, environment and file."""

import threading

import pytest
import served

import raw

PRESETS = ["naive", "static", "window", "orca", "vllm", "sarathi", "fastserve", "vtc", "scls", "home", "cluster"]
LONG = {"prompt": "Tell me everything", "max_tokens": 3000, "ignore_eos": True}


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_gives_the_answers_of_any_other(start, server, preset):
    expected = [server.complete(f"Item {number}:", max_tokens=12)["choices"] for number in range(4)]
    mine = start("--preset", preset, "--max-seqs", "2", "--kv-tokens", "8192", "--max-len", "2048")
    answers = {}

    def ask(number):
        answers[number] = mine.complete(f"Item {number}:", max_tokens=12)["choices"]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answers[number] for number in range(4)] == expected


def test_the_more_urgent_comes_first_under_order_priority(start):
    server = start("--order", "priority", "--max-seqs", "1", "--kv-tokens", "8192")
    ended = []

    def ask(name, **fields):
        server.complete("x", max_tokens=3, **fields)
        ended.append(name)

    with raw.connect(server) as first:
        first.sendall(raw.request("/v1/completions", {**LONG, "priority": -9}))
        assert served.eventually(lambda: server.running() == 1)
        threads = []
        for name, fields in (("flex", {"service_tier": "flex"}), ("default", {}), ("urgent", {"priority": -1})):
            threads.append(threading.Thread(target=ask, args=(name,), kwargs=fields))
            threads[-1].start()
            assert served.eventually(lambda: server.waiting() == len(threads))
        reasons = {one["id"]: one["choices"][0]["reason"]
                   for one in server.http.get("/debug/requests").json()["requests"]}
        assert len(reasons) == 4
    for thread in threads:
        thread.join()
    assert ended == ["urgent", "default", "flex"]


def test_choices_come_from_the_environment_and_the_file(start, tmp_path, monkeypatch):
    config = tmp_path / "serve.toml"
    config.write_text('preset = "orca"\norder = "fair"\n')
    monkeypatch.setenv("PATERNOSTER_RELIEF", "recompute")
    server = start("--config", str(config), "--kv-tokens", "4096", "--prefill", "chunked")
    policy = server.http.get("/props").json()["scheduling"]
    assert policy == {"preset": "orca", "boarding": "continuous", "order": "fair", "prefill": "chunked",
                      "relief": "recompute", "victim": "latest", "speculation": "off"}


COPY = "one two three four five six seven eight nine ten\n" * 6


@pytest.mark.parametrize("fields", [{"temperature": 0}, {"temperature": 0.3, "seed": 7, "frequency_penalty": 0.1},
                                    {"temperature": 0, "stop": ["five six"]}])
def test_guessing_ahead_changes_no_answer_and_takes_fewer_steps(start, server, fields):
    guessing = start("--speculate", "ngram", "--max-seqs", "4", "--kv-tokens", "8192", "--check-invariants")
    assert guessing.http.get("/props").json()["scheduling"]["speculation"] == "ngram"
    body = {"max_tokens": 60, "logprobs": 2, "n": 2, **fields}
    expected, answer = (one.complete(COPY, **body) for one in (server, guessing))
    assert answer["choices"] == expected["choices"]
    for one in (answer, expected):
        del one["usage"]["prompt_tokens_details"]  # what was asked before may be cached
    assert answer["usage"] == expected["usage"]
    assert guessing.value("vllm:spec_decode_num_accepted_tokens_total") > 10


def test_tokens_of_one_step_are_streamed_in_one_chunk(start):
    server = start("--speculate", "ngram", "--max-seqs", "4", "--kv-tokens", "8192", "--served-model-name", "smollm2")
    with server.openai() as client:
        chunks = list(client.completions.create(model="smollm2", prompt=COPY, max_tokens=60, temperature=0, logprobs=1,
                                                stream=True, stream_options={"include_usage": True}))
    said = [chunk.choices[0] for chunk in chunks if chunk.choices]
    tokens = [token for choice in said if choice.logprobs for token in choice.logprobs.tokens]
    assert chunks[-1].usage.completion_tokens == len(tokens) == 60
    assert "".join(choice.text for choice in said) == "".join(tokens)
    assert any(choice.logprobs and len(choice.logprobs.tokens) > 1 for choice in said)
