"""Stored outputs with the problems they answer: a run folder, or any JSON-lines file of outputs.

A line holds one or more outputs (`text`, `response`, `output`, `completion` …, also lm-evaluation-harness' sample logs) and
names its problem by our key, the question's text or an id. A line with its own gold needs no benchmark. A line that
matches no problem is counted, never guessed at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from markscheme.datasets.stored import (
    ID_FIELDS,
    OUTPUT_FIELDS,
    QUESTION_FIELDS,
    outputs,
    rows,
    squeezed,
    without_choices,
)
from markscheme.errors import DataError, UsageError, option
from markscheme.runs.folder import Run
from markscheme.types import CountdownGold, Gold, Problem, Response

# How rows match problems, for error messages.
NAMING = (
    f"a row names its problem by the question's text ({', '.join(QUESTION_FIELDS[:3])}), by the id that the benchmark "
    "gives it, or by its position in the data (doc_id, from 0)"
)
GOLD_FIELDS = ("gold", "ground_truth", "target", "expected", "expected_answer", "answer")


class Outputs:
    """The outputs stored at a path and their problems. Iterate once to get (response, problem) pairs."""

    def __init__(self, source: str | Path, benchmark: str | None = None, data_dir: str | None = None) -> None:
        self.path = Path(source)
        self.run = Run.open(self.path) if (self.path / "manifest.json").exists() else None
        self.unmatched = 0  # lines so far that answer no known problem
        if self.run is None and not self.path.is_file():
            found = "is neither a run folder nor a file of stored outputs" if self.path.exists() else "does not exist"
            raise DataError(f"{self.path} {found}")
        self.benchmark, self.protocol, self.problems = self._expected(benchmark, data_dir)

    def _expected(self, name: str | None, data_dir: str | None) -> tuple[str, str | None, Sequence[Problem]]:
        """Return the benchmark's name, protocol and problems; a file with its own golds has no problems."""
        if name is not None:
            from markscheme.benchmarks import benchmark

            chosen = benchmark(name, data_dir)
            return chosen.name, chosen.protocol, chosen.problems
        if self.run is not None:
            manifest = self.run.manifest
            problems = [question.problem for question in self.run.questions()]
            return manifest.benchmark, manifest.protocol.partition("@")[0], problems
        return self.path.name, None, ()

    def __iter__(self) -> Iterator[tuple[Response, Problem]]:
        self.unmatched = 0
        return self._of_run(self.run) if self.run is not None else self._of_file()

    def _of_run(self, run: Run) -> Iterator[tuple[Response, Problem]]:
        by_key = {problem.key: problem for problem in self.problems}
        self.unmatched = run.snapshot().unasked
        for response in run.responses():
            problem = by_key.get(response.key)
            if problem is None:
                self.unmatched += 1
            else:
                yield response, problem

    def _of_file(self) -> Iterator[tuple[Response, Problem]]:
        match = Matcher(self.problems)
        seen: Counter[str] = Counter()
        for number, _, row in rows(self.path):
            problem, texts = match(row, str(self.path), f"line {number}")
            if problem is None:
                self.unmatched += 1
                continue
            for text in texts:
                sample = row["sample"] if len(texts) == 1 and isinstance(row.get("sample"), int) else seen[problem.key]
                seen[problem.key] += 1
                yield response_of(row, text, problem, sample), problem
        if self.unmatched and not seen:
            raise DataError(f"no row of {self.path} answers a problem of {self.benchmark}: {NAMING}.")


class Matcher:
    """Find the texts of a row of stored outputs and the problem they answer."""

    def __init__(self, problems: Sequence[Problem] = ()) -> None:
        self._problems = problems
        bare = [squeezed(without_choices(problem.statement)) for problem in problems]
        alone = Counter(bare)  # "Which of these is true?" does not identify a problem
        self._named = {text: each for text, each in zip(bare, problems, strict=True) if alone[text] == 1}
        self._named |= {problem.id: problem for problem in problems}
        self._named |= {squeezed(problem.statement): problem for problem in problems}
        self._named |= {problem.key: problem for problem in problems}

    def __call__(self, row: dict[str, Any] | str, file: str, place: str) -> tuple[Problem | None, Sequence[str | None]]:
        """Return the problem (one of those given, the row's own, or `None`) and the texts.

        Raises for an unusable row; a row that could not be read comes as the reason.
        """
        if isinstance(row, str):
            raise DataError(row)
        texts = [None] if row.get("error") else outputs(row)
        if texts is None:
            raise DataError(f"{_where(file, place)} holds no output; it needs one of {', '.join(OUTPUT_FIELDS[:4])} ….")
        return (self._find(row) if self._problems else _own_problem(row, file, place)), texts

    def _find(self, row: dict[str, Any]) -> Problem | None:
        # The text before the id: files of other tools number their questions as they like.
        inner = row["doc"] if isinstance(row.get("doc"), dict) else {}
        for fields in (row, inner):
            for field in (*ID_FIELDS[:1], *QUESTION_FIELDS, *ID_FIELDS[1:]):
                value = fields.get(field)
                if isinstance(value, str | int) and (problem := self._named.get(squeezed(str(value)))):
                    return problem
        index = row.get("doc_id")  # lm-evaluation-harness: the position in the data
        return self._problems[index] if isinstance(index, int) and 0 <= index < len(self._problems) else None


def response_of(row: dict[str, Any], text: str | None, problem: Problem, sample: int) -> Response:
    """Return the response of a row, with the fields of our own journal if they have the right type."""
    known: dict[str, Any] = {} if text is not None else {"error": "the file holds no output here"}
    for field in ("reasoning", "finish_reason", "error", "model"):
        if row.get(field) and isinstance(row[field], str):
            known[field] = row[field]
    if known.get("finish_reason") not in (None, "stop", "length", "content_filter"):
        known["finish_reason"] = "other"
    return Response(key=problem.key, sample=sample, problem_id=problem.id, text=text or "", **known)


def _where(file: str, place: str) -> str:
    """Return `a.jsonl, line 3`; a row of a shard has a name that includes its file, such as `a.jsonl:2`."""
    return place if place.startswith(Path(file).name) else f"{file}, {place},"


def _own_problem(row: dict[str, Any], file: str, place: str) -> Problem:
    try:
        gold = _own_gold(row)
    except msgspec.ValidationError as error:
        raise DataError(f"{_where(file, place)} has a gold that is neither an answer nor a puzzle ({error}).") from None
    if gold is None:
        raise UsageError(
            f"{_where(file, place)} has no gold answer ({', '.join(GOLD_FIELDS[:3])} …); name the benchmark of the outputs with {option('benchmark', 'NAME')}"
        )
    statement = next((row[field] for field in QUESTION_FIELDS if isinstance(row.get(field), str)), "")
    name = next((str(row[field]) for field in ID_FIELDS if row.get(field) not in (None, "")), place)
    protocol = "countdown" if isinstance(gold, CountdownGold) else "math"
    listed = row.get("choices")
    choices = tuple(listed) if isinstance(listed, list) and all(isinstance(each, str) for each in listed) else ()
    return Problem(id=name, statement=statement or name, gold=gold, protocol=protocol, choices=choices)


def _own_gold(row: dict[str, Any]) -> Gold | None:
    if isinstance(row.get("nums"), list) and isinstance(row.get("target"), int):
        return msgspec.convert({"nums": row["nums"], "target": row["target"]}, CountdownGold)
    output = next((field for field in OUTPUT_FIELDS if isinstance(row.get(field), str)), None)
    for field in GOLD_FIELDS:
        value = row.get(field)
        if field == output or value is None:
            continue
        if isinstance(value, dict):
            return msgspec.convert(value, CountdownGold)
        if isinstance(value, str | int | float):
            return str(value)
    return None
