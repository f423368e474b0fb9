import openai
import pytest

from catalogue import BAD, CHAT, GOOD, TEXT

ROUTES = {"/v1/chat/completions": CHAT, "/v1/completions": TEXT}


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("field", GOOD)
def test_good_values_are_taken(server, path, field):
    response = server.http.post(path, json={**ROUTES[path], field: GOOD[field]})
    assert response.status_code == 200, response.text


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("field, value", BAD, ids=lambda x: str(x)[:24])
def test_bad_values_are_refused_by_name(server, path, field, value):
    response = server.http.post(path, json={**ROUTES[path], field: value})
    error = response.json()["error"]
    assert response.status_code == 400, response.text
    assert error["type"] == "invalid_request_error"
    assert error["code"] in ("invalid_value", "unsupported_parameter")
    assert error["param"] == field


@pytest.mark.parametrize("path", ROUTES)
def test_null_means_not_given(server, path):
    body = {**ROUTES[path], **dict.fromkeys([name for name, _ in BAD])}
    body["max_tokens"] = 4
    assert server.http.post(path, json=body).status_code == 200


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\"x\"", b"{\"prompt\": \"\xff\"}", b"{\"a\":\"\\ud800\"}",
                                  b"[" * 100000, b"{\"a\":NaN}", b"\x00"])
def test_bodies_that_are_not_json(server, body):
    response = server.http.post("/v1/completions", content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "invalid_json"


@pytest.mark.parametrize("messages", [None, [], "x", [1], [{}], [{"role": "king", "content": "x"}],
                                      [{"role": "user"}], [{"role": "user", "content": None}],
                                      [{"role": "user", "content": 5}],
                                      [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]])
def test_bad_messages(server, messages):
    response = server.http.post("/v1/chat/completions", json={"messages": messages})
    assert response.status_code == 400
    assert response.json()["error"]["param"].startswith("messages")


@pytest.mark.parametrize("prompt", [None, [], [[]], [1, "x"], ["x", 1], [-1], 5, {}, [[1], "x", None], [10**8]])
def test_bad_prompts(server, prompt):
    response = server.http.post("/v1/completions", json={"prompt": prompt})
    assert response.status_code == 400
    assert response.json()["error"]["param"] == "prompt"


def test_all_roles_and_text_parts(client):
    answer = client.chat.completions.create(
        model="smollm2", max_tokens=4,
        messages=[{"role": "developer", "content": "Be short."},
                  {"role": "user", "content": [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}]},
                  {"role": "assistant", "content": None,
                   "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
                  {"role": "tool", "content": "5", "tool_call_id": "1"},
                  {"role": "user", "content": "And?", "name": "bob"}])
    assert answer.choices[0].message.role == "assistant"


def test_unknown_model_is_404(client):
    with pytest.raises(openai.NotFoundError) as raised:
        client.completions.create(model="gpt-9", prompt="x")
    assert raised.value.code == "model_not_found"


def test_tools_are_refused(server):
    body = {**CHAT, "tools": [{"type": "function", "function": {"name": "f"}}]}
    response = server.http.post("/v1/chat/completions", json=body)
    assert response.status_code == 400 and response.json()["error"]["code"] == "unsupported_parameter"


def test_unknown_fields_are_counted(server):
    before = server.value("paternoster_unknown_fields_total")
    server.complete(max_tokens=1, nonsense=1, more_nonsense=2)
    assert server.value("paternoster_unknown_fields_total") == before + 2


def test_too_long_prompts_are_refused_at_arrival(client):
    with pytest.raises(openai.BadRequestError) as raised:
        client.completions.create(model="smollm2", prompt="word " * 6000, max_tokens=5)
    error = raised.value.body
    assert error["code"] == "context_length_exceeded" and error["n_ctx"] == 4096
    assert error["n_prompt_tokens"] > 6000
    assert "This model's maximum context length is 4096 tokens" in error["message"]
    assert "exceeds the available context size" in error["message"]
