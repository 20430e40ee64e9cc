"""A series over training: its runs by step, the figures over steps, and what was learnt and forgotten in between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from markscheme.errors import UsageError
from markscheme.reporting.estimates import Estimate
from markscheme.reporting.figures import counted
from markscheme.reporting.picks import with_picks
from markscheme.reporting.summary import marked_label, summarize
from markscheme.reporting.table import about, csv_text, latex_table, markdown_table
from markscheme.reporting.terminal import console, literal, print_sentence, print_table
from markscheme.runs.folder import Run
from markscheme.statistics import Counts, Interval, Population
from markscheme.statistics.comparison import Moved
from markscheme.statistics.series import Series, learnt_and_forgotten, series

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_NAMED = 8


class OverSteps(msgspec.Struct, frozen=True, kw_only=True):
    """What `report --series --json` prints, of one benchmark."""

    benchmark: str
    protocol: str
    models: dict[str, str]  # the model of each step
    runs: dict[str, str]
    series: Series
    between: tuple[int, int]
    learnt: tuple[Moved, ...]
    forgotten: tuple[Moved, ...]
    ids: dict[str, str]  # the problems that moved between the two steps, by key
    sentence: str


def series_of(
    runs: Sequence[Run],
    metric: str = "accuracy",
    protocol: str | None = None,
    population: Population = "problems drawn",
    between: Sequence[int] = (),
) -> list[OverSteps]:
    """The series among these runs, one a benchmark: those whose step is known, in its order."""
    made = []
    for benchmark in dict.fromkeys(run.manifest.benchmark for run in runs):
        mine = [run for run in runs if run.manifest.benchmark == benchmark and run.manifest.config.step is not None]
        mine.sort(key=lambda run: run.manifest.config.step or 0)
        steps = [run.manifest.config.step or 0 for run in mine]
        if len(set(steps)) < len(steps):
            raise UsageError(f"two runs of {benchmark} are of the same step; --where keeps those of one series")
        if len(mine) > 1:
            made.append(_over_steps(mine, steps, metric, protocol, population, between))
    if not made:
        raise UsageError(
            "no two runs here say their training step: `markscheme run --series …` does, and so does --step N"
        )
    return made


def _over_steps(
    runs: Sequence[Run],
    steps: Sequence[int],
    metric: str,
    protocol: str | None,
    population: Population,
    between: Sequence[int],
) -> OverSteps:
    labels = [marked_label(run.snapshot(), protocol) for run in runs]
    if len(set(labels)) > 1:
        raise UsageError(f"the steps are marked by {', '.join(dict.fromkeys(labels))}: mark them by one protocol")
    counts: dict[int, Counts] = {}
    for step, run in zip(steps, runs, strict=True):
        snapshot = run.snapshot()
        counts[step] = with_picks(snapshot, labels[0], snapshot.counts(labels[0]), [metric])
    one, two = between or (steps[0], steps[-1])
    for step in (one, two):
        if step not in counts:
            raise UsageError(f"there is no step {step}; there are {', '.join(map(str, steps))}")
    found = series(metric, list(counts.items()), population=population)
    learnt, forgotten = learnt_and_forgotten("accuracy", counts[one], counts[two])
    snapshot, moved = runs[0].snapshot(), {each.key for each in (*learnt, *forgotten)}
    ids = {key: name for key, name in zip(snapshot.keys, snapshot.ids, strict=True) if key in moved}
    return OverSteps(
        benchmark=runs[0].manifest.benchmark,
        protocol=labels[0],
        models={str(step): run.manifest.model for step, run in zip(steps, runs, strict=True)},
        runs={str(step): str(run.path) for step, run in zip(steps, runs, strict=True)},
        series=found,
        between=(one, two),
        learnt=learnt,
        forgotten=forgotten,
        ids=ids,
        sentence=_sentence(runs[0].manifest.benchmark, labels[0], found),
    )


def _sentence(benchmark: str, protocol: str, found: Series) -> str:
    best, corrected = found.best, found.best.corrected
    rest = f"; steps {', '.join(map(str, best.others))} may as well be the best" if best.others else ""
    return (
        f"On {counted(found.problems, 'problem')} of {benchmark}, step {best.step} has the highest {found.metric} of {len(found.points)} steps: "
        f"{100 * best.seen:.1f} % as seen, {100 * corrected.estimate:.1f} % corrected for having been picked (simultaneous "
        f"{100 * found.level:.3g} % band {100 * corrected.low:.1f} to {100 * corrected.high:.1f}, for {about(found.population)}){rest}; marked by {protocol}."
    )


def series_rows(made: OverSteps, latex: bool = False) -> list[dict[str, str]]:
    """A row a step, for people."""

    def spans(found: Interval, sign: str = "") -> str:
        low, high, value = (f"{100 * each:{sign}.1f}" for each in (found.low, found.high, found.estimate))
        return f"${value}$ $[{low}, {high}]$" if latex else f"{value} [{low}, {high}]"

    best = made.series.best.step
    return [
        {
            "step": f"{point.step}{' (best)' if point.step == best else ''}",
            f"{made.series.metric}, %": spans(point.score),
            "minus the best": spans(point.to_best, "+") if point.step != best else "",
            "minus the last": spans(point.to_last, "+") if point is not made.series.points[-1] else "",
        }
        for point in made.series.points
    ]


def moved_line(made: OverSteps, moved: Sequence[Moved], word: str) -> str:
    """`learnt between 100 and 400: 7 problems, 3 beyond chance: a/01 (0/4 → 4/4), …`"""
    sure = sum(each.beyond_chance for each in moved)
    named = [f"{made.ids[each.key]} ({each.a[0]}/{each.a[1]} → {each.b[0]}/{each.b[1]})" for each in moved[:MOST_NAMED]]
    more = f", and {len(moved) - len(named)} more" if len(moved) > len(named) else ""
    one, two = made.between
    return f"{word} between step {one} and {two}: {counted(len(moved), 'problem')}, {sure} beyond chance{': ' * bool(named)}{', '.join(named)}{more}"


def print_series(made: OverSteps) -> None:
    """The series at a terminal."""
    level = f"{100 * made.series.level:.3g} %"
    print_table(
        f"{made.benchmark} over steps: bands and differences hold all together at {level}, for {about(made.series.population)}",
        series_rows(made),
    )
    screen = console()
    for moved, word in ((made.learnt, "learnt"), (made.forgotten, "forgotten")):
        screen.print(literal(moved_line(made, moved, word)), soft_wrap=True)
    print_sentence(made.sentence)


def series_text(made: Sequence[OverSteps], form: str) -> str:
    """As Markdown, LaTeX, CSV or JSON."""
    if form == "json":
        return msgspec.json.format(msgspec.json.encode(made if len(made) > 1 else made[0]), indent=2).decode() + "\n"
    if form == "csv":
        return csv_text([row for each in made for row in _flat(each)])
    lines = []
    for each in made:
        moved = [moved_line(each, each.learnt, "learnt"), moved_line(each, each.forgotten, "forgotten")]
        if form == "latex":
            lines += [*(f"% {line}" for line in moved), *latex_table(series_rows(each, latex=True), 1)]
        else:
            lines += [*markdown_table(series_rows(each)), "", *(f"- {line}" for line in moved), "", each.sentence]
    return "\n".join(lines) + "\n"


def _flat(made: OverSteps) -> list[dict[str, Any]]:
    rows = []
    for point in made.series.points:
        row: dict[str, Any] = {"benchmark": made.benchmark, "step": point.step, "model": made.models[str(point.step)]}
        for name, each in (("score", point.score), ("to_best", point.to_best), ("to_last", point.to_last)):
            row |= {name: each.estimate, f"{name}_low": each.low, f"{name}_high": each.high}
        rows.append(row)
    return rows


def series_figure(made: OverSteps) -> Figure:
    """Score over steps with its band."""
    from markscheme.reporting import plots

    points = {
        point.step: Estimate(point.score.estimate, point.score.low, point.score.high) for point in made.series.points
    }
    last = summarize(Run.open(made.runs[str(made.series.points[-1].step)]), made.protocol)
    last = msgspec.structs.replace(last, model=f"{len(points)} steps")
    label = f"{made.series.metric} (%), simultaneous {100 * made.series.level:.3g} % band"
    return plots.curve({made.benchmark: points}, [last], "", "training step", label, doubling=False)
