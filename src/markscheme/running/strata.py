"""Strata for a random part of a benchmark: by a problem field, or by the solve rate in stored runs.

They are made before anything is asked and saved in the manifest, so answers of this run cannot change what it asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from markscheme.config import RunConfig
from markscheme.errors import UsageError, option
from markscheme.runs.folder import Run
from markscheme.types import Problem

# Upper bounds of solve rates.
STEPS = ((0.0, "never"), (1 / 3, "up to a third"), (2 / 3, "up to two thirds"), (1 - 1e-9, "more"), (1.0, "always"))


def strata_of(config: RunConfig, problems: Sequence[Problem]) -> list[str]:
    """Return the stratum of each problem of the benchmark, or nothing if the run is not stratified."""
    if not config.stratify:
        return []
    if config.limit is None or config.limit_seed is None:
        raise UsageError(f"{option('stratify')} needs {option('limit')} and {option('limit_seed')}")
    if any((Path(each) / "manifest.json").exists() for each in config.stratify):
        return _by_solve_rate([Run.open(each) for each in config.stratify], problems)
    if len(config.stratify) > 1:
        raise UsageError(
            f"{option('stratify')} takes one field, or runs, but none of {', '.join(config.stratify)} is a run folder"
        )
    field = config.stratify[0]
    labels = [problem.metadata.get(field) for problem in problems]
    if None in labels:
        known = sorted({name for problem in problems[:100] for name in problem.metadata})
        raise UsageError(
            f"not every problem has a {field!r}, and no run folder has that name; fields: {', '.join(known) or 'none'}"
        )
    return list(map(str, labels))


def _by_solve_rate(runs: Sequence[Run], problems: Sequence[Problem]) -> list[str]:
    rates: dict[str, list[float]] = {}
    for run in runs:
        counts = run.snapshot().counts(run.manifest.protocol)
        for key, n, c in zip(counts.keys, counts.n.tolist(), counts.c.tolist(), strict=True):
            if n:
                rates.setdefault(key, []).append(c / n)
    if not any(problem.key in rates for problem in problems):
        raise UsageError(
            f"{option('stratify')}: {', '.join(str(run.path) for run in runs)} have no answers to these problems"
        )
    return [_step(rates.get(problem.key)) for problem in problems]


def _step(rates: list[float] | None) -> str:
    if not rates:
        return "not asked"
    return next(name for most, name in STEPS if sum(rates) / len(rates) <= most)
