"""One problem: what is asked, what is right, and what every sample said, equal answers together."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from markscheme.types import CountdownGold, Gold, Mark
from markscheme.view import figures
from markscheme.view.library import OpenRun
from markscheme.view.pages.run import header
from markscheme.view.site import NotThereError, Page, Site, live
from markscheme.view.text import blocks, clock, render, render_plain
from markscheme.view.verdicts import Look, look

MOST_SAMPLES = 2_000
"""Samples listed on a page, and answers compared with each other."""
LONGEST_ANSWER = 2_000
RENDERED = 60_000
"""Characters of a statement or solution that are shown."""
FORMULA_SECONDS = 0.5
"""Of processor time for the formulas of a text; what is left shows its source."""


@dataclass(frozen=True)
class Sample:
    """One response of the problem."""

    sample: int
    look: Look
    answer: str | None
    why: str
    tokens: int
    disagree: bool


@dataclass(frozen=True)
class Class:
    """Answers that are the same mathematics."""

    answer: str | None
    spellings: list[str]
    looks: list[tuple[Look, int]]
    samples: list[int]


def problem_page(site: Site, slug: str, problem: int) -> Page:
    """The page of a problem, counted from 0."""
    run = site.open(slug)
    if not 0 <= problem < run.snapshot.problems:
        raise NotThereError(f"{run.entry.name} has no problem number {problem + 1}.")
    question = run.snapshot.question(problem)
    rows = list(run.snapshot.rows_of(problem))
    samples = _samples(run, rows[:MOST_SAMPLES])
    counts = figures.only(run.snapshot.counts(run.protocol), [problem])
    scored = int(counts.n.sum())
    return Page(
        "problem.html",
        f"{run.snapshot.ids[problem]} · {run.entry.name}",
        {
            **header(run),
            "number": problem,
            "id": run.snapshot.ids[problem],
            "question": question,
            "statement": rich(question.problem.statement) if question else None,
            "solution": rich(question.problem.solution) if question and question.problem.solution else None,
            "gold": gold_text(question.problem.gold) if question else "",
            "gold_html": _gold_html(question.problem.gold) if question else "",
            "metadata": _metadata(question.problem.metadata) if question else {},
            "samples": samples,
            "hidden": max(0, len(rows) - MOST_SAMPLES),
            "classes": _classes(samples),
            "rate": float(figures.solve_rates(counts)[0]) if scored else None,
            "correct": int(counts.c.sum()),
            "scored": scored,
            "before": problem - 1 if problem else None,
            "after": problem + 1 if problem + 1 < run.snapshot.problems else None,
        },
        again=live(run),
    )


def rich(text: str) -> Markup:
    """A statement or solution with its formulas; of what is very long, the beginning."""
    until = clock() + FORMULA_SECONDS
    html = [render(text[start:end], until=until) for start, end in blocks(text, 0, min(len(text), RENDERED))]
    if len(text) > RENDERED:
        html.append(render_plain(f"\n… and {len(text) - RENDERED:,} characters more"))
    return Markup("").join(html)


def gold_text(gold: Gold) -> str:
    """The right answer in words."""
    if isinstance(gold, CountdownGold):
        return f"{gold.target} from {', '.join(map(str, gold.nums))}, each used once"
    return gold


def _gold_html(gold: Gold) -> Markup:
    if isinstance(gold, CountdownGold):
        return render_plain(gold_text(gold))
    looks_like_latex = any(sign in gold for sign in "\\^_{") and len(gold) < LONGEST_ANSWER
    return render(f"${gold.strip('$')}$") if looks_like_latex else render_plain(gold)


def _metadata(metadata: dict[str, object]) -> dict[str, str]:
    return {str(name)[:60]: str(value)[:300] for name, value in list(metadata.items())[:30]}


def _samples(run: OpenRun, rows: list[int]) -> list[Sample]:
    snapshot = run.snapshot
    verdict, tokens = snapshot.verdict(run.protocol), snapshot.rows["tokens"]
    samples = []
    for row in rows:
        mark: Mark | None = snapshot.mark(run.protocol, row)
        samples.append(
            Sample(
                int(snapshot.sample[row]),
                look(int(verdict[row])),
                mark.answer[:LONGEST_ANSWER] if mark and mark.answer is not None else None,
                mark.why if mark else "",
                int(tokens[row]),
                bool(snapshot.disagree[row]),
            )
        )
    return samples


def _classes(samples: list[Sample]) -> list[Class]:
    """Samples by what they answered, the most frequent first; those without an answer last."""
    from markscheme.marking.equality import canonical_key

    groups: dict[str | None, list[Sample]] = {}
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
    classes = [_class(members, key is None) for key, members in groups.items()]
    return sorted(classes, key=lambda one: (one.answer is None, -len(one.samples)))


def _class(members: list[Sample], unanswered: bool) -> Class:
    spellings = [member.answer or "" for member in members]
    often = sorted(set(spellings), key=lambda text: (-spellings.count(text), text))
    looks: dict[Look, int] = {}
    for member in members:
        looks[member.look] = looks.get(member.look, 0) + 1
    return Class(
        None if unanswered else often[0],
        often[1:],
        sorted(looks.items(), key=lambda pair: -pair[1]),
        [member.sample for member in members],
    )
