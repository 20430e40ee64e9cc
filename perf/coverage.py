"""Do the intervals cover? Nominal 95 % against what a simulation finds: `python perf/coverage.py [--quick]`.

Every figure a report prints, with solve rates that no interval assumes (`difficulties.py`). Prints Markdown tables; fails
if one of ours covers less than 92 %, or the comparison raises false alarms in more than 6 %, beyond simulation error.
Sparse gains are shown and not judged: where one problem in twenty carries everything, the output says so.
"""

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from difficulties import CHANGES, FAMILIES, SETS, Floats

from markscheme.statistics import Counts, Interval, Picks, Round, compare, from_correct, interval, sequential
from markscheme.statistics.marker_errors import JudgedStratum, corrected

THESE, DRAWN = "these problems", "problems drawn"
Z = 1.959964


class Cell(NamedTuple):
    """One simulated situation: how often the interval held, and how wide it is beside 1.96 true standard errors."""

    what: str
    rates: str
    size: str
    runs: int
    coverage: float
    width: float
    other: float = math.nan
    """The false alarms of a comparison, or the coverage of the usual interval."""
    judged: bool = True


class Tally:
    """Collects intervals for known truths."""

    def __init__(self) -> None:
        self.rows: list[tuple[bool, float, float, float]] = []

    def add(self, found: Interval, truth: float, other: float = math.nan) -> None:
        """One more simulated run."""
        held = found.low - 1e-12 <= truth <= found.high + 1e-12
        self.rows.append((held, found.high - found.low, found.estimate - truth, other))

    def cell(self, what: str, rates: str, size: str, judged: bool = True) -> Cell:
        """The cell they make."""
        held, width, error, other = np.array(self.rows, dtype=float).T
        true_error = math.sqrt(float(np.mean(error**2)))
        ratio = width.mean() / (2 * Z * true_error) if true_error > 1e-6 else math.nan
        return Cell(what, rates, size, held.size, float(held.mean()), float(ratio), float(np.mean(other)), judged)


def truth_of(name: str, rates: Floats) -> float:
    """The mean of a count metric over rates, by its definition."""
    kind, _, k = name.replace("^", "@").partition("@")
    if kind == "accuracy":
        return float(rates.mean())
    power = int(k)
    return float(np.mean(rates**power if "^" in name else 1 - (1 - rates) ** power))


def usual(counts: Counts, truth: float) -> float:
    """Whether mean ± 1.96 standard errors over problems holds the truth: what Inspect prints."""
    values = counts.c / np.maximum(counts.n, 1)
    return float(abs(values.mean() - truth) <= Z * values.std(ddof=1) / math.sqrt(values.size))


def drawn(rng: np.random.Generator, quick: bool) -> Iterator[Cell]:
    """Problems drawn anew each time; the truth is the population's."""
    for rates in ("uniform", "bimodal 2/98", "one in 7 solved") if quick else SETS:
        population = SETS[rates](rng, (400_000,))
        for problems, samples in ((15, 4),) if quick else ((15, 1), (30, 16), (100, 16), (500, 4)):
            for name in ("accuracy", f"pass@{max(2, samples // 2)}")[: 1 + (samples > 1)]:
                tally, truth = Tally(), truth_of(name, population)
                for _ in range(150 if quick else 400):
                    n = np.full(problems, samples)
                    counts = from_correct(n, rng.binomial(n, SETS[rates](rng, (problems,))))
                    tally.add(interval(name, counts), truth, usual(counts, truth) if name == "accuracy" else math.nan)
                yield tally.cell(name, rates, f"{problems} × {samples}")


def fixed(rng: np.random.Generator, quick: bool) -> Iterator[Cell]:
    """The same problems each time, four sets of them; only the answers are drawn."""
    cells = (
        [(30, 16, (1, 8, 16))]
        if quick
        else [(15, 4, (1, 2, 4)), (30, 16, (1, 8, 16)), (30, 64, (1, 32, 63)), (300, 8, (1, 4, 8))]
    )
    for rates in ("bimodal 2/98", "uniform") if quick else SETS:
        for problems, samples, ks in cells:
            names = ["accuracy" if k == 1 else f"pass@{k}" for k in ks]
            names += [] if quick else [f"pass^{ks[1]}"]
            tallies = {name: Tally() for name in names}
            for chances in SETS[rates](rng, (4, problems)):
                for _ in range(25 if quick else 60):
                    n = np.full(problems, samples)
                    counts = from_correct(n, rng.binomial(n, chances))
                    for name, tally in tallies.items():
                        tally.add(interval(name, counts, population=THESE), truth_of(name, chances))
            for name, tally in tallies.items():
                yield tally.cell(name, rates, f"{problems} × {samples}")


def uneven(rng: np.random.Generator, quick: bool) -> Iterator[Cell]:
    """Responses lost at random or with difficulty, and single samples where problems are hard."""
    patterns: dict[str, Callable[[Floats], Floats]] = {
        "3 in 10 lost": lambda p: rng.binomial(16, 0.7, p.shape),
        "lost with difficulty": lambda p: rng.binomial(16, np.where(p < 0.5, 0.9, 0.99)),
        "one sample if hard": lambda p: np.where(p < 0.6, 1, 16),
        "2 or 64 samples": lambda p: np.where(p < 0.6, 2, 64),
    }
    for pattern, asked in patterns.items():
        names = ["accuracy", *(["pass@16"] if pattern == "lost with difficulty" else [])]
        for rates in ("uniform",) if quick else ("uniform", "bimodal 2/98", "three camps", "hard, some easy"):
            for name in names:
                tally = Tally()
                for chances in SETS[rates](rng, (4, 30)):
                    for _ in range(25 if quick else 60):
                        n = asked(chances)
                        counts = replace(from_correct(n, rng.binomial(n, chances)), asked=(max(16, int(n.max())),) * 30)
                        found = interval(name, counts, population=THESE)
                        if found.problems:
                            tally.add(found, truth_of(name, chances))
                yield tally.cell(f"{name}, {pattern}", rates, "30 × 16")


def picked(rng: np.random.Generator, chances: Floats, samples: int) -> Counts:
    """Runs with answers and scores: wrong answers spread over three, right ones score a little higher."""
    picks, correct = {}, []
    for place, chance in enumerate(chances):
        right = rng.random(samples) < chance
        answers = np.where(right, 0, rng.choice([1, 2, 3], samples, p=[0.6, 0.3, 0.1]))
        picks[str(place)] = Picks(right, answers, {"score": rng.normal(0, 1, samples) + right})
        correct.append(int(right.sum()))
    return replace(from_correct(np.full(chances.size, samples), correct), picks=picks)


def picks(rng: np.random.Generator, quick: bool) -> Iterator[Cell]:
    """maj@k and best-of-k on these problems; the truth is the mean of many runs."""
    for rates in ("uniform",) if quick else ("uniform", "bimodal 2/98", "alike, half", "three camps", "U-shaped"):
        for name, samples in (
            (("maj@4", 8),) if quick else (("maj@4", 8), ("maj@8", 8), ("maj@16", 64), ("best-of-8:score", 16))
        ):
            chances = SETS[rates](rng, (30,))
            runs = [picked(rng, chances, samples) for _ in range(40 if quick else 200)]
            truth = float(np.mean([interval(name, run).estimate for run in runs]))
            tally = Tally()
            for run in runs[: 40 if quick else 120]:
                tally.add(interval(name, run, population=THESE), truth)
            yield tally.cell(name, rates, f"30 × {samples}")


def families(rng: np.random.Generator, quick: bool) -> Iterator[Cell]:
    """Problems in clusters, with the labels given and (last column) the usual interval without."""
    for kind, make in FAMILIES.items():
        truth = float(make(rng, 40_000, 5).mean())
        for count, size in ((10, 10),) if quick else ((4, 15), (6, 10), (10, 10), (20, 5), (50, 4)):
            tally = Tally()
            labels = tuple(np.repeat(np.arange(count), size).astype(str).tolist())
            for _ in range(100 if quick else 300):
                n = np.full(count * size, 8)
                counts = from_correct(n, rng.binomial(n, make(rng, count, size).ravel()))
                tally.add(interval("accuracy", replace(counts, clusters=labels)), truth, usual(counts, truth))
            yield tally.cell("accuracy", kind, f"{count} clusters of {size}")


def differences(rng: np.random.Generator, quick: bool) -> Iterator[Cell]:
    """Two models on the same problems; false alarms are p ≤ 0.05 where the truth is no difference."""
    for rates in ("uniform",) if quick else ("uniform", "bimodal 2/98", "saturated, some hard", "alike, half"):
        for change, shift in CHANGES.items():
            if (change == "equal means, skewed") != (rates == "alike, half") and change == "equal means, skewed":
                continue
            large = SETS[rates](rng, (400_000,))
            truth = (
                0.0 if change in ("same model", "equal means, skewed") else float(np.mean(shift(large, rng) - large))
            )
            for problems, samples in ((30, 16),) if quick else ((15, 1), (30, 1), (30, 16), (30, 64), (200, 4)):
                tally = Tally()
                for _ in range(150 if quick else 1000):
                    first = SETS[rates](rng, (problems,))
                    n = np.full(problems, samples)
                    a, b = from_correct(n, rng.binomial(n, first)), from_correct(n, rng.binomial(n, shift(first, rng)))
                    found = compare("accuracy", a, b)
                    tally.add(found.difference, truth, float(found.p_value <= 0.05) if truth == 0 else math.nan)
                judged = change != "sparse gains"
                yield tally.cell(f"difference, {change}", rates, f"{problems} × {samples}", judged)


def fixed_differences(rng: np.random.Generator, quick: bool) -> Iterator[Cell]:
    """The same on these problems, also with unequal numbers of samples that go with difficulty, and for pass@k."""
    for rates in ("uniform",) if quick else ("uniform", "bimodal 2/98", "three camps", "saturated"):
        for change in ("same model", "all a little better"):
            for name, uneven_samples in (
                (("accuracy", True),) if quick else (("accuracy", False), ("accuracy", True), ("pass@8", False))
            ):
                tally = Tally()
                for chances in SETS[rates](rng, (4, 30)):
                    other = CHANGES[change](chances, rng)
                    truth = truth_of(name, other) - truth_of(name, chances)
                    for _ in range(25 if quick else 50):
                        n_a = np.where(chances < 0.5, 32, 4) if uneven_samples else np.full(30, 16)
                        n_b = np.where(chances < 0.5, 4, 32) if uneven_samples else np.full(30, 16)
                        a, b = (
                            from_correct(n_a, rng.binomial(n_a, chances)),
                            from_correct(n_b, rng.binomial(n_b, other)),
                        )
                        found = compare(name, a, b, population=THESE)
                        alarm = float(found.p_value <= 0.05) if change == "same model" else math.nan
                        tally.add(found.difference, truth, alarm)
                yield tally.cell(f"{name}, {change}", rates, "30 × 4 or 32" if uneven_samples else "30 × 16")


def until(rng: np.random.Generator, quick: bool) -> Iterator[Cell]:
    """Sampling until ± 5 points are known; the last column is the bias of accuracy in points."""
    for rates in (
        ("one in 7 solved",)
        if quick
        else ("uniform", "bimodal 2/98", "saturated, some hard", "one in 7 solved", "alike, half")
    ):
        for problems, width in ((30, 0.05),) if quick else ((15, 0.05), (30, 0.02)):
            tally = Tally()
            for chances in SETS[rates](rng, (60 if quick else 400, problems)):
                rounds: list[Round] = []
                for size in sequential.sizes(64):
                    n = sequential.allocate(rounds, size, problems)
                    rounds.append(Round(size, tuple(n.tolist()), tuple(rng.binomial(n, chances).tolist())))
                    found = sequential.known(rounds)
                    if found.half_width <= width:
                        break
                tally.add(found, float(chances.mean()), 100 * (found.estimate - float(chances.mean())))
            yield tally.cell(f"until ± {100 * width:g}", rates, f"{problems}")


def marker(rng: np.random.Generator, quick: bool) -> Iterator[Cell]:
    """Accuracy corrected by a few judged marks; the last column is the normal, prediction-powered interval."""
    for wrong_yes, wrong_no in ((0.02, 0.05),) if quick else ((0.0, 0.02), (0.01, 0.01), (0.02, 0.05), (0.1, 0.02)):
        for judged in (50,) if quick else (25, 50, 200):
            tally = Tally()
            for _ in range(150 if quick else 500):
                chances = SETS["U-shaped"](rng, (200,))
                right = rng.random((200, 4)) < chances[:, None]
                marked = np.where(right, rng.random(right.shape) >= wrong_no, rng.random(right.shape) < wrong_yes)
                counts = from_correct(np.full(200, 4), marked.sum(axis=1))
                strata, shift, variance = [], 0.0, 0.0
                for said in (True, False):
                    pool = right[marked == said]
                    sample = rng.choice(pool, min(judged, pool.size), replace=False)
                    overturned = int(np.sum(sample != said))
                    strata.append(
                        JudgedStratum(marked_correct=said, marks=pool.size, judged=sample.size, overturned=overturned)
                    )
                    share, rate = pool.size / right.size, overturned / sample.size
                    shift += (-1 if said else 1) * share * rate
                    variance += share**2 * rate * (1 - rate) / sample.size
                found = interval("accuracy", counts)
                truth = 5 / 16  # the mean of sin⁶ over a quarter turn
                values = counts.c / 4
                half = Z * math.sqrt(values.var(ddof=1) / 200 + variance)
                tally.add(corrected(found, strata).accuracy, truth, float(abs(found.estimate + shift - truth) <= half))
            yield tally.cell(f"corrected, {judged} judged each", f"FP {wrong_yes:.0%}, FN {wrong_no:.0%}", "200 × 4")


TABLES = {
    "drawn": ("Problems drawn", "usual", drawn),
    "fixed": ("Exactly these problems", "–", fixed),
    "uneven": ("Exactly these problems, unequal numbers of samples", "–", uneven),
    "picks": ("maj@k and best-of-k, exactly these problems", "–", picks),
    "families": ("Problems in clusters", "usual", families),
    "differences": ("Two models, problems drawn", "false alarms", differences),
    "fixed_differences": ("Two models, exactly these problems", "false alarms", fixed_differences),
    "until": ("Sampling until it is known, exactly these problems", "bias, points × 0.01", until),
    "marker": ("Accuracy corrected for the marker's errors", "prediction-powered", marker),
}


def show(title: str, other: str, cells: Iterator[Cell]) -> list[Cell]:
    """Print cells as they come; give them back."""
    print(
        f"\n## {title}\n\n| | solve rates | problems × samples | runs | coverage, % | width ÷ 1.96 s.e. | {other}, % |"
    )
    print("|---" * 7 + "|")
    kept = []
    for cell in cells:
        kept.append(cell)
        width, last = (
            ("–" if math.isnan(x) else f"{scale * x:.{digits}f}")
            for x, scale, digits in ((cell.width, 1, 2), (cell.other, 100, 1))
        )
        print(
            f"| {cell.what} | {cell.rates} | {cell.size} | {cell.runs} | {100 * cell.coverage:.1f} | {width} | {last} |",
            flush=True,
        )
    judged = [cell.coverage for cell in kept if cell.judged]
    print(
        f"\n{len(kept)} cells: coverage {100 * min(judged):.1f} to {100 * max(judged):.1f} %, {sum(x < 0.93 for x in judged)} below 93 %."
    )
    return kept


def missed(kind: str, cell: Cell) -> bool:
    """Whether a promise is broken beyond simulation error."""
    error = math.sqrt(0.05 * 0.95 / cell.runs)
    alarms = kind in ("differences", "fixed_differences") and cell.other > 0.06 + 3 * error
    return cell.judged and (cell.coverage < 0.92 - 3 * error or alarms)


def main(arguments: list[str] | None = None) -> int:
    """Run it all and say whether the promises hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small part")
    parser.add_argument("--only", choices=TABLES, help="one of the tables")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(arguments)
    started, failed = time.process_time(), []
    for number, (kind, (title, other, simulate)) in enumerate(TABLES.items()):
        if args.only in (None, kind):
            cells = show(title, other, simulate(np.random.default_rng((args.seed, number)), args.quick))
            failed += [cell for cell in cells if missed(kind, cell)]
    print(f"\nSeed {args.seed}, {time.process_time() - started:.0f} CPU-seconds.")
    for cell in failed:
        print(f"missed: {cell}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
