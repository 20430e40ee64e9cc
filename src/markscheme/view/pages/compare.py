"""Two or more runs against each other: the paired difference, the problems that moved, both responses side by side."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from markscheme.statistics import Interval, mean_interval
from markscheme.view import figures, plots
from markscheme.view.library import OpenRun
from markscheme.view.overview import overview
from markscheme.view.pages.problem import gold_text, rich
from markscheme.view.pages.response import Block, Judgement, stored_judgements, text_blocks
from markscheme.view.site import NotThereError, Page, Site, live

MOST_RUNS = 12
MOST_MOVED = 300


@dataclass(frozen=True)
class Moved:
    """A problem that both runs answered."""

    problem: int
    """Its number in the first run."""
    other: int
    """Its number in the second run."""
    id: str
    left: float
    right: float
    left_n: int
    right_n: int

    @property
    def change(self) -> float:
        """How much more often the second run solves it."""
        return self.right - self.left


@dataclass(frozen=True)
class Pair:
    """Two runs on the problems that both answered."""

    shared: list[Moved]
    difference: Interval | None
    left: Interval | None
    right: Interval | None
    warnings: list[str]


@dataclass(frozen=True)
class Side:
    """One response of the two."""

    run: OpenRun
    problem: int
    sample: int
    samples: list[int]
    judgement: Judgement | None
    blocks: list[Block]
    error: str | None


def compare_page(site: Site, slugs: list[str], query: Mapping[str, str]) -> Page:
    """The comparison of the named runs; with none or one, the choice of runs."""
    runs = _runs(site, slugs)
    lines = [overview(site, run.entry) for run in runs]
    context: dict[str, Any] = {
        "runs": runs,
        "lines": [(run, line.value) for run, line in zip(runs, lines, strict=True)],
        "slugs": [run.entry.slug for run in runs],
        "choices": site.library.entries(),
        "pair": None,
    }
    pending = not all(line.fresh for line in lines)
    if len(runs) >= 2:
        first, second = runs[0], runs[1]
        stamp = (second.snapshot.marks_version, second.index.generation)
        made = site.figure(first, ("pair", second.entry.path, stamp), lambda: pair(first, second))
        pending |= not made.fresh
        if made.value is not None:
            moved = [one for one in made.value.shared if one.change]
            moved.sort(key=lambda one: (-abs(one.change), one.problem))
            only = query.get("only", "")
            if only in ("better", "worse"):
                moved = [one for one in moved if (one.change > 0) == (only == "better")]
            context |= {
                "pair": made.value,
                "better": sum(one.change > 0 for one in made.value.shared),
                "worse": sum(one.change < 0 for one in made.value.shared),
                "only": only,
                "moved": moved[:MOST_MOVED],
                "more": max(0, len(moved) - MOST_MOVED),
                "difference_bar": _difference_bar(made.value.difference),
            }
    title = " against ".join(run.entry.name for run in runs[:2]) or "Compare"
    return Page("compare.html", title, context, again=max([live(run) for run in runs] + [0.7 if pending else 0]))


def compare_table(site: Site, slugs: list[str]) -> Iterator[list[object]]:
    """Every shared problem of two runs, for a CSV file."""
    runs = _runs(site, slugs)
    if len(runs) < 2:
        raise NotThereError("A comparison needs two runs.")
    first, second = runs[:2]
    yield ["problem_id", f"solve rate {first.entry.name}", f"solve rate {second.entry.name}", "change", "n", "n other"]
    for one in pair(first, second).shared:
        yield [one.id, one.left, one.right, one.change, one.left_n, one.right_n]


def compare_problem_page(site: Site, slugs: list[str], query: Mapping[str, str]) -> Page:
    """One problem, a response of each run beside the other."""
    runs = _runs(site, slugs)[:2]
    number = query.get("problem", "")
    if len(runs) < 2 or not number.isdecimal() or len(number) > 9:
        raise NotThereError("Two runs and a problem's number are needed to compare responses.")
    first, second = runs
    problem = int(number) - 1
    if not 0 <= problem < first.snapshot.problems:
        raise NotThereError(f"{first.entry.name} has no problem number {problem + 1}.")
    other = second.index.problems.find(first.snapshot.keys[problem])
    if other is None:
        raise NotThereError(f"{second.entry.name} was not asked this problem.")
    question = first.index.question(problem)
    until = time.monotonic() + 0.6
    left = _side(site, first, problem, query.get("left", ""), until)
    right = _side(site, second, other, query.get("right", ""), until)
    return Page(
        "compare_problem.html",
        f"{first.snapshot.ids[problem]} in two runs",
        {
            "number": problem,
            "id": first.snapshot.ids[problem],
            "statement": rich(question.problem.statement) if question else None,
            "gold": gold_text(question.problem.gold) if question else "",
            "sides": [left, right],
            "slugs": [first.entry.slug, second.entry.slug],
        },
    )


def pair(first: OpenRun, second: OpenRun) -> Pair:
    """Paired on the problems that both runs have scored samples of."""
    a, b = figures.counts(first.snapshot, first.protocol), figures.counts(second.snapshot, second.protocol)
    left, right = figures.solve_rates(a), figures.solve_rates(b)
    shared = []
    for number, key in enumerate(first.snapshot.keys):
        other = second.index.problems.find(key)
        if other is None or other >= len(right) or np.isnan(left[number]) or np.isnan(right[other]):
            continue
        name = first.snapshot.ids[number]
        rates = (float(left[number]), float(right[other]))
        shared.append(Moved(number, other, name, *rates, int(a.n[number]), int(b.n[other])))
    difference = None
    if shared:
        # A difference lies between -1 and 1; the interval's scale is 0 to 1.
        found = mean_interval([(one.change + 1) / 2 for one in shared])
        difference = Interval(
            estimate=2 * found.estimate - 1,
            low=2 * found.low - 1,
            high=2 * found.high - 1,
            level=found.level,
            method=found.method,
            problems=found.problems,
        )
    return Pair(
        shared,
        difference,
        figures.estimate("accuracy", figures.only(a, [one.problem for one in shared])) if shared else None,
        figures.estimate("accuracy", figures.only(b, [one.other for one in shared])) if shared else None,
        _warnings(first, second, len(shared)),
    )


def _warnings(first: OpenRun, second: OpenRun, shared: int) -> list[str]:
    """What makes the comparison one of more than the models."""
    one, two = first.entry.manifest, second.entry.manifest
    if one is None or two is None:
        return ["One of the manifests cannot be read: nothing is known of how the runs differ."]
    found = []
    if one.problems != two.problems or shared < one.problems:
        found.append(f"They share {shared} problems of {one.problems} and {two.problems}; the rest is left out.")
    for name, field in (("Protocol", "protocol"), ("Prompts", "prompt_sha256"), ("Sampling", "sampling")):
        left, right = getattr(one, field), getattr(two, field)
        if left != right:
            found.append(f"{name} differ." if name == "Prompts" else f"{name} differs: {left} and {right}.")
    return found


def _difference_bar(found: Interval | None) -> object:
    return plots.difference_bar(found.estimate, found.low, found.high) if found else None


def _runs(site: Site, slugs: list[str]) -> list[OpenRun]:
    return [site.open(slug) for slug in dict.fromkeys(slugs[:MOST_RUNS])]


def _side(site: Site, run: OpenRun, problem: int, asked: str, until: float) -> Side:
    rows = run.snapshot.rows_of(problem)
    samples = [int(sample) for sample in run.snapshot.sample[rows.start : rows.stop]]
    if not samples:
        raise NotThereError(f"{run.entry.name} has no response to this problem.")
    chosen = int(asked) if asked.isdecimal() and len(asked) < 10 and int(asked) in samples else samples[0]
    row = run.snapshot.row(problem, chosen)
    assert row is not None
    response = run.index.response(run.snapshot, row)
    judgements = stored_judgements(run, row)
    own = judgements[0] if judgements else None
    text = response.text if response else ""
    span = own.mark.span if own else None
    return Side(
        run,
        problem,
        chosen,
        samples,
        own,
        text_blocks(text, 0, None, span, until, site),
        response.error if response else "The response cannot be read.",
    )
