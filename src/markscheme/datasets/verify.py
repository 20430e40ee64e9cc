"""Is the data folder what it should be, and can every gold answer in it be marked?

Looks, reports, changes nothing. Marking comes in as a function: this package does not know how to judge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

import msgspec

from markscheme.datasets.files import REMARKS, Check, DataFile
from markscheme.datasets.folder import SourceRows
from markscheme.datasets.sources import Source
from markscheme.errors import DataError
from markscheme.types import CountdownGold, Mark, Problem, Verdict

State = Literal["ready", "unrecorded", "stand-in", "missing", "differs", "unreadable"]
"""`unrecorded`: well-formed, but neither the catalogue nor a record of a fetch says what it should be."""

_STATES: dict[Check, State] = {
    "content": "ready",
    "answers": "ready",
    "recorded": "ready",
    "differs": "differs",
    "none": "unrecorded",
}


_OTHER_ANSWER = "\\boxed{31337}"


class FileReport(msgspec.Struct, frozen=True, kw_only=True):
    """What there is of one file."""

    name: str
    state: State
    detail: str
    file: DataFile | None = None


class BadGold(msgspec.Struct, frozen=True, kw_only=True):
    """A gold answer that does not earn the mark when it is given as the response."""

    problem: str
    gold: str
    verdict: str
    why: str


def inspect(source: Source, folder: Path) -> FileReport:
    """The state of one file of the data folder."""
    try:
        rows = SourceRows(source, folder)
        for _ in rows:
            pass  # every row is read: one that does not fit is told
        file = rows.describe()
    except FileNotFoundError:
        return FileReport(name=source.file, state="missing", detail="not fetched yet")
    except DataError as problem:
        return FileReport(name=source.file, state="unreadable", detail=str(problem))
    if file.name != source.file and source.folder is None:
        return FileReport(name=source.file, state="stand-in", detail=f"only {file.name} is there", file=file)
    detail = REMARKS[file.check]
    if source.rows is not None and file.rows != source.rows:
        detail = f"{file.rows} rows instead of {source.rows}"
    return FileReport(name=source.file, state=_STATES[file.check], detail=detail, file=file)


def unmarkable_golds(
    problems: Iterable[Problem],
    mark: Callable[[str, Problem], Mark],
    solve: Callable[[tuple[int, ...], int], str | None],
) -> list[BadGold]:
    """The problems whose own gold, given as the response, is not marked correct.

    `solve(numbers, target)` gives an expression or nothing: the gold of a Countdown puzzle is any solution of it.
    """
    bad = []
    for problem in problems:
        response = _perfect_response(problem, solve)
        if response is None:
            bad.append(_bad(problem, "unmarkable", "the puzzle has no solution"))
            continue
        judged = mark(response, problem)
        if not judged.correct:
            bad.append(_bad(problem, judged.verdict.value, judged.why))
        # The same text always matches; only another answer shows whether the gold can be read at all.
        elif (other := mark(_OTHER_ANSWER, problem)).verdict is Verdict.UNMARKABLE:
            bad.append(_bad(problem, other.verdict.value, other.why))
    return bad


def _perfect_response(problem: Problem, solve: Callable[[tuple[int, ...], int], str | None]) -> str | None:
    """What a model that knows the gold would write, in the form that the benchmark's prompt asks for."""
    gold = problem.gold
    if isinstance(gold, CountdownGold):
        solution = solve(gold.nums, gold.target)
        return None if solution is None else f"<answer>{solution}</answer>"
    if problem.protocol.startswith("gsm8k"):
        return f"ANSWER: {gold}"
    return f"\\boxed{{{gold}}}"


def _bad(problem: Problem, verdict: str, why: str) -> BadGold:
    gold = problem.gold
    shown = gold if isinstance(gold, str) else f"{list(gold.nums)} to {gold.target}"
    return BadGold(problem=problem.id, gold=shown, verdict=verdict, why=why)
