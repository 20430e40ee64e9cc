"""Which samples of a run were drawn independently: not those of one request, nor exact repeats."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from markscheme.runs.columns import UNKNOWN, VERDICTS, Ints

if TYPE_CHECKING:
    from markscheme.runs.snapshot import Snapshot

LONG = 100  # characters; two sampled texts of this length are hardly equal by chance


def by_request(snapshot: Snapshot, rows: Ints, verdict: npt.NDArray[np.int8]) -> tuple[Ints, ...]:
    """Return each problem's verdicts by request, if some samples share a request's seed; else nothing."""
    problem, unit = snapshot.problem[rows], snapshot.rows["unit"][rows].astype(np.int64)
    together = (problem[1:] == problem[:-1]) & (unit[1:] == unit[:-1]) & (unit[1:] != UNKNOWN)
    if snapshot.planned or not together.any():
        return ()
    unit = np.where(unit == UNKNOWN, -2 - np.arange(len(unit)), unit)  # a separate request
    pairs, place = np.unique(np.stack([problem, unit]), axis=1, return_inverse=True)
    width = len(VERDICTS)
    table = np.bincount(place.ravel() * width + verdict[rows], minlength=pairs.shape[1] * width).reshape(-1, width)
    ends = np.searchsorted(pairs[0], np.arange(snapshot.problems + 1))
    return tuple(table[low:high] for low, high in pairwise(ends.tolist()))


def repeated(snapshot: Snapshot) -> int:
    """Count long answers that repeat an earlier one to the same problem word for word."""
    long = np.flatnonzero(snapshot.arrived & ~snapshot.failed & (snapshot.rows["size"] >= LONG))
    texts = np.stack([snapshot.problem[long], snapshot.rows["text"][long], snapshot.rows["size"][long]])
    return len(long) - int(np.unique(texts, axis=1).shape[1])
