"""OpenVINO GenAI's continuous batching on a GGUF: one JSON line for each number of sequences.

Run inside its own virtual environment by compare.py. Prefill: N prompts, one token each. Decode: only
steps after every sequence has its first token and before any of them ends.
"""

import argparse
import json
import random
import time

import numpy
import openvino
import openvino_genai as genai


def submit(pipeline, first, count, prompt, new_tokens):
    config = genai.GenerationConfig()
    config.max_new_tokens = new_tokens
    config.ignore_eos = True
    config.do_sample = False
    handles = []
    for number in range(first, first + count):
        draw = random.Random(number)
        ids = numpy.array([[draw.randrange(1000, 40000) for _ in range(prompt)]], dtype=numpy.int64)
        handles.append(pipeline.add_request(number, openvino.Tensor(ids), config))
    return handles


def prefill_tokens_per_second(pipeline, first, count, prompt):
    handles = submit(pipeline, first, count, prompt, 1)  # a dropped handle cancels its request
    begin = time.perf_counter()
    while pipeline.has_non_finished_requests():
        pipeline.step()
    seconds = time.perf_counter() - begin
    assert all(handle.can_read() for handle in handles)
    return count * prompt / seconds


def decode_tokens_per_second(pipeline, first, count, prompt, decode):
    handles = submit(pipeline, first, count, prompt, decode + 1)
    produced = [0] * count

    def step():
        pipeline.step()
        for index, handle in enumerate(handles):
            while handle.can_read():
                for output in handle.read().values():
                    produced[index] += len(output.generated_ids)

    while min(produced) == 0:
        step()
    seconds = 0.0
    tokens = 0
    while max(produced) < decode and pipeline.has_non_finished_requests():
        before = sum(produced)
        begin = time.perf_counter()
        step()
        seconds += time.perf_counter() - begin
        tokens += sum(produced) - before
    while pipeline.has_non_finished_requests():
        step()
    return tokens / seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--sequences", required=True)
    parser.add_argument("--prompt", type=int, required=True)
    parser.add_argument("--decode", type=int, required=True)
    options = parser.parse_args()
    scheduler = genai.SchedulerConfig()
    scheduler.max_num_batched_tokens = 2048
    scheduler.max_num_seqs = 64
    scheduler.num_kv_blocks = 64 * (options.prompt + options.decode + 64) // 32
    scheduler.enable_prefix_caching = False
    pipeline = genai.ContinuousBatchingPipeline(
        options.model, scheduler, "CPU", {"INFERENCE_NUM_THREADS": options.threads})
    first = 1
    prefill_tokens_per_second(pipeline, 0, 1, options.prompt)  # the first touches the memory
    for count in map(int, options.sequences.split(",")):
        prefill = prefill_tokens_per_second(pipeline, first, count, options.prompt)
        decode = decode_tokens_per_second(
            pipeline, first + count, count, options.prompt, options.decode)
        first += 2 * count
        print(json.dumps({"sequences": count, "prefill": prefill, "decode": decode}), flush=True)


if __name__ == "__main__":
    main()
