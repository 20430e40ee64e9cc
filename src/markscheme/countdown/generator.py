"""Generate Countdown puzzles from a seed: all different, and solvable, or provably not.

All puzzles that meet a demand are equally likely. Only the puzzles to exclude are kept in memory, eight bytes each. A
demand that cannot be met raises an error with the number of existing puzzles.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from time import process_time
from typing import Literal

import msgspec
import numpy as np

from markscheme.countdown.solver import MAX_NUMBER, iter_solutions, solvable
from markscheme.countdown.space import Indices, Space, mixed
from markscheme.errors import UsageError, option
from markscheme.types import CountdownGold

MIN_NUMBERS, MAX_NUMBERS = 3, 8
Need = Literal["any", "needed", "unneeded"]

PATIENCE = 180.0  # CPU seconds without a match after which a demand is given up

_LARGEST_BATCH = {3: 4096, 4: 2048, 5: 256, 6: 16, 7: 16, 8: 16}


class Demand(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The wanted puzzles. The defaults are the ranges of the published Countdown tasks.

    Pairs are (lowest, highest). Only essentially different solutions count. `division` and `fractions` are `needed` if every
    solution divides, or has a step that is not a whole number, and `unneeded` if some solution does not.
    """

    sizes: tuple[int, int] = (3, 4)
    numbers: tuple[int, int] = (1, 99)
    targets: tuple[int, int] = (10, 100)
    min_solutions: int = 1
    max_solutions: int | None = None
    division: Need = "any"
    fractions: Need = "any"
    unsolvable: bool = False

    @property
    def is_selective(self) -> bool:
        """True if more is demanded than that a puzzle can, or cannot, be solved."""
        asked = (self.min_solutions, self.max_solutions, self.division, self.fractions)
        return asked != (1, None, "any", "any")

    def is_met_by(self, puzzle: CountdownGold) -> bool:
        count, undivided, whole = 0, False, False
        for solution in iter_solutions(puzzle.nums, puzzle.target):
            count += 1
            undivided |= not solution.divides
            whole |= solution.whole
            # Large puzzles have thousands of solutions, and the first few usually decide.
            if self.division == "needed" and undivided:
                return False
            if self.fractions == "needed" and whole:
                return False
            if self.max_solutions is not None and count > self.max_solutions:
                return False
            if self.max_solutions is None and self._is_enough(count, undivided=undivided, whole=whole):
                return True
        return self._is_enough(count, undivided=undivided, whole=whole, complete=True)

    def _is_enough(self, count: int, *, undivided: bool, whole: bool, complete: bool = False) -> bool:
        """True if these solutions meet the demand: with `complete` they are all, otherwise whatever the others are."""
        division_met = self.division == "any" or (undivided if self.division == "unneeded" else complete)
        fractions_met = self.fractions == "any" or (whole if self.fractions == "unneeded" else complete)
        return count >= self.min_solutions and division_met and fractions_met

    def __str__(self) -> str:
        wanted = [f"{_span(self.sizes)} numbers from {_span(self.numbers)}", f"target {_span(self.targets)}"]
        if self.unsolvable:
            wanted.append("no solution")
        elif self.max_solutions is not None:
            wanted.append(f"{_span((self.min_solutions, self.max_solutions))} solutions")
        elif self.min_solutions > 1:
            wanted.append(f"at least {self.min_solutions} solutions")
        needs = {"division": self.division, "fractions": self.fractions}
        wanted += [f"{what} {need}" for what, need in needs.items() if need != "any"]
        return ", ".join(wanted)


def generate(
    count: int, demand: Demand | None = None, *, seed: int = 0, exclude: Iterable[CountdownGold] = ()
) -> Iterator[CountdownGold]:
    """Yield `count` different puzzles that meet the demand. The same seed gives the same puzzles everywhere.

    A longer run starts with the puzzles of a shorter one. Several sizes are equally likely until one has no puzzles left.
    Puzzles to `exclude` (a test set) never come, whatever the order of their numbers.
    """
    demand = demand or Demand()
    _check(demand, count)
    kept_out = list(exclude)
    sizes = range(demand.sizes[0], demand.sizes[1] + 1)
    spaces = [Space(size, demand.numbers, demand.targets, seed) for size in sizes]
    total = sum(space.count for space in spaces)
    if count > total:
        raise UsageError(
            f"there are only {total} puzzles with {demand}, not {count}; widen the ranges or ask for fewer"
        )
    walks = [_walk(space, demand, _indices(space, kept_out)) for space in spaces]
    return _interleaved(walks, count, demand, seed)


def _interleaved(
    walks: list[Iterator[CountdownGold]], count: int, demand: Demand, seed: int
) -> Iterator[CountdownGold]:
    choices = _choices(seed)
    for made in range(count):
        puzzle = None
        while puzzle is None:
            if not walks:
                there = f"only {made} puzzles of the {count} asked for exist with {demand}"
                raise UsageError(f"{there}; widen the ranges or ask for fewer")
            walk = walks[next(choices) % len(walks)]
            puzzle = next(walk, None)
            if puzzle is None:
                walks.remove(walk)
        yield puzzle


def _choices(seed: int) -> Iterator[int]:
    start = int.from_bytes(blake2b(f"countdown sizes {seed}".encode(), digest_size=7).digest(), "little")
    while True:
        block = np.arange(start, start + 1024, dtype=np.uint64)
        yield from mixed(block).tolist()
        start += 1024


def _walk(space: Space, demand: Demand, excluded: Indices) -> Iterator[CountdownGold]:
    """Yield the wanted puzzles of one size until all were drawn. Gives up after `PATIENCE` seconds without one."""
    found_at, found_when = 0, process_time()
    for place, puzzle in _candidates(space, demand, excluded):
        if puzzle is not None and (not demand.is_selective or demand.is_met_by(puzzle)):
            yield puzzle
            found_at, found_when = place, process_time()
        elif process_time() - found_when > PATIENCE:
            looked = f"{place - found_at} random puzzles of {space.size} numbers in a row were not what is asked"
            raise UsageError(f"{looked} ({demand}); such puzzles are rare or do not exist: loosen the demand")


def _candidates(space: Space, demand: Demand, excluded: Indices) -> Iterator[tuple[int, CountdownGold | None]]:
    """Yield the (un)solvable puzzles with their positions on the walk, and `None` at the end of each batch."""
    place, batch = 0, 16
    while place < space.count:
        indices = _without(space.drawn(place, place + batch), excluded)
        numbers, targets = space.puzzles(indices)
        rows = np.flatnonzero(solvable(numbers, targets) != demand.unsolvable)
        shuffled = space.shuffled(numbers[rows], indices[rows])
        for nums, target in zip(shuffled.tolist(), targets[rows].tolist(), strict=True):
            yield place, CountdownGold(tuple(nums), target)
        place += batch
        yield place, None
        batch = min(2 * batch, _LARGEST_BATCH[space.size])


def _without(indices: Indices, excluded: Indices) -> Indices:
    if not len(excluded):
        return indices
    places = np.minimum(np.searchsorted(excluded, indices), len(excluded) - 1)
    kept: Indices = indices[excluded[places] != indices]
    return kept


def _indices(space: Space, puzzles: list[CountdownGold]) -> Indices:
    same_size = [
        puzzle
        for puzzle in puzzles
        if len(puzzle.nums) == space.size and all(0 <= n <= MAX_NUMBER for n in (*puzzle.nums, puzzle.target))
    ]
    numbers = np.array([puzzle.nums for puzzle in same_size], np.int64).reshape(-1, space.size)
    return np.unique(space.indices(numbers, np.array([puzzle.target for puzzle in same_size], np.int64)))


def _check(demand: Demand, count: int) -> None:
    if count < 0:
        raise UsageError(f"{count} puzzles cannot be made")
    if not MIN_NUMBERS <= demand.sizes[0] <= demand.sizes[1] <= MAX_NUMBERS:
        raise UsageError(f"puzzles have {MIN_NUMBERS} to {MAX_NUMBERS} numbers, not {_span(demand.sizes)}")
    for what, (low, high) in (("numbers", demand.numbers), ("target", demand.targets)):
        if not 0 <= low <= high <= MAX_NUMBER:
            name = option("range" if what == "numbers" else "target")
            raise UsageError(f"{name} takes a range such as 1-99, from 0 to {MAX_NUMBER:,}, not {low}-{high}")
    most = demand.min_solutions if demand.max_solutions is None else demand.max_solutions
    if not 1 <= demand.min_solutions <= most:
        raise UsageError(f"no puzzle has from {demand.min_solutions} to {demand.max_solutions} solutions")
    if demand.unsolvable and demand.is_selective:
        raise UsageError("an unsolvable puzzle has no solutions to count or to choose by")


def _span(pair: tuple[int, int]) -> str:
    return f"{pair[0]}–{pair[1]}" if pair[0] != pair[1] else str(pair[0])
