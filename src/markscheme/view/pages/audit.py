"""Is the marker at fault? Every protocol's figures side by side, how often each two disagree, and where."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from markscheme.runs.columns import CORRECT, ERROR, UNMARKED, Mask
from markscheme.view import figures
from markscheme.view.filters import Filter
from markscheme.view.judging import Judging, judge_all, missing_protocols
from markscheme.view.library import OpenRun
from markscheme.view.pages.responses import PER_PAGE, gold_text, listed
from markscheme.view.pages.run import header
from markscheme.view.site import Page, Sheet, Site, live
from markscheme.view.visible import one_line


def audit_page(site: Site, slug: str, query: Mapping[str, str]) -> Page:
    """The protocols of a run against each other; `a` and `b` narrow the list to two of them."""
    run = site.open(slug)
    missing = [] if site.links.static or not run.snapshot.complete else missing_protocols(run)
    judging = None
    if missing and query.get("judge") == "1":
        state = (run.entry.path, run.snapshot.version)
        made = site.judgings.get(state, True, lambda report: judge_all(run, missing, report), site.left)
        if made.fresh:
            run, missing = site.open(slug), []
        else:
            judging = made.value or Judging({}, len(run.snapshot) * len(missing))
    names = run.protocols
    snapshot = run.snapshot
    judges = site.figure(
        run, "judges", lambda: {name: figures.group(snapshot.label_of(name), snapshot.counts(name)) for name in names}
    )
    a, b = (query.get(side, "") if query.get(side) in names else "" for side in ("a", "b"))
    wanted = _only_first(run, a, b) | _only_first(run, b, a) if a and b else snapshot.disagree
    rows = np.flatnonzero(wanted)
    return Page(
        "audit.html",
        f"Audit · {run.entry.name}",
        {
            **header(run),
            "names": names,
            "judges": judges.value or {},
            # For each ordered pair: responses that the first calls correct and the second does not.
            "matrix": {(a, b): int(_only_first(run, a, b).sum()) for a in names for b in names if a != b},
            "a": a,
            "b": b,
            "sheet": (sheet := Sheet.turn_to(rows, query.get("page", ""), PER_PAGE, whole=site.links.static)),
            "shown": [listed(run, int(row), run.protocol) for row in sheet.rows],
            "golds": _golds(run, set(snapshot.problem[sheet.rows].tolist())),
            "matches": len(rows),
            "filter": Filter(disagree=True),
            "missing": missing,
            "judging": judging,
        },
        again=live(run, pending=judging is not None or not judges.fresh),
    )


def _golds(run: OpenRun, problems: set[int]) -> dict[int, str]:
    """The right answers beside which the extracted ones are judged by eye."""
    questions = {problem: run.snapshot.question(problem) for problem in problems}
    return {number: one_line(gold_text(one.problem.gold), 80) for number, one in questions.items() if one}


def _only_first(run: OpenRun, a: str, b: str) -> Mask:
    first, second = run.snapshot.verdicts[a], run.snapshot.verdicts[b]
    both = (first != UNMARKED) & (second != UNMARKED) & (first != ERROR)
    return np.asarray(both & (first == CORRECT) & (second != CORRECT))
