"""Coverage of the intervals, measured by simulation: `python perf/coverage.py [--quick]`.

Every figure of a report, with solve rates that no interval assumes (`difficulties.py`). Prints Markdown tables; fails if an
interval covers less than 93 %, or if the comparison raises false alarms in more than 6 %, beyond simulation error. A cell
below 94 % is simulated again with four times as many runs, which replace the first. Each width is compared with that of the
narrowest usual interval that covers in the same cell (`others.py`). Sparse gains and responses that are missing because they
are wrong are shown but not judged, as the output reports these limits.
"""

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import marker_coverage
import numpy as np
from cells import DOUBTFUL, Cell, Effort, Others, Tally, situation_of, summed_up
from difficulties import CHANGES, FAMILIES, LOSSES, SETS, picked, picked_truth, truth_of
from others import exact, student, wilson
from plans_and_ranks import plans, ranks, verdict_rates

from markscheme.statistics import (
    Counts,
    Round,
    from_correct,
    interval,
    macro,
    per_problem,
    sequential,
)
from markscheme.statistics.comparison import compare, difference_of

THESE, DRAWN = "these problems", "problems drawn"
NO_CHANGE = ("same model", "equal means, skewed")


def usual(counts: Counts, population: str, name: str = "accuracy") -> Others:
    """What others print: Student's t over problems, Wilson's and the exact interval for as many samples as are worth it."""
    n, c, values = counts.n, counts.c, per_problem(name, counts)
    if population == THESE:
        if name != "accuracy" or n.min() < 2:
            return {}
        error = math.sqrt(float(np.sum(c * (n - c) / (n**2 * (n - 1.0))))) / n.size
    else:
        error = float(values.std(ddof=1)) / math.sqrt(n.size)
    mean, most = float(values.mean()), float(n.sum() if population == THESE else n.size)
    made = {"wilson": wilson(mean, error, most), "exact": exact(mean, error, most)}
    return made | {"t": student(mean, error, n.size - 1)} if error else made


def scores(population: str) -> Callable[[np.random.Generator, Effort], Iterator[Cell]]:
    """A score for problems drawn anew each time, or on six fixed sets of them."""

    def simulate(rng: np.random.Generator, effort: Effort) -> Iterator[Cell]:
        sizes = [(30, 16)] if effort else [(15, 4), (30, 16)] if population == DRAWN else [(15, 4), (30, 16), (30, 64)]
        for rates in ("uniform", "bimodal 2/98", "three camps") if effort else SETS:
            large = SETS[rates](rng, (400_000,))
            for problems, samples in sizes:
                names = ["accuracy", f"pass@{samples // 2}", f"pass@{samples}", f"pass^{samples // 2}"]
                names = names[: 2 if population == DRAWN else 4]
                tallies = {name: Tally() for name in names}
                fixed = SETS[rates](rng, (6, problems))
                about = situation_of(rates, f"{problems} × {samples}")
                for number in effort.runs(60, 150, about):
                    chances = fixed[number % 6] if population == THESE else SETS[rates](rng, (problems,))
                    counts = from_correct(np.full(problems, samples), rng.binomial(samples, chances))
                    for name, tally in tallies.items():
                        truth = truth_of(name, chances if population == THESE else large)
                        tally.found(
                            interval(name, counts, population=population), truth, usual(counts, population, name)
                        )
                for name, tally in tallies.items():
                    if tally.rows:
                        yield tally.cell(name, rates, f"{problems} × {samples}", situation=about)

    return simulate


def missing(rng: np.random.Generator, effort: Effort) -> Iterator[Cell]:
    """Unequal numbers of samples; the last column is how often the bounds hold that are printed for the missing."""
    sets = ("uniform", "bimodal 2/98", "three camps", "hard, some easy", "saturated, some hard")
    for loss, lose in LOSSES.items():
        biased = "wrong ones" in loss
        for population in (THESE,) if effort else (THESE, DRAWN):
            for rates in sets[:1] if effort else sets if population == THESE else sets[1:4:2]:
                large = SETS[rates](rng, (400_000,))
                names = ["accuracy", "pass@16"] if "lost" in loss else ["accuracy"]
                tallies = {name: Tally() for name in names}
                fixed = SETS[rates](rng, (6, 30))
                about = situation_of(loss, population, rates)
                for number in effort.runs(40, 150, about):
                    chances = fixed[number % 6] if population == THESE else SETS[rates](rng, (30,))
                    n, c = lose(rng, chances)
                    counts = from_correct(n, c)
                    for name, tally in tallies.items():
                        truth = truth_of(name, chances if population == THESE else large)
                        made = interval(
                            name, replace(counts, asked=(16,) * 30) if biased else counts, population=population
                        )
                        kept = made.lowest is not None and made.lowest <= truth <= (made.highest or 0.0)
                        if made.problems:  # else it is undefined, and says so
                            others = usual(counts, population) if name == "accuracy" else {}
                            tally.found(made, truth, others, float(kept) if biased else math.nan)
                for name, tally in tallies.items():
                    if tally.rows:
                        kind = "these" if population == THESE else "drawn"
                        yield tally.cell(f"{name}, {loss}, {kind}", rates, "30 × 16", not biased, about)


def picks(rng: np.random.Generator, effort: Effort) -> Iterator[Cell]:
    """maj@k and best-of-k, for both populations."""
    cases = [("maj@4", 8), ("maj@8", 8), ("best-of-8:score", 16)]
    for rates in ("uniform",) if effort else ("uniform", "bimodal 2/98", "three camps", "U-shaped"):
        for name, samples in cases[:1] if effort else cases:
            for population in (THESE, DRAWN):
                tally, fixed = Tally(), SETS[rates](rng, (4, 30))
                whole = picked_truth(name, SETS[rates](rng, (4000,)))
                each = [picked_truth(name, chances) for chances in fixed]
                about = situation_of(name, population, rates)
                for number in effort.runs(40, 100, about):
                    chances = fixed[number % 4] if population == THESE else SETS[rates](rng, (30,))
                    made = interval(name, picked(rng, chances, samples), population=population)
                    tally.found(made, each[number % 4] if population == THESE else whole)
                if tally.rows:
                    kind = "these" if population == THESE else "drawn"
                    yield tally.cell(f"{name}, {kind}", rates, f"30 × {samples}", situation=about)


def families(rng: np.random.Generator, effort: Effort) -> Iterator[Cell]:
    """Problems in clusters, with the labels given; the others are over clusters too."""
    for kind, make in FAMILIES.items():
        truth = float(make(rng, 40_000, 5).mean())
        for count, size in ((10, 10),) if effort else ((6, 10), (10, 10), (20, 5), (50, 4)):
            tally = Tally()
            labels = tuple(np.repeat(np.arange(count), size).astype(str).tolist())
            about = situation_of(kind, count, size)
            for _ in effort.runs(60, 200, about):
                c = rng.binomial(8, make(rng, count, size).ravel())
                counts = replace(from_correct(np.full(count * size, 8), c), clusters=labels)
                means = c.reshape(count, size).mean(axis=1) / 8
                error = float(means.std(ddof=1)) / math.sqrt(count)
                others = {"t": student(float(means.mean()), error, count - 1)}
                tally.found(interval("accuracy", counts), truth, others)
            if tally.rows:
                yield tally.cell("accuracy", kind, f"{count} clusters of {size}", situation=about)


def averages(rng: np.random.Generator, effort: Effort) -> Iterator[Cell]:
    """The macro average of three benchmarks of different size and difficulty."""
    kinds, sizes = ("uniform", "bimodal 2/98", "saturated, some hard"), ((30, 16), (30, 8), (200, 2))
    for population in (DRAWN, THESE):
        tally = Tally()
        fixed = [SETS[kind](rng, (problems,)) for kind, (problems, _) in zip(kinds, sizes, strict=True)]
        large = [float(SETS[kind](rng, (400_000,)).mean()) for kind in kinds]
        for _ in effort.runs(40, 200, population):
            parts = []
            for kind, chances, (problems, samples) in zip(kinds, fixed, sizes, strict=True):
                rates = chances if population == THESE else SETS[kind](rng, (problems,))
                counts = from_correct(np.full(problems, samples), rng.binomial(samples, rates))
                parts.append(interval("accuracy", counts, population=population))
            truths = [float(chances.mean()) for chances in fixed] if population == THESE else large
            tally.found(macro(parts), float(np.mean(truths)))
        if tally.rows:
            kind = "these" if population == THESE else "drawn"
            yield tally.cell(f"macro accuracy, {kind}", "three kinds", "30, 30, 200", situation=population)


def differences(rng: np.random.Generator, effort: Effort) -> Iterator[Cell]:
    """Two models on the same problems; the last column is false alarms, or for sparse gains where it holds or warns."""
    for rates in ("uniform",) if effort else ("uniform", "bimodal 2/98", "saturated, some hard", "alike, one in ten"):
        for change, shift in CHANGES.items():
            start = "alike, half" if change == "equal means, skewed" else rates
            if start != rates and rates != "uniform":
                continue
            large = SETS[start](rng, (400_000,))
            for problems, samples in ((30, 16),) if effort else ((30, 1), (30, 16), (200, 4)):
                several = samples == 16 and not effort and change != "equal means, skewed"  # equal for accuracy alone
                names = ["accuracy", "pass@8"] if several else ["accuracy"]
                tallies = {name: Tally() for name in names}
                changed = large if change in NO_CHANGE else shift(large, rng)
                truths = {name: truth_of(name, changed) - truth_of(name, large) for name in names}
                about = situation_of(change, start, problems, samples)
                for _ in effort.runs(100, 240, about):
                    first = SETS[start](rng, (problems,))
                    a, b = (
                        from_correct(np.full(problems, samples), rng.binomial(samples, chances))
                        for chances in (first, shift(first, rng))
                    )
                    for name, tally in tallies.items():
                        _add_difference(tally, name, a, b, DRAWN, truths[name], change)
                for name, tally in tallies.items():
                    if tally.rows:
                        told = change != "sparse gains"
                        yield tally.cell(f"{name}, {change}", start, f"{problems} × {samples}", told, about)


def _add_difference(tally: Tally, name: str, a: Counts, b: Counts, population: str, truth: float, change: str) -> None:
    made = difference_of(name, a, b, population)
    low, high = made.bounds(0.95)
    other = math.nan
    if change in NO_CHANGE:
        other = float(made.chance_above(0.0) <= 0.025 or made.chance_above(0.0) >= 0.975)
    elif population == DRAWN:
        unseen = compare(name, a, b).unseen
        other = float(unseen is not None and unseen.low <= truth <= unseen.high)
    tally.add(low, high, made.estimate, truth, other)
    moves = per_problem(name, b) - per_problem(name, a)
    error = float(moves.std(ddof=1)) / math.sqrt(moves.size)
    if population == DRAWN and error:
        low, high = student(float(moves.mean()), error, moves.size - 1)
        tally.others.setdefault("t", []).append((low <= truth <= high, high - low))


def fixed_differences(rng: np.random.Generator, effort: Effort) -> Iterator[Cell]:
    """The same on these problems, also with unequal numbers of samples that go with difficulty, and for pass@k."""
    kinds = (("accuracy", True), ("accuracy", False), ("pass@8", False))
    for rates in ("uniform",) if effort else ("uniform", "bimodal 2/98", "three camps", "saturated"):
        for change in ("same model", "all a little better"):
            for name, uneven in kinds[:1] if effort else kinds:
                tally = Tally()
                size = "30 × 4 or 32" if uneven else "30 × 16"
                about, fixed = situation_of(name, change, rates, size), SETS[rates](rng, (5, 30))
                for number in effort.runs(60, 200, about):
                    chances = fixed[number % 5]
                    better = CHANGES[change](chances, rng)
                    many, few = np.where(chances < 0.5, 32, 4), np.where(chances < 0.5, 4, 32)
                    sizes = (many, few) if uneven else (np.full(30, 16),) * 2
                    a, b = (from_correct(n, rng.binomial(n, p)) for n, p in zip(sizes, (chances, better), strict=True))
                    _add_difference(tally, name, a, b, THESE, truth_of(name, better) - truth_of(name, chances), change)
                if tally.rows:
                    yield tally.cell(f"{name}, {change}", rates, size, situation=about)


def until(rng: np.random.Generator, effort: Effort) -> Iterator[Cell]:
    """Sampling until ± 5 points are known: accuracy, and pass@4 of the same rounds; the last column is the bias."""
    sets = ("one in 7 solved", "uniform", "bimodal 2/98", "saturated, some hard", "alike, half")
    for rates in sets[:1] if effort else sets:
        tallies = {"accuracy": Tally(), "pass@4": Tally()}
        fixed = SETS[rates](rng, (8, 30))
        for number in effort.runs(40, 200, rates):
            chances = fixed[number % 8]
            rounds: list[Round] = []
            for size in sequential.sizes(64):
                n = sequential.allocate(rounds, size, 30)
                rounds.append(Round(size, tuple(n.tolist()), tuple(rng.binomial(n, chances).tolist())))
                if sequential.known(rounds).half_width <= 0.05:
                    break
            n, c = (np.sum([getattr(each, part) for each in rounds], axis=0) for part in "nc")
            counts = replace(from_correct(n, c), rounds=tuple(rounds))
            for name, tally in tallies.items():
                made, truth = interval(name, counts, population=THESE), truth_of(name, chances)
                tally.found(made, truth, other=made.estimate - truth)
        for name, tally in tallies.items():
            if tally.rows:
                yield tally.cell(f"{name}, until ± 5", rates, "30", situation=rates)


Simulation = Callable[[np.random.Generator, Effort], Iterator[Cell]]
TABLES: dict[str, tuple[str, str, Simulation]] = {
    "missing": ("Missing responses and unequal numbers of samples", "printed bounds hold", missing),
    "fixed": ("Exactly these problems", "–", scores(THESE)),
    "differences": (
        "Two models, problems drawn",
        "false alarms, or where models differ: it holds or the output warns",
        differences,
    ),
    "fixed_differences": ("Two models, these exact problems", "false alarms", fixed_differences),
    "marker": (
        "Scores corrected for the marker's errors",
        "uncorrected holds",
        lambda rng, quick: marker_coverage.scores(rng, quick, Tally),
    ),
    "marker_differences": (
        "Differences corrected for the marker's errors",
        "uncorrected holds",
        lambda rng, quick: marker_coverage.differences(rng, quick, Tally),
    ),
    "until": ("Sampling until the interval is narrow enough, these exact problems", "bias", until),
    "averages": ("The average over benchmarks", "–", averages),
    "families": ("Problems in clusters", "–", families),
    "rates": ("Shares of a verdict", "–", verdict_rates),
    "ranks": ("Four models: all differences, and so all ranks, at once", "false alarms", ranks),
    "plans": ("The power that a plan states, 80 % range with two pilots", "power", plans),
    "picks": ("maj@k and best-of-k", "–", picks),
    "drawn": ("Problems drawn", "–", scores(DRAWN)),
}


def show(title: str, other: str, cells: Sequence[Cell]) -> None:
    """Print a table and the worst of it."""
    header = ["", "solve rates", "size", "runs", "coverage, %", "width, points", "÷ 1.96 s.e.", "÷ best other"]
    header.append(f"{other}, %")
    print(f"\n## {title}\n\n| {' | '.join(header)} |\n" + "|---" * len(header) + "|")
    for cell in cells:
        numbers = ((cell.width, 1, 2), (cell.ratio, 1, 2), (cell.best, 1, 2), (cell.other, 100, 1))
        shown = ["–" if math.isnan(x) else f"{scale * x:.{digits}f}" for x, scale, digits in numbers]
        words = [cell.what, cell.rates, cell.size, str(cell.runs), f"{100 * cell.coverage:.1f}", *shown]
        print(f"| {' | '.join(words)} |")
    print(f"\n{summed_up(cells)}", flush=True)


def looked_at(simulate: Simulation, seed: tuple[int, int], quick: bool) -> list[Cell]:
    """The cells of a table; doubtful ones from fresh and more runs, which do not know that the first were unlucky."""
    cells = list(simulate(np.random.default_rng(seed), Effort(quick)))
    doubtful = frozenset(each.situation for each in cells if each.judged and each.coverage < DOUBTFUL) - {""}
    if quick or not doubtful:
        return cells
    better = {each[:3]: each for each in simulate(np.random.default_rng((*seed, 1)), Effort(quick, doubtful))}
    return [better.get(each[:3], each) for each in cells]


def missed(kind: str, cell: Cell) -> bool:
    """Whether a promise is broken beyond simulation error."""
    error = math.sqrt(0.05 * 0.95 / cell.runs)
    same = any(word in cell.what for word in NO_CHANGE)
    alarms = kind in ("differences", "fixed_differences") and same and cell.other > 0.06 + 3 * error
    warned = kind == "differences" and cell.other >= 0.93
    return cell.judged and ((cell.coverage < 0.93 - 3 * error and not warned) or alarms)


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
            cells = looked_at(simulate, (args.seed, number), args.quick)
            show(title, other, cells)
            failed += [cell for cell in cells if missed(kind, cell)]
    print(f"\nSeed {args.seed}, {time.process_time() - started:.0f} CPU-seconds.")
    for cell in failed:
        print(f"missed: {cell}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
