import openai
import pytest

from catalogue import TEXT


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
