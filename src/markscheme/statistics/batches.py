"""Samples that came back together: those of one request may share a seed or a prefix, so the request is the unit.

Means over samples do not change. Their noise is estimated between requests, and pass@k takes k samples from k requests.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from markscheme.statistics.arrays import Floats, Ints

Batches = Sequence[tuple[Ints, Ints]]  # for each problem, the samples and correct samples of each request


def noise(batches: Batches) -> Floats:
    """Return the variance of each problem's solve rate, estimated between its requests; infinite with one request."""
    return np.array([_noise(n, c) if n.size > 1 else np.inf for n, c in batches])


def _noise(n: Ints, c: Ints) -> float:
    apart = (c - n * c.sum() / n.sum()) / n.sum()  # the contribution of each request to the error of the mean
    return float(n.size / (n.size - 1) * (apart @ apart))


def worth(batches: Batches) -> int:
    """Return the effective number of independent samples per problem, between its requests and its samples.

    It follows from the design effect over all problems, raised by one standard deviation to be careful.
    """
    units = min((n.size for n, _ in batches), default=0)
    rows = [(n, c) for n, c in batches if n.size > 1]
    seen = np.array([_noise(n, c) for n, c in rows])
    singly = sum(c.sum() * (n.sum() - c.sum()) / (n.sum() ** 2 * (n.sum() - 1)) for n, c in rows)
    if not seen.any() or not singly:
        return max(1, units)
    freedom = seen.sum() ** 2 / sum(v * v / (n.size - 1) for v, (n, _) in zip(seen, rows, strict=True))
    factor = max(1.0, float(seen.sum() / singly * (1 + np.sqrt(2 / freedom))))
    return max(1, units, int(min(n.sum() for n, _ in batches) / factor))


def pass_rates(batches: Batches, k: int, every: bool) -> Floats:
    """Return pass@k (pass^k with `every`) of each problem, with samples from k requests; nan with fewer requests."""
    return np.array([_pass_rate(n, c, k, every) if n.size >= k else np.nan for n, c in batches])


def _pass_rate(n: Ints, c: Ints, k: int, every: bool) -> float:
    """Average the product of the rates over all choices of k requests, adding one request at a time."""
    mean = np.zeros(k + 1)
    mean[0] = 1.0
    chosen = np.arange(1, k + 1)
    for seen, rate in enumerate(((c if every else n - c) / n).tolist(), start=1):
        mean[1:] = np.maximum(seen - chosen, 0) / seen * mean[1:] + np.minimum(chosen, seen) / seen * rate * mean[:-1]
    return float(mean[k] if every else 1 - mean[k])
