import time

from prometheus_client.parser import text_string_to_metric_families


def families(server):
    response = server.http.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {family.name: family for family in text_string_to_metric_families(response.text)}


def sample(family, suffix="", **labels):
    for one in family.samples:
        if one.name == family.name + suffix and labels.items() <= one.labels.items():
            return one.value
    raise AssertionError(f"{family.name}{suffix} {labels}")


def test_every_name_of_the_catalogue_parses(server):
    server.complete(max_tokens=3)
    found = families(server)
    for name in ("requests_running", "requests_waiting", "kv_blocks", "kv_usage_ratio", "prefix_tokens",
                 "prompt_tokens", "generated_tokens", "requests_finished", "requests_rejected", "preemptions",
                 "ttft_seconds", "itl_seconds", "tpot_seconds", "e2e_seconds", "queue_seconds",
                 "prefill_seconds", "decode_seconds", "request_prompt_tokens", "request_output_tokens",
                 "request_preemptions", "request_recomputed_tokens", "request_swapped_bytes", "recomputed_tokens",
                 "swapped_bytes", "step_seconds", "http_responses"):
        assert "paternoster_" + name in found, name
    for name in ("num_requests_running", "num_requests_waiting", "kv_cache_usage_perc", "prefix_cache_queries",
                 "prefix_cache_hits", "prompt_tokens", "generation_tokens", "request_success", "num_preemptions",
                 "time_to_first_token_seconds", "inter_token_latency_seconds", "e2e_request_latency_seconds",
                 "request_queue_time_seconds", "request_prompt_tokens", "request_generation_tokens",
                 "iteration_tokens_total", "cache_config_info"):
        family = found["vllm:" + name]
        assert all(one.labels["engine"] == "0" and one.labels["model_name"] == "smollm2" for one in family.samples)


def test_a_request_is_counted_once_everywhere(server):
    assert server.quiet()
    before = families(server)
    server.complete("A quite new prompt, number 51", max_tokens=9, ignore_eos=True)
    after = families(server)

    def grown(name, suffix="", **labels):
        return sample(after[name], suffix, **labels) - sample(before[name], suffix, **labels)

    assert grown("paternoster_generated_tokens", "_total") == 9
    assert grown("vllm:generation_tokens", "_total") == 9
    assert grown("paternoster_requests_finished", "_total", reason="length") == 1
    assert grown("vllm:request_success", "_total", finished_reason="length") == 1
    for name, times in {"ttft": 1, "itl": 8, "tpot": 1, "e2e": 1, "queue": 1}.items():
        assert grown(f"paternoster_{name}_seconds", "_count", **{"class": "default"}) == times
        assert grown(f"paternoster_{name}_seconds", "_count", **{"class": "flex"}) == 0
    assert grown("vllm:inter_token_latency_seconds", "_count") == 8
    assert grown("paternoster_request_output_tokens", "_sum") == 9
    prompt = grown("paternoster_request_prompt_tokens", "_sum")
    assert prompt == grown("vllm:prompt_tokens", "_total") == grown("vllm:prefix_cache_queries", "_total")


def test_histograms_are_cumulative(server):
    for family in families(server).values():
        if family.type != "histogram":
            continue
        cells = {}
        for one in family.samples:
            labels = tuple(sorted((key, value) for key, value in one.labels.items() if key != "le"))
            cells.setdefault(labels, {}).setdefault(one.name.removeprefix(family.name), []).append(one.value)
        for cell in cells.values():
            assert cell["_bucket"] == sorted(cell["_bucket"]), family.name
            assert cell["_bucket"][-1] == cell["_count"][0]


def test_a_scrape_is_quick(server):
    took = []
    for _ in range(30):
        began = time.perf_counter()
        server.http.get("/metrics")
        took.append(time.perf_counter() - began)
    assert sorted(took)[len(took) // 2] < 0.05
