"""Marks within limits: a long response is judged in a process of its own, so that nothing in it can hold up a run.

A text of some thousand characters is judged in microseconds and, at the very worst, in a second. What a longer one can
do to a pattern or a parser is not bounded here, and Python runs one thread at a time: only another process leaves
asking, Ctrl-C and SIGTERM alone. At its limit that process is ended, and the mark is `unmarkable`, which is kept: the
response is not met again in the same way.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import islice

import msgspec

from markscheme.marking import get_protocol, mark, mark_many
from markscheme.marking.sandbox import Pool
from markscheme.types import Mark, Problem, Response, Verdict

LONG = 16_000
"""Characters above which a response is judged apart. Handing one over takes some 0.2 ms."""
SECONDS = 5.0
"""Of processor time for one response."""
SIDE_BY_SIDE = 2
AT_ONCE = 256

Pair = tuple[Response, Problem]


def is_long(response: Response) -> bool:
    """Whether a response is judged in a process of its own."""
    return len(response.text) + len(response.reasoning or "") > LONG


def mark_apart(response: Response, problem: Problem, protocol: str, seconds: float | None = None) -> Mark:
    """Judge in another process, for at most so long; waits without keeping other threads from their work."""
    arguments = [msgspec.json.encode(response), msgspec.json.encode(problem), protocol]
    outcome = _pool().run(f"{__name__}:judge_encoded", arguments, time_limit=SECONDS if seconds is None else seconds)
    if outcome.status == "done":
        return msgspec.json.decode(outcome.value, type=Mark)
    if outcome.status == "failed" and "memory" not in outcome.why:
        return mark(response, problem, protocol=protocol)  # a protocol that only this process knows
    why = f"the marker {outcome.why}" if outcome.status == "timeout" else f"the marker failed: {outcome.why}"
    label = get_protocol(protocol).label
    return Mark(verdict=Verdict.UNMARKABLE, protocol=label, why=why, key=response.key, sample=response.sample)


def mark_all(pairs: Iterable[Pair], protocol: str, until: float = float("inf")) -> Iterator[list[Mark]]:
    """Judge stored responses, some at a time and in any order; stops at the time `until` (a `time.monotonic`)."""
    stream = iter(pairs)
    clock = threading.Timer(until - time.monotonic(), stop_marking) if until < float("inf") else None
    if clock is not None:
        clock.daemon = True
        clock.start()
    with ThreadPoolExecutor(SIDE_BY_SIDE, thread_name_prefix="marking") as threads:
        while batch := list(islice(stream, AT_ONCE)):
            yield list(mark_many((pair for pair in batch if not is_long(pair[0])), protocol))
            long = (pair for pair in batch if is_long(pair[0]))
            while time.monotonic() < until and (few := list(islice(long, SIDE_BY_SIDE))):
                marks = list(threads.map(lambda pair: mark_apart(pair[0], pair[1], protocol), few))
                if time.monotonic() < until:  # else they were broken off, which says nothing about them
                    yield marks
            if time.monotonic() > until:
                return
    if clock is not None:
        clock.cancel()


def judge_encoded(response: bytes, problem: bytes, protocol: str) -> bytes:
    """What the other process does."""
    judged = mark(
        msgspec.json.decode(response, type=Response), msgspec.json.decode(problem, type=Problem), protocol=protocol
    )
    return msgspec.json.encode(judged)


def stop_marking() -> None:
    """Break off what is being judged apart."""
    _pool().close()


@cache
def _pool() -> Pool:
    """Apart from the marker's own pool: a mark that waits for that one must not wait for itself."""
    return Pool(SIDE_BY_SIDE)
