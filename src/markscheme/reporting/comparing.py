"""Compare runs: refuse runs of different data or protocols, and list everything else in which they differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from markscheme.config import fixed_options
from markscheme.errors import UsageError, option
from markscheme.reporting.adjudicated import adjudicated
from markscheme.reporting.drawing import clustered
from markscheme.reporting.estimates import DifferenceEstimate, Estimate, bare
from markscheme.reporting.picks import with_picks
from markscheme.reporting.plots import distinct, shortened
from markscheme.reporting.settings import run_names
from markscheme.reporting.summary import marked_label
from markscheme.runs.archive import origin
from markscheme.runs.folder import IMPORTED, Manifest, Run
from markscheme.statistics import Comparison, Counts, Interval, Population, Ranking, compare, looking, rank
from markscheme.statistics.comparison import Margin, compare_unpaired
from markscheme.statistics.looking import Looked
from markscheme.statistics.marker_errors import corrected
from markscheme.statistics.metrics import metric
from markscheme.statistics.ranking import Ranked

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from markscheme.reporting.family import MacroCompared


# Metadata fields that name what a problem was made from.
ORIGINS = ("template", "template_id", "original_id", "original", "source_id", "seed_id")
# The share of problems that must be shared, or have a shared origin, to pair them.
PAIRED = 0.5


class Difference(msgspec.Struct, frozen=True):
    """A property other than the model in which runs differ."""

    what: str
    values: dict[str, str]  # of each run, by its name
    decisive: bool  # the figures then measure different things


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """What `markscheme compare --json` prints."""

    runs: dict[str, str]  # short name and folder of each run, in the order given; the first is A
    benchmark: str
    protocol: str
    differences: tuple[Difference, ...]
    comparison: Comparison | None = None  # set for two runs
    corrected: Interval | None = None  # the difference corrected for marker errors, if people judged both runs
    looked: Looked | None = None  # set for `--until-better`: the interval that allows for having looked
    ranking: Ranking | None = None  # set for more than two runs
    problems: dict[str, str] = {}  # id of each problem that moved, by its key
    cluster: str | None = None  # the sampling unit of the intervals if it is not the problem
    notes: tuple[str, ...] = ()
    average: bool = False  # averages over several benchmarks; each run named is the first of its model
    pairing: str = "problem"  # what was paired: problems, those with the same `template` …, or nothing (empty)
    sentence: str = ""  # the sentence for a paper


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


def check_points(name: str, value: Any) -> None:
    """Refuse a number of percentage points that is probably a share."""
    if value is not None and not (isinstance(value, int | float) and 0.1 <= value <= 100):
        example = f", such as {100 * value:g}" if isinstance(value, float) and 0.001 <= value < 0.1 else ""
        raise UsageError(f"{option(name)} takes percentage points from 0.1 to 100{example}, not {value!r}")


def terms_of(*, margin: float | None = None, these_problems: bool = False, **terms: Any) -> Terms:
    """Return terms from user input: the margin in points, the population as a flag."""
    check_points("margin", margin)
    population: Population = "these problems" if these_problems else "problems drawn"
    return Terms(margin=None if margin is None else margin / 100, population=population, **terms)


def margin_line(margin: Margin) -> str:
    """Return the result of the tests against a margin in one line."""
    points = f"{100 * margin.margin:g} point{'s' * (margin.margin != 0.01)}"
    return (
        f"B worse than A by {points} or more: {'ruled out' if margin.not_worse else 'not ruled out'} "
        f"(one-sided p = {margin.not_worse_p:.3g}) · equivalent within {points}: "
        f"{'yes' if margin.equivalent else 'not shown'} (p = {margin.equivalent_p:.3g})"
    )


def compare_runs(
    runs: Sequence[Run], terms: Terms, names: Sequence[str] = (), ranked: Ranking | None = None
) -> Compared:
    """Compare two runs, or rank several; `ranked` is a ranking made together with others."""
    if len(runs) < 2:
        raise UsageError("a comparison needs two or more runs")
    named = dict(zip(names or short_names(runs), runs, strict=True))
    protocols = {name: marked_label(run.snapshot(), terms.protocol) for name, run in named.items()}
    differences = find_differences({name: run.manifest for name, run in named.items()}, protocols)
    if not terms.anyway and (decisive := [each for each in differences if each.decisive]):
        reasons = "; ".join(f"{each.what}: {', '.join(each.values.values())}" for each in decisive)
        raise UsageError(
            f"these runs differ in more than the model ({reasons}); {option('anyway')} compares them anyway"
        )
    counted = {name: counts_of(run, protocols[name], terms) for name, run in named.items()}
    counts = {name: each for name, (each, _, _) in counted.items()}
    first, second, *more = named
    _, cluster, notes = counted[first]
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
    ids = dict(zip(runs[0].snapshot().keys, runs[0].snapshot().ids, strict=True))
    return msgspec.structs.replace(
        compared,
        pairing=pairing,
        comparison=pair,
        problems={each.key: ids.get(each.key, each.key) for each in pair.moved},
        corrected=_corrected(terms.metric, pair.difference, [(run, protocols[name]) for name, run in named.items()]),
        looked=_looked(runs[0], runs[1], counts[first], counts[second]) if terms.metric == "accuracy" else None,
    )


def _looked(a: Run, b: Run, one: Counts, two: Counts) -> Looked | None:
    """Return the result of `--until-better`, if B, or both models of an experiment, were sampled that way."""
    config = b.manifest.config
    if config.until_better is None or config.margin is None:
        return None
    both = a.manifest.config.until_better == config.until_better
    if both and b.manifest.model == config.until_better != a.manifest.model:  # A and B are swapped
        return None
    first = looking.FIRST if both or config.samples < looking.FIRST else config.samples
    return looking.look(one, two, config.margin / 100, first, both)


def _corrected(name: str, difference: Interval, runs: Sequence[tuple[Run, str]]) -> Interval | None:
    """Return the difference corrected for marker errors, for accuracy and pass@k."""
    if name != "accuracy" and not name.startswith("pass@"):
        return None
    judged = [adjudicated(run.snapshot(), protocol) for run, protocol in runs]
    marks = [each.marks for each in judged if each is not None]
    if len(marks) < 2:
        return None
    first, second = (each.shift(metric(name).k, difference.level) for each in marks)
    return corrected(difference, second, first, max(each.spread() for each in marks) if name == "accuracy" else 1.0)


def paired_by(runs: tuple[Run, Run], counts: tuple[Counts, Counts]) -> tuple[str, tuple[Counts, Counts]]:
    """Return what problems are paired by (`problem`, a metadata field, or nothing), and the counts keyed by it."""
    if _overlap(*counts) >= PAIRED:
        return "problem", counts
    for field in ORIGINS:
        one, two = (_by_origin(run, each, field) for run, each in zip(runs, counts, strict=True))
        if one is not None and two is not None and _overlap(one, two) >= PAIRED:
            return field, (one, two)
    return "", counts


def _overlap(one: Counts, two: Counts) -> float:
    both = len({*one.keys} & {*two.keys})
    return both / max(1, min(len(one.keys), len(two.keys)))


def _by_origin(run: Run, counts: Counts, field: str) -> Counts | None:
    """Pool the samples of all problems with one origin; None if a problem has no origin."""
    problems = {question.problem.key: question.problem for question in run.questions()}
    origins = [problems[key].metadata.get(field) for key in counts.keys]
    if any(origin is None or isinstance(origin, dict | list) for origin in origins):
        return None
    names = list(dict.fromkeys(map(str, origins)))
    place = [names.index(str(origin)) for origin in origins]
    table = np.zeros((len(names), counts.table.shape[1]), np.int64)
    np.add.at(table, place, counts.table)
    asked = np.bincount(place, counts.asked, len(names)).astype(int).tolist() if counts.asked else ()
    return Counts(tuple(names), table, asked=tuple(asked))


def open_ranks(compared: Compared) -> dict[str, str]:
    """Return the possible ranks by name, such as 1–3."""
    if compared.ranking is not None:
        return {each.name: ranks(each) for each in compared.ranking.models}
    assert compared.comparison is not None
    gain = compared.comparison.difference  # of the second over the first
    first, second = ("2", "1") if gain.low > 0 else ("1", "2") if gain.high < 0 else ("1–2", "1–2")
    return dict(zip(compared.runs, (first, second), strict=True))


def ranks(model: Ranked) -> str:
    """Return the possible ranks of a model."""
    best, worst = model.best_rank, model.worst_rank
    return f"{best}" if best == worst else f"{best}–{worst}"


def find_differences(manifests: Mapping[str, Manifest], protocols: Mapping[str, str]) -> list[Difference]:
    """Return the properties other than the model in which runs differ, decisive ones first."""

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


# Options that other properties already show.
SHOWN_ELSEWHERE = {
    *("benchmark", "model", "protocol", "samples", "limit", "limit_seed", "stratify"),
    *("prompt", "fewshot", "fewshot_pool", "fewshot_seed", "system_prompt"),  # in the hash of the prompts
    *("temperature", "top_p", "top_k", "max_tokens", "stop"),  # in the sampling options as sent
}


def _option(name: str, manifest: Manifest) -> str:
    value = getattr(manifest.config, name)
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return "default" if value is None else str(value)


def _data(manifest: Manifest) -> str | None:
    # The data of an imported run is its log, which no other run shares; its problems are paired by their content.
    if manifest.config.model == IMPORTED:
        return None
    return " ".join(f"{file.name} {file.sha256[:12]}" for file in manifest.data)


def _sampling(manifest: Manifest) -> str:
    sampling = sorted(manifest.sampling.items())
    return ", ".join(f"{name} {value}" for name, value in sampling if value not in (None, [], ())) or "default"


def counts_of(run: Run, protocol: str, terms: Terms) -> tuple[Counts, str | None, tuple[str, ...]]:
    """Return the counts with what the metric needs and with clusters, the name of the cluster, and notes."""
    snapshot = run.snapshot()
    counts = with_picks(snapshot, protocol, snapshot.counts(protocol), [terms.metric])
    return clustered(counts, snapshot, terms.cluster)


def shown_worse(pair: MacroCompared | Comparison | None) -> bool:
    """True if the whole interval of B − A is below 0, or below −margin if a margin was given."""
    if pair is None:
        raise UsageError("three or more runs are ranked: name two of them to test whether the second is worse")
    return pair.difference.high < -(pair.margin.margin if pair.margin is not None else 0.0)


def short_names(runs: Sequence[Run]) -> Sequence[str]:
    """Return the models if they identify the runs, else with the settings that differ, else the folders."""
    paths = [str(origin(run.path)) for run in runs]
    if len(set(paths)) < len(paths):
        raise UsageError("the same run is named twice")
    return distinct([run.manifest.model for run in runs], run_names([run.manifest for run in runs], paths))


def labels(compared: Compared) -> dict[str, str]:
    """Return the shortest distinct label of each run: the last part of its name if that is enough."""
    names = list(compared.runs)
    return dict(zip(names, distinct([name.rstrip("/").rpartition("/")[2] for name in names], names), strict=True))


def differences(compared: Compared) -> list[tuple[str, str, Interval]]:
    """Return B, A and B − A for two runs, or for every pair of a ranking."""
    if compared.comparison is not None:
        first, second = compared.runs
        return [(second, first, compared.comparison.difference)]
    assert compared.ranking is not None
    return [(pair.upper, pair.lower, pair.difference) for pair in compared.ranking.pairs]


def forest_figure(compared: Compared) -> Figure:
    """Return the differences as a forest plot."""
    from markscheme.reporting import plots
    from markscheme.reporting.summary import summarize

    full = labels(compared)
    label = dict(zip(full, distinct([shortened(name, 28) for name in full.values()], [*full.values()]), strict=True))
    rows: dict[str, Estimate] = {
        f"{label[b]} − {label[a]}": bare(difference, DifferenceEstimate) for b, a, difference in differences(compared)
    }
    measured = compared.comparison or compared.ranking
    assert measured is not None
    level = f"{100 * (measured.level if isinstance(measured, Ranking) else measured.difference.level):.3g} %"
    held = f"simultaneous {level} intervals" if compared.ranking else f"{level} interval"
    summaries = [summarize(Run.open(folder), compared.protocol) for folder in compared.runs.values()]
    return plots.forest(rows, summaries, f"difference in {measured.metric} (points), {held}")
