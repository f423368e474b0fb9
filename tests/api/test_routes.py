import pytest

from catalogue import CHAT, GET_ROUTES, POST_ROUTES, TEXT


@pytest.mark.parametrize("path", GET_ROUTES)
def test_get_routes_answer_get_and_head_alike(server, path):
    got = server.http.get(path)
    head = server.http.head(path)
    assert got.status_code == head.status_code == 200
    assert head.content == b""
    assert got.headers["content-type"] == head.headers["content-type"]


@pytest.mark.parametrize("path", GET_ROUTES + POST_ROUTES)
def test_other_methods_get_405_with_allow(server, path):
    response = server.http.delete(path)
    assert response.status_code == 405
    assert ("GET" if path in GET_ROUTES else "POST") in response.headers["allow"]
    assert response.json()["error"]["code"] == "method_not_allowed"


@pytest.mark.parametrize("path", ["/nothing", "/v1", "/v1/embeddings", "/app.js/", "/etc/passwd"])
def test_unknown_paths_get_an_error_object(server, path):
    response = server.http.get(path)
    assert response.status_code == 404
    assert set(response.json()["error"]) >= {"message", "type", "param", "code"}


@pytest.mark.parametrize("path, body", [("/chat/completions", CHAT), ("/completions", TEXT)])
def test_generation_also_without_v1(server, path, body):
    assert server.http.post(path, json=body).status_code == 200


def test_options_tells_methods_and_gives_no_cors(server):
    response = server.http.options("/v1/models", headers={"Origin": server.origin})
    assert response.status_code == 204
    assert "access-control-allow-origin" not in response.headers


def test_another_origin_or_host_is_refused(server):
    body = {"json": TEXT}
    assert server.http.post("/v1/completions", headers={"Origin": "http://evil.example"}, **body).status_code == 403
    assert server.http.get("/v1/models", headers={"Host": "evil.example"}).status_code == 403
    assert server.http.get("/v1/models", headers={"Host": f"localhost:{server.port}"}).status_code == 200


def test_models_and_their_aliases(server, client):
    models = client.models.list().data
    assert models[0].id == "smollm2" and "org/alias-model" in [model.id for model in models]
    assert models[0].max_model_len == models[0].context_length == 4096
    assert client.models.retrieve("org/alias-model").id == "org/alias-model"
    assert server.http.get("/v1/models/nobody").json()["error"]["code"] == "model_not_found"


def test_props_tell_the_model(server):
    props = server.http.get("/props").json()
    assert props["n_ctx"] == 4096 and props["total_slots"] == 8 and props["architecture"] == "llama"


def test_the_page_is_cached_by_etag(server):
    page = server.http.get("/")
    assert "text/html" in page.headers["content-type"]
    assert "unsafe" not in page.headers["content-security-policy"]
    again = server.http.get("/", headers={"If-None-Match": page.headers["etag"]})
    assert again.status_code == 304 and again.content == b""
