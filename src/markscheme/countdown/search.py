"""Find the shapes that hit a target if there are too many numbers for a `Program`, cheapest splits first.

Values over a subset are computed when a split first needs them, so the first solution of an easy puzzle costs little. A
search that ends has looked at every shape, which proves that it found all solutions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from markscheme.countdown.evaluation import Column, Values, combined, exact_dtype, reached
from markscheme.countdown.shapes import Shape, Split, inverse, inverted_products, layout, prefix_divided, shape

_CHUNK = 1 << 17  # pairs per step: a few MB of temporaries
_KEPT_SIZE = 6  # values over more numbers are not cached: those over seven of eight take 242 MB


class Search:
    """The search of one puzzle. `hits` may be stopped early."""

    def __init__(self, nums: Sequence[int], target: int) -> None:
        self.nums = tuple(nums)
        self.target = target
        self.dtype = exact_dtype(nums, target)
        self._values: dict[tuple[int, ...], Values] = {}

    def hits(self) -> Iterator[Shape]:
        """Yield every shape over all the numbers whose value is the target or its negative, each once.

        Of those that differ only in the order of equal numbers, some are left out.
        """
        # Of the splits over equal numbers, the largest: its slices contain those of the others.
        largest: dict[tuple[bool, tuple[int, ...], tuple[int, ...]], Split] = {}
        for split in sorted(layout(len(self.nums)).splits, key=lambda split: (split.is_product, split.pairs)):
            largest[split.is_product, self._numbers(split.a), self._numbers(split.b)] = split
        for split in sorted(largest.values(), key=lambda split: max(len(split.a), len(split.b))):
            yield from self._hits_of(split)

    def _hits_of(self, split: Split) -> Iterator[Shape]:
        size, width = len(self.nums), split.y1 - split.y0
        divided = prefix_divided(split) if split.is_product else None
        for x, y, pairs_at in self._chunks(split):
            for kind, (top, bottom) in enumerate(combined(split.is_product, x, y)):
                number = split.start + kind * split.pairs
                for pair in pairs_at(reached(top, bottom, self.target)):
                    yield shape(size, number + pair)
                if divided is None:
                    continue
                for pair in pairs_at(reached(bottom, top, self.target)):
                    if kind or divided[pair // width]:
                        yield inverse(shape(size, number + pair))

    def _chunks(self, split: Split) -> Iterator[tuple[Values, Values, Callable[[NDArray[np.bool_]], list[int]]]]:
        """Yield all pairs of the split in pieces: prefixes down, blocks across, and a function from masks to pair numbers."""
        (xn, xd), (yn, yd) = self._operands(split, range(len(self.nums)))
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

    def _operands(self, split: Split, positions: Sequence[int]) -> tuple[Values, Values]:
        """Return values of the split's prefixes as columns and of its blocks as rows, over some of the positions."""
        xn, xd = self._all_values(tuple(positions[p] for p in split.a))
        yn, yd = self._all_values(tuple(positions[p] for p in split.b))
        x, y = slice(split.x0, split.x1), slice(split.y0, split.y1)
        return (xn[x, None], xd[x, None]), (yn[None, y], yd[None, y])

    def _all_values(self, positions: tuple[int, ...]) -> Values:
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

    def _evaluate(self, positions: tuple[int, ...]) -> Values:
        if len(positions) == 1:
            return np.array(self._numbers(positions), self.dtype), np.ones(1, self.dtype)
        plan = layout(len(positions))
        top: Column = np.empty(plan.total, self.dtype)
        bottom: Column = np.empty_like(top)
        for split in plan.splits:
            values = combined(split.is_product, *self._operands(split, positions))
            for start, (above, below) in zip((split.start, split.start + split.pairs), values, strict=True):
                rows = slice(start, start + split.pairs)
                top[rows], bottom[rows] = above.ravel(), below.ravel()
        source = plan.inverted + inverted_products(len(positions))
        top[: plan.inverted], bottom[: plan.inverted] = bottom[source], top[source]
        return top, bottom
