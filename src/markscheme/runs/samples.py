"""A set of (problem, sample) pairs in one integer a problem: a hundred thousand of them take a few kilobytes."""

from __future__ import annotations


class SampleSet:
    """Which samples of which problem are there."""

    def __init__(self) -> None:
        self._bits: dict[str, int] = {}
        self._count = 0

    def add(self, key: str, sample: int) -> bool:
        """Put one in; false when it was there already."""
        bits = self._bits.get(key, 0)
        if bits >> sample & 1:
            return False
        self._bits[key] = bits | 1 << sample
        self._count += 1
        return True

    def discard(self, key: str, sample: int) -> None:
        """Take one out, if it is there."""
        bits = self._bits.get(key, 0)
        if bits >> sample & 1:
            self._bits[key] = bits & ~(1 << sample)
            self._count -= 1

    def has(self, key: str, sample: int) -> bool:
        """Whether it is there."""
        return bool(self._bits.get(key, 0) >> sample & 1)

    def __len__(self) -> int:
        return self._count
