"""`GSM8KBenchmark`: tasks by zero-padded id, and a score with its reason for an output.

The documented rule, `gsm8k-benchmark`, compares the number after the first `####` as a string, or else the entire output.
`protocol="math"` swaps it with `math`; the result's `beside` has the mark of the other one.
"""

from __future__ import annotations

import sys
from collections import UserDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from markscheme.benchmarks import benchmark
from markscheme.datasets import locate, read_rows
from markscheme.errors import DataError, UsageError
from markscheme.marking import mark
from markscheme.types import Mark, Problem

PROTOCOL, OURS = "gsm8k-benchmark", "math"
FILE = "test.jsonl"


class NoSuchTaskError(UsageError, ValueError):
    """The id is not in `get_task_ids()`."""


class Task(UserDict[str, Any]):
    """A task: `task["question"]`, and `task["answer"]`, the worked solution that ends in `#### N`.

    Changing it does not change the gold answers, which are read when the benchmark is made.
    """

    def __init__(self, task_id: str, benchmark: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(data or {})
        self.task_id, self.benchmark = task_id, benchmark

    def copy(self) -> Task:
        """Return an independent task with the same fields."""
        return Task(self.task_id, self.benchmark, self.data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Task) and vars(self) == vars(other)

    def __repr__(self) -> str:
        return f"Task(task_id={self.task_id!r}, benchmark={self.benchmark!r}, data={self.data!r})"


@dataclass
class EvaluationResult:
    """A score and its explanation; `mark` has the verdict and the full reason."""

    score: float = 0.0
    score_explanation: str | None = None
    mark: Mark | None = None
    beside: Mark | None = None  # by the other rule: `math`, or the documented one if `math` decides


class GSM8KBenchmark:
    """The tasks of `data_dir/test.jsonl`; by default the official data, or else a few placeholders, with a warning."""

    name = "GSM8K"
    beside: ClassVar[Path | None] = None  # the folder of the placeholders, and perhaps of `test.jsonl`

    def __init__(self, data_dir: str | Path | None = None, protocol: str = PROTOCOL) -> None:
        self.protocol = protocol
        self.file, rows = self._rows(None if data_dir is None else Path(data_dir))
        self.data_dir = self.file.parent
        self._tasks: dict[str, Task] = {}
        self._problems: dict[str, Problem] = {}
        make = benchmark("gsm8k").make_problem
        for index, row in enumerate(rows):
            name = f"{index:04d}"
            try:
                self._problems[name] = make(index, row)
            except (KeyError, TypeError, ValueError) as error:
                raise DataError(f"{self.file}, row {index + 1}, is not a task of GSM8K: {error}") from None
            self._tasks[name] = Task(name, self.name, {"question": row["question"], "answer": row["answer"]})

    def get_task_ids(self) -> list[str]:
        """Return `0000`, `0001` …, in file order."""
        return list(self._tasks)

    def get_task(self, task_id: str) -> Task:
        """Return a task by its id."""
        if task_id not in self._tasks:
            last = f"{len(self._tasks) - 1:04d}"
            raise NoSuchTaskError(f"there is no task {task_id!r}; the ids are 0000 to {last}")
        return self._tasks[task_id]

    def evaluate(self, task_id: str, output: str) -> EvaluationResult:
        """Score an output 1.0 if the final number is right, else 0.0. Never raises on an output."""
        self.get_task(task_id)
        problem = self._problems[task_id]
        opinion = mark(str(output), problem, protocol=self.protocol)
        other = mark(str(output), problem, protocol=OURS if self.protocol != OURS else PROTOCOL)
        if opinion.correct:
            return EvaluationResult(1.0, "Correct answer", opinion, other)
        return EvaluationResult(0.0, f"Expected: {problem.gold}, Got: {opinion.answer}", opinion, other)

    def _rows(self, data_dir: Path | None) -> tuple[Path, list[dict[str, Any]]]:
        if data_dir is not None:
            return data_dir / FILE, list(read_rows(data_dir / FILE))
        if self.beside is not None and (self.beside / FILE).is_file():
            return self.beside / FILE, list(read_rows(self.beside / FILE))
        official = f"gsm8k/{FILE}"
        if self.beside is None or (locate() / official).is_file():
            return locate() / official, list(benchmark("gsm8k").rows())
        placeholders = self.beside / "placeholder.jsonl"
        print(
            f"GSM8K is missing, so these are placeholders ({placeholders}): `markscheme data prepare gsm8k` fetches it",
            file=sys.stderr,
        )
        return placeholders, list(read_rows(placeholders))
