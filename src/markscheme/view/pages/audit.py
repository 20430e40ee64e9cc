"""The audit page: the figures of every protocol, how often two disagree, and on which responses.

The page can mark with protocols that the run was not marked with: in the background, in memory, and only as long as the
page is open.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from markscheme.errors import MarkingError
from markscheme.marking import get_protocol
from markscheme.marking.bulk.audit import applicable_protocols
from markscheme.marking.marker import Job, as_gold, judge_many
from markscheme.marking.reading.sections import THINK_END
from markscheme.runs.columns import CODE, CORRECT, ERROR, UNMARKED, Mask
from markscheme.runs.snapshot import Codes
from markscheme.view import figures
from markscheme.view.background import Report
from markscheme.view.filters import Filter
from markscheme.view.library import OpenRun
from markscheme.view.pages.responses import PER_PAGE, gold_text, listed
from markscheme.view.pages.run import header
from markscheme.view.site import Page, Sheet, Site, live
from markscheme.view.visible import one_line


@dataclass
class Judging:
    """Verdicts of several protocols on one state of a run: protocol → label, verdict of each row."""

    judged: dict[str, tuple[str, Codes]]
    total: int
    done: int = 0


def audit_page(site: Site, slug: str, query: Mapping[str, str]) -> Page:
    """Compare the protocols of a run; `a` and `b` in the query restrict the list to two of them."""
    run = site.open(slug)
    missing = [] if site.links.static or not run.snapshot.complete else _missing_protocols(run)
    judging = None
    if missing and query.get("judge") == "1":
        state = (run.entry.path, run.snapshot.version)
        made = site.judgings.get(state, True, lambda report: _judge_all(run, missing, report), site.left)
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
            # For each ordered pair: the number of responses that only the first calls correct.
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
    questions = {problem: run.snapshot.question(problem) for problem in problems}
    return {number: one_line(gold_text(one.problem.gold), 80) for number, one in questions.items() if one}


def _only_first(run: OpenRun, a: str, b: str) -> Mask:
    first, second = run.snapshot.verdicts[a], run.snapshot.verdicts[b]
    both = (first != UNMARKED) & (second != UNMARKED) & (first != ERROR)
    return np.asarray(both & (first == CORRECT) & (second != CORRECT))


def _judge_all(run: OpenRun, protocols: list[str], report: Report[Judging]) -> Judging:
    rows = len(run.snapshot)
    blank = {name: (get_protocol(name).label, np.full(rows, UNMARKED, np.int8)) for name in protocols}
    judging = Judging(blank, rows * len(protocols))
    places: deque[tuple[str, int]] = deque()  # of the pending jobs; marks arrive in this order
    for mark in judge_many(_jobs(run, protocols, places)):
        name, row = places.popleft()
        judging.judged[name][1][row] = CODE[str(mark.verdict)]
        judging.done += 1
        if not report(judging):
            break
    return judging


def _missing_protocols(run: OpenRun) -> list[str]:
    """Return the protocols that apply to this run but have no marks."""
    questions = map(run.snapshot.question, range(min(3, run.snapshot.problems)))
    question = next((one for one in questions if one is not None), None)
    if question is None:
        return []
    return [name for name in applicable_protocols(question.problem.gold) if name not in run.snapshot.protocols]


def _jobs(run: OpenRun, protocols: list[str], places: deque[tuple[str, int]]) -> Iterator[Job]:
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
