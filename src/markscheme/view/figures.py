"""The numbers on the pages: counts, intervals, curves, breakdowns, computed by `statistics` from the columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from markscheme.errors import MarkschemeError
from markscheme.reporting.estimates import Estimate, estimate
from markscheme.runs.columns import ERROR, UNMARKED, VERDICTS
from markscheme.runs.folder import Run
from markscheme.runs.snapshot import Snapshot
from markscheme.statistics import Counts

MOST_CUT = 3_000  # responses that a page cuts and marks again


def curve_points(most: int) -> list[int]:
    """Return the k of a pass@k curve: two per doubling, and the last."""
    ks = {k for power in range(most.bit_length()) for k in (2**power, 3 * 2**power // 2)}
    return sorted(k for k in ks | {most} if 1 <= k <= most)


def pass_curve(of: Counts) -> list[tuple[int, Estimate]]:
    """Return pass@k with its interval for every k that at least half of the problems have samples for."""
    returned = of.n[of.n > 0]
    if not returned.size:
        return []
    # For larger k the curve would be about other problems than its beginning.
    points = [(k, estimate(f"pass@{k}", of)) for k in curve_points(int(np.median(returned)))]
    return [(k, figure) for k, figure in points if figure.value is not None]


@dataclass(frozen=True)
class Group:
    """One row of a breakdown, or of a table of protocols."""

    label: str
    problems: int
    responses: int
    accuracy: Estimate
    verdicts: dict[str, int]


def group(label: str, of: Counts) -> Group:
    return Group(label, len(of.keys), int(of.n.sum()), estimate("accuracy", of), of.totals())


def breakdown(of: Counts, labels: Sequence[str | None], order: Sequence[str]) -> list[Group]:
    """Return the figures of each group of problems."""
    parts = of.by({key: label for key, label in zip(of.keys, labels, strict=True) if label is not None})
    return [group(label, parts[label]) for label in order]


@dataclass(frozen=True)
class Bin:
    """Responses of similar length, by verdict."""

    low: int
    high: int
    verdicts: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.verdicts.values())


def token_bins(snapshot: Snapshot, protocol: str, most: int = 24) -> list[Bin]:
    """Count responses by completion tokens, in bins of equal ratio."""
    tokens, verdict = snapshot.rows["tokens"], snapshot.verdict(protocol)
    known = (tokens > 0) & (verdict != UNMARKED) & (verdict != ERROR)
    if not known.any():
        return []
    tokens, verdict = tokens[known], verdict[known]
    low, high = int(tokens.min()), int(tokens.max()) + 1
    edges = np.unique(np.geomspace(low, high, most + 1).round().astype(np.int64))
    edges[-1] = high
    place = np.clip(np.searchsorted(edges, tokens, side="right") - 1, 0, len(edges) - 2)
    table = np.zeros((len(edges) - 1, len(VERDICTS)), np.int64)
    np.add.at(table, (place, verdict), 1)
    return [
        Bin(int(low), int(high) - 1, dict(zip(map(str, VERDICTS), row.tolist(), strict=True)))
        for (low, high), row in zip(pairwise(edges), table, strict=True)
    ]


def limit_curve(run: Run, protocol: str) -> list[tuple[int, Estimate]]:
    """Return the accuracy at smaller token limits, each half the next; empty if it cannot be computed."""
    from markscheme.reporting.token_limits import token_limits

    try:
        tokens = run.snapshot().rows["tokens"]
        if not len(tokens) or len(tokens) > MOST_CUT or tokens.min() < 0 or (most := int(tokens.max())) < 64:
            return []
        made = token_limits(run, [most // 2**halving for halving in (4, 3, 2, 1)], protocol)
    except MarkschemeError:  # a conversation, a run with rounds, or a folder with a file that is refused
        return []
    return [(row.limit, row.figures["accuracy"]) for row in made.rows]
