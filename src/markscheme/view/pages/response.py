"""One response: its text with the answer where it stands, and what every protocol says of it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec
import numpy as np
from markupsafe import Markup

from markscheme.errors import MarkingError, UsageError
from markscheme.marking import explain, mark
from markscheme.marking.bulk.audit import applicable_protocols
from markscheme.marking.reading.sections import THINK_END
from markscheme.runs.columns import CORRECT, ERROR, UNMARKED, Ints, Mask
from markscheme.types import Mark, Question, Response
from markscheme.view.filters import Filter
from markscheme.view.library import OpenRun
from markscheme.view.pages.problem import FORMULA_SECONDS, shown_problem
from markscheme.view.pages.responses import select
from markscheme.view.pages.run import header
from markscheme.view.pages.turns import spoken, turns_so_far
from markscheme.view.site import NotThereError, Page, Site, live
from markscheme.view.text import Span, blocks, clock, overlap, render, render_plain

# Characters at each end of a text that are in the page; what lies between comes when it is scrolled to.
AT_ONCE = 24_000
LAZY = 16_000  # characters of a piece that comes later
LONGEST_COMMAND = 20_000  # characters of a response that a command line carries


class Block(NamedTuple):
    """A piece of a text: its HTML, or only its place if it comes later."""

    start: int
    end: int
    html: Markup | None
    answer: bool


class Body(NamedTuple):
    """What came back, as a page shows it: the thinking folded, the answer open."""

    reasoning: list[Block]  # sent apart from the text
    thinking: list[Block]  # in the text, up to the end of thinking
    answer: list[Block]
    answer_in_thinking: bool


def response_page(site: Site, slug: str, problem: int, sample: int, query: Mapping[str, str]) -> Page:
    """The page of a response; with a filter in the query, next and previous stay inside it."""
    run, filter = site.open(slug), Filter.parse(query)
    row = run.snapshot.row(problem, sample)
    if row is None:
        if not live(run) or problem >= run.snapshot.problems or sample >= run.snapshot.wanted[problem]:
            raise NotThereError(f"{run.entry.name} has no sample {sample} of problem {problem + 1}.")
        waiting = "The response itself is not there yet; this page shows it when it comes."
        turns = spoken(turns_so_far(run, problem, sample))
        return Page("missing.html", "Not there yet", {"message": waiting, "turns": turns}, again=live(run))
    response = run.snapshot.response(row)
    question = run.snapshot.question(problem)
    marks = stored_marks(run, row)
    own = marks.get(run.protocol)
    return Page(
        "response.html",
        f"{run.snapshot.ids[problem]} sample {sample} · {run.entry.name}",
        {
            **header(run),
            **shown_problem(run, problem),
            "sample": sample,
            "response": response,
            "question": question,
            "own": own,
            "marks": marks,
            "stored": True,
            "body": body(site, response, own.span if own else None) if response else None,
            "facts": _facts(response),
            "beside": _beside(response),
            "reading": _reading(run, question, response),
            "earlier": spoken(response.turns[:-1] if response else ()),
            "command": mark_command(run, row, question, response),
            "filter": filter,
            "moves": _moves(site, run, row, filter),
        },
        again=live(run) if response is None else 0,
    )


def body(site: Site, response: Response, span: Span | None) -> Body:
    """A response in pieces, with the answer's place highlighted."""
    until = clock() + FORMULA_SECONDS
    text = response.text
    split = end_of_thinking(text)
    return Body(
        text_blocks(response.reasoning or "", 0, None, None, until, site),
        text_blocks(text, 0, split, span, until, site),
        text_blocks(text, split, None, span, until, site),
        bool(span and span[0] < split),
    )


def text_blocks(text: str, start: int, end: int | None, span: Span | None, until: float, site: Site) -> list[Block]:
    """A text in pieces: both ends and the answer's place rendered, the middle left for later (never in files)."""
    stop = len(text) if end is None else end
    if stop - start <= 2 * AT_ONCE:
        cuts = blocks(text, start, stop)
    else:
        head, tail = start + AT_ONCE, stop - AT_ONCE
        cuts = [*blocks(text, start, head), *blocks(text, head, tail, LAZY), *blocks(text, tail, stop)]
    pieces = []
    for a, b in cuts:
        place = overlap(a, b, span)
        inside = (place[0] - a, place[1] - a) if place else None
        html: Markup | None = None
        if a - start < AT_ONCE or stop - b < AT_ONCE or inside:
            html = render(text[a:b], inside, until)
        elif site.links.static:
            html = render_plain(text[a:b])
        pieces.append(Block(a, b, html, inside is not None))
    return pieces


def text_piece(site: Site, slug: str, problem: int, sample: int, part: str, start: int, end: int) -> Markup:
    """A piece of a text that comes later."""
    *_, response = find_response(site, slug, problem, sample)
    text = (response.reasoning or "") if part == "reasoning" else response.text
    start, end = max(0, start), min(end, start + 2 * LAZY, len(text))
    return render(text[start:end], until=clock() + FORMULA_SECONDS)


def find_response(site: Site, slug: str, problem: int, sample: int) -> tuple[OpenRun, int, Response]:
    """The run, the row and the response, or NotThereError."""
    run = site.open(slug)
    row = run.snapshot.row(problem, sample) if 0 <= problem < run.snapshot.problems else None
    response = run.snapshot.response(row) if row is not None else None
    if row is None or response is None:
        raise NotThereError(f"{run.entry.name} has no response for sample {sample} of problem {problem + 1}.")
    return run, row, response


def full_record(site: Site, slug: str, problem: int, sample: int) -> dict[str, Any]:
    """Everything that is kept of a response."""
    run, row, response = find_response(site, slug, problem, sample)
    return {"question": run.snapshot.question(problem), "response": response, "marks": stored_marks(run, row)}


def stored_marks(run: OpenRun, row: int) -> dict[str, Mark]:
    """What the protocols say that the run was marked with, its own first."""
    return {name: mark for name in run.protocols if (mark := run.snapshot.mark(name, row)) is not None}


def other_marks(site: Site, slug: str, problem: int, sample: int) -> dict[str, Mark]:
    """What the protocols say that the run was not marked with: judged now, in memory, nothing is written."""
    run, _, response = find_response(site, slug, problem, sample)
    question = run.snapshot.question(problem)
    if question is None:
        return {}
    marks: dict[str, Mark] = {}
    for name in applicable_protocols(question.problem.gold):
        if name not in run.snapshot.mark_lines:
            with suppress(MarkingError):
                marks[name] = mark(response, question.problem, protocol=name)
    return marks


def mark_command(run: OpenRun, row: int, question: Question | None, response: Response | None) -> str:
    """A shell command that judges this very response again, gold and all; a long one is taken from its file.

    What the model wrote is ASCII only and quoted by the shell's rules: whatever it is, it stays a word of the command.
    """
    if question is None or response is None or response.error:
        return ""
    protocols = "".join(f" -p {shlex.quote(name)}" for name in sorted(run.snapshot.mark_lines) or [run.protocol])
    line = {"gold": msgspec.to_builtins(question.problem.gold)}
    if len(response.text) > LONGEST_COMMAND:
        write = _cut_out(run, row, json.dumps(line))
    else:
        line["text"] = response.text
        if response.finish_reason:
            line["finish_reason"] = response.finish_reason
        write = f"printf '%s\\n' {shlex.quote(json.dumps(line))}"
    return f"{write} > response.jsonl && markscheme mark response.jsonl{protocols}"


def _cut_out(run: OpenRun, row: int, gold: str) -> str:
    """A command that prints the line of a response with its gold put in front."""
    numbers = run.snapshot.rows
    file = run.snapshot.files[int(numbers["file"][row])]
    escaped = re.sub(r"([\\/&])", r"\\\1", gold[:-1])
    place = int(numbers["offset"][row]) + 1
    return f"tail -c +{place} {shlex.quote(str(file))} | head -n 1 | sed {shlex.quote(f's/^{{/{escaped}, /')}"


def end_of_thinking(text: str) -> int:
    """Where the answer begins: behind the last `</think>` and the empty lines after it."""
    closed = text.rfind(THINK_END)
    if closed < 0:
        return 0
    start = closed + len(THINK_END)
    while start < len(text) and text[start] in "\r\n":
        start += 1
    return start


def _facts(response: Response | None) -> list[tuple[str, str]]:
    if response is None:
        return []
    facts: dict[str, Any] = {
        "Prompt tokens": response.prompt_tokens,
        "Completion tokens": response.completion_tokens,
        "Reasoning tokens": response.reasoning_tokens,
        "Cached tokens": response.cached_tokens,
        "Characters": len(response.text) + len(response.reasoning or ""),
        "Latency": None if response.latency is None else f"{response.latency:.3g} s",
        "First token": None if response.first_token is None else f"{response.first_token:.3g} s",
        "Tokens a second": None if response.tokens_per_second is None else f"{response.tokens_per_second:.3g}",
        "Turns": sum(turn.role == "assistant" for turn in response.turns) or None,
        "Tool calls": response.calls or None,
        "Failed calls": response.tool_errors or None,
        "Cut off": "still calling when its turns were used up" if response.cut_off_by_turns else None,
        "Attempts": response.attempts,
        "Seed": response.seed,
        "Finish reason": response.finish_reason,
        "Served by": response.model,
        "Arrived": response.created and response.created[:19].replace("T", " "),
    }
    return [
        (name, f"{value:,}" if isinstance(value, int) and name != "Seed" else str(value)[:300])
        for name, value in facts.items()
        if value is not None
    ]


def _beside(response: Response | None) -> list[tuple[str, str, int]]:
    """What is kept beside the text and reasoning (tool calls, a refusal …): name, beginning, and length as JSON."""
    kept = response.metadata if response else {}
    texts = {name: json.dumps(value, ensure_ascii=False, indent=2) for name, value in kept.items() if value is not None}
    return [(name[:100], text[:AT_ONCE], len(text)) for name, text in texts.items()]


def _reading(run: OpenRun, question: Question | None, response: Response | None) -> list[tuple[str, str, int]]:
    """How the run's protocol read the response, if it reads sentences."""
    with suppress(MarkingError, UsageError):
        if question is not None and response is not None and response.error is None:
            told = str(explain(response, question.problem, protocol=run.protocol.partition("@")[0]))
            return [("How it was read", told, len(told))]
    return []


def _moves(site: Site, run: OpenRun, row: int, filter: Filter) -> dict[str, str | None]:
    """Where the keys lead: next and previous within the filter, the next disagreement, the next wrong one."""
    snapshot = run.snapshot
    if filter.active or filter.sort or filter.down:
        order, _ = select(site, run, filter)
    else:
        order = np.arange(len(snapshot))
    verdict = snapshot.verdict(filter.protocol or run.protocol)
    bad = (verdict != CORRECT) & (verdict != UNMARKED) & (verdict != ERROR)

    def to(target: int | None) -> str | None:
        if target is None:
            return None
        problem, sample = int(snapshot.problem[target]), int(snapshot.sample[target])
        return site.links.response(run.entry.slug, problem, sample, filter)

    place = np.flatnonzero(order == row)
    here = int(place[0]) if place.size else -1
    return {
        "next": to(int(order[here + 1]) if here + 1 < len(order) else None),
        "previous": to(int(order[here - 1]) if here > 0 else None),
        "disagreement": to(_after(order, here, snapshot.disagree)),
        "wrong": to(_after(order, here, bad)),
    }


def _after(order: Ints, here: int, wanted: Mask) -> int | None:
    later = order[here + 1 :]
    hits = np.flatnonzero(wanted[later])
    return int(later[hits[0]]) if hits.size else None
