"""The same requests through four HTTP clients, one a process: what choosing one costs. Used by `overhead.py --clients`."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

Ask = Callable[[bytes], Awaitable[str]]


async def with_httpx(url: str, run: Callable[[Ask], Awaitable[None]]) -> None:
    """httpx by itself."""
    import httpx

    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(limits=limits, timeout=600) as client:

        async def ask(body: bytes) -> str:
            answer = await client.post(
                f"{url}/chat/completions", content=body, headers={"Content-Type": "application/json"}
            )
            return str(answer.json()["choices"][0]["message"]["content"])

        await run(ask)


async def with_openai(url: str, run: Callable[[Ask], Awaitable[None]], *, aiohttp: bool) -> None:
    """OpenAI's own library, on httpx or on aiohttp."""
    import openai

    http: Any = openai.DefaultAioHttpClient() if aiohttp else None
    async with openai.AsyncOpenAI(base_url=url, api_key="none", http_client=http, max_retries=0) as client:

        async def ask(body: bytes) -> str:
            fields = json.loads(body)
            answer = await client.chat.completions.create(**fields)
            return answer.choices[0].message.content or ""

        await run(ask)


def main() -> None:
    """Ask the requests of a file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("bodies")
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--concurrency", type=int, default=256)
    parser.add_argument("--client", default="aiohttp")
    options = parser.parse_args()
    with open(options.bodies, "rb") as lines:  # noqa: PTH123 - as in bare.py
        bodies = [line.rstrip(b"\n") for line in lines] * options.times
    if options.client == "aiohttp":
        from bare import ask_all

        assert asyncio.run(ask_all(options.url, bodies, options.concurrency)) == len(bodies)
        return
    waiting = iter(bodies)

    async def run(ask: Ask) -> None:
        async def work() -> None:
            for body in waiting:
                assert await ask(body)

        await asyncio.gather(*(work() for _ in range(options.concurrency)))

    if options.client == "httpx":
        asyncio.run(with_httpx(options.url, run))
    else:
        asyncio.run(with_openai(options.url, run, aiohttp="aiohttp" in options.client))


if __name__ == "__main__":
    main()
