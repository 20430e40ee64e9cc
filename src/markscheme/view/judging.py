"""Protocols that a run was not marked with, judged while somebody looks: verdicts in memory, nothing is written.

One run at a time and in the background; a judging that nobody asks about any more is given up.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from markscheme.runs.columns import CODE, UNMARKED

if TYPE_CHECKING:
    from pathlib import Path

    from markscheme.marking.marker import Job
    from markscheme.types import Problem
    from markscheme.view.library import OpenRun

ABANDONED = 20.0
"""Seconds after which a judging that nobody asks about is given up."""
MOST_KEPT = 4
MOST_PROBLEMS = 2_000
"""Problems held while their responses are judged; rows come problem by problem, so this is generous."""

Stamp = int


@dataclass
class Judging:
    """The verdicts of several protocols on one state of a run."""

    stamp: Stamp
    labels: dict[str, str]
    verdicts: dict[str, npt.NDArray[np.int8]]
    total: int
    done: int = 0
    asked: float = field(default_factory=time.monotonic)
    finished: threading.Event = field(default_factory=threading.Event)

    @property
    def complete(self) -> bool:
        """Whether every response has been judged."""
        return self.done >= self.total


class Judgings:
    """What is being judged and what has been, the last few runs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        self._kept: OrderedDict[Path, Judging] = OrderedDict()

    def of(self, run: OpenRun) -> Judging | None:
        """The judging of this very state of the run, if there is one."""
        with self._lock:
            found = self._kept.get(run.entry.path)
            return found if found is not None and found.stamp == _stamp(run) else None

    def start(self, run: OpenRun, protocols: list[str], wait: float) -> Judging:
        """Judge all responses under these protocols; returns what there is of it after `wait` seconds."""
        from markscheme.marking import get_protocol

        with self._lock:
            found = self._kept.get(run.entry.path)
            stale = found is None or found.stamp != _stamp(run) or (found.finished.is_set() and not found.complete)
            if found is None or stale:
                blank = np.full(len(run.snapshot), UNMARKED, np.int8)
                found = Judging(
                    _stamp(run),
                    {name: get_protocol(name).label for name in protocols},
                    {name: blank.copy() for name in protocols},
                    len(run.snapshot) * len(protocols),
                )
                self._kept[run.entry.path] = found
                threading.Thread(target=self._work, args=(found, run), name="judging", daemon=True).start()
            found.asked = time.monotonic()
            self._kept.move_to_end(run.entry.path)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        found.finished.wait(wait)
        return found

    def _work(self, judging: Judging, run: OpenRun) -> None:
        from markscheme.marking.marker import judge_many

        try:
            with self._turn:
                places: deque[tuple[str, int]] = deque()  # of the jobs under way; marks come in their order
                for mark in judge_many(_jobs(run, judging, places)):
                    name, row = places.popleft()
                    judging.verdicts[name][row] = CODE[str(mark.verdict)]
                    judging.done += 1
                    if time.monotonic() - judging.asked > ABANDONED:
                        return
                judging.done = judging.total  # lines that could not be read have no verdict
        finally:
            judging.finished.set()


def missing_protocols(run: OpenRun) -> list[str]:
    """The protocols that could judge this run and have not."""
    from markscheme.marking.bulk.audit import applicable_protocols

    question = next((found for n in range(min(3, run.snapshot.problems)) if (found := run.snapshot.question(n))), None)
    if question is None:
        return []
    return [name for name in applicable_protocols(question.problem.gold) if name not in run.snapshot.protocols]


def _jobs(run: OpenRun, judging: Judging, places: deque[tuple[str, int]]) -> Iterator[Job]:
    from markscheme.errors import MarkingError
    from markscheme.marking import get_protocol
    from markscheme.marking.extraction.sections import THINK_END
    from markscheme.marking.marker import as_gold

    rules = [get_protocol(name) for name in judging.verdicts]
    problems: dict[int, Problem | None] = {}
    for row in range(len(run.snapshot)):
        number = int(run.snapshot.problem[row])
        if number not in problems:
            if len(problems) >= MOST_PROBLEMS:
                problems.clear()
            question = run.snapshot.question(number)
            problems[number] = question.problem if question else None
        problem, response = problems[number], run.snapshot.response(row)
        if problem is None or response is None:
            continue
        for rule in rules:
            try:
                gold = as_gold(problem.gold, rule)
            except MarkingError:
                continue  # another kind of gold than the first problem's
            places.append((rule.name, row))
            yield rule, response, gold, THINK_END, problem


def _stamp(run: OpenRun) -> Stamp:
    return run.snapshot.version
