"""Compute the exact values of all shapes at once, as numpy columns of unreduced fractions.

Numerator and denominator of an expression over a₁…aₙ add up to at most (1+a₁)…(1+aₙ): true for one number, and preserved by
+ - * /. If that bound times the target fits into 64 bits, nothing can overflow; otherwise the columns hold Python integers,
which are slower but exact. An undefined value (a division by zero) is the pair (0, 0), which stays (0, 0) in any operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import combinations
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from markscheme.countdown.shapes import Split, inverted_products, layout

Column = NDArray[Any]  # int64, or Python integers where those could overflow
Values = tuple[Column, Column]  # numerators and denominators


def exact_dtype(nums: Sequence[int], target: int) -> type:
    """Return the fastest number type in which no value over `nums`, compared with `target`, can overflow."""
    return np.int64 if prod(1 + n for n in nums) * max(1, target) < 2**63 else object


def combined(is_product: bool, x: Values, y: Values) -> tuple[Values, Values]:
    """Return the values of x + y and x - y, or of x * y and x / y. A sum with an undefined part is (0, 0)."""
    (xn, xd), (yn, yd) = x, y
    if is_product:
        return (xn * yn, xd * yd), (xn * yd, xd * yn)
    left, right, below = xn * yd, yn * xd, xd * yd
    if not (defined := below != 0).all():
        left, right = left * defined, right * defined
    return (left + right, below), (left - right, below)


def reached(top: Column, bottom: Column, target: Column | int) -> NDArray[np.bool_]:
    """Return which of these values are the target, up to sign."""
    hits: NDArray[np.bool_] = (np.abs(top) == np.abs(bottom) * target) & (bottom != 0)
    return hits


Rows = NDArray[np.intp]


class _Pairs(NamedTuple):
    x: Rows
    y: Rows
    first: Rows
    second: Rows


class _Level(NamedTuple):
    """The row numbers that build all shapes over a given number of positions."""

    sums: _Pairs
    products: _Pairs
    inverted: Rows
    inverse_of: Rows


class Program:
    """Evaluate every shape over few numbers in a few numpy calls, for one puzzle or a batch.

    Rows are the shapes over every subset of the positions, small subsets first, so the last `layout(size).total` rows are
    the shapes over all of them. A program for six numbers would hold millions of row numbers; use `Search`.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.rows = 0
        offset: dict[tuple[int, ...], int] = {}
        self.levels: list[_Level] = []
        for length in range(1, size + 1):
            subsets = list(combinations(range(size), length))
            for subset in subsets:
                offset[subset] = self.rows
                self.rows += layout(length).total
            if length > 1:
                self.levels.append(_level(subsets, offset))

    def run(self, nums: Column) -> Values:
        """Return numerators and denominators of all shapes; `nums` has a row per position (and a column per puzzle)."""
        top = np.empty((self.rows, *nums.shape[1:]), nums.dtype)
        bottom = np.empty_like(top)
        top[: self.size] = nums
        bottom[: self.size] = 1
        for level in self.levels:
            for is_product, pairs in enumerate((level.sums, level.products)):
                x, y, *results = pairs
                values = combined(bool(is_product), (top[x], bottom[x]), (top[y], bottom[y]))
                for rows, (above, below) in zip(results, values, strict=True):
                    top[rows], bottom[rows] = above, below
            top[level.inverted], bottom[level.inverted] = bottom[level.inverse_of], top[level.inverse_of]
        first = self.rows - layout(self.size).total
        return top[first:], bottom[first:]


def _level(subsets: list[tuple[int, ...]], offset: dict[tuple[int, ...], int]) -> _Level:
    plan, inverse_of = layout(len(subsets[0])), inverted_products(len(subsets[0]))

    def pairs(splits: list[Split]) -> _Pairs:
        parts = [_pairs(split, subset, offset) for subset in subsets for split in splits]
        return _Pairs(*map(np.concatenate, zip(*parts, strict=True)))

    return _Level(
        pairs(plan.of_kind(False)),
        pairs(plan.of_kind(True)),
        np.concatenate([offset[subset] + np.arange(plan.inverted) for subset in subsets]),
        np.concatenate([offset[subset] + plan.inverted + inverse_of for subset in subsets]),
    )


def _pairs(split: Split, subset: tuple[int, ...], offset: dict[tuple[int, ...], int]) -> _Pairs:
    """Return the rows of a split's prefixes and blocks over `subset`, and of its two kinds of results."""
    x = offset[tuple(subset[p] for p in split.a)] + np.arange(split.x0, split.x1)
    y = offset[tuple(subset[p] for p in split.b)] + np.arange(split.y0, split.y1)
    first = offset[subset] + split.start + np.arange(split.pairs)
    return _Pairs(np.repeat(x, len(y)), np.tile(y, len(x)), first, first + split.pairs)


program = cache(Program)
