"""Each response of a run with its problem and its mark: what is written out, handed on and shown one by one."""

from __future__ import annotations

from collections.abc import Iterator

from markscheme.runs.snapshot import Snapshot
from markscheme.types import Mark, Problem, Response, Verdict


def marked_responses(snapshot: Snapshot, protocol: str | None) -> Iterator[tuple[Problem, Response, Mark | None]]:
    """Every response that counts, streamed in the order of the files; without a protocol, none has a mark."""
    problems = {question.problem.key: question.problem for question in snapshot.questions()}
    marks = {(mark.key, mark.sample): mark for mark in snapshot.marks(protocol)} if protocol else {}
    for response in snapshot.responses():
        mark = marks.get((response.key, response.sample)) or (error_mark(response, protocol) if protocol else None)
        yield problems[response.key], response, mark


def error_mark(response: Response, protocol: str) -> Mark | None:
    """The verdict `error` that a response with an error has under every protocol, also where no mark of it is stored."""
    if response.error is None:
        return None
    return Mark(verdict=Verdict.ERROR, protocol=protocol, why=response.error, key=response.key, sample=response.sample)
