"""`mark` and `mark_many`: a response, a gold answer and a protocol in, a `Mark` out.

Never raises on a response, whatever stands in it; raises `UsageError` for a call that cannot mean anything.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import msgspec

from markscheme.errors import MarkingError, UsageError
from markscheme.marking.protocol import Finding, Protocol, get_protocol
from markscheme.marking.reading import THINK_END, read
from markscheme.types import CountdownGold, Gold, Mark, Problem, Response, Verdict


def mark(
    response: str | Response,
    problem: Problem | None = None,
    *,
    gold: str | int | float | Mapping[str, Any] | CountdownGold | None = None,
    protocol: str | None = None,
    think_end: str = THINK_END,
) -> Mark:
    """Judge one response against a problem, or against `gold`, under a protocol (the problem's own by default)."""
    if problem is not None:
        protocol = protocol or problem.protocol
        gold = problem.gold if gold is None else gold
    if gold is None:
        raise UsageError("mark needs a gold answer: give a problem or gold=….")
    if protocol is None:
        protocol = "countdown" if isinstance(gold, CountdownGold | Mapping) else "math"
    rule = get_protocol(protocol)
    return judge(rule, response, as_gold(gold, rule), think_end)


def mark_many(
    pairs: Iterable[tuple[Response, Problem]],
    protocol: str | None = None,
    *,
    workers: int | None = None,
    think_end: str = THINK_END,
) -> Iterator[Mark]:
    """Judge many, in order and streaming.

    Protocols that only read text are judged inline. One that may wait for a worker process (`slow`) is judged from
    `workers` threads (default: two a core, at most 16), which overlap those waits; order is kept all the same.
    """
    if protocol is None or not get_protocol(protocol).slow:
        for response, problem in pairs:
            yield mark(response, problem, protocol=protocol, think_end=think_end)
        return
    threads = workers or min(16, 2 * (os.cpu_count() or 1))
    with ThreadPoolExecutor(threads, thread_name_prefix="marking") as pool:
        waiting: deque[Future[Mark]] = deque()
        for response, problem in pairs:
            waiting.append(pool.submit(mark, response, problem, protocol=protocol, think_end=think_end))
            if len(waiting) >= 4 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def as_gold(gold: str | int | float | Mapping[str, Any] | CountdownGold, rule: Protocol) -> Gold:
    """The gold in the form the protocol judges against, or why it has none."""
    if rule.gold == "text" and isinstance(gold, str):
        return gold
    if rule.gold == "countdown":
        if isinstance(gold, CountdownGold):
            return gold
        try:
            if isinstance(gold, str):
                return msgspec.json.decode(gold, type=CountdownGold)
            return msgspec.convert(gold, CountdownGold)
        except msgspec.MsgspecError as problem:
            raise MarkingError(
                f"protocol {rule.name!r} needs the numbers and the target as gold, such as "
                f'{{"nums": [3, 5, 2], "target": 16}}, not {str(gold)[:60]!r} ({problem}).'
            ) from None
    if isinstance(gold, CountdownGold | Mapping):
        raise MarkingError(f"protocol {rule.name!r} judges against an answer, not against Countdown numbers.")
    return gold if isinstance(gold, str) else str(gold)


def judge(rule: Protocol, response: str | Response, gold: Gold, think_end: str) -> Mark:
    """Read the response, let the protocol judge, sign the mark."""
    if isinstance(response, str):
        return _signed(_find(rule, response, gold, think_end, cut_off=False), rule, "", 0)
    if response.error is not None:
        finding = Finding(Verdict.ERROR, why=response.error)
    else:
        still_thinking = not response.text and bool(response.reasoning) and response.finish_reason is None
        cut_off = response.finish_reason == "length" or still_thinking
        finding = _find(rule, response.text, gold, think_end, cut_off)
    return _signed(finding, rule, response.key, response.sample)


def _find(rule: Protocol, text: str, gold: Gold, think_end: str, cut_off: bool) -> Finding:
    reading = read(text, think_end=think_end, cut_off=cut_off)
    finding = rule.judge(reading, gold)
    if reading.cut_off and finding.verdict is Verdict.NO_ANSWER:
        return finding._replace(verdict=Verdict.TRUNCATED, why="cut off before an answer")
    return finding


def _signed(finding: Finding, rule: Protocol, key: str, sample: int) -> Mark:
    verdict, answer, why, span, flags = finding
    return Mark(
        verdict=verdict, protocol=rule.label, answer=answer, why=why, span=span, flags=flags, key=key, sample=sample
    )
