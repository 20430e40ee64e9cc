"""Pair different problems by the template or original that they were made from."""

from __future__ import annotations

import numpy as np

from markscheme.runs.folder import Run
from markscheme.statistics import Counts

# Metadata fields that name what a problem was made from.
ORIGINS = ("template", "template_id", "original_id", "original", "source_id", "seed_id")
# The share of problems that must be shared, or have a shared origin, to pair them.
ENOUGH = 0.5


def paired_by(runs: tuple[Run, Run], counts: tuple[Counts, Counts]) -> tuple[str, tuple[Counts, Counts]]:
    """Return what problems are paired by (`problem`, a metadata field, or nothing), and the counts keyed by it."""
    if _share(*counts) >= ENOUGH:
        return "problem", counts
    for field in ORIGINS:
        one, two = (_by_origin(run, each, field) for run, each in zip(runs, counts, strict=True))
        if one is not None and two is not None and _share(one, two) >= ENOUGH:
            return field, (one, two)
    return "", counts


def _share(one: Counts, two: Counts) -> float:
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
