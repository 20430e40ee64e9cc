"""The least that a client can do: send the same chat requests with aiohttp, parse the JSON, count. The yardstick."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time

import aiohttp


async def ask_all(url: str, bodies: list[bytes], concurrency: int) -> int:
    """Send every body, so many at once; returns the number of answers with a text in them."""
    waiting, good = iter(bodies), 0
    connector = aiohttp.TCPConnector(limit=0)
    headers = {"Content-Type": "application/json"}
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:

        async def work() -> None:
            nonlocal good
            for body in waiting:
                async with session.post(f"{url}/chat/completions", data=body) as answer:
                    parsed = json.loads(await answer.read())
                good += bool(parsed["choices"][0]["message"]["content"])

        await asyncio.gather(*(work() for _ in range(concurrency)))
    return good


def main() -> None:
    """Ask the requests of a file, one JSON body a line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("bodies")
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--concurrency", type=int, default=256)
    options = parser.parse_args()
    with open(options.bodies, "rb") as lines:  # noqa: PTH123 - every import counts here
        bodies = [line.rstrip(b"\n") for line in lines] * options.times
    started = time.perf_counter()
    good = asyncio.run(ask_all(options.url, bodies, options.concurrency))
    print(f"{good} answers in {time.perf_counter() - started:.2f} s")
    sys.exit(good != len(bodies))


if __name__ == "__main__":
    main()
