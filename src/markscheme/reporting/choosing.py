"""Figures that pick one of k answers: `maj@4` (majority vote) and `best-of-4:SCORE` (by a score column).

They need more than counts: which answers are equal, or a score for each response. Texts are streamed, never kept.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import msgspec
import numpy as np

from markscheme.errors import UsageError
from markscheme.reporting.summary import Estimate, as_estimate, estimate
from markscheme.runs.columns import CORRECT, UNMARKED
from markscheme.runs.snapshot import Snapshot
from markscheme.statistics import Counts, Vote, best_of_k, classes_of, maj_at_k, mean_interval
from markscheme.types import Response, Verdict

Samples = dict[str, list[tuple[float, bool]]]
"""Of each problem: a score (or the number of an answer class) and whether the sample is correct."""


def named_figures(
    snapshot: Snapshot, protocol: str, counts: Counts, names: Sequence[str], seed: int = 0
) -> dict[str, Estimate]:
    """Metrics by name, each with its interval."""
    return {name: _figure(snapshot, protocol, counts, name, seed) for name in names}


def _figure(snapshot: Snapshot, protocol: str, counts: Counts, name: str, seed: int) -> Estimate:
    if match := re.fullmatch(r"maj@([1-9]\d*)", name):
        votes = _votes(snapshot, protocol, counts.keys, int(match[1]), seed)
        error = math.sqrt(sum(vote.standard_error**2 for vote in votes)) / max(1, len(votes))
        return _over_problems([vote.value for vote in votes], counts, error)
    if match := re.fullmatch(r"best-of-([1-9]\d*):(-?)(\w+)", name):
        samples = _scores(snapshot, protocol, match[3], -1.0 if match[2] else 1.0)
        values = [
            best_of_k([score for score, _ in rows], [right for _, right in rows], int(match[1]))
            for rows in (samples.get(key, []) for key in counts.keys)
        ]
        return _over_problems(values, counts)
    if name.startswith(("maj", "best-of")):
        raise UsageError(
            f"{name!r} is no metric: they are written maj@K and best-of-K:SCORE (or :-SCORE for the lowest)"
        )
    return estimate(name, counts)


def _over_problems(values: Sequence[float], counts: Counts, error: float = 0.0) -> Estimate:
    found = as_estimate(mean_interval(values), chosen=bool(counts.rounds))
    return msgspec.structs.replace(found, drawn_error=error) if error else found


def _votes(snapshot: Snapshot, protocol: str, keys: Sequence[str], k: int, seed: int) -> list[Vote]:
    from markscheme.marking.equality import canonical_key

    answers: dict[str, list[str | None]] = {}
    right: dict[str, list[bool]] = {}
    canonical: dict[str, str] = {}
    for mark in snapshot.marks(protocol):
        if mark.verdict is Verdict.ERROR:
            continue
        text = mark.answer
        if text is not None and text not in canonical:
            canonical[text] = canonical_key(text) or f"text {text.strip()}"
        answers.setdefault(mark.key, []).append(None if text is None else canonical[text])
        right.setdefault(mark.key, []).append(mark.correct)
    return [
        maj_at_k(classes_of(answers.get(key, [])), np.array(right.get(key, []), bool), k, seed=seed) for key in keys
    ]


def _scores(snapshot: Snapshot, protocol: str, field: str, sign: float) -> Samples:
    verdict = snapshot.verdict(protocol)
    codes = {
        (snapshot.keys[problem], sample): code
        for problem, sample, code in zip(
            snapshot.problem.tolist(), snapshot.sample.tolist(), verdict.tolist(), strict=True
        )
    }
    samples: Samples = {}
    known = False
    for response in snapshot.responses((verdict != UNMARKED) & ~snapshot.failed):
        score = _number(response, field)
        known = known or not math.isnan(score)
        right = codes[response.key, response.sample] == CORRECT
        samples.setdefault(response.key, []).append((sign * score, right))
    if not known:
        raise UsageError(
            f"no response of {snapshot.folder} has a number named {field!r}; best-of-K takes one of a response's metadata, or "
            "completion_tokens, latency …"
        )
    return samples


def _number(response: Response, field: str) -> float:
    """A number of a response's metadata, or one of its own fields; nan where it has no such number."""
    value = response.metadata.get(field, getattr(response, field, None))
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
