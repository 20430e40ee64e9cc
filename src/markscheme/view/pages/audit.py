"""Is the marker at fault? Every protocol's figures side by side, how often each two disagree, and where."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from markscheme.runs.columns import CORRECT, ERROR, UNMARKED
from markscheme.statistics import Interval
from markscheme.view import figures
from markscheme.view.filters import Filter
from markscheme.view.judging import missing_protocols
from markscheme.view.library import OpenRun
from markscheme.view.pages.problem import gold_text
from markscheme.view.pages.responses import PER_PAGE, listed
from markscheme.view.pages.run import header
from markscheme.view.site import Page, Site, live
from markscheme.view.visible import one_line


@dataclass(frozen=True)
class Judge:
    """A protocol and its figures on this run."""

    name: str
    label: str
    marked: int
    accuracy: Interval | None
    verdicts: dict[str, int]


def audit_page(site: Site, slug: str, query: Mapping[str, str]) -> Page:
    """The protocols of a run against each other; `a` and `b` narrow the list to two of them."""
    run = site.open(slug)
    missing = [] if site.links.static or not run.snapshot.complete else missing_protocols(run)
    judging = None
    if missing and query.get("judge") == "1":
        judging = site.judgings.start(run, missing, wait=site.left)
        if judging.complete:
            run, missing, judging = site.open(slug), [], None
    names = sorted(run.snapshot.verdicts, key=lambda name: (name != run.protocol, name))
    made = site.figure(run, "judges", lambda: [_judge(run, name) for name in names])
    a, b = (query.get(side, "") if query.get(side) in names else "" for side in ("a", "b"))
    wanted = _differ(run, a, b) if a and b else run.snapshot.disagree
    rows = np.flatnonzero(wanted)
    pages = max(1, math.ceil(len(rows) / PER_PAGE))
    asked = query.get("page", "")
    page = min(pages, int(asked)) if asked.isdecimal() and 0 < len(asked) < 9 and int(asked) else 1
    shown = rows if site.links.static else rows[(page - 1) * PER_PAGE : page * PER_PAGE]
    return Page(
        "audit.html",
        f"Audit · {run.entry.name}",
        {
            **header(run),
            "names": names,
            "judges": made.value or [],
            "matrix": _matrix(run, names),
            "a": a,
            "b": b,
            "shown": [listed(run, int(row), run.protocol) for row in shown],
            "golds": _golds(run, {int(problem) for problem in run.snapshot.problem[shown]}),
            "found": len(rows),
            "page": page,
            "pages": 1 if site.links.static else pages,
            "filter": Filter(disagree=True),
            "missing": missing,
            "judging": judging,
        },
        again=live(run, pending=judging is not None or not made.fresh),
    )


def _golds(run: OpenRun, problems: set[int]) -> dict[int, str]:
    """The right answers beside which the extracted ones are judged by eye."""
    questions = {problem: run.snapshot.question(problem) for problem in problems}
    return {problem: one_line(gold_text(found.problem.gold), 80) for problem, found in questions.items() if found}


def _judge(run: OpenRun, name: str) -> Judge:
    counts = run.snapshot.counts(name)
    marked = int((run.snapshot.verdicts[name] != UNMARKED).sum())
    return Judge(
        name,
        run.snapshot.label_of(name),
        marked,
        figures.estimate("accuracy", counts),
        figures.verdict_counts(counts),
    )


def _matrix(run: OpenRun, names: list[str]) -> dict[tuple[str, str], int]:
    """For each ordered pair: responses that the first calls correct and the second does not."""
    return {(a, b): int(_only_first(run, a, b).sum()) for a in names for b in names if a != b}


def _only_first(run: OpenRun, a: str, b: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
    first, second = run.snapshot.verdicts[a], run.snapshot.verdicts[b]
    both = (first != UNMARKED) & (second != UNMARKED) & (first != ERROR)
    return np.asarray(both & (first == CORRECT) & (second != CORRECT))


def _differ(run: OpenRun, a: str, b: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return np.asarray(_only_first(run, a, b) | _only_first(run, b, a))
