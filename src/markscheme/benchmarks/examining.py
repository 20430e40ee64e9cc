"""A benchmark's files fetched, its rows examined, and each of its golds marked as if it were a response."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from markscheme.benchmarks.benchmark import Benchmark, DataProblems
from markscheme.benchmarks.fields import ProblemMaker
from markscheme.benchmarks.registry import benchmark, benchmarks
from markscheme.datasets import Source
from markscheme.datasets.files import Row
from markscheme.datasets.verify import BadGold, unmarkable_golds
from markscheme.types import CountdownGold, Mark, Problem

if TYPE_CHECKING:
    from markscheme.datasets.prepare import Prepared


def fetchable(names: Sequence[str]) -> list[Benchmark]:
    """The benchmarks that are meant; without a name, every one whose problems are fetched."""
    if names:
        return list({bench.name: bench for bench in map(benchmark, names)}.values())
    whole = (bench for bench in benchmarks().values() if bench.definition and bench.name == bench.definition.name)
    return [bench for bench in whole if any(source.hubs for source in bench.sources)]


def own_sources(bench: Benchmark) -> list[Source]:
    """The files of this benchmark, not those that it borrows from another one."""
    return [source for source in bench.sources if not source.borrowed]


def fetch(bench: Benchmark, folder: Path, *, force: bool = False) -> list[Prepared]:
    """Bring a benchmark's files into the data folder, with those that it borrows."""
    from markscheme.datasets.prepare import prepare

    done = prepare(own_sources(bench), folder, examiner(bench), force=force)
    for name, part in (source.borrowed.split(":") for source in bench.sources if source.borrowed):
        lender = benchmark(name)
        assert lender.definition is not None
        done += prepare([lender.definition.data[part]], folder, examiner(lender), force=force)
    return done


def examiner(bench: Benchmark) -> Callable[[Source, list[Row]], None]:
    """Refuses, with a `ValueError`, rows that are no problems of this benchmark, and puzzles without a solution."""
    assert bench.definition is not None
    make = ProblemMaker(bench.definition.fields, bench.definition.protocol)
    names = {each.file: part for part, each in bench.definition.data.items()}

    def examine(source: Source, rows: list[Row]) -> None:
        for index, row in enumerate(rows):
            try:
                gold = make(index, row, names.get(source.file, "test")).gold
            except (KeyError, TypeError, ValueError) as problem:
                raise ValueError(f"row {index + 1}: {problem}") from None
            if source.sha256 is None and isinstance(gold, CountdownGold) and _solution(gold.nums, gold.target) is None:
                raise ValueError(f"row {index + 1}, {list(gold.nums)} to {gold.target}, has no solution")

    return examine


def bad_golds(bench: Benchmark, source: Source, folder: Path, mark: Callable[[str, Problem], Mark]) -> list[BadGold]:
    """Every gold of a file given to the marker as if a model had written it."""
    assert bench.definition is not None
    part = next(name for name, each in bench.definition.data.items() if each == source)
    return unmarkable_golds(DataProblems(bench.definition, (part,), bench.name, folder, pool=True), mark, _solution)


def _solution(numbers: tuple[int, ...], target: int) -> str | None:
    from markscheme.countdown.solver import solve

    solved = solve(numbers, target)
    return solved.expression if solved else None
