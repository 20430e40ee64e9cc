"""One simulated situation and what came of it, and how long to look at it: what every table of the coverage is made of."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from markscheme.statistics import Interval

Z = 1.959964
Others = dict[str, tuple[float, float]]
# A cell that holds less often may be unlucky: it is simulated again, with so many times as many runs, which then
# count.
DOUBTFUL, AGAIN = 0.94, 4


class Effort:
    """How many runs a situation gets: few, many, or many more for the doubtful ones and none for the others. True if few."""

    def __init__(self, quick: bool, again: frozenset[str] = frozenset()) -> None:
        self._quick, self._again = quick, again

    def __bool__(self) -> bool:
        return self._quick

    def runs(self, few: int, many: int, *situation: object) -> range:
        """The numbers of the runs of a situation, which is told apart by what a cell says of it."""
        if self._again:
            return range(AGAIN * many if situation_of(*situation) in self._again else 0)
        return range(few if self._quick else many)


def situation_of(*parts: object) -> str:
    """What is simulated at once: the cells of a situation differ in their metric only."""
    return " · ".join(str(part) for part in parts)


class Cell(NamedTuple):
    """One simulated situation: how often the interval held, and how wide it is."""

    what: str
    rates: str
    size: str
    runs: int
    coverage: float
    width: float  # mean, in points
    ratio: float  # to 1.96 true standard errors, with the bias of the estimate in them
    best: float  # to the narrowest usual interval that holds in 93 % too; nan where none does
    other: float = math.nan  # false alarms of a comparison, or how often what the output says beside the interval holds
    judged: bool = True
    situation: str = ""  # what is simulated at once; empty where it cannot be done again by itself


class Tally:
    """Collects intervals for known truths."""

    def __init__(self) -> None:
        self.rows: list[tuple[bool, float, float, float]] = []
        self.others: dict[str, list[tuple[bool, float]]] = {}

    def add(self, low: float, high: float, estimate: float, truth: float, other: float = math.nan) -> None:
        """One more simulated run."""
        self.rows.append((low - 1e-12 <= truth <= high + 1e-12, high - low, estimate - truth, other))

    def found(self, made: Interval, truth: float, others: Others | None = None, other: float = math.nan) -> None:
        """The same from an interval, with the bounds of others."""
        self.add(made.low, made.high, made.estimate, truth, other)
        for name, (low, high) in (others or {}).items():
            self.others.setdefault(name, []).append((low <= truth <= high, high - low))

    def cell(self, what: str, rates: str, size: str, judged: bool = True, situation: str = "") -> Cell:
        """The cell they make."""
        held, width, error, other = np.array(self.rows, dtype=float).T
        true_error = math.sqrt(float(np.mean(error**2)))
        mean = float(width.mean())
        ratio = mean / (2 * Z * true_error) if true_error > 1e-6 else math.nan
        always = [rows for rows in self.others.values() if len(rows) == len(self.rows)]
        means = [np.mean(np.array(rows, dtype=float), axis=0) for rows in always]
        valid = [wide for cover, wide in means if cover >= 0.93 and wide > 0]
        best = mean / min(valid) if valid else math.nan
        return Cell(
            what, rates, size, held.size, held.mean(), 100 * mean, ratio, best, float(np.mean(other)), judged, situation
        )


def summed_up(cells: Sequence[Cell]) -> str:
    """The worst cells of a table in a sentence."""
    judged = [cell for cell in cells if cell.judged] or cells
    worst = min(judged, key=lambda cell: cell.coverage)
    below = sum(cell.coverage < 0.93 for cell in judged)
    beside = [cell.best for cell in judged if not math.isnan(cell.best)]
    wide = (
        f"; beside the best other valid interval {np.median(beside):.2f} as wide in the median, {max(beside):.2f} at most"
        if beside
        else ""
    )
    return (
        f"{len(cells)} cells: lowest coverage {100 * worst.coverage:.1f} % ({worst.what}, {worst.rates}, {worst.size}), "
        f"{below} below 93 %, {100 * float(np.mean([cell.coverage for cell in judged])):.1f} % on average{wide}."
    )
