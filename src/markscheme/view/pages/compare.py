"""Compares runs: the paired difference, the problems that changed, two responses side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from markscheme.errors import UsageError
from markscheme.reporting.comparing import find_differences
from markscheme.reporting.verdicts import Look, look
from markscheme.statistics import Comparison, Moved, compare
from markscheme.types import Mark
from markscheme.view.background import Made
from markscheme.view.library import OpenRun
from markscheme.view.overview import overview
from markscheme.view.pages.problem import open_problem, shown_problem
from markscheme.view.pages.response import Body, body, stored_marks
from markscheme.view.site import NotThereError, Page, Site, live

MOST_RUNS = 12
MOST_MOVED = 300


class MovedProblem(NamedTuple):
    """A problem whose solve rate changed."""

    problem: int  # its number in the first run
    other: int  # its number in the second run
    id: str
    moved: Moved


class Pair(NamedTuple):
    """Two runs on the problems that both answered; `comparison` is None if there are none."""

    comparison: Comparison | None
    rows: list[MovedProblem]
    warnings: list[str]


class Side(NamedTuple):
    """One of the two responses."""

    run: OpenRun
    problem: int
    sample: int
    samples: list[tuple[int, Look]]
    mark: Mark | None
    body: Body | None
    error: str | None


def compare_page(site: Site, slugs: list[str], query: Mapping[str, str]) -> Page:
    """Compare the named runs; with fewer than two, show only the choice of runs."""
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
        made = _made_pair(site, first, second)
        pending |= not made.fresh
        if made.value is not None:
            rows = made.value.rows
            only = query.get("only", "")
            if only in ("better", "worse"):
                rows = [row for row in rows if (row.moved.difference > 0) == (only == "better")]
            more = max(0, len(rows) - MOST_MOVED)
            context |= {"pair": made.value, "only": only, "moved": rows[:MOST_MOVED], "more": more}
    title = " and ".join(run.entry.name for run in runs[:2]) or "Compare"
    return Page("compare.html", title, context, again=max([live(run) for run in runs] + [0.7 if pending else 0]))


def compare_table(site: Site, slugs: list[str]) -> Iterator[list[object]]:
    """Yield the problems that changed between two runs, for a CSV file."""
    runs = _runs(site, slugs)
    if len(runs) < 2:
        raise NotThereError("A comparison needs two runs.")
    first, second = runs[:2]
    yield ["problem_id", "correct", "samples", "correct_other", "samples_other", "difference", "p_value",
           "beyond_chance"]  # fmt: skip
    for row in pair(first, second).rows:
        moved = row.moved
        yield [row.id, *moved.a, *moved.b, moved.difference, moved.p_value, int(moved.beyond_chance)]


def moved_problems(site: Site, slugs: list[str]) -> list[int]:
    """Return the problems that a comparison lists, by their numbers in the first run."""
    made = _made_pair(site, *_runs(site, slugs)[:2]).value
    return [row.problem for row in made.rows[:MOST_MOVED]] if made else []


def compare_problem_page(site: Site, slugs: list[str], query: Mapping[str, str]) -> Page:
    """Show one problem with a response of each run side by side."""
    runs = _runs(site, slugs)[:2]
    number = query.get("problem", "")
    if len(runs) < 2 or not number.isdecimal() or len(number) > 9:
        raise NotThereError("To compare responses, the address must name two runs and a problem.")
    problem = int(number) - 1
    first, second = open_problem(site, runs[0].entry.slug, problem), runs[1]
    other = second.snapshot.numbers.get(first.snapshot.keys[problem])
    if other is None:
        raise NotThereError(f"{second.entry.name} was not asked this problem.")
    left = _side(site, first, problem, query.get("left", ""))
    right = _side(site, second, other, query.get("right", ""))
    made = _made_pair(site, first, second).value
    moved = [row.problem for row in made.rows] if made else []
    place = moved.index(problem) if problem in moved else len(moved)
    return Page(
        "compare_problem.html",
        f"{first.snapshot.ids[problem]} in two runs",
        {
            **shown_problem(first, problem),
            "sides": [left, right],
            "slugs": [first.entry.slug, second.entry.slug],
            "before": moved[place - 1] if 0 < place < len(moved) else None,
            "after": moved[place + 1] if place + 1 < len(moved) else None,
        },
    )


def _made_pair(site: Site, first: OpenRun, second: OpenRun) -> Made[Pair]:
    return site.figure(first, ("pair", second.entry.path, second.snapshot.marks_version), lambda: pair(first, second))


def pair(first: OpenRun, second: OpenRun) -> Pair:
    """Compare two runs on the problems of which both have scored samples."""
    a, b = first.snapshot.counts(first.protocol), second.snapshot.counts(second.protocol)
    try:
        comparison = compare("accuracy", a, b)
    except UsageError:  # no problem in common
        return Pair(None, [], _warnings(first, second, 0))
    numbers, others = first.snapshot.numbers, second.snapshot.numbers
    rows = [
        MovedProblem(numbers[moved.key], others[moved.key], first.snapshot.ids[numbers[moved.key]], moved)
        for moved in comparison.moved
    ]
    return Pair(comparison, rows, [*_warnings(first, second, comparison.problems), *comparison.caveats])


def _warnings(first: OpenRun, second: OpenRun, shared: int) -> list[str]:
    """Return the remaining differences between the runs."""
    one, two = first.entry.manifest, second.entry.manifest
    if one is None or two is None:
        return ["One of the manifests cannot be read, so other differences between the runs are not known."]
    part = one.problems != two.problems or shared < one.problems
    left_out = (
        f"The runs share {shared} problems of {one.problems} and {two.problems}; the other problems are left out."
    )
    labels = {run.entry.name: run.snapshot.label_of(run.protocol) for run in (first, second)}
    differ = find_differences({first.entry.name: one, second.entry.name: two}, labels)
    return [left_out] * part + [
        f"The runs differ in {each.what}: {' and '.join(value or 'none' for value in each.values.values())}."
        for each in differ
    ]


def _runs(site: Site, slugs: list[str]) -> list[OpenRun]:
    return [site.open(slug) for slug in dict.fromkeys(slugs[:MOST_RUNS])]


def _side(site: Site, run: OpenRun, problem: int, asked: str) -> Side:
    rows = run.snapshot.rows_of(problem)
    samples = run.snapshot.sample[rows.start : rows.stop].tolist()
    verdicts = run.snapshot.verdict(run.protocol)[rows.start : rows.stop].tolist()
    if not samples:
        raise NotThereError(f"{run.entry.name} has no response to this problem.")
    chosen = int(asked) if asked.isdecimal() and len(asked) < 10 and int(asked) in samples else samples[0]
    row = run.snapshot.row(problem, chosen)
    assert row is not None
    response = run.snapshot.response(row)
    mark = next(iter(stored_marks(run, row).values()), None)
    return Side(
        run,
        problem,
        chosen,
        [(sample, look(code)) for sample, code in zip(samples, verdicts, strict=True)],
        mark,
        body(site, response, mark.span if mark else None) if response else None,
        response.error if response else "The response cannot be read.",
    )
