import math

import pytest


def test_chat_logprobs(client):
    answer = client.chat.completions.create(model="smollm2", max_tokens=5, temperature=0, logprobs=True,
                                            top_logprobs=3, messages=[{"role": "user", "content": "Hi 🎉"}])
    content = answer.choices[0].logprobs.content
    assert len(content) == answer.usage.completion_tokens
    for token in content:
        assert len(token.top_logprobs) == 3
        assert token.top_logprobs[0].logprob == token.logprob  # greedy
        assert token.logprob <= 0
        assert bytes(token.bytes).decode(errors="replace") == token.token


def test_text_logprobs_have_offsets(server):
    choice = server.complete(max_tokens=6, logprobs=2, ignore_eos=True)["choices"][0]
    logprobs = choice["logprobs"]
    assert "".join(logprobs["tokens"]) == choice["text"]
    for token, offset, logprob, top in zip(logprobs["tokens"], logprobs["text_offset"],
                                           logprobs["token_logprobs"], logprobs["top_logprobs"]):
        assert choice["text"][offset:].startswith(token)
        assert top[token] == logprob == max(top.values())
        assert 2 <= len(top) <= 3


def test_zero_logprobs_names_the_chosen_alone(server):
    logprobs = server.complete(max_tokens=2, logprobs=0)["choices"][0]["logprobs"]
    assert all(len(top) == 1 for top in logprobs["top_logprobs"])


def test_top_logprobs_sum_below_one(server):
    for top in server.complete(max_tokens=4, logprobs=20)["choices"][0]["logprobs"]["top_logprobs"]:
        assert sum(math.exp(value) for value in top.values()) <= 1.0001


def test_echo_scores_the_prompt(server):
    """As evaluation harnesses do it: the prompt's own tokens with their log-probabilities."""
    prompt = "The quick brown fox"
    reply = server.complete(prompt, max_tokens=1, echo=True, logprobs=1)
    choice = reply["choices"][0]
    assert choice["text"].startswith(prompt)
    tokens = reply["usage"]["prompt_tokens"]
    assert len(choice["logprobs"]["tokens"]) == tokens + 1
    assert choice["logprobs"]["token_logprobs"][0] is None
    assert all(value <= 0 for value in choice["logprobs"]["token_logprobs"][1:])


def test_echo_with_no_token_of_its_own(server):
    reply = server.complete("The quick brown fox", max_tokens=0, echo=True, logprobs=1)
    assert reply["choices"][0]["text"] == "The quick brown fox"
    assert reply["usage"]["completion_tokens"] == 0
    assert len(reply["choices"][0]["logprobs"]["tokens"]) == reply["usage"]["prompt_tokens"]


def test_scored_continuation_agrees_with_generation(server):
    """What was generated with its log-probabilities scores the same when it comes back as a prompt."""
    first = server.complete("The capital of France is", max_tokens=5, logprobs=0, ignore_eos=True,
                            return_token_ids=True)["choices"][0]
    ids = first["prompt_token_ids"] + first["token_ids"]
    scored = server.complete(ids, max_tokens=1, echo=True, logprobs=0)["choices"][0]["logprobs"]
    start = len(first["prompt_token_ids"])
    assert scored["token_logprobs"][start:start + 5] == first["logprobs"]["token_logprobs"]


@pytest.mark.parametrize("body", [{"logprobs": True}, {"logprobs": 21}, {"logprobs": -1}])
def test_bad_text_logprobs(server, body):
    response = server.http.post("/v1/completions", json={"prompt": "x", **body})
    assert response.status_code == 400 and response.json()["error"]["param"] == "logprobs"


def test_top_logprobs_need_logprobs(server):
    body = {"messages": [{"role": "user", "content": "x"}], "top_logprobs": 2}
    assert server.http.post("/v1/chat/completions", json=body).json()["error"]["param"] == "top_logprobs"
