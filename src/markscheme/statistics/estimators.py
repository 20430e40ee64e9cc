"""Per-problem estimates from counts: accuracy, pass@k, pass^k, G-Pass@k.

Every function takes n samples and c correct ones, as scalars or arrays over problems, and returns the unbiased estimate
of each problem: a float for scalars, an array for arrays. It is `nan` if n < k, never 0.
"""

from __future__ import annotations

import math
from typing import overload

import numpy as np

from markscheme.errors import UsageError
from markscheme.statistics.arrays import ArrayLike, Floats, Ints

Scalar = int | np.integer


@overload
def accuracy(n: Scalar, c: Scalar) -> float: ...
@overload
def accuracy(n: ArrayLike, c: ArrayLike) -> Floats: ...
def accuracy(n: ArrayLike, c: ArrayLike) -> float | Floats:
    """Return the share of correct samples of each problem; nan without a sample."""
    samples, correct = _counts(n, c)
    with np.errstate(invalid="ignore"):
        return _shaped(np.where(samples > 0, correct / np.maximum(samples, 1), np.nan))


@overload
def pass_at_k(n: Scalar, c: Scalar, k: int) -> float: ...
@overload
def pass_at_k(n: ArrayLike, c: ArrayLike, k: int) -> Floats: ...
def pass_at_k(n: ArrayLike, c: ArrayLike, k: int) -> float | Floats:
    """Return the probability that at least one of k samples is correct, 1 - C(n-c, k) / C(n, k).

    >>> pass_at_k(10, 3, 1), round(pass_at_k(10, 3, 5), 4), pass_at_k(4, 4, 8)
    (0.3, 0.9167, nan)
    """
    samples, correct = _counts(n, c)
    k = _draws(k)
    if k == 1:  # c/n without the rounding error of a logarithm
        return accuracy(n, c)
    # `+ 0.0` turns the -0.0 of expm1(0) into 0.0.
    return _shaped(-np.expm1(_log_miss(samples, correct, k)) + 0.0)


@overload
def pass_hat_k(n: Scalar, c: Scalar, k: int) -> float: ...
@overload
def pass_hat_k(n: ArrayLike, c: ArrayLike, k: int) -> Floats: ...
def pass_hat_k(n: ArrayLike, c: ArrayLike, k: int) -> float | Floats:
    """Return pass^k, the probability that all k samples are correct, C(c, k) / C(n, k)."""
    samples, correct = _counts(n, c)
    k = _draws(k)
    if k == 1:
        return accuracy(n, c)
    # All k correct is the same event as none of k among the n - c failures.
    return _shaped(np.exp(_log_miss(samples, samples - correct, k)))


@overload
def g_pass_at_k(n: Scalar, c: Scalar, k: int, tau: float) -> float: ...
@overload
def g_pass_at_k(n: ArrayLike, c: ArrayLike, k: int, tau: float) -> Floats: ...
def g_pass_at_k(n: ArrayLike, c: ArrayLike, k: int, tau: float) -> float | Floats:
    """Return G-Pass@k_tau, the probability that at least a share tau of k samples is correct (tau 0: at least one)."""
    samples, correct = _counts(n, c)
    k = _draws(k)
    if not 0 <= tau <= 1:
        raise UsageError(f"tau must be a share between 0 and 1, not {tau}")
    # 0.55 * 20 is 11.000000000000002 in floating point, and its plain ceiling would ask for a twelfth sample.
    needed = max(1, math.ceil(tau * k - 1e-9))
    pairs, where = np.unique(np.stack([samples.ravel(), correct.ravel()]), axis=1, return_inverse=True)
    each = [at_least(needed, int(a), int(b), k) if a >= k else math.nan for a, b in pairs.T]
    return _shaped(np.array(each, dtype=float)[where.ravel()].reshape(samples.shape))


def _log_miss(n: Ints, c: Ints, k: int) -> Floats:
    """Return log C(n-c, k) / C(n, k): k draws without replacement miss all c marked samples; nan if n < k.

    The ratio is the product of 1 - k/i over i = n-c+1 … n. One running sum of logarithms serves every problem with the
    same n, nothing overflows, and `expm1` keeps all digits of a small probability.
    """
    out = np.full(n.shape, np.nan)
    for size in np.unique(n[n >= k]):
        here = n == size
        marked = c[here]
        most = int(min(marked.max(initial=0), size - k))
        factors = np.log1p(-k / np.arange(size, size - most, -1, dtype=float))
        table = np.concatenate([[0.0], np.cumsum(factors)])
        # With fewer than k unmarked samples a miss is impossible.
        out[here] = np.where(marked > size - k, -np.inf, table[np.minimum(marked, most)])
    return out


def at_least(needed: int, n: int, c: int, k: int) -> float:
    """Return the probability of at least `needed` correct among k drawn from n with c correct."""
    first, mass = hypergeometric(n, c, k)
    return float(mass[max(0, needed - first) :].sum()) if needed > first else 1.0


def hypergeometric(n: int, c: int, k: int) -> tuple[int, Floats]:
    """Return the smallest possible number of correct among k drawn from n with c correct, and the probabilities from it on.

    They are built from ratios of neighbours, so no binomial coefficient overflows.
    """
    first, last = max(0, k - (n - c)), min(c, k)
    j = np.arange(first, last, dtype=float)
    ratios = np.log(c - j) + np.log(k - j) - np.log(j + 1) - np.log(n - c - k + j + 1)
    log_mass = np.concatenate([[0.0], np.cumsum(ratios)])
    mass = np.exp(log_mass - log_mass.max())
    return first, mass / mass.sum()


def _counts(n: ArrayLike, c: ArrayLike) -> tuple[Ints, Ints]:
    samples, correct = _whole("n", n), _whole("c", c)
    try:
        samples, correct = np.broadcast_arrays(samples, correct)
    except ValueError:
        raise UsageError(
            f"n and c must have one entry per problem, not shapes {samples.shape} and {correct.shape}"
        ) from None
    if np.any(samples < 0) or np.any(correct < 0):
        raise UsageError("counts of samples cannot be negative")
    if np.any(correct > samples):
        raise UsageError("more correct samples than samples: c must not exceed n")
    return samples, correct


def _whole(name: str, values: ArrayLike) -> Ints:
    array = np.asarray(values)
    whole = array.dtype.kind == "f" and np.all(np.isfinite(array)) and np.all(array == np.rint(array))
    if array.dtype.kind in "iub" or whole or array.size == 0:
        return array.astype(np.int64)
    raise UsageError(f"{name} must be whole numbers of samples")


def _draws(k: int) -> int:
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise UsageError(f"k must be a whole number of samples, at least 1, not {k!r}")
    return int(k)


def _shaped(values: Floats) -> float | Floats:
    return float(values) if values.ndim == 0 else values
