"""All puzzles of one size and range, each exactly once, in an order that a seed decides.

A puzzle is a multiset of numbers and a target, so puzzles can be counted and numbered. A walk through a keyed permutation
of those numbers draws without repeats and without memory, and its end proves that all were drawn. The order depends
only on 64-bit integer arithmetic and BLAKE2b, so a seed means the same puzzles on every platform and version.
"""

from __future__ import annotations

from hashlib import blake2b
from math import comb

import numpy as np
from numpy.typing import NDArray

from markscheme.errors import UsageError

Indices = NDArray[np.uint64]
Numbers = NDArray[np.int64]

_ROUNDS = 6
_MAX_RANGE = 1_000_000


class Space:
    """The puzzles with `size` numbers from `numbers` (lowest, highest) and a target from `targets`."""

    def __init__(self, size: int, numbers: tuple[int, int], targets: tuple[int, int], seed: int) -> None:
        self.size = size
        self.lowest = numbers[0]
        self.first_target = targets[0]
        self.choices = numbers[1] - numbers[0] + 1
        self.targets = targets[1] - targets[0] + 1
        self.count = comb(self.choices + size - 1, size) * self.targets
        if self.count >= 2**63 or self.choices > _MAX_RANGE:
            raise UsageError(f"{size} numbers from {numbers[0]} to {numbers[1]} are too many puzzles; narrow the range")
        # C(c, k) for every c: the ranks at which the k-th smallest of the chosen numbers changes.
        self._binomials = [np.arange(self.choices + size, dtype=np.uint64)]
        for _ in range(2, size + 1):
            sums = np.cumsum(self._binomials[-1])
            self._binomials.append(np.concatenate([np.zeros(1, np.uint64), sums[:-1]]))
        keys = np.frombuffer(blake2b(f"countdown {size} {seed}".encode()).digest(), "<u8")
        self._round_keys, self._shuffle_key = keys[:_ROUNDS], keys[_ROUNDS]
        self._half = np.uint64(max(1, ((self.count - 1).bit_length() + 1) // 2))

    def drawn(self, start: int, stop: int) -> Indices:
        """Return the indices of the puzzles at the positions from `start` up to `stop` of the walk."""
        indices = np.arange(start, min(stop, self.count), dtype=np.uint64)
        outside = np.ones(len(indices), np.bool_)
        # The permutation is of a power of four elements; following its cycle leads back into the range.
        while outside.any():
            indices[outside] = self._permuted(indices[outside])
            outside = indices >= np.uint64(self.count)
        return indices

    def puzzles(self, indices: Indices) -> tuple[Numbers, Numbers]:
        """Return the numbers (a row per puzzle, ascending) and targets of the puzzles with these indices."""
        rest, target = np.divmod(indices, np.uint64(self.targets))
        numbers = np.empty((len(indices), self.size), np.int64)
        for k in range(self.size, 0, -1):
            table = self._binomials[k - 1]
            chosen = np.searchsorted(table, rest, side="right") - 1
            rest = rest - table[chosen]
            numbers[:, k - 1] = self.lowest + chosen - (k - 1)
        return numbers, self.first_target + target.astype(np.int64)

    def indices(self, numbers: Numbers, targets: Numbers) -> Indices:
        """Return the indices of these puzzles (a row each, in any order) without those outside the space."""
        chosen = np.sort(numbers, axis=1) - self.lowest
        target = targets - self.first_target
        inside = (
            (chosen >= 0).all(axis=1) & (chosen < self.choices).all(axis=1) & (target >= 0) & (target < self.targets)
        )
        chosen, target = chosen[inside], target[inside]
        rank = np.zeros(len(chosen), np.uint64)
        for k in range(1, self.size + 1):
            rank += self._binomials[k - 1][chosen[:, k - 1] + (k - 1)]
        return rank * np.uint64(self.targets) + target.astype(np.uint64)

    def shuffled(self, numbers: Numbers, indices: Indices) -> Numbers:
        """Shuffle the numbers of each puzzle in an order that the seed decides."""
        slots = np.arange(self.size, dtype=np.uint64)
        keys = mixed(mixed(indices ^ self._shuffle_key)[:, None] + slots)
        return np.take_along_axis(numbers, np.argsort(keys, axis=1, kind="stable"), axis=1)

    def _permuted(self, indices: Indices) -> Indices:
        """Apply a Feistel network over 2 · half bits, which is a permutation for any round function."""
        mask = (np.uint64(1) << self._half) - np.uint64(1)
        left, right = indices >> self._half, indices & mask
        for key in self._round_keys:
            left, right = right, left ^ (mixed(right ^ key) & mask)
        return (left << self._half) | right


def mixed(values: Indices) -> Indices:
    """Apply the output function of SplitMix64: every input bit changes about half the bits of the result."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
