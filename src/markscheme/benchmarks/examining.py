"""Whether rows are problems at all, and whether each gold earns its mark when it is given as the response."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from markscheme.benchmarks.benchmark import Benchmark, DataProblems
from markscheme.benchmarks.fields import ProblemMaker
from markscheme.datasets import Source
from markscheme.datasets.files import Row
from markscheme.datasets.verify import BadGold, unmarkable_golds
from markscheme.types import CountdownGold, Mark, Problem


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
