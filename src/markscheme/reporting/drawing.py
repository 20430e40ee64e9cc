"""Notes on how a run was drawn and on what its folder lacks: random parts, clusters, dependent samples, damage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from markscheme.errors import MarkschemeError, UsageError, option
from markscheme.runs.columns import FINISH, VERDICTS
from markscheme.runs.folder import IMPORTED, Manifest, Run
from markscheme.runs.settling import settlement
from markscheme.runs.snapshot import Snapshot
from markscheme.runs.units import repeated
from markscheme.statistics import Counts, looking
from markscheme.statistics.looking import Looked
from markscheme.statistics.metrics import metric
from markscheme.types import Verdict

_IN_PROCESS = ("nano", "solver", "hf", "nanochat")


def part_of_whole(counts: Counts, manifest: Manifest) -> tuple[Counts, str]:
    """Return the counts with the size of the benchmark that they are a random part of, and a note about it."""
    if not manifest.drawn_from:
        raise UsageError(
            f"{option('whole_benchmark')} needs a run with {option('limit')} and {option('limit_seed')}: nothing says that the {manifest.problems:,} "
            f"problems of this {manifest.benchmark} run were drawn at random"
        )
    if manifest.strata and len(manifest.stratum) == len(counts.keys):
        counts = replace(counts, strata=manifest.stratum, strata_sizes=manifest.strata)
    how = f", the same share of each of {len(manifest.strata)} strata" if counts.strata else ""
    note = (
        f"{manifest.problems:,} of {manifest.drawn_from:,} problems were drawn at random{how}: the intervals are about what "
        "the same number of samples on all of them would give (those of groups: about similar problems)"
    )
    return replace(counts, whole=manifest.drawn_from), note


def clustered(counts: Counts, snapshot: Snapshot, field: str | None) -> tuple[Counts, str | None, tuple[str, ...]]:
    """Return the counts with a cluster label per problem, the name of the cluster, and notes about it.

    A benchmark may name its own clusters (AIME its contests); these are used without being asked if there are enough.
    """
    if field is None:
        kinds = len({*snapshot.clusters})
        if counts.clusters or None in snapshot.clusters or kinds in (1, len(snapshot.clusters)):
            return counts, "cluster" if counts.clusters else None, ()
        few = f"the problems come from {kinds} contests or families, too few to show how these differ: "
        return counts, None, (f"{few}intervals treat the problems as independent (--cluster cluster does not)",)
    values: Sequence[Any] = snapshot.clusters
    if field != "cluster":
        values = [question.problem.metadata.get(field) for question in snapshot.questions()]
    if any(value is None for value in values):
        known = sorted({name for question in snapshot.questions() for name in question.problem.metadata})
        raise UsageError(
            f"not every problem has a {field!r} to cluster by; they have: {', '.join(known) or 'no fields'}"
        )
    return replace(counts, clusters=tuple(str(value) for value in values)), field, ()


def dependence(snapshot: Snapshot, counts: Counts, figures: Sequence[str]) -> list[str]:
    """Return notes about samples of a problem that may depend on each other."""
    manifest, notes = snapshot.manifest, []
    assert manifest is not None
    if counts.requests:
        units = int(counts.independent.max())
        most = max(int(n.max(initial=0)) for n, _ in counts.batches())
        notes.append(
            f"a request returned up to {most} samples, which may depend on each other: intervals use the request as the "
            f"sampling unit ({units} per problem at most), and pass@k takes k samples from k requests"
        )
        if short := [name for name in figures if metric(name).k > max(units, 1)]:
            notes.append(
                f"{', '.join(short)} would need more requests per problem: it describes samples as they were requested, and "
                "its interval for these exact problems may be too narrow"
            )
    elif manifest.config.model == IMPORTED and manifest.samples > 1 and (snapshot.rows["unit"] < 0).all():
        notes.append(
            "the log does not say how the samples of a problem were drawn: they are assumed to be independent, which "
            "several samples of one request may not be"
        )
    served = manifest.model.partition("/")[0] not in _IN_PROCESS  # nothing caches what this process computes
    if served and manifest.samples > 1 and manifest.sampling.get("temperature") and (same := repeated(snapshot)):
        notes.append(
            f"{same:,} of {snapshot.answered:,} responses are identical to another response to the same problem at "
            f"temperature {manifest.sampling['temperature']:g}: a cache in front of the server, or a model that hardly "
            "varies. They count as independent; if a cache returned them, the intervals are too narrow"
        )
    return notes


def looked_at(snapshot: Snapshot, counts: Counts) -> tuple[Looked | None, list[str]]:
    """Return how `--until-better` ended, if the baseline can be read; it is computed again, not stored."""
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
            f"samples were added while the difference from {config.until_better} was monitored: `markscheme compare` of "
            "both runs gives the interval that allows for it"
        ]
    first = config.samples if config.samples > 1 else looking.FIRST
    found = looking.look(others, counts, config.margin / 100, first)
    return found, [f"compared with {config.until_better} during the run: {looked_line(found)}"]


def looked_line(looked: Looked) -> str:
    """Return the result of a sequential comparison in one line."""
    d, points = looked.difference, 100 * looked.margin
    outcome = {
        "better": "better",
        "not better by the margin": f"not better, or by less than {points:g} points (stopped for futility; a gain of "
        f"{points:g} is missed in at most {100 * looking.MISSED:.0f} % of runs)",
        "open": "undecided",
    }[looked.outcome]
    looks = f"{looked.looks} look{'s' * (looked.looks > 1)}"
    return (
        f"{outcome}, after {looks} and {looked.samples} samples per problem; {100 * d.estimate:+.1f} points on these exact "
        f"problems, always-valid interval {100 * d.low:+.1f} to {100 * d.high:+.1f} (each end is wrong in at most "
        f"{100 * looking.ERROR:.0f} % of runs, whenever one stops)"
    )


def folder_notes(snapshot: Snapshot, label: str) -> list[str]:
    """Return what the run folder shows: unmarkable, unmarked, damaged or filtered responses, and unofficial data."""
    manifest, notes = snapshot.manifest, []
    assert manifest is not None
    if "+" in label:
        notes.append(settlement(snapshot, label))
    running = manifest.status == "running"
    if len(rows := np.flatnonzero(snapshot.verdict(label) == VERDICTS.index(Verdict.UNMARKABLE))):
        first = int(rows[0])
        place = f"{snapshot.ids[snapshot.problem[first]]} sample {snapshot.sample[first]}"
        why = mark.why if (mark := snapshot.mark(label, first)) else ""
        notes.append(f"{len(rows):,} response{'s' * (len(rows) != 1)} could not be marked; the first, {place}: {why}")
    unmarked = int((snapshot.unmarked(label) & ~snapshot.failed).sum())
    if unmarked > 0 and not running:
        notes.append(f"{_responses_were(unmarked)} not marked; `markscheme resume {snapshot.folder}` marks them")
    if damaged := snapshot.damaged + (0 if running else len(snapshot.torn)):
        where = ", ".join(sorted({*snapshot.damage, *snapshot.torn}))
        notes.append(
            f"{damaged} damaged line{'s' * (damaged != 1)} left out ({where}); `markscheme resume` requests their content again"
        )
    if snapshot.unasked:
        notes.append(f"{_responses_were(snapshot.unasked)} left out: the run does not ask for them")
    if filtered := int((snapshot.rows["finish"] == FINISH.index("content_filter")).sum()):
        notes.append(
            f"{_responses_were(filtered)} stopped by a content filter; the text before it is marked, so most are not correct"
        )
    for file in manifest.data:
        if file.check == "differs":
            notes.append(f"{file.name} is not the official data: its content differs from the pinned version")
        elif file.source.startswith("stand-in"):
            notes.append(f"{file.name} replaces the official file, which is not available here")
    return notes


def _responses_were(number: int) -> str:
    return "1 response was" if number == 1 else f"{number:,} responses were"
