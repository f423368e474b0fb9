#!/usr/bin/env python3
"""`paternoster bench` beside guidellm: the same server, the same load, in turn, in one run.

Both play a closed loop of N streams, rounds alternate, every figure is the median over the rounds. The
medians should agree within 3 %; where they do not, the reasons we know are printed with them.

    benchmarks/bench/peers.py                        against `paternoster mock`
    benchmarks/bench/peers.py --server serve         against `paternoster serve` with SmolLM2
    benchmarks/bench/peers.py --rounds 5 --streams 8

guidellm comes from PyPI, into the cache, the first time.
"""

import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = pathlib.Path(subprocess.check_output([ROOT / "scripts/cache-dir"], text=True).strip())
VERSION = "0.8.1"
VENV = CACHE / "peers" / f"guidellm-{VERSION}"
OUTPUT = 64

WHY = """Known differences: guidellm counts a request from when its worker begins it, we from when its turn came, so what
its own scheduler adds is in our TTFT and not in its; its processes share the machine with the server, ours is one
thread; its inter_token_latency is our TPOT (last - first) / (tokens - 1); its output tok/s covers the time from the
first request's begin to the last one's end, ours from the run's zero."""


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(ROOT / "build/release/paternoster"))
    parser.add_argument("--server", choices=["mock", "serve"], default="mock")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--streams", type=int, default=4)
    parser.add_argument("--requests", type=int, default=48)
    parser.add_argument("--limit-percent", type=float, default=3)
    return parser.parse_args()


def install():
    if (VENV / "installed").exists():
        return
    VENV.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
    subprocess.run([VENV / "bin/pip", "install", "--quiet", "--disable-pip-version-check", f"guidellm=={VERSION}"],
                   check=True)
    (VENV / "installed").touch()


def start_server(options):
    if options.server == "mock":
        command = [options.binary, "mock", "--port", "0", "--ttft", "60ms", "--itl", "12ms"]
    else:
        model = CACHE / "models/smollm2-135m-instruct-q4_1.gguf"
        command = [options.binary, "serve", str(model), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return process, process.stdout.readline().split()[-1]


def write_tokenizer(folder):
    """A byte is a token: all that guidellm needs to make prompts; tokens are counted by the server."""
    script = (
        "import sys\n"
        "from tokenizers import Tokenizer, models, pre_tokenizers, decoders\n"
        "letters = sorted(pre_tokenizers.ByteLevel.alphabet())\n"
        "tokenizer = Tokenizer(models.BPE({letter: i for i, letter in enumerate(letters)}, []))\n"
        "tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)\n"
        "tokenizer.decoder = decoders.ByteLevel()\n"
        "tokenizer.save(sys.argv[1])\n")
    folder.mkdir()
    subprocess.run([VENV / "bin/python", "-c", script, folder / "tokenizer.json"], check=True)
    return folder


def run_guidellm(options, url, tokenizer, folder):
    out = folder / "guidellm.json"
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "GUIDELLM__LOGGING__DISABLED": "true"}
    done = subprocess.run(
        [VENV / "bin/guidellm", "run", "--backend",
         f"kind=openai_http,target={url},request_format=/v1/chat/completions",
         "--tokenizer", f"kind=hf_auto,model={tokenizer}",
         "--data", f"kind=synthetic_text,prompt_tokens=400,output_tokens={OUTPUT}",
         "--profile", f"kind=concurrent,streams={options.streams}",
         "--constraint", f"kind=max_requests,count={options.requests}",
         "--output", f"kind=json,path={out}", "--disable-progress"],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"guidellm failed:\n{done.stdout[-2000:]}")
    metrics = json.loads(out.read_text())["benchmarks"][0]["metrics"]

    def median(name):
        return metrics[name]["successful"]["median"]

    return {
        "TTFT median, ms": median("time_to_first_token_ms"),
        "TPOT median, ms": median("inter_token_latency_ms"),
        "E2E median, ms": median("request_latency") * 1000,
        "output tok/s": metrics["output_tokens_per_second"]["successful"]["mean"],
        "output tokens": metrics["output_token_count"]["successful"]["mean"],
        "prompt tokens": metrics["prompt_token_count"]["successful"]["mean"],
    }


def run_ours(options, url, prompt_tokens, folder):
    out = folder / "ours.json"
    subprocess.run([options.binary, "bench", url, "--arrivals", f"closed:{options.streams}",
                    "--requests", str(options.requests), "--input", f"fixed:{round(prompt_tokens)}",
                    "--output", f"fixed:{OUTPUT}", "--warm-up", "0", "--json", out],
                   check=True, stdout=subprocess.DEVNULL)
    result = json.loads(out.read_text())
    return {
        "TTFT median, ms": result["median_ttft_ms"],
        "TPOT median, ms": result["median_tpot_ms"],
        "E2E median, ms": result["median_e2el_ms"],
        "output tok/s": result["output_throughput"],
        "output tokens": result["total_output_tokens"] / result["completed"],
        "prompt tokens": result["total_input_tokens"] / result["completed"],
    }


def warm(url):
    body = {"prompt": "warm up", "max_tokens": 8}
    request = urllib.request.Request(url + "/v1/completions", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    urllib.request.urlopen(request, timeout=120).read()


def main():
    options = read_options()
    install()
    theirs, ours = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        tokenizer = write_tokenizer(folder / "tokenizer")
        server, url = start_server(options)
        try:
            warm(url)
            for number in range(options.rounds):
                theirs.append(run_guidellm(options, url, tokenizer, folder))
                ours.append(run_ours(options, url, theirs[-1]["prompt tokens"], folder))
                print(f"round {number + 1}: guidellm {theirs[-1]['TTFT median, ms']:.1f} ms to the first token, "
                      f"ours {ours[-1]['TTFT median, ms']:.1f} ms", flush=True)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(60)
    print(f"\n{'':<18} {'guidellm':>10} {'ours':>10} {'ours / guidellm':>16}   spread of guidellm's rounds")
    agree = True
    for key in theirs[0]:
        one = statistics.median(entry[key] for entry in theirs)
        two = statistics.median(entry[key] for entry in ours)
        values = [entry[key] for entry in theirs]
        within = abs(two / one - 1) * 100 <= options.limit_percent
        agree = agree and within
        print(f"{key:<18} {one:>10.2f} {two:>10.2f} {two / one:>16.3f}   {(max(values) / min(values) - 1) * 100:>5.1f} %"
              f"{'' if within else '   beyond the limit'}")
    print("\n" + WHY)
    sys.exit(0 if agree else 1)


if __name__ == "__main__":
    main()
