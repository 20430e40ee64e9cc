"""A thousand replicas on paper: the real scheduler and the real choice of replica, in simulated time.

The event loop's clock jumps from event to event, so that hours pass in seconds; what is simulated is only the replicas:
so many sequences at once at so many tokens a second, some slow, some that die and come back. Responses are log-normal
in length with a long tail that ends at the token limit. Everything else is the code that runs in earnest.
"""

from __future__ import annotations

import asyncio
import heapq
import random
import selectors
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import log

from markscheme.config import make_config
from markscheme.models.base import Completion, Model, Request, RequestFailed
from markscheme.models.fleet.group import Group
from markscheme.running.limits import FixedLimit
from markscheme.running.live import Live
from markscheme.running.pace import Pace
from markscheme.running.retry import RetryPolicy
from markscheme.running.scheduler import Scheduler
from markscheme.types import Message, Prompt, Response, Sampling

LIMIT = 32_768  # tokens at which a response is cut off


@dataclass(frozen=True)
class Fleet:
    """What is simulated."""

    replicas: int = 1000
    slots: int = 64  # sequences that a replica generates at once
    speed: float = 40.0  # tokens a second of each
    slow: float = 0.02  # share of replicas at a third of that
    mean_life: float = 6 * 3600.0  # seconds until a replica dies
    repair: float = 300.0  # seconds until it is back
    requests: int = 200_000
    median: float = 3000.0  # tokens
    spread: float = 1.1  # of the logarithm
    seed: int = 0


@dataclass
class Found:
    """What came of it."""

    hours: float = 0.0
    until_dry: float = 0.0  # hours until the queue was empty
    useful: float = 0.0  # hours of slots that ended in an answer
    lost: float = 0.0  # hours of slots whose replica died under them
    busy_until_dry: float = 0.0
    tokens: int = 0
    deaths: int = 0
    twice: int = 0
    missing: int = 0
    driver: float = 0.0  # seconds of this processor
    capped: int = 0
    longest: float = 0.0  # hours of the longest response at full speed
    seen: set[tuple[str, int]] = field(default_factory=set)


class _Jumping(selectors.DefaultSelector):  # type: ignore[misc, valid-type]
    """Waits by moving the clock."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout:
            self.now += timeout
        return super().select(0)


class Clock(asyncio.SelectorEventLoop):
    """An event loop whose time is the simulation's."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Seconds since the simulation began."""
        return self._jumping.now


class _Server:
    """One simulated replica: a Member of the group."""

    gone: str | None = None

    def __init__(self, fleet: Fleet, lengths: dict[tuple[str, int], int], found: Found, luck: random.Random) -> None:
        self.speed = fleet.speed / 3 if luck.random() < fleet.slow else fleet.speed
        self._fleet, self._lengths, self._found, self._luck = fleet, lengths, found, luck
        self._slots = asyncio.Semaphore(fleet.slots)
        self._up = asyncio.Event()
        self._up.set()
        self._running: dict[asyncio.Future[None], float] = {}  # with the moments they began
        self.group: Group | None = None

    async def generate(self, request: Request) -> Sequence[Completion]:
        """Take a slot, generate, give the answer; or die trying."""
        loop = asyncio.get_running_loop()
        await self._up.wait()
        async with self._slots:
            tokens = self._lengths[request.key, request.samples[0]]
            began = loop.time()
            ended: asyncio.Future[None] = loop.create_future()
            timer = loop.call_later(tokens / self.speed, _finish, ended)
            self._running[ended] = began
            try:
                await ended
            except RequestFailed:
                self._found.lost += (loop.time() - began) / 3600
                raise
            finally:
                timer.cancel()
                del self._running[ended]
            self._found.useful += (loop.time() - began) / 3600
        self._found.tokens += tokens
        return [Completion(text="", completion_tokens=tokens)]

    async def live(self) -> None:
        """Die now and then, with everything in flight, and come back."""
        assert self.group is not None
        while True:
            await asyncio.sleep(self._luck.expovariate(1 / self._fleet.mean_life))
            self._found.deaths += 1
            self._up.clear()
            self.group.changed(self, up=False)
            for ended in list(self._running):
                if not ended.done():
                    ended.set_exception(RequestFailed("connection", "the replica died", retryable=True))
            await asyncio.sleep(self._fleet.repair)
            self._up.set()
            self.group.changed(self, up=True)


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class _Model(Model):
    name = "fleet"

    def __init__(self, group: Group) -> None:
        self._group = group

    async def generate(self, request: Request) -> Sequence[Completion]:
        return await self._group.generate(request)


def lengths_of(fleet: Fleet) -> list[int]:
    """Tokens of every response."""
    luck = random.Random(fleet.seed)
    draw = (int(luck.lognormvariate(log(fleet.median), fleet.spread)) + 1 for _ in range(fleet.requests))
    return [min(LIMIT, one) for one in draw]


def simulate(fleet: Fleet) -> Found:
    """Run the fleet dry."""
    with asyncio.Runner(loop_factory=Clock) as runner:
        return runner.run(_simulate(fleet))


async def _simulate(fleet: Fleet) -> Found:
    loop = asyncio.get_running_loop()
    found = Found()
    problems = 1000
    every = lengths_of(fleet)
    lengths = {(f"p{place % problems}", place // problems): tokens for place, tokens in enumerate(every)}
    found.capped = sum(tokens == LIMIT for tokens in every)
    found.longest = max(every) / fleet.speed / 3600
    luck = random.Random(fleet.seed + 1)
    servers = [_Server(fleet, lengths, found, luck) for _ in range(fleet.replicas)]
    group = Group(servers, clock=loop.time)
    for server in servers:
        server.group = group
    living = [asyncio.create_task(server.live()) for server in servers]

    def requests() -> Iterator[Request]:
        prompt, sampling = Prompt(messages=(Message("user", "?"),)), Sampling()
        for key, sample in lengths:
            yield Request(
                benchmark="b", problem_id=key, key=key, statement="", prompt=prompt, samples=(sample,), seeds=(0,),
                sampling=sampling,
            )  # fmt: skip
        found.until_dry = loop.time() / 3600
        found.busy_until_dry = found.useful + found.lost + _under_way(servers, loop.time())

    def sink(responses: list[Response]) -> None:
        for one in responses:
            found.missing += one.error is not None
            found.twice += (one.key, one.sample) in found.seen
            found.seen.add((one.key, one.sample))

    scheduler = Scheduler(
        _Model(group), requests(), sink, limit=FixedLimit(fleet.replicas * fleet.slots),
        pace=Pace(make_config(benchmark="b", model="m")), retry=RetryPolicy(30, 1.0, random.Random(2)),
        timeout=7200.0, live=Live(fleet.requests),
    )  # fmt: skip
    began = time.process_time()
    await scheduler.run()
    found.driver = time.process_time() - began
    found.hours = loop.time() / 3600
    found.missing += fleet.requests - len(found.seen)
    for task in living:
        task.cancel()
    return found


def _under_way(servers: Sequence[_Server], now: float) -> float:
    """Hours of slots that have not ended yet."""
    return sum(now - began for server in servers for began in server._running.values()) / 3600


def divided(fleet: Fleet) -> float:
    """Hours when every replica gets its equal share beforehand, and nobody dies: what one queue is compared with."""
    luck = random.Random(fleet.seed + 1)
    every = lengths_of(fleet)
    slowest = 0.0
    for place in range(fleet.replicas):
        speed = fleet.speed / 3 if luck.random() < fleet.slow else fleet.speed
        slots = [0.0] * fleet.slots
        for tokens in every[place :: fleet.replicas]:
            heapq.heapreplace(slots, slots[0] + tokens / speed)
        slowest = max(slowest, *slots)
    return slowest / 3600
