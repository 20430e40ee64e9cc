"""Latency of the reward server beside a bare one that answers without judging, in the same run.

    python perf/reward_server.py [--rate 1000] [--seconds 10]

Both get the same requests at the same times, whether or not earlier ones were answered. Printed are p50 and p99 of each, and
the ratio.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import time

import aiohttp
from aiohttp import web

BARE = "bare"


async def bare() -> None:
    """Answer every request with the same JSON."""

    async def answer(request: web.Request) -> web.Response:
        await request.json()
        return web.json_response({"reward": 1.0})

    app = web.Application()
    app.router.add_post("/verify", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=2048).start()
    print(f"rewards at http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.Event().wait()


async def load(url: str, rate: int, seconds: float) -> tuple[list[float], int]:
    """Seconds of each answer, and how many were refused."""
    took: list[float] = []
    refused = 0
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=512)) as session:

        async def ask(number: int, due: float) -> None:
            nonlocal refused
            text = f"We add the {number % 7} parts and get 18.\nThe answer is \\boxed{{{18 + number % 3}}}."
            async with session.post(
                f"{url}/verify", json={"response": text, "gold": "18", "question": "How many?"}
            ) as reply:
                await reply.read()
                refused += reply.status != 200
            took.append(time.perf_counter() - due)

        began = time.perf_counter()
        tasks = []
        for number in range(round(rate * seconds)):
            due = began + number / rate
            if (early := due - time.perf_counter()) > 0:
                await asyncio.sleep(early)
            tasks.append(asyncio.create_task(ask(number, due)))
        await asyncio.gather(*tasks)
    return sorted(took), refused


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--bare", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.bare:
        asyncio.run(bare())
    ours = [sys.executable, "-m", "markscheme", "reward", "serve", "--port", "0", "--strict", "form", "-p", "math"]
    print("| server | p50, ms | p99, ms | refused |\n|---|---|---|---|")
    for name, command in ((BARE, [sys.executable, __file__, "--bare"]), ("markscheme", ours)):
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            url = server.stdout.readline().split()[-1]
            asyncio.run(load(url, 50, 2))  # warm
            took, refused = asyncio.run(load(url, options.rate, options.seconds))
        finally:
            server.terminate()
            server.wait()
        half, most = (1_000 * took[int(share * len(took))] for share in (0.5, 0.99))
        print(f"| {name} | {half:.1f} | {most:.1f} | {refused} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
