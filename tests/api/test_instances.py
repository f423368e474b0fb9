"""Several engines in one process: the same answers as one gives, and one server to whoever looks."""

import concurrent.futures

import pytest
import served

from test_command import last_line, run
from test_metrics import families, sample

FLAGS = ("--max-seqs", "8", "--kv-tokens", "16384", "--max-len", "2048", "--threads", "2")
PROMPTS = [f"{words}, said the {who}," for words in ("Once upon a time", "In the year of the flood")
           for who in ("king", "miller", "fox", "cook")]


def ask_all(server):
    """Every prompt at once, greedy and seeded in turns: text by prompt."""

    def ask(at):
        fields = {"temperature": 0.8, "seed": at} if at % 2 else {"temperature": 0}
        reply = server.complete(PROMPTS[at], max_tokens=24, ignore_eos=True, **fields)
        return reply["choices"][0]["text"], reply["usage"]["completion_tokens"]

    with concurrent.futures.ThreadPoolExecutor(len(PROMPTS)) as pool:
        return list(pool.map(ask, range(len(PROMPTS))))


@pytest.fixture(scope="module")
def alone(server):
    return ask_all(server)


@pytest.mark.parametrize("placement", ["round_robin", "least_loaded", "max_min", "prefix"])
def test_two_engines_answer_as_one(start, alone, placement):
    server = start(*FLAGS, "--instances", "2", "--placement", placement, "--check-invariants")
    assert ask_all(server) == alone


@pytest.mark.parametrize("flags", [
    ("--preset", "scls"), ("--preset", "cluster"), ("--fleet", "scls_keep", "--slice-tokens", "3"), ("--fleet", "so"),
])
def test_slices_over_two_engines_answer_as_one(start, alone, flags):
    sliced = () if "--slice-tokens" in flags else ("--slice-tokens", "5")
    server = start(*FLAGS, "--instances", "2", "--fleet-interval", "5ms", "--check-invariants", *flags, *sliced) \
        if "cluster" not in flags else start(*FLAGS, "--instances", "2", "--check-invariants", *flags, *sliced)
    assert ask_all(server) == alone
    found = families(server)
    assert sample(found["paternoster_requests_finished"], "_total", reason="length") == len(PROMPTS)
    assert sample(found["paternoster_generated_tokens"], "_total") == 24 * len(PROMPTS)
    scheduling = server.http.get("/props").json()["scheduling"]
    assert scheduling["slice_tokens"] in ("3", "5") and scheduling["boarding"] in ("continuous",)
    assert server.quiet()


def test_requests_in_slices_are_listed_and_ended_wherever_they_are(start):
    server = start("--max-seqs", "2", "--kv-tokens", "8192", "--max-len", "2048", "--threads", "2", "--instances", "2",
                   "--preset", "scls", "--slice-tokens", "400")
    streams = [served.Stream(server, f"Number {n}", tokens=1500, request_id=f"rider-{n}") for n in range(5)]
    try:
        assert served.eventually(lambda: len(server.http.get("/debug/requests").json()["requests"]) == 5)
        assert served.eventually(lambda: server.running() == 2)
        listed = {one["id"]: one for one in server.http.get("/debug/requests").json()["requests"]}
        states = [one["choices"][0]["state"] for one in listed.values()]
        assert states.count("waiting") == 3
        for one in listed.values():
            choice = one["choices"][0]
            assert (choice["reason"] is not None) == (choice["state"] == "waiting")
            assert (one["engine"] is None) == (choice["state"] == "waiting")
        # Who waits ends without a word, who runs with what it has said.
        waits = next(name for name, one in listed.items() if one["choices"][0]["state"] == "waiting")
        runs = next(name for name, one in listed.items() if one["choices"][0]["state"] != "waiting")
        for name in (waits, runs):
            assert server.http.delete(f"/v1/requests/{name}").status_code == 200
        assert served.eventually(lambda: len(server.http.get("/debug/requests").json()["requests"]) == 3)
        assert server.http.delete(f"/v1/requests/{waits}").status_code == 404
    finally:
        for stream in streams:
            stream.stop()
    assert server.quiet()


@pytest.mark.parametrize("flags", [("--fleet", "spread"), ("--preset", "scls", "--slice-tokens", "8")])
def test_delete_ends_a_request_on_any_engine(start, flags):
    server = start(*FLAGS, "--instances", "2", *flags)
    streams = [served.Stream(server, f"Number {n}", tokens=1800, request_id=f"rider-{n}") for n in range(4)]
    try:
        assert served.eventually(lambda: server.running() + server.waiting() == 4)
        engines = {one["engine"] for one in server.http.get("/debug/requests").json()["requests"]}
        assert engines <= {0, 1, None}
        for number in range(4):
            assert server.http.delete(f"/v1/requests/rider-{number}").status_code == 200
        assert served.eventually(lambda: server.http.get("/debug/requests").json() == {"requests": []})
    finally:
        for stream in streams:
            stream.stop()
    assert server.quiet()
    assert sample(families(server)["paternoster_kv_blocks"], state="used") == 0


def test_engines_are_shown_as_one_server(start, tmp_path):
    journal = tmp_path / "journal"
    server = start(*FLAGS, "--instances", "2", "--placement", "round_robin", "--journal", str(journal))
    props = server.http.get("/props").json()
    assert props["engines"] == 2 and props["total_slots"] == 8 and props["kv_tokens"] == 16384
    tokens = sum(count for _, count in ask_all(server))
    found = families(server)
    assert sample(found["paternoster_generated_tokens"], "_total") == tokens
    assert sample(found["paternoster_requests_finished"], "_total", reason="length") == len(PROMPTS)
    blocks = [sample(found["paternoster_kv_blocks"], state=state) for state in ("used", "cached", "free")]
    assert sum(blocks) * props["kv_block_tokens"] == 16384
    for engine in ("0", "1"):
        assert sample(found["paternoster_engine_requests_running"], engine=engine) == 0
    assert [len(path.read_bytes()) > 100 for path in sorted(tmp_path.iterdir())] == [True, True]
    ready = server.http.get("/health/ready")
    assert ready.status_code == 200


def test_a_list_of_requests_comes_from_every_engine(start):
    server = start(*FLAGS, "--instances", "2", "--placement", "round_robin")
    streams = [served.Stream(server, f"Number {n}", tokens=1500) for n in range(4)]
    try:
        assert served.eventually(lambda: server.metric("vllm:num_requests_running") == 4)
        listed = server.http.get("/debug/requests").json()["requests"]
        assert len(listed) == 4
        for engine in ("0", "1"):
            assert sample(families(server)["paternoster_engine_requests_running"], engine=engine) == 2
    finally:
        for stream in streams:
            stream.stop()
    assert server.quiet()


@pytest.mark.parametrize("flags, words", [
    (["--instances", "0"], "--instances"),
    (["--placement", "prefix"], "--instances"),
    (["--fleet", "scls"], "--instances"),
    (["--fleet", "scls", "--instances", "1"], "--instances 2"),
    (["--instances", "2", "--fleet", "best"], "scls_keep"),
    (["--instances", "2", "--slice-tokens", "5"], "--slice-tokens"),
    (["--instances", "2", "--fleet-interval", "5ms"], "--fleet-interval"),
    (["--instances", "2", "--preset", "scls", "--boarding", "sliced"], "cut already"),
    (["--swap-file", "/tmp/swap"], "--relief swap"),
    (["--instances", "2", "--placement", "best"], "round_robin, least_loaded, prefix, max_min"),
])
def test_wrong_flags_are_one_line_and_exit_2(flags, words):
    result = run(*flags)
    assert result.returncode == 2 and len(result.stderr.strip().splitlines()) == 1
    assert words in result.stderr


@pytest.mark.parametrize("flags, words", [
    (["--instances", "4", "--max-seqs", "3"], "seats (--max-seqs)"),
    (["--instances", "4", "--threads", "2"], "threads (--threads)"),
    (["--relief", "swap", "--swap-file", "/nowhere/at/all"], "cannot create the swap file /nowhere/at/all"),
    (["--relief", "swap", "--swap-file", "/etc/hostname"], "/etc/hostname: File exists"),
    (["--instances", "2", "--kv-tokens", "4096", "--max-len", "4096"], "--kv-tokens"),
])
def test_what_is_too_little_to_share_is_named_and_exit_1(flags, words):
    result = run(served.need(served.SMOLLM2), *flags)
    assert result.returncode == 1 and words in last_line(result)
