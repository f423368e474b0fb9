"""What the server writes down and how it tells that it makes progress."""

import json
import threading

import served

from conftest import api
from test_command import last_line, run


def test_a_trace_has_steps_and_the_spans_of_each_sequence(tmp_path):
    trace = tmp_path / "trace.json"
    with api("--kv-tokens", "8192", "--max-seqs", "1", "--trace", str(trace)) as server:
        first = served.Stream(server, tokens=60)
        second = served.Stream(server, tokens=5)
        first.done()
        second.done()
        assert server.quiet()
    events = json.loads(trace.read_text() + "]")
    steps = [event for event in events if event["name"] == "step"]
    assert len(steps) >= 65 and all(event["dur"] > 0 and event["args"]["tokens"] > 0 for event in steps)
    spans = {}
    for event in events:
        if event["ph"] == "X" and event["pid"] == 2:
            spans.setdefault(event["tid"], []).append(event)
    assert len(spans) == 2
    for mine in spans.values():
        assert {"queue", "prefill", "decode"} <= {event["name"] for event in mine}
        ends = [event["ts"] + event["dur"] for event in mine]
        assert all(abs(end - later["ts"]) < 1 for end, later in zip(ends, mine[1:])), "spans follow each other"
    assert any(event.get("args", {}).get("reason") == "seat_limit" for mine in spans.values() for event in mine)
    assert {event["name"] for event in events if event["ph"] == "C"} == {"KV blocks", "sequences"}


def test_a_file_that_cannot_be_written_is_one_line(tmp_path):
    for flag in ("--trace", "--journal"):
        result = run(served.need(served.SMOLLM2), "--kv-tokens", "4096", flag, str(tmp_path / "absent" / "file"))
        assert result.returncode == 1 and "cannot write" in last_line(result)


def test_not_ready_while_no_step_ends(start):
    server = start("--preset", "orca", "--step-tokens", "4096", "--kv-tokens", "8192", "--stall-timeout", "0.05")
    prompt = " ".join(str(number) for number in range(1000))
    thread = threading.Thread(target=server.complete, args=(prompt,), kwargs={"max_tokens": 2})
    seen = []

    def stalled():
        response = server.http.get("/health/ready")
        if response.status_code == 503:
            seen.append(response.json()["error"]["code"])
        return bool(seen)

    thread.start()
    assert served.eventually(stalled), "a prefill of seconds is no step's end"
    assert seen == ["stalled"]
    assert server.http.get("/health/live").status_code == 200
    thread.join()
    assert served.eventually(lambda: server.http.get("/health/ready").status_code == 200)
