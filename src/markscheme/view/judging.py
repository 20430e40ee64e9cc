"""Protocols that a run was not marked with, judged while somebody looks: verdicts in memory, nothing is written.

It takes its turn in the background, and ends when nobody asks about it any more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from markscheme.runs.columns import CODE, UNMARKED
from markscheme.runs.snapshot import Codes

if TYPE_CHECKING:
    from markscheme.marking.marker import Job
    from markscheme.view.background import Report
    from markscheme.view.library import OpenRun


@dataclass
class Judging:
    """The verdicts of several protocols on one state of a run: protocol → label, verdict of each row."""

    judged: dict[str, tuple[str, Codes]]
    total: int
    done: int = 0


def judge_all(run: OpenRun, protocols: list[str], report: Report[Judging]) -> Judging:
    """Every response under these protocols."""
    from markscheme.marking import get_protocol
    from markscheme.marking.marker import judge_many

    rows = len(run.snapshot)
    blank = {name: (get_protocol(name).label, np.full(rows, UNMARKED, np.int8)) for name in protocols}
    judging = Judging(blank, rows * len(protocols))
    places: deque[tuple[str, int]] = deque()  # of the jobs under way; marks come in their order
    for mark in judge_many(_jobs(run, protocols, places)):
        name, row = places.popleft()
        judging.judged[name][1][row] = CODE[str(mark.verdict)]
        judging.done += 1
        if not report(judging):
            break
    return judging


def missing_protocols(run: OpenRun) -> list[str]:
    """The protocols that could judge this run and have not."""
    from markscheme.marking.bulk.audit import applicable_protocols

    questions = map(run.snapshot.question, range(min(3, run.snapshot.problems)))
    question = next((one for one in questions if one is not None), None)
    if question is None:
        return []
    return [name for name in applicable_protocols(question.problem.gold) if name not in run.snapshot.protocols]


def _jobs(run: OpenRun, protocols: list[str], places: deque[tuple[str, int]]) -> Iterator[Job]:
    from markscheme.errors import MarkingError
    from markscheme.marking import get_protocol
    from markscheme.marking.extraction.sections import THINK_END
    from markscheme.marking.marker import as_gold

    rules = [get_protocol(name) for name in protocols]
    question_of = lru_cache(maxsize=16)(run.snapshot.question)  # rows come problem by problem
    for row in range(len(run.snapshot)):
        question, response = question_of(int(run.snapshot.problem[row])), run.snapshot.response(row)
        if question is None or response is None:
            continue
        for rule in rules:
            try:
                gold = as_gold(question.problem.gold, rule)
            except MarkingError:
                continue  # another kind of gold than the first problem's
            places.append((rule.name, row))
            yield rule, response, gold, THINK_END, question.problem
