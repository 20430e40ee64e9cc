"""Number every essentially different expression over up to eight numbers, each once.

A *shape* is an expression over positions 0…m-1, up to its sign. The shapes of size m are laid out as

    [ inverted products | products, last block late to early | sums, last block early to late ]

so that each set from which a larger shape is built is one contiguous slice, and a shape can be rebuilt from its number.
There are 1, 5, 47, 733, 15907, 443825, 15129599, 609432421 of them (half of OEIS A182173, which counts both signs).
`evaluation` computes their values.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import accumulate, combinations
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Node(NamedTuple):
    """A sum (`+`) of terms that are not sums, or a product (`*`) of factors that are not products.

    Each part has a sign (in a sum) or an exponent (in a product) of +1 or -1.
    """

    op: Literal["+", "*"]
    parts: tuple[tuple[int, Shape], ...]


Shape = Node | int  # an expression up to its sign; an `int` is a position or, after `placed`, a number


class Split(NamedTuple):
    """One way to build sums (or products) of some size: a prefix over the positions `a`, then one block over `b`.

    Blocks are ordered by their smallest position, so `a` contains position 0, and every shape has exactly one prefix and
    one last block. `x0:x1` and `y0:y1` are the usable slices of the prefix's and the block's shapes.
    Each pair gives two shapes: x + y and x - y (or x * y and x / y), all of the first kind before all of the second.
    """

    is_product: bool
    a: tuple[int, ...]
    b: tuple[int, ...]
    x0: int
    x1: int
    y0: int
    y1: int
    start: int  # number of its first shape
    undivided: int  # of a product split: number of products without a factor below the fraction bar

    @property
    def pairs(self) -> int:
        """Number of (prefix, block) pairs, each of which gives two shapes."""
        return (self.x1 - self.x0) * (self.y1 - self.y0)


class Layout:
    def __init__(self, size: int) -> None:
        self.size = size
        positions = range(1, size)
        blocks = sorted(b for length in positions for b in combinations(positions, length))
        products = [self._product_split(b) for b in reversed(blocks)]
        sums = [self._sum_split(b) for b in blocks]
        self.sums = _shapes_in(sums)
        self.products = _shapes_in(products)
        # b/a differs from a/b, but 1/(a*b) cannot be written: a product has an inverse only if it divides.
        self.inverted = self.products - sum(split.undivided for split in products)
        # A lone number is both a term and a factor: one shape, no segments.
        self.total = self.inverted + self.products + self.sums if size > 1 else 1
        starts = accumulate((2 * split.pairs for split in (*products, *sums)), initial=self.inverted)
        self.splits = [split._replace(start=start) for split, start in zip((*products, *sums), starts, strict=False)]

    def _sum_split(self, b: tuple[int, ...]) -> Split:
        a, before = self._prefix_positions(b)
        return Split(False, a, b, *layout(len(a)).sum_prefixes(before), *layout(len(b)).terms, start=0, undivided=0)

    def _product_split(self, b: tuple[int, ...]) -> Split:
        a, before = self._prefix_positions(b)
        prefix, block = layout(len(a)), layout(len(b))
        undivided = max(1, prefix.sums) + sum(s.undivided for s in prefix.of_kind(True) if s.b[0] < before)
        y0, y1 = block.factors
        return Split(True, a, b, *prefix.product_prefixes(before), y0, y1, start=0, undivided=undivided * (y1 - y0))

    def _prefix_positions(self, b: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
        """Return the positions that are not in `b`, and how many of them come before it."""
        a = tuple(p for p in range(self.size) if p not in b)
        return a, sum(p < b[0] for p in a)

    def of_kind(self, is_product: bool) -> list[Split]:
        return [split for split in self.splits if split.is_product is is_product]

    @property
    def terms(self) -> tuple[int, int]:
        """Slice of shapes that may be one term of a sum."""
        return (0, self.inverted + self.products) if self.size > 1 else (0, 1)

    @property
    def factors(self) -> tuple[int, int]:
        """Slice of shapes that may be one factor of a product."""
        return (self.inverted + self.products, self.total) if self.size > 1 else (0, 1)

    def sum_prefixes(self, before: int) -> tuple[int, int]:
        """Return the slice of shapes that may start a sum: terms, and sums whose last block starts before `before`."""
        return 0, self.terms[1] + _shapes_in(s for s in self.of_kind(False) if s.b[0] < before)

    def product_prefixes(self, before: int) -> tuple[int, int]:
        """Return the slice of shapes that may start a product: factors, and products as for sums."""
        return self.factors[0] - _shapes_in(s for s in self.of_kind(True) if s.b[0] < before), self.total


def _shapes_in(splits: Iterable[Split]) -> int:
    return sum(2 * split.pairs for split in splits)


layout = cache(Layout)


@cache
def divided(size: int) -> NDArray[np.bool_]:
    """Return whether each product of this size has a factor below the fraction bar."""
    import numpy as np

    flags = [np.empty(0, np.bool_)]
    for split in layout(size).of_kind(True):
        flags.append(np.repeat(prefix_divided(split), split.y1 - split.y0))
        flags.append(np.ones(split.pairs, np.bool_))
    return np.concatenate(flags)


def prefix_divided(split: Split) -> NDArray[np.bool_]:
    """Return whether each prefix of a product split is a product with a factor below the fraction bar."""
    import numpy as np

    flags = np.zeros(split.x1 - split.x0, np.bool_)
    products = divided(len(split.a))[split.x0 - layout(len(split.a)).inverted :]
    flags[: len(products)] = products
    return flags


@cache
def inverted_products(size: int) -> NDArray[np.intp]:
    """Return the product of which each inverted product is the inverse."""
    import numpy as np

    return np.flatnonzero(divided(size))


def shape(size: int, number: int) -> Shape:
    """Return the shape with this number among those over positions 0…size-1."""
    # The 16,693 shapes of up to five numbers are cached; of larger ones no two searches meet the same.
    return _kept_shape(size, number) if size <= 5 else _shape(size, number)


def _shape(size: int, number: int) -> Shape:
    if size == 1:
        return 0
    plan = layout(size)
    if number < plan.inverted:
        return inverse(shape(size, plan.inverted + int(inverted_products(size)[number])))
    split = plan.splits[bisect_right(plan.splits, number, key=lambda s: s.start) - 1]
    second_kind, pair = divmod(number - split.start, split.pairs)
    x, y = divmod(pair, split.y1 - split.y0)
    prefix = placed(shape(len(split.a), split.x0 + x), split.a)
    block = placed(shape(len(split.b), split.y0 + y), split.b)
    op: Literal["+", "*"] = "*" if split.is_product else "+"
    return Node(op, joined(op, (1, prefix), (-1 if second_kind else 1, block)))


_kept_shape = cache(_shape)


def inverse(product: Shape) -> Node:
    assert isinstance(product, Node)
    return Node("*", tuple((-exponent, factor) for exponent, factor in product.parts))


def joined(op: Literal["+", "*"], *parts: tuple[int, Shape]) -> tuple[tuple[int, Shape], ...]:
    """Return the parts of a sum (or product) of these, with nested sums (or products) flattened."""
    flat: list[tuple[int, Shape]] = []
    for turn, part in parts:
        own = part.parts if isinstance(part, Node) and part.op == op else ((1, part),)
        flat += [(turn * sign, inner) for sign, inner in own]
    return tuple(flat)


def placed(shape: Shape, at: Sequence[int]) -> Shape:
    """Replace each position by the entry of `at`: another position or a number."""
    if isinstance(shape, int):
        return at[shape]
    return Node(shape.op, tuple([(sign, placed(part, at)) for sign, part in shape.parts]))
