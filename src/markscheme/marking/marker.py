"""`mark` and `mark_many`: judge responses against gold answers with a protocol.

Never raises on a response, whatever it contains. An invalid call raises `UsageError`.
"""

from __future__ import annotations

import itertools
import os
import reprlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from numbers import Number
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from markscheme.errors import MarkingError, MarkschemeError, UsageError
from markscheme.marking.protocol import Assessment, Protocol, get_protocol
from markscheme.marking.reading.absences import absence
from markscheme.marking.reading.ending import is_cut_off
from markscheme.marking.reading.sections import THINK_END, ResponseSections, read
from markscheme.types import CountdownGold, Gold, Mark, Problem, Response, Verdict

if TYPE_CHECKING:
    from markscheme.marking.reading.explaining import Explanation


def mark(
    response: str | Response,
    problem: Problem | None = None,
    *,
    gold: str | int | float | Mapping[str, Any] | CountdownGold | None = None,
    protocol: Any = None,
    think_end: str = THINK_END,
) -> Mark:
    """Judge one response against a problem, or against `gold`, under a protocol (the problem's own by default).

    A protocol is a name, `file.py:name`, a `Protocol`, or a function `(response, gold)` that returns a bool, number or `Mark`.
    """
    return judge(*_job(response, problem, gold, protocol, think_end))


def mark_many(
    pairs: Iterable[tuple[Response, Problem]],
    protocol: str | None = None,
    *,
    workers: int | None = None,
    think_end: str = THINK_END,
) -> Iterator[Mark]:
    """Judge many responses as a stream, in order.

    A protocol that may wait for a worker process (`slow`) is judged from `workers` threads (default: two per core, at most
    16), which overlap those waits; any other is judged inline.
    """
    return judge_many((_job(response, problem, None, protocol, think_end) for response, problem in pairs), workers)


# Protocol, response, gold, the token that ends thinking, and the problem if known.
Job = tuple[Protocol, str | Response, Gold, str, Problem | None]


def _job(
    response: str | Response,
    problem: Problem | None,
    gold: str | int | float | Mapping[str, Any] | CountdownGold | None,
    protocol: Any,
    think_end: str,
) -> Job:
    if not isinstance(response, str | Response):
        raise UsageError(f"mark judges a text or a Response, not a {type(response).__name__}.")
    if problem is not None:
        protocol = protocol or problem.protocol
        gold = problem.gold if gold is None else gold
    if gold is None:
        raise UsageError("mark needs a gold answer: give a problem or gold=….")
    if protocol is None:
        protocol = "math" if isinstance(gold, str | int | float | Number) else "countdown"  # numpy's are Numbers too
    rule = get_protocol(protocol)
    return rule, response, as_gold(gold, rule), think_end, problem


_short = reprlib.Repr()  # bounds the depth: a gold may be nested without end
_short.maxstring = 60

_CHUNK = 32  # jobs per thread at a time: passing them costs about as much as marking five plain answers


def judge_many(jobs: Iterable[Job], workers: int | None = None) -> Iterator[Mark]:
    """Judge jobs in order: one by one while they are fast, from threads once they may wait for worker processes."""
    jobs = iter(jobs)
    threads = workers or min(16, 2 * (os.cpu_count() or 1))
    for job in jobs:
        if job[0].slow and threads > 1:
            yield from _side_by_side(itertools.chain([job], jobs), threads)
            return
        yield judge(*job)


def _side_by_side(jobs: Iterator[Job], threads: int) -> Iterator[Mark]:
    waiting: deque[Future[list[Mark]]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="marking") as pool:
        try:
            while chunk := list(itertools.islice(jobs, _CHUNK)):
                waiting.append(pool.submit(lambda jobs: [judge(*job) for job in jobs], chunk))
                if len(waiting) >= 2 * threads:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        finally:
            for future in waiting:  # the caller stopped early
                future.cancel()


def as_gold(gold: str | int | float | Mapping[str, Any] | CountdownGold, rule: Protocol) -> Gold:
    """Return the gold in the form that the protocol judges against. Raises `MarkingError` if there is none."""
    if rule.gold == "countdown" or (rule.gold == "any" and isinstance(gold, CountdownGold | Mapping)):
        return _puzzle(gold, rule)
    if isinstance(gold, str):
        return gold
    if isinstance(gold, CountdownGold | Mapping):
        raise MarkingError(f"protocol {rule.name!r} judges against an answer, not against Countdown numbers.")
    try:
        return str(gold)
    except ValueError:  # Python writes no integer of more than 4,300 digits
        raise MarkingError("a gold answer of more than 4,300 digits must be given as text.") from None


def _puzzle(gold: Any, rule: Protocol) -> CountdownGold:
    """Return a Countdown gold given as a struct, a mapping (TinyZero's key is `numbers`), or JSON."""
    if isinstance(gold, CountdownGold):
        return gold
    try:
        if isinstance(gold, str):
            gold = msgspec.json.decode(gold)
        numbers = gold["nums"] if "nums" in gold else gold["numbers"]
        # int() also takes the numpy integers that come out of a Parquet file; 3.5 must not become 3
        puzzle = CountdownGold(tuple(map(int, numbers)), int(gold["target"]))
        exact = all(whole == given for whole, given in zip(puzzle.nums, numbers, strict=True))
    except (msgspec.DecodeError, TypeError, KeyError, ValueError, OverflowError, RecursionError):
        exact = False
    if not exact or puzzle.target != gold["target"]:
        raise MarkingError(
            f"protocol {rule.name!r} needs the numbers and the target as gold, such as "
            f'{{"nums": [3, 5, 2], "target": 16}}, not {_short.repr(gold)}.'
        )
    return puzzle


def judge(rule: Protocol, response: str | Response, gold: Gold, think_end: str, problem: Problem | None = None) -> Mark:
    if isinstance(response, str):
        assessment = _assess(rule, _sections(response, think_end, problem), gold)
        return _as_mark(_with_absence(assessment, response), rule, "", 0)
    if response.error is not None:
        assessment = Assessment(Verdict.ERROR, why=response.error)
    else:
        assessment = _assess(rule, _sections(response, think_end, problem), gold)
        assessment = _with_absence(assessment, response.text, response)
    return _as_mark(assessment, rule, response.key, response.sample)


def _sections(response: str | Response, think_end: str, problem: Problem | None) -> ResponseSections:
    if isinstance(response, str):
        return read(response, think_end=think_end, problem=problem)
    still_thinking = not response.text and bool(response.reasoning) and response.finish_reason is None
    cut_off = response.finish_reason == "length" or still_thinking
    ended = response.finish_reason == "stop"
    return read(response.text, think_end=think_end, cut_off=cut_off, ended=ended, problem=problem)


def explain(
    response: str | Response,
    problem: Problem | None = None,
    *,
    gold: str | int | float | None = None,
    protocol: str | None = None,
    think_end: str = THINK_END,
) -> Explanation:
    """Explain how a response is read: its tokens and clauses, what each rule found, and how the answer was chosen.

    Only the kind of the gold matters, never its value. Without a gold the reader looks for a number or an expression.
    """
    from markscheme.marking.reading.explaining import explained

    known = "0" if problem is None and gold is None else gold
    rule, response, right, think_end, problem = _job(response, problem, known, protocol, think_end)
    if rule.asks is None:
        raise UsageError(f"protocol {rule.name!r} has its own rule, so there is no reading to explain.")
    if isinstance(response, Response) and response.error is not None:
        raise UsageError(f"there is no text to explain, because the request failed: {response.error[:200]}.")
    return explained(_sections(response, think_end, problem), rule.asks(right))


_WITHOUT = (Verdict.NO_ANSWER, Verdict.TRUNCATED, Verdict.WRONG)


def _with_absence(assessment: Assessment, text: str, response: Response | None = None) -> Assessment:
    """Add a flag for what replaces the answer ("refusal", "empty reply") if nothing was extracted or it is not correct."""
    if assessment.verdict not in _WITHOUT:
        return assessment
    if assessment.verdict is not Verdict.NO_ANSWER and len(text) > 1_000 and response is None:
        return assessment
    flag = absence(text, response)
    return assessment if flag is None else replace(assessment, flags=(*assessment.flags, flag))


# The flag of a mark whose protocol raised, which is a bug in the protocol and not the fault of the response.
FAILED = "the protocol failed"


def _assess(rule: Protocol, sections: ResponseSections, gold: Gold) -> Assessment:
    try:
        assessment = rule.judge(sections, gold)
    except MarkschemeError:  # the protocol cannot be used at all
        raise
    except Exception as failure:  # noqa: BLE001 - one response must not end a night's run; the mark says what happened
        why = f"{FAILED}: {type(failure).__name__}: {failure}"[:300]
        return Assessment(Verdict.UNMARKABLE, why=why, flags=(FAILED,))
    if assessment.verdict is Verdict.NO_ANSWER and rule.gold != "opinion" and is_cut_off(sections):
        return replace(assessment, verdict=Verdict.TRUNCATED, why="cut off before an answer")
    return assessment


MAX_ANSWER = 10_000  # characters of an answer that a mark keeps; `span` still covers all of it


def _writable(text: str) -> str:
    """Replace lone surrogates, which cannot be written to a file."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _as_mark(assessment: Assessment, rule: Protocol, key: str, sample: int) -> Mark:
    answer, why = assessment.answer, _writable(assessment.why)
    if answer is not None:
        answer = _writable(answer[:MAX_ANSWER])
    return Mark(
        verdict=assessment.verdict,
        protocol=rule.label,
        answer=answer,
        why=why,
        span=assessment.span,
        flags=assessment.flags,
        key=key,
        sample=sample,
    )
