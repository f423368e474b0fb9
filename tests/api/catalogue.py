"""Routes and fields in one place: the tests walk through it, docs/api.md tells it."""

GET_ROUTES = ["/v1/models", "/models", "/v1/models/smollm2", "/health", "/health/live", "/health/ready",
              "/metrics", "/props", "/debug/requests", "/", "/app.js", "/style.css"]
POST_ROUTES = ["/v1/chat/completions", "/chat/completions", "/v1/completions", "/completions",
               "/tokenize", "/detokenize"]

CHAT = {"messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 4}
TEXT = {"prompt": "Once upon a time", "max_tokens": 4}

# Fields that both routes take, with a value that is fine.
GOOD = {
    "temperature": 0.7, "top_p": 0.9, "top_k": 40, "min_p": 0.05, "seed": -5, "n": 2, "best_of": None,
    "stop": ["\n\n", "END"], "stop_token_ids": [0], "ignore_eos": True, "min_tokens": 2,
    "presence_penalty": 0.5, "frequency_penalty": -0.5, "repetition_penalty": 1.1, "repeat_penalty": 1.1,
    "logit_bias": {"100": -100, "200": 5.5}, "return_token_ids": True, "include_stop_str_in_output": True,
    "cache_salt": "mine", "user": "someone", "metadata": {"a": "b"}, "store": False,
    "service_tier": "flex", "safety_identifier": "someone", "priority": -3, "timeout_ms": 600000,
    "expected_tokens": 3, "model": "org/alias-model", "response_format": {"type": "text"},
    "a_field_nobody_knows": [1, 2, 3],
}

# (field, value): wrong on both routes, and the error names the field.
BAD = [
    ("temperature", -0.1), ("temperature", 2.1), ("temperature", "hot"), ("top_p", 0), ("top_p", 1.5),
    ("top_k", -2), ("top_k", 1.5), ("min_p", -1), ("seed", 2**70), ("seed", "x"), ("n", 0), ("n", 1000),
    ("stop", [""]), ("stop", ["x"] * 17), ("stop", 5), ("stop_token_ids", [-1]), ("stop_token_ids", "x"),
    ("stop_token_ids", [10**7]), ("ignore_eos", "yes"), ("min_tokens", -1), ("min_tokens", 1000),
    ("presence_penalty", 3), ("frequency_penalty", -3), ("repetition_penalty", 0),
    ("logit_bias", {"x": 1}), ("logit_bias", {"5": 101}), ("logit_bias", [1]), ("logit_bias", {"9999999": 1}),
    ("stream", "true"), ("stream_options", {"include_usage": True}), ("max_tokens", -1),
    ("max_tokens", "many"), ("best_of", 5), ("cache_salt", "x" * 300), ("model", 5),
    ("response_format", {"type": "json_object"}), ("structured_outputs", {"json": {}}),
    ("grammar", "root ::= x"), ("priority", 1.5), ("priority", "high"), ("priority", 1001), ("timeout_ms", 0),
    ("timeout_ms", "soon"), ("service_tier", "gold"), ("user", "x" * 129), ("user", 5), ("expected_tokens", 0),
]
