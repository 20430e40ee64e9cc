"""How what a run asked was drawn: problems from a benchmark, samples with a request or until one was better; what to know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from markscheme.errors import MarkschemeError, UsageError
from markscheme.runs.folder import IMPORTED, Manifest, Run
from markscheme.runs.snapshot import Snapshot
from markscheme.runs.units import repeated
from markscheme.statistics import Counts, looking
from markscheme.statistics.looking import Looked
from markscheme.statistics.metrics import metric

_IN_PROCESS = ("nano", "solver", "hf", "nanochat")


def part_of_whole(counts: Counts, manifest: Manifest) -> tuple[Counts, str]:
    """The counts with the size of the benchmark they are a random part of, and what that makes the intervals about."""
    if not manifest.drawn_from:
        raise UsageError(
            f"the {manifest.problems:,} problems of this {manifest.benchmark} run were not drawn at random, as far as it "
            "says: --whole-benchmark needs a run with --limit and --limit-seed"
        )
    if manifest.strata and len(manifest.stratum) == len(counts.keys):
        counts = replace(counts, strata=manifest.stratum, strata_sizes=manifest.strata)
    how = f", as large a part of each of {len(manifest.strata)} strata" if counts.strata else ""
    said = (
        f"{manifest.problems:,} of {manifest.drawn_from:,} problems were drawn at random{how}: the intervals are about what the "
        "same number of samples on all of them would give (those of groups: about problems like these)"
    )
    return replace(counts, whole=manifest.drawn_from), said


def clustered(counts: Counts, snapshot: Snapshot, field: str | None) -> tuple[Counts, str | None, tuple[str, ...]]:
    """The counts with a cluster label per problem, what it is called, and what a reader must know about it.

    A benchmark may name its own clusters (AIME its contests). They are used unasked where there are enough of them.
    """
    if field is None:
        kinds = len({*snapshot.clusters})
        if counts.clusters or None in snapshot.clusters or kinds in (1, len(snapshot.clusters)):
            return counts, "cluster" if counts.clusters else None, ()
        few = f"the problems come from {kinds} contests or families, too few to tell how these differ: "
        return counts, None, (f"{few}intervals take the problems as independent (--cluster cluster does not)",)
    values: Sequence[Any] = snapshot.clusters
    if field != "cluster":
        values = [question.problem.metadata.get(field) for question in snapshot.questions()]
    if any(value is None for value in values):
        known = sorted({name for question in snapshot.questions() for name in question.problem.metadata})
        raise UsageError(f"not every problem has a {field!r} to cluster by; their fields: {', '.join(known) or 'none'}")
    return replace(counts, clusters=tuple(str(value) for value in values)), field, ()


def dependence(snapshot: Snapshot, counts: Counts, figures: Sequence[str]) -> list[str]:
    """What is known, or taken for granted, about samples of a problem that are not independent of each other."""
    manifest, notes = snapshot.manifest, []
    assert manifest is not None
    if counts.requests:
        units = int(counts.independent.max())
        most = max(int(n.max(initial=0)) for n, _ in counts.batches())
        notes.append(
            f"a request brought up to {most} samples, which may depend on each other: intervals take the request as drawn, of "
            f"which a problem has {units} at most, and pass@k takes k samples of k requests"
        )
        if short := [name for name in figures if metric(name).k > max(units, 1)]:
            notes.append(
                f"{', '.join(short)} would need more requests per problem: it is about samples as they were asked, and its interval "
                "on these exact problems may be too narrow"
            )
    elif manifest.config.model == IMPORTED and manifest.samples > 1 and (snapshot.rows["unit"] < 0).all():
        notes.append(
            "how the samples of a problem were drawn is not recorded: they are taken as independent of each other, which "
            "several of one request need not be"
        )
    served = manifest.model.partition("/")[0] not in _IN_PROCESS  # nobody caches what this process computes
    if served and manifest.samples > 1 and manifest.sampling.get("temperature") and (same := repeated(snapshot)):
        notes.append(
            f"{same:,} of {snapshot.answered:,} responses repeat another one to the same problem word for word at temperature "
            f"{manifest.sampling['temperature']:g}: a cache before the server, or a model that hardly varies. They count as "
            "drawn anew; if a cache gave them, intervals are too narrow"
        )
    return notes


def looked_at(snapshot: Snapshot, counts: Counts) -> tuple[Looked | None, list[str]]:
    """How asking until the model is better than another run ended, as far as that run is there; nothing of it is stored."""
    manifest = snapshot.manifest
    assert manifest is not None
    config = manifest.config
    if config.until_better is None or config.margin is None or not counts.n.any():
        return None, []
    try:
        baseline = Run.open(config.until_better)
        others = baseline.snapshot().counts(manifest.protocol)
    except MarkschemeError:  # a model of the same experiment, or a folder that was moved
        return None, [
            f"samples were added while its difference from {config.until_better} was looked at: `markscheme compare` of "
            "both runs gives the interval that allows for it"
        ]
    first = config.samples if config.samples > 1 else looking.FIRST
    found = looking.look(others, counts, config.margin / 100, first)
    return found, [f"compared with {config.until_better} while it was asked: {looked_line(found)}"]


def looked_line(looked: Looked) -> str:
    """What may be said after so many looks, in one line."""
    d, points = looked.difference, 100 * looked.margin
    said = {
        "better": "better",
        "not better by the margin": f"not better, or by less than {points:g} points (given up; a gain of {points:g} is missed "
        f"in at most {100 * looking.MISSED:.0f} % of runs)",
        "open": "not decided",
    }[looked.outcome]
    return (
        f"{said}, after {looked.looks} look{'s' * (looked.looks > 1)} and {looked.samples} samples per problem; {100 * d.estimate:+.1f} points on exactly "
        f"these problems, always-valid interval {100 * d.low:+.1f} to {100 * d.high:+.1f} (each end wrong in at most "
        f"{100 * looking.ERROR:.0f} % of runs, whenever one stops)"
    )
