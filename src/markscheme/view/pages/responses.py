"""The list of responses: filtered, sorted, searched, as pages or as a CSV file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from markupsafe import Markup

from markscheme.errors import UsageError
from markscheme.reporting.verdicts import LOOKS, Look, look
from markscheme.runs.columns import Ints
from markscheme.types import CountdownGold, Gold, Response
from markscheme.view.conditions import fields
from markscheme.view.filters import Filter
from markscheme.view.library import OpenRun
from markscheme.view.pages.run import group_labels, header
from markscheme.view.search import SearchResult, search
from markscheme.view.site import Page, Sheet, Site, live
from markscheme.view.visible import one_line, visible

PER_PAGE = 100
LONGEST_EXCERPTED = 400_000  # bytes of a line up to which the words are shown in context
BEFORE, AFTER = 24, 60  # characters around the words
SEARCH_SECONDS = 0.25  # after that the page shows what was found so far, and updates
LONGEST_ANSWER = 2_000


@dataclass(frozen=True)
class Listed:
    """A response in a table."""

    problem: int
    sample: int
    id: str
    look: Look
    others: dict[str, Look]  # under the other protocols
    answer: str | None
    why: str
    tokens: int
    size: int
    latency: float
    cut: bool
    disagree: bool
    excerpt: Markup | None = None  # the search words in context
    question: str = ""  # its beginning
    gold: str = ""


def gold_text(gold: Gold) -> str:
    if isinstance(gold, CountdownGold):
        return f"{gold.target} from {', '.join(map(str, gold.nums))}, each used once"
    return gold


def responses_page(site: Site, slug: str, query: Mapping[str, str]) -> Page:
    run, filter = site.open(slug), Filter.parse(query)
    complaint = ""
    try:
        rows, progress = select(site, run, filter)
    except UsageError as problem:  # a mistake in the condition
        rows, progress, complaint = np.zeros(0, np.int64), None, str(problem)
    searching = progress is not None and not progress.complete
    return Page(
        "responses.html",
        f"Responses · {run.entry.name}",
        {
            **header(run),
            "filter": filter,
            "complaint": complaint,
            "conditions": fields(run.snapshot),
            "sheet": (sheet := Sheet.turn_to(rows, filter.page, PER_PAGE)),
            "shown": [_with_excerpt(run, int(row), filter) for row in sheet.rows],
            "matches": len(rows),
            "search": progress,
            "searching": searching,
            "looks": LOOKS,
            "protocols": sorted(run.snapshot.verdicts),
            "fields": group_labels(run),
        },
        again=live(run, pending=searching),
    )


def select(
    site: Site, run: OpenRun, filter: Filter, wait: float | None = SEARCH_SECONDS
) -> tuple[Ints, SearchResult | None]:
    """Return the rows that pass a filter, in its order, and the progress of a search for words.

    `wait` limits the time for the search; None waits for its end.
    """
    protocol = filter.protocol if filter.protocol in run.snapshot.verdicts else run.protocol
    rows = np.flatnonzero(filter.mask(run.snapshot, protocol))
    if not filter.q:
        return filter.order(run.snapshot, rows), None
    key = (run.entry.path, run.snapshot.version, filter.q, filter.case, rows.tobytes())
    made = site.searches.get(
        key, True, lambda report: search(run.snapshot, rows, filter.q, case=filter.case, report=report), wait
    )
    progress = made.value or SearchResult(rows[:0], 0, max(1, len(rows)))
    return filter.order(run.snapshot, progress.rows), progress


def listed(run: OpenRun, row: int, protocol: str) -> Listed:
    """Return a row as a table shows it."""
    snapshot, numbers = run.snapshot, run.snapshot.rows
    mark = snapshot.mark(protocol, row)
    return Listed(
        int(snapshot.problem[row]),
        int(snapshot.sample[row]),
        snapshot.ids[snapshot.problem[row]],
        look(int(snapshot.verdict(protocol)[row])),
        {name: look(int(codes[row])) for name, codes in sorted(snapshot.verdicts.items()) if name != protocol},
        mark.answer[:LONGEST_ANSWER] if mark and mark.answer is not None else None,
        mark.why if mark else "",
        int(numbers["tokens"][row]),
        int(numbers["size"][row]),
        float(numbers["latency"][row]),
        bool(numbers["finish"][row] == 1),
        bool(snapshot.disagree[row]),
    )


def _with_excerpt(run: OpenRun, row: int, filter: Filter) -> Listed:
    one = listed(run, row, filter.protocol or run.protocol)
    if (question := run.snapshot.question(one.problem)) is not None:
        asked, gold = one_line(question.problem.statement, 160), one_line(gold_text(question.problem.gold), 80)
        one = replace(one, question=asked, gold=gold)
    if not filter.q or run.snapshot.rows["length"][row] > LONGEST_EXCERPTED:
        return one
    response = run.snapshot.response(row)
    return replace(one, excerpt=_excerpt(response, filter)) if response else one


def _excerpt(response: Response, filter: Filter) -> Markup | None:
    """Return the first match with the text around it."""
    for text in (response.text, response.reasoning or ""):
        at = text.find(filter.q) if filter.case else text.lower().find(filter.q.lower())
        if at >= 0:
            end = at + len(filter.q)
            before, after = text[max(0, at - BEFORE) : at], text[end : end + AFTER]
            return Markup("{}<mark>{}</mark>{}").format(visible(before), visible(text[at:end]), visible(after))
    return None


def responses_table(site: Site, slug: str, filter: Filter) -> Iterator[list[object]]:
    """Yield the whole list for a CSV file."""
    run = site.open(slug)
    rows, _ = select(site, run, filter, wait=None)  # first, so that errors show before anything is sent
    protocols = sorted(run.snapshot.verdicts)
    yield ["problem", "problem_id", "sample", "verdict", "answer", "why", "completion_tokens", "latency", "bytes",
           "finish_reason_length", *(f"verdict {name}" for name in protocols)]  # fmt: skip
    for row in rows:
        one = listed(run, int(row), filter.protocol or run.protocol)
        verdicts = [look(int(run.snapshot.verdicts[name][row])).name for name in protocols]
        yield [
            one.problem + 1, one.id, one.sample, one.look.name, one.answer and one_line(one.answer, 80),
            one_line(one.why, 160), one.tokens if one.tokens >= 0 else "",
            "" if math.isnan(one.latency) else round(one.latency, 3), one.size, int(one.cut), *verdicts,
        ]  # fmt: skip
