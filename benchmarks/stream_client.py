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

    @property
    def first(self):
        return self.times[0] - self.begin

    @property
    def gaps(self):
        return [b - a for a, b in zip(self.times, self.times[1:])]


def prompt_of(number, words):
    draw = random.Random(number)
    return f"{number}: " + " ".join(draw.choice(WORDS) for _ in range(words))


async def completion(port, number, words, tokens):
    """Streams one answer of exactly `tokens` tokens; every prompt begins differently, so no cache helps."""
    body = json.dumps({"prompt": prompt_of(number, words), "max_tokens": tokens, "stream": True,
                       "temperature": 0, "ignore_eos": True}).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                 b"Connection: close\r\nContent-Length: " + str(len(body)).encode() + b"\r\n\r\n" + body)
    streamed = Streamed(time.perf_counter(), [])
    status = await reader.readline()
    if b" 200 " not in status:
        raise RuntimeError(status.decode().strip())
    async for line in reader:
        if not line.startswith(b"data: {"):
            continue
        chunk = json.loads(line[6:])
        if chunk.get("choices") and chunk["choices"][0].get("text"):
            streamed.times.append(time.perf_counter())
    streamed.tokens = tokens
    writer.close()
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
