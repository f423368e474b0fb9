"""A small asyncio client for streamed completions: one request a connection, its tokens timed as they come."""

import asyncio
import dataclasses
import json
import random
import time

WORDS = ("lift", "rider", "floor", "never", "stops", "while", "people", "step", "shaft", "chain", "cabin", "up",
         "down", "moves", "slowly", "round", "again", "house", "stone", "stair")


@dataclasses.dataclass
class Streamed:
    begin: float
    times: list  # when each chunk with text came
    tokens: int = 0
    status: int = 0  # 0: no answer at all
    whole: bool = False  # the stream was ended as it should be
    end: float = 0

    @property
    def first(self):
        return self.times[0] - self.begin

    @property
    def gaps(self):
        return [b - a for a, b in zip(self.times, self.times[1:])]


def prompt_of(number, words):
    draw = random.Random(number)
    return f"{number}: " + " ".join(draw.choice(WORDS) for _ in range(words))


async def ask(port, number, words, tokens):
    """Streams one answer of exactly `tokens` tokens; every prompt begins differently, so no cache helps. Whatever the
    status, it reads to the end of the answer."""
    body = json.dumps({"prompt": prompt_of(number, words), "max_tokens": tokens, "stream": True,
                       "temperature": 0, "ignore_eos": True}).encode()
    streamed = Streamed(time.perf_counter(), [])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                 b"Connection: close\r\nContent-Length: " + str(len(body)).encode() + b"\r\n\r\n" + body)
    status = (await reader.readline()).split()
    streamed.status = int(status[1]) if len(status) > 1 else 0
    async for line in reader:
        streamed.whole |= line.startswith(b"data: [DONE]")
        if not line.startswith(b"data: {"):
            continue
        chunk = json.loads(line[6:])
        if chunk.get("choices") and chunk["choices"][0].get("text"):
            streamed.times.append(time.perf_counter())
    streamed.end = time.perf_counter()
    writer.close()
    if streamed.status == 200:
        streamed.tokens = tokens
    return streamed


async def completion(port, number, words, tokens):
    streamed = await ask(port, number, words, tokens)
    if streamed.status != 200:
        raise RuntimeError(f"answered with {streamed.status}")
    return streamed


async def closed_loop(port, streams, requests, words=110, tokens=64, first=0):
    """`streams` clients, each of which asks again as soon as it is answered. (answers, seconds)"""
    numbers = iter(range(first, first + requests))
    answers = []

    async def one():
        for number in numbers:
            answers.append(await completion(port, number, words, tokens))

    begin = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(streams)))
    return answers, time.perf_counter() - begin
