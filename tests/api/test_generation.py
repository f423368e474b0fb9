import pytest


def test_chat_and_completion_count_their_tokens(server, client):
    answer = client.chat.completions.create(model="smollm2", max_tokens=7, temperature=0,
                                            messages=[{"role": "user", "content": "Hi"}],
                                            extra_body={"ignore_eos": True, "return_token_ids": True})
    choice = answer.choices[0]
    assert choice.finish_reason == "length"
    assert answer.usage.completion_tokens == 7 == len(choice.token_ids)
    assert answer.usage.prompt_tokens == len(answer.prompt_token_ids)
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + 7
    assert answer.id.startswith("chatcmpl-") and answer.object == "chat.completion"


def test_completion_defaults_to_16_tokens(server):
    assert server.complete(ignore_eos=True)["usage"]["completion_tokens"] == 16


def test_the_newer_name_of_max_tokens_wins(server):
    reply = server.complete(max_tokens=9, max_completion_tokens=3, ignore_eos=True)
    assert reply["usage"]["completion_tokens"] == 3


def test_text_and_token_prompts_are_the_same(server):
    tokens = server.http.post("/tokenize", json={"prompt": "Once upon a time"}).json()["tokens"]
    text = server.complete("Once upon a time", max_tokens=8)
    assert server.complete(tokens, max_tokens=8)["choices"][0]["text"] == text["choices"][0]["text"]


def test_an_array_of_prompts_times_n_is_indexed_in_order(server):
    prompts = ["The sky is", "Two plus two is"]
    single = [server.complete(prompt, max_tokens=6)["choices"][0]["text"] for prompt in prompts]
    reply = server.complete(prompts, n=2, max_tokens=6)
    assert [choice["index"] for choice in reply["choices"]] == [0, 1, 2, 3]
    assert [choice["text"] for choice in reply["choices"]] == [single[0], single[0], single[1], single[1]]
    assert reply["usage"]["completion_tokens"] == sum(
        server.complete(prompt, max_tokens=6)["usage"]["completion_tokens"] for prompt in prompts) * 2


def test_token_lists_as_prompts(server):
    lists = [server.http.post("/tokenize", json={"prompt": text}).json()["tokens"] for text in ("A b", "C d e")]
    reply = server.complete(lists, max_tokens=3, return_token_ids=True)
    assert [choice["prompt_token_ids"] for choice in reply["choices"]] == lists


def test_seeded_choices_differ_and_repeat(server):
    def texts(seed):
        reply = server.complete(n=4, max_tokens=12, seed=seed, temperature=1.5, ignore_eos=True)
        return [choice["text"] for choice in reply["choices"]]

    first = texts(7)
    assert len(set(first)) > 1
    assert texts(7) == first != texts(8)


def test_stop_strings_across_tokens(server):
    text = server.complete(max_tokens=24, ignore_eos=True)["choices"][0]["text"]
    stop = text[9:14]  # begins and ends inside of tokens
    at = text.index(stop)
    reply = server.complete(max_tokens=24, ignore_eos=True, stop=["zzzz", stop])["choices"][0]
    assert reply["text"] == text[:at] and reply["finish_reason"] == "stop" and reply["stop_reason"] == stop
    kept = server.complete(max_tokens=24, ignore_eos=True, stop=stop, include_stop_str_in_output=True)
    assert kept["choices"][0]["text"] == text[:at] + stop


def test_stop_token_ids(server):
    tokens = server.complete(max_tokens=12, ignore_eos=True, return_token_ids=True)["choices"][0]["token_ids"]
    wanted = tokens[5]
    reply = server.complete(max_tokens=12, ignore_eos=True, stop_token_ids=[wanted], return_token_ids=True)
    choice = reply["choices"][0]
    assert choice["finish_reason"] == "stop" and choice["stop_reason"] == wanted
    assert choice["token_ids"] == tokens[:tokens.index(wanted) + 1]


def test_min_tokens_holds_the_end_back(server):
    chat = [{"role": "user", "content": "Answer with the single word: yes"}]
    body = {"messages": chat, "temperature": 0, "min_tokens": 60, "max_tokens": 60}
    reply = server.http.post("/v1/chat/completions", json=body).json()
    assert reply["usage"]["completion_tokens"] == 60


def test_logit_bias_forces_a_token(server):
    reply = server.complete(max_tokens=3, logit_bias={"100": 100}, ignore_eos=True, return_token_ids=True)
    assert reply["choices"][0]["token_ids"] == [100, 100, 100]


@pytest.mark.parametrize("field", ["presence_penalty", "frequency_penalty"])
def test_penalties_change_a_loop(server, field):
    prompt = "ha ha ha ha ha ha ha ha ha ha"
    plain = server.complete(prompt, max_tokens=24, ignore_eos=True)["choices"][0]["text"]
    assert server.complete(prompt, max_tokens=24, ignore_eos=True, **{field: 2})["choices"][0]["text"] != plain


def test_utf8_is_never_split(server):
    prompt = "Emoji: 🎉🎊👩‍👩‍👧‍👦🏳️‍🌈 中文字符 العربية. More emoji: 🎉"
    whole = server.complete(prompt, max_tokens=40, ignore_eos=True, temperature=1.2, seed=3)["choices"][0]["text"]
    body = {"prompt": prompt, "max_tokens": 40, "ignore_eos": True, "temperature": 1.2, "seed": 3, "stream": True}
    text = ""
    with server.http.stream("POST", "/v1/completions", json=body) as response:
        import json
        for line in response.iter_lines():
            if line.startswith("data: {"):
                text += json.loads(line[6:])["choices"][0]["text"]
    assert text == whole


def test_tokenize_and_back_in_both_dialects(server):
    text = "Hello, wörld 🎉\r\n  x"
    theirs = server.http.post("/tokenize", json={"content": text, "with_pieces": True}).json()["tokens"]
    ours = server.http.post("/tokenize", json={"prompt": text, "add_special_tokens": False,
                                               "return_token_strs": True}).json()
    assert [token["id"] for token in theirs] == ours["tokens"] and ours["count"] == len(ours["tokens"])
    assert len(ours["token_strs"]) == ours["count"]
    back = server.http.post("/detokenize", json={"tokens": ours["tokens"]}).json()
    assert back["prompt"] == back["content"] == text
    chat = server.http.post("/tokenize", json={"messages": [{"role": "user", "content": "Hi"}]}).json()
    assert chat["count"] > 5
    for body in ({}, {"tokens": "x"}, {"tokens": [10**8]}):
        assert server.http.post("/detokenize", json=body).status_code == 400
