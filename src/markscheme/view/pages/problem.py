"""The page of one problem: the question, the gold, and every sample with equal answers grouped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from markscheme.reporting.verdicts import Look
from markscheme.statistics import accuracy
from markscheme.types import Gold
from markscheme.view.library import OpenRun
from markscheme.view.pages.responses import LONGEST_ANSWER, Listed, gold_text, listed
from markscheme.view.pages.run import header
from markscheme.view.site import NotThereError, Page, Site, live
from markscheme.view.text import blocks, clock, render, render_plain

MOST_RUNS = 50  # runs on the page of a problem in every run
MOST_SAMPLES = 2_000  # samples listed and grouped on a page
MOST_FIELDS = 30  # of a problem's metadata
RENDERED = 60_000  # characters of a statement or solution that are shown
FORMULA_SECONDS = 0.5  # processor time for the formulas of a text; the rest is shown as source


@dataclass(frozen=True)
class Class:
    """Samples with mathematically equal answers."""

    answer: str | None
    spellings: list[str]
    looks: list[tuple[Look, int]]
    samples: list[int]


def problem_page(site: Site, slug: str, problem: int, _query: Mapping[str, str]) -> Page:
    run = open_problem(site, slug, problem)
    question = run.snapshot.question(problem)
    metadata = list(question.problem.metadata.items()) if question else []
    rows = run.snapshot.rows_of(problem)
    samples = [listed(run, row, run.protocol) for row in rows[:MOST_SAMPLES]]
    counts = run.snapshot.counts(run.protocol).select([run.snapshot.keys[problem]])
    scored = int(counts.n.sum())
    return Page(
        "problem.html",
        f"{run.snapshot.ids[problem]} · {run.entry.name}",
        {
            **header(run),
            **shown_problem(run, problem),
            "question": question,
            "solution": rich(question.problem.solution) if question and question.problem.solution else None,
            "metadata": {str(name)[:60]: str(value)[:300] for name, value in metadata[:MOST_FIELDS]},
            "samples": samples,
            "hidden": max(0, len(rows) - MOST_SAMPLES),
            "classes": _classes(samples),
            "rate": float(accuracy(counts.n, counts.c)[0]) if scored else None,
            "correct": int(counts.c.sum()),
            "scored": scored,
            "before": problem - 1 if problem else None,
            "after": problem + 1 if problem + 1 < run.snapshot.problems else None,
        },
        again=live(run),
    )


def across_page(site: Site, slug: str, problem: int, _query: Mapping[str, str]) -> Page:
    """Show a problem in every run of the folder that asked it."""
    run = open_problem(site, slug, problem)
    key, benchmark = run.snapshot.keys[problem], run.entry.manifest and run.entry.manifest.benchmark
    lines: list[tuple[OpenRun, int, list[Listed]]] = []
    pending = False
    for entry in site.library.entries():
        if entry.manifest is None or entry.manifest.benchmark != benchmark or len(lines) == MOST_RUNS:
            continue
        try:
            other = site.open(entry.slug)
        except NotThereError:  # its own page says why it cannot be read
            continue
        pending |= not other.snapshot.complete
        if (number := other.snapshot.numbers.get(key)) is not None:
            rows = other.snapshot.rows_of(number)[:MOST_SAMPLES]
            lines.append((other, number, [listed(other, row, other.protocol) for row in rows]))
    return Page(
        "across.html",
        f"{run.snapshot.ids[problem]} in every run",
        {**header(run), **shown_problem(run, problem), "lines": lines},
        again=live(run, pending=pending),
    )


def open_problem(site: Site, slug: str, problem: int) -> OpenRun:
    """Open a run and check that it has this problem (from 0)."""
    run = site.open(slug)
    if not 0 <= problem < run.snapshot.problems:
        raise NotThereError(f"{run.entry.name} has no problem number {problem + 1}.")
    return run


def shown_problem(run: OpenRun, problem: int) -> dict[str, Any]:
    """Return what every page about a problem shows."""
    question = run.snapshot.question(problem)
    return {
        "number": problem,
        "id": run.snapshot.ids[problem],
        "statement": rich(question.problem.statement) if question else None,
        "gold": gold_html(question.problem.gold) if question else "",
    }


def rich(text: str) -> Markup:
    """Render a statement or solution; of a very long one only the beginning."""
    until = clock() + FORMULA_SECONDS
    html = [render(text[start:end], until=until) for start, end in blocks(text, 0, min(len(text), RENDERED))]
    if len(text) > RENDERED:
        html.append(render_plain(f"\n… and {len(text) - RENDERED:,} characters more"))
    return Markup("").join(html)


def gold_html(gold: Gold) -> Markup:
    text = gold_text(gold)
    looks_like_latex = any(sign in text for sign in "\\^_{") and len(text) < LONGEST_ANSWER
    return render(f"${text.strip('$')}$") if looks_like_latex else render_plain(text[:LONGEST_ANSWER])


def _classes(samples: list[Listed]) -> list[Class]:
    """Group samples by answer, the most frequent first, those without an answer last."""
    from markscheme.marking.equality import canonical_key

    groups: dict[str | None, list[Listed]] = {}
    keys: dict[str, str] = {}
    for sample in samples:
        if sample.answer is None:
            if sample.look.name != "unmarked":
                groups.setdefault(None, []).append(sample)
            continue
        text = sample.answer.strip()
        if text not in keys:
            keys[text] = canonical_key(text) or f"text {text}"
        groups.setdefault(keys[text], []).append(sample)
    classes = [_class(members) for members in groups.values()]
    return sorted(classes, key=lambda one: (one.answer is None, -len(one.samples)))


def _class(members: list[Listed]) -> Class:
    spellings = Counter(member.answer or "" for member in members)
    often = sorted(spellings, key=lambda text: (-spellings[text], text))
    answer = None if members[0].answer is None else often[0]
    looks = Counter(member.look for member in members)
    return Class(answer, often[1:], looks.most_common(), [member.sample for member in members])
