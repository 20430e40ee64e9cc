"""The page of one response: its text with the answer highlighted, and the verdict under every protocol."""

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
from markscheme.runs.columns import CORRECT, ERROR, UNMARKED, Ints
from markscheme.runs.turns import Begun, begun
from markscheme.types import Mark, Question, Response, ToolCall, Turn
from markscheme.view.filters import Filter
from markscheme.view.library import OpenRun
from markscheme.view.pages.problem import FORMULA_SECONDS, shown_problem
from markscheme.view.pages.responses import select
from markscheme.view.pages.run import header
from markscheme.view.site import NotThereError, Page, Site, live
from markscheme.view.text import Span, blocks, clock, overlap, render, render_plain

# Characters at each end of a text that are in the page; the middle is loaded when it is scrolled to.
AT_ONCE = 24_000
LAZY = 16_000  # characters of a piece that is loaded later
TURN_SECONDS = 0.5  # time limit for finding the turns of a conversation in progress
LONGEST_COMMAND = 20_000  # characters of a response that fit in a command line


class Block(NamedTuple):
    """A part of a text: its HTML, or only its position if it is loaded later."""

    start: int
    end: int
    html: Markup | None
    answer: bool


class Body(NamedTuple):
    """A response as a page shows it: the thinking folded, the answer open."""

    reasoning: list[Block]  # returned separately from the text
    thinking: list[Block]  # in the text, up to the end of thinking
    answer: list[Block]
    answer_in_thinking: bool


def response_page(site: Site, slug: str, problem: int, sample: int, query: Mapping[str, str]) -> Page:
    """Show a response; with a filter in the query, next and previous stay within it."""
    run, filter = site.open(slug), Filter.parse(query)
    row = run.snapshot.row(problem, sample)
    if row is None:
        if not live(run) or problem >= run.snapshot.problems or sample >= run.snapshot.wanted[problem]:
            raise NotThereError(f"{run.entry.name} has no sample {sample} of problem {problem + 1}.")
        waiting = "The response is not complete yet; it appears on this page when it is."
        turns = turns_so_far(run, problem, sample)
        return Page("missing.html", "In progress", {"message": waiting, "turns": turns}, again=live(run))
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
            "earlier": response.turns[:-1] if response else (),
            "command": mark_command(run, row, question, response),
            "filter": filter,
            "moves": _moves(site, run, row, filter),
        },
        again=live(run) if response is None else 0,
    )


def body(site: Site, response: Response, span: Span | None) -> Body:
    """Cut a response into pieces, with the answer highlighted."""
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
    """Cut a text into pieces: both ends and the answer are rendered, the middle later (but at once in a file)."""
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
    *_, response = find_response(site, slug, problem, sample)
    text = (response.reasoning or "") if part == "reasoning" else response.text
    start, end = max(0, start), min(end, start + 2 * LAZY, len(text))
    return render(text[start:end], until=clock() + FORMULA_SECONDS)


def find_response(site: Site, slug: str, problem: int, sample: int) -> tuple[OpenRun, int, Response]:
    """Return the run, the row and the response."""
    run = site.open(slug)
    row = run.snapshot.row(problem, sample) if 0 <= problem < run.snapshot.problems else None
    response = run.snapshot.response(row) if row is not None else None
    if row is None or response is None:
        raise NotThereError(f"{run.entry.name} has no response for sample {sample} of problem {problem + 1}.")
    return run, row, response


def full_record(site: Site, slug: str, problem: int, sample: int) -> dict[str, Any]:
    """Return everything that is stored about a response."""
    run, row, response = find_response(site, slug, problem, sample)
    return {"question": run.snapshot.question(problem), "response": response, "marks": stored_marks(run, row)}


def stored_marks(run: OpenRun, row: int) -> dict[str, Mark]:
    """Return the marks of a response, those of the run's own protocol first."""
    return {name: mark for name in run.protocols if (mark := run.snapshot.mark(name, row)) is not None}


def other_marks(site: Site, slug: str, problem: int, sample: int) -> dict[str, Mark]:
    """Mark a response with the protocols that the run was not marked with; nothing is written."""
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
    """Return a shell command that marks this response again; a long response is read from its file.

    The model's text is written in ASCII and quoted, so it is always a single word of the command.
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
    """Return a command that prints the line of a response with its gold inserted."""
    numbers = run.snapshot.rows
    file = run.snapshot.files[int(numbers["file"][row])]
    escaped = re.sub(r"([\\/&])", r"\\\1", gold[:-1])
    place = int(numbers["offset"][row]) + 1
    return f"tail -c +{place} {shlex.quote(str(file))} | head -n 1 | sed {shlex.quote(f's/^{{/{escaped}, /')}"


def end_of_thinking(text: str) -> int:
    """Return the start of the answer: after the last `</think>` and the empty lines that follow it."""
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
        "Tokens per second": None if response.tokens_per_second is None else f"{response.tokens_per_second:.3g}",
        "Turns": sum(turn.role == "assistant" for turn in response.turns) or None,
        "Tool calls": response.calls or None,
        "Failed calls": response.tool_errors or None,
        "Cut off": "reached the limit of turns" if response.cut_off_by_turns else None,
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
    """Return the other fields of a response (tool calls, a refusal …): name, beginning, and length as JSON."""
    kept = response.metadata if response else {}
    texts = {name: json.dumps(value, ensure_ascii=False, indent=2) for name, value in kept.items() if value is not None}
    return [(name[:100], text[:AT_ONCE], len(text)) for name, text in texts.items()]


def _reading(run: OpenRun, question: Question | None, response: Response | None) -> list[tuple[str, str, int]]:
    """Explain how the run's protocol read the response, if it reads sentences."""
    with suppress(MarkingError, UsageError):
        if question is not None and response is not None and response.error is None:
            told = str(explain(response, question.problem, protocol=run.protocol.partition("@")[0]))
            return [("How it was read", told, len(told))]
    return []


def _moves(site: Site, run: OpenRun, row: int, filter: Filter) -> dict[str, str | None]:
    """Return the targets of the keys: next and previous in the filter, next disagreement, next wrong response."""
    snapshot = run.snapshot
    if filter.active or filter.sort or filter.down:
        order, _ = select(site, run, filter)
    else:
        order = np.arange(len(snapshot))
    verdict = snapshot.verdict(filter.protocol or run.protocol)
    bad = (verdict != CORRECT) & (verdict != UNMARKED) & (verdict != ERROR)

    place = np.flatnonzero(order == row)
    here = int(place[0]) if place.size else -1
    later = order[here + 1 :]

    def to(rows: Ints) -> str | None:
        if not rows.size:
            return None
        problem, sample = int(snapshot.problem[rows[0]]), int(snapshot.sample[rows[0]])
        return site.links.response(run.entry.slug, problem, sample, filter)

    return {
        "next": to(later),
        "previous": to(order[max(0, here - 1) : max(0, here)]),
        "disagreement": to(later[snapshot.disagree[later]]),
        "wrong": to(later[bad[later]]),
    }


def call_text(call: ToolCall) -> str:
    """Return code as code, and other arguments as the model wrote them."""
    try:
        given = json.loads(call.arguments, strict=False)
    except (ValueError, RecursionError):
        return call.arguments
    code = given.get("code") if isinstance(given, dict) else None
    return code if isinstance(code, str) else call.arguments


def turns_so_far(run: OpenRun, problem: int, sample: int) -> tuple[Turn, ...]:
    """Return the turns of a response that is still in progress."""
    key = run.snapshot.keys[problem]
    return (
        begun(run.entry.path, lambda *cell: cell == (key, sample), key, TURN_SECONDS)
        .get((key, sample), Begun(()))
        .turns
    )
