"""Which problems of two runs belong together where they are not the same: by the template or original that they name."""

from __future__ import annotations

import numpy as np

from markscheme.runs.folder import Run
from markscheme.statistics import Counts

# Fields of a problem's metadata that say what it was made from.
ORIGINS = ("template", "template_id", "original_id", "original", "source_id", "seed_id")
# The share of the problems that must be the same, or have the same origin, to compare these with each other.
ENOUGH = 0.5


def paired_by(runs: tuple[Run, Run], counts: tuple[Counts, Counts]) -> tuple[str, tuple[Counts, Counts]]:
    """What problems are paired by, and the counts with keys that say so: `problem`, a field of the metadata, or nothing."""
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
    """The samples of all problems with one origin together; None where problems do not say theirs."""
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
