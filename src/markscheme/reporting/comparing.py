"""Runs against each other: whether they may be compared at all, and what the comparison says.

Runs of other data or judged by another protocol are refused unless the user insists; another prompt or other sampling is
often the very question, so it is only said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from markscheme.errors import UsageError
from markscheme.reporting.plots import shortened
from markscheme.reporting.summary import Estimate, marked_label
from markscheme.runs.folder import IMPORTED, Manifest, Run
from markscheme.statistics import Comparison, Population, Ranking, compare, rank


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
    ranking: Ranking | None = None
    """For more than two."""
    problems: dict[str, str] = {}
    """The id of each problem that moved, by its key."""


def compare_runs(
    runs: Sequence[Run],
    metric: str,
    *,
    protocol: str | None = None,
    level: float = 0.95,
    seed: int = 0,
    population: Population = "problems drawn",
    anyway: bool = False,
) -> Compared:
    """Compare two runs, or rank several."""
    if len(runs) < 2:
        raise UsageError("a comparison needs two runs or more")
    names = short_names(runs)
    manifests = dict(zip(names, (run.manifest for run in runs), strict=True))
    labels = {name: marked_label(run.snapshot(), protocol) for name, run in zip(names, runs, strict=True)}
    differences = find_differences(manifests, labels)
    if not anyway and (decisive := [each for each in differences if each.decisive]):
        said = "; ".join(f"{each.what}: {', '.join(each.values.values())}" for each in decisive)
        raise UsageError(f"these runs differ in more than the model ({said}); --anyway compares them nevertheless")
    counts = {name: run.snapshot().counts(labels[name]) for name, run in zip(names, runs, strict=True)}
    found = Compared(
        runs={name: str(run.path) for name, run in zip(names, runs, strict=True)},
        benchmark=runs[0].manifest.benchmark,
        protocol=labels[names[0]],
        differences=tuple(differences),
    )
    if len(runs) > 2:
        if population == "these problems":
            raise UsageError(
                "a ranking of more than two runs is for problems drawn; compare two for these problems only"
            )
        return msgspec.structs.replace(found, ranking=rank(metric, counts, level, seed))
    first, second = counts.values()
    comparison = compare(metric, first, second, level, seed, population)
    ids = dict(zip(runs[0].snapshot().keys, runs[0].snapshot().ids, strict=True))
    moved = {each.key: ids.get(each.key, each.key) for each in comparison.moved}
    return msgspec.structs.replace(found, comparison=comparison, problems=moved)


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
        ("status", False, {name: each.status for name, each in manifests.items()}),
    ]
    return [Difference(what, values, decisive) for what, decisive, values in aspects if len(set(values.values())) > 1]


def _data(manifest: Manifest) -> str:
    return " ".join(f"{file.name} {file.sha256[:12]}" for file in manifest.data)


def _sampling(sampling: Mapping[str, Any]) -> str:
    return (
        ", ".join(f"{name} {value}" for name, value in sorted(sampling.items()) if value not in (None, [], ()))
        or "default"
    )


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


def save_forest(found: Compared, runs: Sequence[Run], file: Path) -> None:
    """Write the forest plot; the ending of the file decides the form."""
    from markscheme.reporting import plots
    from markscheme.reporting.summary import summarize

    if found.ranking is None:
        assert found.comparison is not None
        held = f"{100 * found.comparison.difference.level:.3g} % interval"
    else:
        held = f"intervals hold together at {100 * found.ranking.level:.3g} %"
    summaries = [summarize(run, found.protocol) for run in runs]
    label = f"difference in {_metric(found)} (points), {held}"
    plots.save(plots.forest(forest_rows(found), summaries, label), file)


def _metric(found: Compared) -> str:
    return (found.comparison or found.ranking).metric  # type: ignore[union-attr]
