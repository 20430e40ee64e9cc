"""Find the shapes that hit a target if there are too many numbers for a `Program`, cheapest splits first.

Values over a subset are computed when a split first needs them, so the first solution of an easy puzzle costs little. A
search that ends has looked at every shape, which proves that it found all solutions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from markscheme.countdown.evaluation import Column, exact_dtype, sums
from markscheme.countdown.shapes import Shape, Split, inverse, inverted_products, layout, prefix_divided, shape

_CHUNK = 1 << 17  # pairs per step: a few MB of temporaries
_KEPT_SIZE = 6  # values over more numbers are not cached: those over seven of eight take 242 MB

_Values = tuple[Column, Column]  # numerators, denominators


class Search:
    """The search of one puzzle. `hits` may be stopped early."""

    def __init__(self, nums: Sequence[int], target: int) -> None:
        self.nums = tuple(nums)
        self.target = target
        self.dtype = exact_dtype(nums, target)
        self._values: dict[tuple[int, ...], _Values] = {}

    def hits(self) -> Iterator[Shape]:
        """Yield every shape over all the numbers whose value is the target or its negative, each once.

        Of those that differ only in the order of equal numbers, some are left out.
        """
        plan = layout(len(self.nums))
        splits = [*self._different(plan.sum_splits), *self._different(plan.product_splits)]
        for split in sorted(splits, key=lambda split: max(len(split.a), len(split.b))):
            yield from self._product_hits(split) if split.is_product else self._sum_hits(split)

    def _different(self, splits: list[Split]) -> list[Split]:
        """Keep only the largest of the splits over equal numbers: its slices contain those of the others."""
        largest: dict[tuple[tuple[int, ...], tuple[int, ...]], Split] = {}
        for split in sorted(splits, key=lambda split: split.pairs):
            largest[self._numbers(split.a), self._numbers(split.b)] = split
        return list(largest.values())

    def _sum_hits(self, split: Split) -> Iterator[Shape]:
        size = len(self.nums)
        first = layout(size).terms[1] + split.start
        for (xn, xd), (yn, yd), pairs_at in self._chunks(split):
            left, right, below = xn * yd, yn * xd, xd * yd
            goal, defined = np.abs(below * self.target), below != 0
            for kind, hits in enumerate((np.abs(left + right) == goal, np.abs(left - right) == goal)):
                for pair in pairs_at(hits & defined):
                    yield shape(size, first + kind * split.pairs + pair)

    def _product_hits(self, split: Split) -> Iterator[Shape]:
        size = len(self.nums)
        first = layout(size).inverted + split.start
        divided, width = prefix_divided(split), split.y1 - split.y0
        for (xn, xd), (yn, yd), pairs_at in self._chunks(split):
            for kind, (top, bottom) in enumerate(((xn * yn, xd * yd), (xn * yd, xd * yn))):
                above, below = np.abs(top), np.abs(bottom)
                number = first + kind * split.pairs
                for pair in pairs_at((above == below * self.target) & (below != 0)):
                    yield shape(size, number + pair)
                for pair in pairs_at((below == above * self.target) & (above != 0)):
                    if kind or divided[pair // width]:
                        yield inverse(shape(size, number + pair))

    def _chunks(self, split: Split) -> Iterator[tuple[_Values, _Values, Callable[[NDArray[np.bool_]], list[int]]]]:
        """Yield all pairs of the split in pieces: prefixes down, blocks across, and a function from masks to pair numbers."""
        xn, xd, yn, yd = self._operands(split, range(len(self.nums)))
        width = yn.size
        across = min(width, _CHUNK)
        down = max(1, _CHUNK // across)
        for i in range(0, xn.size, down):
            for j in range(0, width, across):

                def pairs_at(hits: NDArray[np.bool_], i: int = i, j: int = j) -> list[int]:
                    rows, columns = np.nonzero(hits)
                    pairs: list[int] = ((rows + i) * width + columns + j).tolist()
                    return pairs

                rows, columns = slice(i, i + down), slice(j, j + across)
                yield (xn[rows], xd[rows]), (yn[:, columns], yd[:, columns]), pairs_at

    def _operands(self, split: Split, positions: Sequence[int]) -> tuple[Column, Column, Column, Column]:
        """Return values of the split's prefixes as columns and of its blocks as rows, over some of the positions."""
        xn, xd = self._all_values(tuple(positions[p] for p in split.a))
        yn, yd = self._all_values(tuple(positions[p] for p in split.b))
        x, y = slice(split.x0, split.x1), slice(split.y0, split.y1)
        return xn[x, None], xd[x, None], yn[None, y], yd[None, y]

    def _all_values(self, positions: tuple[int, ...]) -> _Values:
        """Return values of all shapes over some of the positions. Equal numbers share them."""
        key = self._numbers(positions)
        if key in self._values:
            return self._values[key]
        values = self._evaluate(positions)
        if len(positions) <= _KEPT_SIZE:
            self._values[key] = values
        return values

    def _numbers(self, positions: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(self.nums[p] for p in positions)

    def _evaluate(self, positions: tuple[int, ...]) -> _Values:
        if len(positions) == 1:
            return np.array(self._numbers(positions), self.dtype), np.ones(1, self.dtype)
        plan = layout(len(positions))
        top: Column = np.empty(plan.total, self.dtype)
        bottom: Column = np.empty_like(top)
        for split in plan.sum_splits:
            first, second = _results(split, plan.terms[1])
            plus, minus, below = sums(*self._operands(split, positions))
            top[first], top[second] = plus.ravel(), minus.ravel()
            bottom[first] = bottom[second] = below.ravel()
        for split in plan.product_splits:
            xn, xd, yn, yd = self._operands(split, positions)
            first, second = _results(split, plan.inverted)
            top[first], bottom[first] = (xn * yn).ravel(), (xd * yd).ravel()
            top[second], bottom[second] = (xn * yd).ravel(), (xd * yn).ravel()
        source = plan.inverted + inverted_products(len(positions))
        top[: plan.inverted], bottom[: plan.inverted] = bottom[source], top[source]
        return top, bottom


def _results(split: Split, segment: int) -> tuple[slice, slice]:
    start = segment + split.start
    return slice(start, start + split.pairs), slice(start + split.pairs, start + 2 * split.pairs)
