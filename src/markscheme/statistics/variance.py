"""Where the uncertainty of a score comes from: which problems were drawn, or luck in sampling; and what more would buy."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from markscheme.statistics import quantiles
from markscheme.statistics.clusters import standard_error
from markscheme.statistics.counts import Counts
from markscheme.statistics.metrics import metric

MORE = 4


class VarianceTable(msgspec.Struct, frozen=True, kw_only=True):
    """The variance of accuracy for problems drawn, in its two parts. Half-widths are about those of the intervals."""

    from_problems: float
    """The standard error if every problem's solve rate were known: no number of samples lowers it."""
    from_sampling: float
    """The standard error on exactly these problems."""
    samples: float
    """Samples a problem, on average."""
    half_width: float
    """95 %, problems drawn; and with four more samples a problem; and with endless ones."""
    half_width_more: float
    half_width_endless: float
    these_half_width: float
    """95 %, exactly these problems; and with four more samples a problem."""
    these_half_width_more: float


def variance_table(counts: Counts) -> VarianceTable | None:
    """The table, or None where fewer than two problems have two samples: one answer shows no luck."""
    accuracy = metric("accuracy")
    values, noise = accuracy.values(counts), accuracy.noise(counts)
    seen = ~np.isnan(values)
    told = seen & np.isfinite(noise)
    if told.sum() < 2:
        return None
    labels = [label for label, has in zip(counts.clusters, seen, strict=False) if has]  # none, or one a problem
    error, freedom = standard_error(values[seen], labels)
    if not math.isfinite(error):
        return None
    problems = int(seen.sum())
    sampling = float(noise[told].mean()) / problems
    between = max(0.0, error**2 - sampling)
    samples = float(counts.n[seen].mean())
    fewer = sampling * samples / (samples + MORE)
    wide, normal = quantiles.student(0.975, freedom), quantiles.normal(0.975)
    return VarianceTable(
        from_problems=math.sqrt(between),
        from_sampling=math.sqrt(sampling),
        samples=samples,
        half_width=wide * math.sqrt(between + sampling),
        half_width_more=wide * math.sqrt(between + fewer),
        half_width_endless=wide * math.sqrt(between),
        these_half_width=normal * math.sqrt(sampling),
        these_half_width_more=normal * math.sqrt(fewer),
    )
