"""A series over training: its runs by step, scores over steps, and problems learnt and forgotten between two steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from markscheme.errors import UsageError, command, counted
from markscheme.reporting.comparing import Terms
from markscheme.reporting.estimates import DifferenceEstimate, bare
from markscheme.reporting.figures import about, bounds
from markscheme.reporting.picks import with_picks
from markscheme.reporting.sheets import Document, Sheet, Show, flat
from markscheme.reporting.summary import marked_label, summarize
from markscheme.runs.folder import Run
from markscheme.statistics import Population
from markscheme.statistics.comparison import Moved
from markscheme.statistics.series import Series, learnt_and_forgotten, series

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_NAMED = 8


class OverSteps(msgspec.Struct, frozen=True, kw_only=True):
    """What `report --series --json` prints for one benchmark."""

    benchmark: str
    protocol: str
    models: dict[str, str]  # by step
    runs: dict[str, str]
    series: Series
    between: tuple[int, int]
    learnt: tuple[Moved, ...]
    forgotten: tuple[Moved, ...]
    ids: dict[str, str]  # ids of the problems that moved between the two steps, by key
    sentence: str


def series_of(
    runs: Sequence[Run],
    metric: str = "accuracy",
    protocol: str | None = None,
    population: Population = "problems drawn",
    between: Sequence[int] = (),
) -> list[OverSteps]:
    """Return one series per benchmark, of the runs with a training step, in order of the steps."""
    terms, made = Terms(metric=metric, protocol=protocol, population=population), []
    for benchmark in dict.fromkeys(run.manifest.benchmark for run in runs):
        mine = [run for run in runs if run.manifest.benchmark == benchmark and run.manifest.config.step is not None]
        steps = {run.manifest.config.step or 0: run for run in mine}
        if len(steps) < len(mine):
            raise UsageError(f"two runs of {benchmark} have the same step; give the runs of one series only")
        if len(mine) > 1:
            made.append(_over_steps(dict(sorted(steps.items())), terms, between))
    if not made:
        raise UsageError(
            f"a series needs two runs with a training step, which {command('run', '…', series='CHECKPOINT')} or "
            f"{command('run', '…', step='N')} records"
        )
    return made


def _over_steps(runs: dict[int, Run], terms: Terms, between: Sequence[int]) -> OverSteps:
    labels = [marked_label(run.snapshot(), terms.protocol) for run in runs.values()]
    if len(set(labels)) > 1:
        raise UsageError(f"the steps are marked by {', '.join(dict.fromkeys(labels))}: mark them by one protocol")
    snapshots = {step: run.snapshot() for step, run in runs.items()}
    counts = {
        step: with_picks(each, labels[0], each.counts(labels[0]), [terms.metric]) for step, each in snapshots.items()
    }
    one, two = between or (min(runs), max(runs))
    for step in (one, two):
        if step not in counts:
            raise UsageError(f"there is no step {step}; there are {', '.join(map(str, runs))}")
    found = series(terms.metric, list(counts.items()), population=terms.population)
    learnt, forgotten = learnt_and_forgotten("accuracy", counts[one], counts[two])
    first = next(iter(runs.values()))
    snapshot, moved = first.snapshot(), {each.key for each in (*learnt, *forgotten)}
    return OverSteps(
        benchmark=first.manifest.benchmark,
        protocol=labels[0],
        models={str(step): run.manifest.model for step, run in runs.items()},
        runs={str(step): str(run.path) for step, run in runs.items()},
        series=found,
        between=(one, two),
        learnt=learnt,
        forgotten=forgotten,
        ids={key: name for key, name in zip(snapshot.keys, snapshot.ids, strict=True) if key in moved},
        sentence=_sentence(first.manifest.benchmark, labels[0], found),
    )


def _sentence(benchmark: str, protocol: str, found: Series) -> str:
    best, corrected = found.best, found.best.corrected
    rest = f"; steps {', '.join(map(str, best.others))} may also be the best" if best.others else ""
    return (
        f"On {counted(found.problems, 'problem')} of {benchmark}, step {best.step} has the highest {found.metric} of "
        f"{len(found.points)} steps: {100 * best.seen:.1f} % as observed, {100 * corrected.estimate:.1f} % corrected for "
        f"selection (simultaneous {100 * found.level:.3g} % band {100 * corrected.low:.1f} to {100 * corrected.high:.1f}, "
        f"for {about(found.population)}){rest}; marked by {protocol}."
    )


def series_rows(made: OverSteps, show: Show = bounds) -> list[dict[str, str]]:
    """Return one row per step for people."""
    best, points = made.series.best.step, made.series.points
    return [
        {
            "step": f"{point.step}{' (best)' if point.step == best else ''}",
            f"{made.series.metric}, %": show(bare(point.score)),
            "minus the best": show(bare(point.to_best, DifferenceEstimate)) if point.step != best else "",
            "minus the last": show(bare(point.to_last, DifferenceEstimate)) if point is not points[-1] else "",
        }
        for point in points
    ]


def _moved_line(made: OverSteps, moved: Sequence[Moved], word: str) -> str:
    """Return `learnt between step 100 and 400: 7 problems, 3 beyond chance: a/01 (0/4 → 4/4), …`."""
    sure = sum(each.beyond_chance for each in moved)
    named = [f"{made.ids[each.key]} ({each.a[0]}/{each.a[1]} → {each.b[0]}/{each.b[1]})" for each in moved[:MOST_NAMED]]
    named += [f"and {len(moved) - len(named)} more"] * (len(moved) > len(named))
    head = f"{word} between step {made.between[0]} and {made.between[1]}"
    return f"{head}: {counted(len(moved), 'problem')}, {sure} beyond chance{': ' * bool(named)}{', '.join(named)}"


def _sheet(made: OverSteps) -> Sheet:
    found = made.series
    title = (
        f"{made.benchmark} over steps: simultaneous {100 * found.level:.3g} % intervals for {about(found.population)}"
    )
    notes = [_moved_line(made, made.learnt, "learnt"), _moved_line(made, made.forgotten, "forgotten")]
    return Sheet(title, lambda show: series_rows(made, show), 1, notes)


def document(made: Sequence[OverSteps]) -> Document:
    """Return the series of each benchmark as a report."""
    return Document(
        [_sheet(each) for each in made],
        lambda: [row for each in made for row in _flat_rows(each)],
        made if len(made) > 1 else made[0],
        [each.sentence for each in made],
    )


def _flat_rows(made: OverSteps) -> list[dict[str, Any]]:
    return [
        {"benchmark": made.benchmark, "step": point.step, "model": made.models[str(point.step)]}
        | flat("score", point.score)
        | flat("to_best", point.to_best)
        | flat("to_last", point.to_last)
        for point in made.series.points
    ]


def series_figure(made: OverSteps) -> Figure:
    """Plot score over steps with its band."""
    from markscheme.reporting import plots

    points = {point.step: bare(point.score) for point in made.series.points}
    last = summarize(Run.open(made.runs[str(made.series.points[-1].step)]), made.protocol)
    last = msgspec.structs.replace(last, model=f"{len(points)} steps")
    label = f"{made.series.metric} (%), simultaneous {100 * made.series.level:.3g} % band"
    return plots.curve({made.benchmark: points}, [last], "", "training step", label, doubling=False)
