"""Runs against each other: whether they may be compared at all, and what the comparison says.

Runs of other data or judged by another protocol are refused unless the user insists; another prompt or other sampling is
often the very question, so it is only said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from markscheme.config import fixed_options
from markscheme.errors import UsageError, option
from markscheme.reporting.adjudicated import adjudicated
from markscheme.reporting.drawing import clustered
from markscheme.reporting.estimates import Estimate
from markscheme.reporting.pairing import paired_by
from markscheme.reporting.picks import with_picks
from markscheme.reporting.plots import distinct, shortened
from markscheme.reporting.settings import run_names
from markscheme.reporting.summary import marked_label
from markscheme.runs.archive import origin
from markscheme.runs.folder import IMPORTED, Manifest, Run
from markscheme.statistics import Comparison, Counts, Interval, Population, Ranking, compare, looking, rank
from markscheme.statistics.comparison import Margin
from markscheme.statistics.looking import Looked
from markscheme.statistics.marker_errors import corrected
from markscheme.statistics.metrics import metric
from markscheme.statistics.ranking import Ranked
from markscheme.statistics.unpaired import compare_unpaired

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from markscheme.reporting.family import MacroCompared


class Difference(msgspec.Struct, frozen=True):
    """Something in which runs differ beside the model."""

    what: str
    values: dict[str, str]  # what each run has, by its name
    decisive: bool  # the figures are then of different things


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """What `markscheme compare --json` prints."""

    runs: dict[str, str]  # each run's short name and folder, in the order given; the first is A
    benchmark: str
    protocol: str
    differences: tuple[Difference, ...]
    comparison: Comparison | None = None  # set for two runs
    # The difference corrected for the marker's errors, where people have judged a sample of both runs.
    corrected: Interval | None = None
    # Set where samples were added while the difference was looked at: the interval that allows for that.
    looked: Looked | None = None
    ranking: Ranking | None = None  # set for more than two runs
    problems: dict[str, str] = {}  # the id of each problem that moved, by its key
    cluster: str | None = None  # what the intervals take for the unit drawn where it is not the problem
    notes: tuple[str, ...] = ()
    average: bool = False  # these are averages over several benchmarks; of the runs only the first is named
    # What was compared with each other: the same problems, those with the same `template` …, or nothing (empty).
    pairing: str = "problem"
    sentence: str = ""  # what may be written about it


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """How runs are compared."""

    metric: str = "accuracy"
    protocol: str | None = None
    level: float = 0.95
    seed: int = 0
    population: Population = "problems drawn"
    anyway: bool = False
    cluster: str | None = None
    margin: float | None = None  # as a share: 0.02 is two points


def terms_of(*, margin: float | None = None, these_problems: bool = False, **terms: Any) -> Terms:
    """Terms from what a user types: the margin in points, the population as a flag."""
    population: Population = "these problems" if these_problems else "problems drawn"
    return Terms(margin=None if margin is None else margin / 100, population=population, **terms)


def margin_line(margin: Margin) -> str:
    """What may be said about a margin, in one line."""
    points = 100 * margin.margin
    return (
        f"B worse than A by {points:g} points or more: {'ruled out' if margin.not_worse else 'not ruled out'} "
        f"(one-sided p = {margin.not_worse_p:.3g}) · the same within {points:g} points: "
        f"{'yes' if margin.equivalent else 'not shown'} (p = {margin.equivalent_p:.3g})"
    )


def compare_runs(
    runs: Sequence[Run], terms: Terms, names: Sequence[str] = (), ranked: Ranking | None = None
) -> Compared:
    """Compare two runs, or rank several; `ranked` is their ranking where it holds together with others."""
    if len(runs) < 2:
        raise UsageError("a comparison needs two runs or more")
    named = dict(zip(names or short_names(runs), runs, strict=True))
    protocols = {name: marked_label(run.snapshot(), terms.protocol) for name, run in named.items()}
    differences = find_differences({name: run.manifest for name, run in named.items()}, protocols)
    if not terms.anyway and (decisive := [each for each in differences if each.decisive]):
        reasons = "; ".join(f"{each.what}: {', '.join(each.values.values())}" for each in decisive)
        raise UsageError(
            f"these runs differ in more than the model ({reasons}); {option('anyway')} compares them nevertheless"
        )
    tallied = {name: counts_of(run, protocols[name], terms) for name, run in named.items()}
    counts = {name: each for name, (each, _, _) in tallied.items()}
    first, second, *more = named
    _, cluster, notes = tallied[first]
    compared = Compared(
        runs={name: str(origin(run.path)) for name, run in named.items()},
        benchmark=runs[0].manifest.benchmark,
        protocol=protocols[first],
        differences=tuple(differences),
        cluster=cluster,
        notes=() if terms.population == "these problems" else notes,
    )
    if more or ranked is not None:
        if terms.margin is not None:
            raise UsageError(f"{option('margin')} is for two runs, or two folders of runs")
        ranking = ranked or rank(terms.metric, counts, terms.level, terms.seed, terms.population)
        return msgspec.structs.replace(compared, ranking=ranking)
    pairing, (one, two) = "problem", (counts[first], counts[second])
    if terms.anyway:
        pairing, (one, two) = paired_by((runs[0], runs[1]), (one, two))
    how = compare if pairing else compare_unpaired
    pair = how(terms.metric, one, two, terms.level, terms.population, terms.margin)
    compared = msgspec.structs.replace(compared, pairing=pairing)
    ids = dict(zip(runs[0].snapshot().keys, runs[0].snapshot().ids, strict=True))
    moved = {each.key: ids.get(each.key, each.key) for each in pair.moved}
    people = _corrected(terms.metric, pair.difference, [(run, protocols[name]) for name, run in named.items()])
    looked = _looked(runs[0], runs[1], counts[first], counts[second]) if terms.metric == "accuracy" else None
    return msgspec.structs.replace(compared, comparison=pair, problems=moved, corrected=people, looked=looked)


def _looked(a: Run, b: Run, one: Counts, two: Counts) -> Looked | None:
    """What asking until B is better came to, where B, or both models in one experiment, were asked so."""
    config = b.manifest.config
    if config.until_better is None or config.margin is None:
        return None
    both = a.manifest.config.until_better == config.until_better
    if both and b.manifest.model == config.until_better != a.manifest.model:  # named the other way round
        return None
    first = looking.FIRST if both or config.samples < looking.FIRST else config.samples
    return looking.look(one, two, config.margin / 100, first, both)


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


def open_ranks(compared: Compared) -> dict[str, str]:
    """The ranks that the differences leave open, such as 1–3, by name."""
    if compared.ranking is not None:
        return {each.name: ranks(each) for each in compared.ranking.models}
    assert compared.comparison is not None
    gain = compared.comparison.difference  # of the second over the first
    first, second = ("2", "1") if gain.low > 0 else ("1", "2") if gain.high < 0 else ("1–2", "1–2")
    return dict(zip(compared.runs, (first, second), strict=True))


def ranks(model: Ranked) -> str:
    """The ranks that are left open to a model."""
    best, worst = model.best_rank, model.worst_rank
    return f"{best}" if best == worst else f"{best}–{worst}"


def find_differences(manifests: Mapping[str, Manifest], protocols: Mapping[str, str]) -> list[Difference]:
    """What runs differ in beside the model, decisive differences first."""

    def of(get: Callable[[Manifest], str | None]) -> dict[str, str]:
        return {name: value for name, each in manifests.items() if (value := get(each)) is not None}

    options = [name for name in fixed_options() if name not in SHOWN_ELSEWHERE]  # further fields, thinking, the seed …
    aspects = [
        ("benchmark", True, of(lambda each: each.benchmark)),
        ("data", True, of(_data)),
        ("protocol", True, dict(protocols)),
        ("prompt", False, of(lambda each: each.prompt_sha256[:12])),
        ("sampling", False, of(_sampling)),
        ("samples per problem", False, of(lambda each: str(each.samples))),
        *((name.replace("_", " "), False, of(partial(_option, name))) for name in options),
        ("status", False, of(lambda each: each.status)),
    ]
    return [Difference(what, values, decisive) for what, decisive, values in aspects if len(set(values.values())) > 1]


# Options that other aspects tell, as they came out.
SHOWN_ELSEWHERE = {
    *("benchmark", "model", "protocol", "samples", "limit", "limit_seed", "stratify"),
    *("prompt", "fewshot", "fewshot_pool", "fewshot_seed", "system_prompt"),  # in the hash of the prompts
    *("temperature", "top_p", "top_k", "max_tokens", "stop"),  # in the sampling as it was sent
}


def _option(name: str, manifest: Manifest) -> str:
    value = getattr(manifest.config, name)
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return "default" if value is None else str(value)


def _data(manifest: Manifest) -> str | None:
    """The data of an imported run is the log, which is never another's; its problems are paired by their content."""
    if manifest.config.model == IMPORTED:
        return None
    return " ".join(f"{file.name} {file.sha256[:12]}" for file in manifest.data)


def _sampling(manifest: Manifest) -> str:
    sampling = sorted(manifest.sampling.items())
    return ", ".join(f"{name} {value}" for name, value in sampling if value not in (None, [], ())) or "default"


def counts_of(run: Run, protocol: str, terms: Terms) -> tuple[Counts, str | None, tuple[str, ...]]:
    """The counts with what the metric needs and with clusters, what these are called, and notes about them."""
    snapshot = run.snapshot()
    counts = with_picks(snapshot, protocol, snapshot.counts(protocol), [terms.metric])
    return clustered(counts, snapshot, terms.cluster)


def shown_worse(pair: MacroCompared | Comparison | None) -> bool:
    """Whether B is shown to be worse than A: the whole interval of B − A lies below 0, or below −margin if one was given."""
    if pair is None:
        raise UsageError("three runs or more are ranked: name two of them to ask whether the second is worse")
    return pair.difference.high < -(pair.margin.margin if pair.margin is not None else 0.0)


def short_names(runs: Sequence[Run]) -> Sequence[str]:
    """The model's name where it tells the runs apart, else with the settings that differ, else the folder's."""
    paths = [str(origin(run.path)) for run in runs]
    if len(set(paths)) < len(paths):
        raise UsageError("the same run is named twice; a run does not differ from itself")
    return distinct([run.manifest.model for run in runs], run_names([run.manifest for run in runs], paths))


def labels(compared: Compared) -> dict[str, str]:
    """Names as short as they may be: the last part of each where that still tells them apart."""
    names = list(compared.runs)
    return dict(zip(names, distinct([name.rstrip("/").rpartition("/")[2] for name in names], names), strict=True))


def differences(compared: Compared) -> list[tuple[str, str, Interval]]:
    """B, A, and B − A: of two runs, or of every pair of a ranking."""
    if compared.comparison is not None:
        first, second = compared.runs
        return [(second, first, compared.comparison.difference)]
    assert compared.ranking is not None
    return [(pair.upper, pair.lower, pair.difference) for pair in compared.ranking.pairs]


def forest_rows(compared: Compared) -> dict[str, Estimate]:
    """The differences as a forest plot wants them: `B − A` with its interval."""
    full = labels(compared)
    label = dict(zip(full, distinct([shortened(name, 28) for name in full.values()], [*full.values()]), strict=True))
    return {
        f"{label[b]} − {label[a]}": Estimate(difference.estimate, difference.low, difference.high)
        for b, a, difference in differences(compared)
    }


def forest_figure(compared: Compared) -> Figure:
    """The differences as a forest plot."""
    from markscheme.reporting import plots
    from markscheme.reporting.summary import summarize

    measured = compared.comparison or compared.ranking
    assert measured is not None
    level = f"{100 * (measured.level if isinstance(measured, Ranking) else measured.difference.level):.3g} %"
    held = f"intervals hold together at {level}" if compared.ranking else f"{level} interval"
    summaries = [summarize(Run.open(folder), compared.protocol) for folder in compared.runs.values()]
    return plots.forest(forest_rows(compared), summaries, f"difference in {measured.metric} (points), {held}")
