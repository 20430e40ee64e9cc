"""Runs against each other: whether they may be compared at all, and what the comparison says.

Runs of other data or judged by another protocol are refused unless the user insists; another prompt or other sampling is
often the very question, so it is only said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from markscheme.config import fixed_options
from markscheme.errors import UsageError
from markscheme.reporting.adjudicated import adjudicated
from markscheme.reporting.picks import with_picks
from markscheme.reporting.plots import shortened
from markscheme.reporting.summary import Estimate, clustered, marked_label
from markscheme.runs.folder import IMPORTED, Manifest, Run
from markscheme.statistics import Comparison, Counts, Interval, Population, Ranking, compare, rank
from markscheme.statistics.comparison import Margin, macro_comparison
from markscheme.statistics.marker_errors import corrected
from markscheme.statistics.metrics import metric

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Difference(msgspec.Struct, frozen=True):
    """Something in which runs differ beside the model."""

    what: str
    values: dict[str, str]
    """By run."""
    decisive: bool
    """The figures are then of different things."""


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """What `markscheme compare --json` prints."""

    runs: dict[str, str]
    """Each run's short name and folder, in the order given; the first is A."""
    benchmark: str
    protocol: str
    differences: tuple[Difference, ...]
    comparison: Comparison | None = None
    """For two runs."""
    corrected: Interval | None = None
    """The difference corrected for the marker's errors, where people have judged a sample of both runs."""
    ranking: Ranking | None = None
    """For more than two."""
    problems: dict[str, str] = {}
    """The id of each problem that moved, by its key."""
    cluster: str | None = None
    """What the intervals take for the unit drawn where it is not the problem."""
    notes: tuple[str, ...] = ()


class MacroCompared(msgspec.Struct, frozen=True, kw_only=True):
    """Two models on several benchmarks: each comparison, and the mean difference with benchmarks weighing the same."""

    metric: str
    population: Population
    parts: tuple[Compared, ...]
    difference: Interval
    p_value: float
    margin: Margin | None = None


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """How runs are compared."""

    metric: str = "accuracy"
    protocol: str | None = None
    level: float = 0.95
    seed: int = 0
    population: Population = "problems drawn"
    anyway: bool = False
    cluster: str | None = None
    margin: float | None = None
    """As a share: 0.02 is two points."""


def margin_line(margin: Margin) -> str:
    """What may be said about a margin, in one line."""
    points = 100 * margin.margin
    return (
        f"B worse than A by {points:g} points or more: {'ruled out' if margin.not_worse else 'not ruled out'} "
        f"(one-sided p = {margin.not_worse_p:.3g}) · the same within {points:g} points: "
        f"{'yes' if margin.equivalent else 'not shown'} (p = {margin.equivalent_p:.3g})"
    )


def compare_macro(first: Sequence[Run], second: Sequence[Run], terms: Terms) -> MacroCompared:
    """Two models, each with one run per benchmark, benchmark by benchmark and on average."""
    ours, theirs = ({run.manifest.benchmark: run for run in runs} for runs in (first, second))
    shared = [name for name in ours if name in theirs]
    if len(ours) < len(first) or len(theirs) < len(second) or not shared:
        raise UsageError(
            "a comparison over several benchmarks takes two folders, with one run of each benchmark in either"
        )
    pairs = [(ours[name], theirs[name]) for name in shared]
    parts = tuple(compare_runs(pair, terms) for pair in pairs)
    counts = [
        (_counts(a, part.protocol, terms)[0], _counts(b, part.protocol, terms)[0])
        for (a, b), part in zip(pairs, parts, strict=True)
    ]
    found, p_value, held = macro_comparison(terms.metric, counts, terms.level, terms.population, terms.margin)
    return MacroCompared(
        metric=terms.metric, population=terms.population, parts=parts, difference=found, p_value=p_value, margin=held
    )


def compare_runs(runs: Sequence[Run], terms: Terms) -> Compared:
    """Compare two runs, or rank several."""
    if len(runs) < 2:
        raise UsageError("a comparison needs two runs or more")
    names = short_names(runs)
    manifests = dict(zip(names, (run.manifest for run in runs), strict=True))
    labels = {name: marked_label(run.snapshot(), terms.protocol) for name, run in zip(names, runs, strict=True)}
    differences = find_differences(manifests, labels)
    if not terms.anyway and (decisive := [each for each in differences if each.decisive]):
        said = "; ".join(f"{each.what}: {', '.join(each.values.values())}" for each in decisive)
        raise UsageError(f"these runs differ in more than the model ({said}); --anyway compares them nevertheless")
    tallied = {name: _counts(run, labels[name], terms) for name, run in zip(names, runs, strict=True)}
    counts = {name: each for name, (each, _, _) in tallied.items()}
    _, cluster, notes = tallied[names[0]]
    found = Compared(
        runs={name: str(run.path) for name, run in zip(names, runs, strict=True)},
        benchmark=runs[0].manifest.benchmark,
        protocol=labels[names[0]],
        differences=tuple(differences),
        cluster=cluster,
        notes=() if terms.population == "these problems" else notes,
    )
    if len(runs) > 2:
        if terms.margin is not None:
            raise UsageError("--margin is for two runs, or two folders of runs")
        ranking = rank(terms.metric, counts, terms.level, terms.seed, terms.population)
        return msgspec.structs.replace(found, ranking=ranking)
    first, second = counts.values()
    comparison = compare(terms.metric, first, second, terms.level, terms.population, terms.margin)
    ids = dict(zip(runs[0].snapshot().keys, runs[0].snapshot().ids, strict=True))
    moved = {each.key: ids.get(each.key, each.key) for each in comparison.moved}
    people = _corrected(
        terms.metric, comparison.difference, [(run, labels[name]) for name, run in zip(names, runs, strict=True)]
    )
    return msgspec.structs.replace(found, comparison=comparison, problems=moved, corrected=people)


def _corrected(name: str, difference: Interval, runs: Sequence[tuple[Run, str]]) -> Interval | None:
    """The difference corrected for the marker's errors, for accuracy and pass@k."""
    if name != "accuracy" and not name.startswith("pass@"):
        return None
    judged = [adjudicated(run.snapshot(), protocol) for run, protocol in runs]
    marks = [each.marks for each in judged if each is not None]
    if len(marks) < 2:
        return None
    first, second = (each.shift(metric(name).k, difference.level) for each in marks)
    return corrected(difference, second, first, max(each.spread() for each in marks) if name == "accuracy" else 1.0)


def find_differences(manifests: Mapping[str, Manifest], protocols: Mapping[str, str]) -> list[Difference]:
    """In what runs differ beside the model, the decisive first."""
    aspects: list[tuple[str, bool, dict[str, str]]] = [
        ("benchmark", True, {name: each.benchmark for name, each in manifests.items()}),
        # The data of an imported run is the log, which is never another's; its problems are paired by their content.
        ("data", True, {name: _data(each) for name, each in manifests.items() if each.config.model != IMPORTED}),
        ("protocol", True, dict(protocols)),
        ("prompt", False, {name: each.prompt_sha256[:12] for name, each in manifests.items()}),
        ("sampling", False, {name: _sampling(each.sampling) for name, each in manifests.items()}),
        ("samples per problem", False, {name: str(each.samples) for name, each in manifests.items()}),
        *_request_options(manifests),
        ("status", False, {name: each.status for name, each in manifests.items()}),
    ]
    return [Difference(what, values, decisive) for what, decisive, values in aspects if len(set(values.values())) > 1]


SHOWN_ELSEWHERE = {
    *("benchmark", "model", "protocol", "samples", "limit", "limit_seed"),
    *("prompt", "fewshot", "fewshot_pool", "fewshot_seed", "system_prompt"),  # in the hash of the prompts
    *("temperature", "top_p", "top_k", "max_tokens", "stop"),  # in the sampling as it was sent
}
"""Options that other aspects tell, as they came out."""


def _request_options(manifests: Mapping[str, Manifest]) -> list[tuple[str, bool, dict[str, str]]]:
    """Every other option that is part of what was asked: further fields, thinking, reasoning effort, the seed …"""
    names = [name for name in fixed_options() if name not in SHOWN_ELSEWHERE]
    return [
        (name.replace("_", " "), False, {run: _option(getattr(each.config, name)) for run, each in manifests.items()})
        for name in names
    ]


def _option(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return "default" if value is None else str(value)


def _data(manifest: Manifest) -> str:
    return " ".join(f"{file.name} {file.sha256[:12]}" for file in manifest.data)


def _sampling(sampling: Mapping[str, Any]) -> str:
    return (
        ", ".join(f"{name} {value}" for name, value in sorted(sampling.items()) if value not in (None, [], ()))
        or "default"
    )


def _counts(run: Run, protocol: str, terms: Terms) -> tuple[Counts, str | None, tuple[str, ...]]:
    """The counts with what the metric needs and with clusters, what these are called, and notes about them."""
    snapshot = run.snapshot()
    counts = with_picks(snapshot, protocol, snapshot.counts(protocol), [terms.metric])
    return clustered(counts, snapshot, terms.cluster)


def shown_worse(found: Compared | MacroCompared) -> bool:
    """Whether B is shown to be worse than A: the whole interval of B − A lies below 0, or below −margin if one was given."""
    pair = found if isinstance(found, MacroCompared) else found.comparison
    if pair is None:
        raise UsageError("three runs or more are ranked: name two of them to ask whether the second is worse")
    return pair.difference.high < -(pair.margin.margin if pair.margin is not None else 0.0)


def short_names(runs: Sequence[Run]) -> list[str]:
    """The model's name where it tells the runs apart, else the folder's, else its path."""
    for names in ([run.manifest.model for run in runs], [run.path.name for run in runs]):
        if len(set(names)) == len(names):
            return names
    paths = [str(run.path) for run in runs]
    if len(set(paths)) < len(paths):
        raise UsageError("the same run is named twice; a run does not differ from itself")
    return paths


def labels(found: Compared) -> dict[str, str]:
    """Names as short as they may be: the last part of each where that still tells them apart."""
    names = list(found.runs)
    last = [name.rstrip("/").rpartition("/")[2] for name in names]
    return dict(zip(names, last if len(set(last)) == len(names) else names, strict=True))


def forest_rows(found: Compared) -> dict[str, Estimate]:
    """The differences as a forest plot wants them: `B − A` with its interval."""
    if found.comparison is not None:
        first, second = found.runs
        pairs = [(second, first, found.comparison.difference)]
    else:
        assert found.ranking is not None
        pairs = [(pair.upper, pair.lower, pair.difference) for pair in found.ranking.pairs]
    label = {name: shortened(short, 28) for name, short in labels(found).items()}
    if len(set(label.values())) < len(label):
        label = labels(found)
    return {
        f"{label[upper]} − {label[lower]}": Estimate(difference.estimate, difference.low, difference.high)
        for upper, lower, difference in pairs
    }


def forest_figure(found: Compared, runs: Sequence[Run]) -> Figure:
    """The differences as a forest plot."""
    from markscheme.reporting import plots
    from markscheme.reporting.summary import summarize

    if found.ranking is None:
        assert found.comparison is not None
        held = f"{100 * found.comparison.difference.level:.3g} % interval"
    else:
        held = f"intervals hold together at {100 * found.ranking.level:.3g} %"
    summaries = [summarize(run, found.protocol) for run in runs]
    label = f"difference in {_metric(found)} (points), {held}"
    return plots.forest(forest_rows(found), summaries, label)


def _metric(found: Compared) -> str:
    return (found.comparison or found.ranking).metric  # type: ignore[union-attr]
