"""A set of (problem, sample) pairs in one integer a problem: a hundred thousand of them take a few kilobytes."""

from __future__ import annotations

from collections.abc import Iterable


class SampleSet:
    """Which samples of which problem are there."""

    def __init__(self) -> None:
        self._bits: dict[str, int] = {}

    def add_all(self, key: str, samples: Iterable[int]) -> None:
        """Put some of a problem in."""
        bits = self._bits.get(key, 0)
        for sample in samples:
            bits |= 1 << sample
        self._bits[key] = bits

    def has(self, key: str, sample: int) -> bool:
        """Whether it is there."""
        return bool(self._bits.get(key, 0) >> sample & 1)

    def __len__(self) -> int:
        return sum(bits.bit_count() for bits in self._bits.values())
