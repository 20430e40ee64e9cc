"""Comparisons over several benchmarks or several runs of a setting, with joint (family-wise) error control."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from markscheme.config import fixed_options
from markscheme.errors import UsageError
from markscheme.reporting.comparing import Compared, Terms, compare_runs, counts_of, short_names
from markscheme.reporting.summary import marked_label
from markscheme.runs.folder import Run, find_runs
from markscheme.statistics import Counts, Interval, Population
from markscheme.statistics.comparison import Margin, macro_comparison, tests_of
from markscheme.statistics.ranking import Ranking, rank_over
from markscheme.statistics.repeats import Repeated, difference_over_runs, over_runs


class MacroCompared(msgspec.Struct, frozen=True, kw_only=True):
    """Two models on several benchmarks: each comparison, and the unweighted mean difference."""

    metric: str
    population: Population
    parts: tuple[Compared, ...]
    difference: Interval
    p_value: float
    margin: Margin | None = None
    adjusted: tuple[float, ...] = ()  # the p-value of each part and of the mean, adjusted for all of them
    sentence: str = ""  # the sentence for a paper


def compare_folders(named: Sequence[str | Path], terms: Terms) -> list[Compared | MacroCompared]:
    """Compare runs, two folders of runs, or the runs of an experiment by benchmark."""
    from markscheme.reporting.sentence import comparison_sentence

    return [msgspec.structs.replace(each, sentence=comparison_sentence(each)) for each in _compared(named, terms)]


def _compared(named: Sequence[str | Path], terms: Terms) -> list[Compared | MacroCompared]:
    sides = [find_runs([folder]) for folder in named]
    if len(sides) == 2 and max(map(len, sides)) > 1:
        one_benchmark = len(_benchmarks([*sides[0], *sides[1]])) == 1
        return [(compare_repeats if one_benchmark else compare_macro)(sides[0], sides[1], terms)]
    runs = [run for side in sides for run in side]
    if len(sides) > 1:
        return [compare_runs(runs, terms)]
    # In an experiment with `until_better`, the baseline is A.
    runs.sort(key=lambda run: run.manifest.config.until_better not in (None, run.manifest.model))
    settings = _settings(runs)
    if len(settings) == 2:
        return [compare_macro(settings[0], settings[1], terms)]
    return [*compare_by_benchmark(runs, terms)]


def compare_by_benchmark(runs: Sequence[Run], terms: Terms) -> list[Compared]:
    """Compare the runs of each benchmark; if the same models ran on all of them, jointly and with averages."""
    if settings := _settings(runs):
        return _rank_experiment(settings, terms)
    groups = [[run for run in runs if run.manifest.benchmark == name] for name in _benchmarks(runs)]
    return [compare_runs(group, terms) for group in groups if len(group) > 1] or [compare_runs(runs, terms)]


def repeated(runs: Sequence[Run], terms: Terms) -> Repeated:
    """Return the score of one setting over its runs, which must be of one benchmark."""
    if len(_benchmarks(runs)) > 1:
        raise UsageError(f"repeats are runs of one benchmark, and these are of {', '.join(_benchmarks(runs))}")
    return over_runs(terms.metric, [_counts(run, terms) for run in runs], terms.level, terms.population)


def _counts(run: Run, terms: Terms) -> Counts:
    return counts_of(run, marked_label(run.snapshot(), terms.protocol), terms)[0]


def compare_repeats(first: Sequence[Run], second: Sequence[Run], terms: Terms) -> Compared:
    """Compare the means of two settings with several runs of one benchmark, for further runs too."""
    pair = compare_runs([first[0], second[0]], terms, ("A", "B"))
    a, b = ([_counts(run, terms) for run in side] for side in (first, second))
    assert pair.comparison is not None
    scores = {
        name: over_runs(terms.metric, side, terms.level, terms.population).score
        for name, side in (("a", a), ("b", b))
        if len(side) > 1
    }
    difference = difference_over_runs(terms.metric, a, b, terms.population)
    tests = tests_of(difference, terms.level, pair.comparison.problems, terms.margin)
    comparison = msgspec.structs.replace(pair.comparison, **scores, **tests, unseen=None, odds_ratio=None)
    single = [name for name, side in (("A", a), ("B", b)) if len(side) == 1]
    known = f"; {single[0]} has one run, and is assumed to vary as the other does" if single else ""
    note = (
        f"{len(a)} runs of A and {len(b)} of B: the difference is that of their means, and its interval holds for further "
        f"runs too{known}. The problems that moved are those of the first run of each"
    )
    runs = {f"{name}, {len(side)} runs": str(side[0].path.parent) for name, side in (("A", first), ("B", second))}
    return msgspec.structs.replace(pair, runs=runs, comparison=comparison, corrected=None, notes=(*pair.notes, note))


def _settings(runs: Sequence[Run]) -> list[list[Run]]:
    """Return the runs by model and options if all ran on the same two or more benchmarks, else nothing."""
    sides: dict[bytes, list[Run]] = {}
    asked = [name for name in fixed_options() if name not in ("benchmark", "limit", "samples")]
    for run in runs:
        options = [getattr(run.manifest.config, name) for name in asked]
        sides.setdefault(msgspec.json.encode(options, order="sorted"), []).append(run)
    benchmarks = {frozenset(_benchmarks(side)) for side in sides.values()}
    whole = len(sides) > 1 and len(benchmarks) == 1 and len(next(iter(benchmarks))) > 1
    return list(sides.values()) if whole and all(len(side) == len(_benchmarks(side)) for side in sides.values()) else []


def _benchmarks(runs: Sequence[Run]) -> list[str]:
    return list(dict.fromkeys(run.manifest.benchmark for run in runs))


def _rank_experiment(settings: Sequence[Sequence[Run]], terms: Terms) -> list[Compared]:
    """Rank the same models on each benchmark and on average, all jointly."""
    names = short_names([side[0] for side in settings])
    benchmarks = _benchmarks(settings[0])
    groups = [[next(run for run in side if run.manifest.benchmark == name) for side in settings] for name in benchmarks]
    rankings = _ranked(groups, names, terms)
    parts = [compare_runs(group, terms, names, each) for group, each in zip(groups, rankings, strict=False)]
    average = Compared(
        runs={name: str(side[0].path) for name, side in zip(names, settings, strict=True)},
        benchmark=f"unweighted mean over {len(benchmarks)} benchmarks",
        protocol=", ".join(dict.fromkeys(part.protocol for part in parts)),
        differences=(),
        ranking=rankings[-1],
        average=True,
    )
    return [*parts, average]


def _ranked(groups: Sequence[Sequence[Run]], names: Sequence[str], terms: Terms) -> list[Ranking]:
    counts = [{name: _counts(run, terms) for name, run in zip(names, group, strict=True)} for group in groups]
    return rank_over(terms.metric, counts, terms.level, terms.seed, terms.population)


def compare_macro(first: Sequence[Run], second: Sequence[Run], terms: Terms) -> MacroCompared:
    """Compare two models, each with one run per benchmark, on each benchmark and on average."""
    ours, theirs = ({run.manifest.benchmark: run for run in runs} for runs in (first, second))
    shared = [name for name in ours if name in theirs]
    if len(ours) < len(first) or len(theirs) < len(second) or not shared:
        raise UsageError("a comparison over several benchmarks needs two folders, each with one run per benchmark")
    pairs = [(ours[name], theirs[name]) for name in shared]
    parts = tuple(compare_runs(pair, terms) for pair in pairs)
    counts = [
        (counts_of(a, part.protocol, terms)[0], counts_of(b, part.protocol, terms)[0])
        for (a, b), part in zip(pairs, parts, strict=True)
    ]
    difference, p_value, margin = macro_comparison(terms.metric, counts, terms.level, terms.population, terms.margin)
    return MacroCompared(
        metric=terms.metric,
        population=terms.population,
        parts=parts,
        difference=difference,
        p_value=p_value,
        margin=margin,
        adjusted=tuple(each.pairs[0].p_value for each in _ranked(pairs, ("A", "B"), terms)),
    )
