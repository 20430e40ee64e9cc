"""Fetches a benchmark's files and examines its rows: what was understood, what is odd, and which golds cannot be marked."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from markscheme.benchmarks.benchmark import Benchmark, DataProblems
from markscheme.benchmarks.fields import ProblemMaker
from markscheme.benchmarks.inferring import infer, needs_inferring
from markscheme.benchmarks.registry import benchmark, benchmarks
from markscheme.datasets import Source
from markscheme.datasets.files import Row
from markscheme.types import CountdownGold, Mark, Problem, Verdict

if TYPE_CHECKING:
    from markscheme.datasets.prepare import Prepared

_OTHER_ANSWER = "\\boxed{31337}"
_NEARLY_ALL = 0.9  # if this share of the golds is of one kind, the others are odd


def fetchable(names: Sequence[str]) -> list[Benchmark]:
    """Return the named benchmarks; without a name, all whose problems are fetched."""
    if names:
        return list({bench.name: bench for bench in map(benchmark, names)}.values())
    whole = (bench for bench in benchmarks().values() if bench.definition and bench.name == bench.definition.name)
    return [bench for bench in whole if any(source.places for source in bench.sources)]


def own_sources(bench: Benchmark) -> list[Source]:
    """Return the files of this benchmark without those that it borrows."""
    return [source for source in bench.sources if not source.borrowed]


def fetch(bench: Benchmark, folder: Path, *, force: bool = False) -> list[Prepared]:
    """Fetch a benchmark's files, including those that it borrows, into the data folder."""
    from markscheme.datasets.prepare import prepare

    done = prepare(own_sources(bench), folder, examiner(bench), force=force)
    for name, part in (source.borrowed.split(":") for source in bench.sources if source.borrowed):
        lender = benchmark(name)
        assert lender.definition is not None
        done += prepare([lender.definition.data[part]], folder, examiner(lender), force=force)
    return done


def examiner(bench: Benchmark) -> Callable[[Source, list[Row]], None]:
    """Return a check that raises `ValueError` for rows that are not problems and puzzles without a solution."""
    assert bench.definition is not None
    fields, protocol = bench.definition.fields, bench.definition.protocol
    names = {each.file: part for part, each in bench.definition.data.items()}

    def examine(source: Source, rows: list[Row]) -> None:
        make = ProblemMaker(infer(fields, rows).fields if needs_inferring(fields) else fields, protocol)
        for index, row in enumerate(rows):
            try:
                gold = make(index, row, names.get(source.file, "test")).gold
            except (KeyError, TypeError, ValueError) as problem:
                raise ValueError(f"row {index + 1}: {problem}") from None
            if source.sha256 is None and isinstance(gold, CountdownGold) and _solution(gold) is None:
                raise ValueError(f"row {index + 1}, {list(gold.nums)} to {gold.target}, has no solution")

    return examine


class BadGold(msgspec.Struct, frozen=True, kw_only=True):
    """A gold answer that is not marked correct when given as the response."""

    problem: str
    gold: str
    verdict: str
    why: str


class Examined(msgspec.Struct, frozen=True, kw_only=True):
    """How the rows of a file were understood."""

    bad_golds: list[BadGold] = []
    oddities: list[str] = []  # for a person to look at, one clause each
    sample: list[Problem] = []
    reading: str = ""


def examined(bench: Benchmark, source: Source, folder: Path, mark: Callable[[str, Problem], Mark]) -> Examined:
    """Mark every gold of a file as if a model had written it, and compare it with the others."""
    assert bench.definition is not None
    part = next(name for name, each in bench.definition.data.items() if each == source)
    problems = list(DataProblems(bench.definition, (part,), bench.name, folder, pool=True))
    bad = unmarkable_golds(problems, mark)
    return Examined(bad_golds=bad, oddities=oddities(problems), sample=problems[:2], reading=bench.reading)


def gold_kind(problem: Problem) -> str:
    """Classify a gold by its characters."""
    gold = problem.gold
    if isinstance(gold, CountdownGold):
        return "puzzle"
    if problem.choices:
        return "choice"
    if not gold:
        return "none"
    if re.fullmatch(r"[-+]?[$]?\d[\d,]*(\.\d+)?%?", gold):
        return "number"
    return "words" if re.fullmatch(r"[^\W\d_]{2,}([\s,.'-]+[^\W\d_]+)*\.?", gold) else "expression"


def oddities(problems: Sequence[Problem]) -> list[str]:
    """Return golds that mean two choices or are of an unusual kind, and statements with two golds."""
    found, golds = [], dict[str, Problem]()
    (usual, count), *_ = [*Counter(map(gold_kind, problems)).most_common(1), ("", 0)]
    for problem in problems:
        first = golds.setdefault(problem.statement, problem)
        place = string.ascii_uppercase.find(problem.gold) if problem.choices and isinstance(problem.gold, str) else -1
        if first.gold != problem.gold:
            found.append(
                f"problem {problem.id}: gold {problem.gold}, and problem {first.id} asks the same with {first.gold}"
            )
        if 0 <= place < len(problem.choices) and problem.choices.count(problem.choices[place]) > 1:
            found.append(f"problem {problem.id}: gold {problem.gold} is the text of two choices")
        if (kind := gold_kind(problem)) != usual and count >= _NEARLY_ALL * len(problems):
            shown = f"gold {str(problem.gold)[:60]!r}" if problem.gold else "the gold"
            found.append(f"problem {problem.id}: {shown} is {kind}, and nearly all others are {usual}")
    return found


def unmarkable_golds(problems: Iterable[Problem], mark: Callable[[str, Problem], Mark]) -> list[BadGold]:
    """Return the problems whose own gold, given as the response, is not marked correct by `mark`."""
    bad = []
    for problem in problems:
        gold = problem.gold
        response = _perfect_response(problem)
        if response is None:
            verdict, why = "unmarkable", "the puzzle has no solution"
        else:
            judged = mark(response, problem)
            if judged.correct:
                # Equal texts always match. Only another answer shows whether the gold can be read.
                judged = mark(_OTHER_ANSWER, problem)
                if judged.verdict is not Verdict.UNMARKABLE:
                    continue
            verdict, why = judged.verdict.value, judged.why
        shown = gold if isinstance(gold, str) else f"{list(gold.nums)} to {gold.target}"
        bad.append(BadGold(problem=problem.id, gold=shown, verdict=verdict, why=why))
    return bad


def _perfect_response(problem: Problem) -> str | None:
    """Return what a perfect model would write in the form that the prompt asks for."""
    gold = problem.gold
    if isinstance(gold, CountdownGold):
        solution = _solution(gold)
        return None if solution is None else f"<answer>{solution}</answer>"
    if problem.protocol.startswith("gsm8k"):
        return f"ANSWER: {gold}"
    return f"\\boxed{{{gold}}}"


def _solution(puzzle: CountdownGold) -> str | None:
    from markscheme.countdown.solver import solve

    solved = solve(puzzle.nums, puzzle.target)
    return solved.expression if solved else None
