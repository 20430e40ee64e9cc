"""Do the intervals cover? Nominal 95 % against what a simulation finds: `python perf/coverage.py [--quick]`.

Ours and the usual ones, for accuracy, pass@k, differences and sampling until it is known. Prints Markdown tables; fails
if one of ours covers less than 92 %, or the comparison raises false alarms in more than 6 %, beyond simulation error.
"""

import argparse
import math
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from difficulties import POPULATIONS, Part, draw, true_pass

from markscheme.statistics import Round, sequential
from markscheme.statistics.comparison import difference_interval
from markscheme.statistics.intervals import covers
from markscheme.statistics.metrics import estimator, sampling_noise
from markscheme.statistics.permutation import relabel_p, sign_flip_p

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

Z = 1.959964
PEERS = ("binomial", "lm_eval", "Inspect", "Inspect, clustered")


class Cell(NamedTuple):
    """One simulated situation and the coverage of each method, ours first."""

    metric: str
    population: str
    problems: int
    samples: int
    coverage: tuple[float, ...]
    error: float


def usual(metric: str, values: Floats, samples: int) -> list[tuple[Floats, Floats]]:
    """Estimate and half-width of the usual intervals, one row of values per simulated run."""
    problems = values.shape[1]
    mean = values.mean(axis=1)
    # Accuracy takes every sample as an independent item; pass@k exists once per problem.
    items = problems * samples if metric == "accuracy" else problems
    binomial = np.sqrt(mean * (1 - mean) / items)
    if metric == "accuracy":  # of 0/1 scores: sample standard deviation over the root of their number
        per_sample = np.sqrt(mean * (1 - mean) / max(1, items - 1))
    else:
        per_sample = values.std(axis=1, ddof=1) / math.sqrt(problems)
    # stderr() after the mean over epochs; stderr(cluster=problem) on single samples comes to the same when all
    # problems have equally many, with C/(C-1) for the finite number of clusters.
    reduced = values.std(axis=1, ddof=1) / math.sqrt(problems)
    clustered = np.sqrt(np.sum((values - mean[:, None]) ** 2, axis=1) * problems / (problems - 1)) / problems
    return [(mean, Z * error) for error in (binomial, per_sample, reduced, clustered)]


def score_cell(rng: np.random.Generator, name: str, problems: int, samples: int, k: int, runs: int) -> Cell:
    """Coverage of accuracy (k = 1) or pass@k."""
    metric = "accuracy" if k == 1 else f"pass@{k}"
    parts = POPULATIONS[name]
    truth, estimate = true_pass(parts, k), estimator(metric)
    possible = np.arange(samples + 1)
    value = estimate(np.full(samples + 1, samples), possible)
    noise = sampling_noise(estimate, np.full(samples + 1, samples), possible)
    correct = rng.binomial(samples, draw(rng, parts, (runs, problems)))
    # Runs with the same counts in another order have the same interval: with few samples that saves nearly all work.
    distinct, times = np.unique(np.sort(correct, axis=1), axis=0, return_counts=True)
    ours = (
        sum(int(t) * covers(truth, value[row], 0.95, noise[row]) for row, t in zip(distinct, times, strict=True)) / runs
    )
    shares = [float(np.mean(np.abs(mean - truth) <= half)) for mean, half in usual(metric, value[correct], samples)]
    return Cell(metric, name, problems, samples, (ours, *shares), math.sqrt(0.05 * 0.95 / runs))


def scores(rng: np.random.Generator, quick: bool) -> Iterator[Cell]:
    """Every population with every number of problems and samples."""
    runs = 400 if quick else 2000
    for name in ("uniform", "near one", "solved or not", "one in 7 solved") if quick else POPULATIONS:
        for problems in (15, 100) if quick else (15, 30, 100, 500, 1319):
            for samples, k in ((1, 1), (4, 1), (16, 1), (64, 1), (4, 2), (16, 4), (64, 16)):
                yield score_cell(rng, name, problems, samples, k, runs)


def incomplete_cell(rng: np.random.Generator, name: str, problems: int, k: int, runs: int) -> Cell:
    """The same with 16 samples asked of which three in ten were lost, so that problems differ in how many came back."""
    metric = "accuracy" if k == 1 else f"pass@{k}"
    truth, estimate = true_pass(POPULATIONS[name], k), estimator(metric)
    came = rng.binomial(16, 0.7, (runs, problems))
    correct = rng.binomial(came, draw(rng, POPULATIONS[name], (runs, problems)))
    values, noise = estimate(came, correct), sampling_noise(estimate, came, correct)
    defined = ~np.isnan(values)
    held = [covers(truth, v[d], 0.95, w[d]) for v, w, d in zip(values, noise, defined, strict=True)]
    return Cell(metric, name, problems, 16, (float(np.mean(held)),), math.sqrt(0.05 * 0.95 / runs))


def incomplete(rng: np.random.Generator, quick: bool) -> Iterator[Cell]:
    """Runs with missing responses."""
    for name in ("solved or not",) if quick else ("uniform", "mostly not", "solved or not", "one in 7 solved"):
        for problems in (30,) if quick else (15, 30, 100, 500):
            for k in (1, 4):
                yield incomplete_cell(rng, name, problems, k, 200 if quick else 2000)


# How model B's solve rates follow from model A's.
CHANGES = {
    "same model": lambda p, rng: p,
    "all a little better": lambda p, rng: 1 / (1 + (1 - p) / np.maximum(p, 1e-12) * math.exp(-0.8)),
    "some better, some worse": lambda p, rng: (
        1 / (1 + (1 - p) / np.maximum(p, 1e-12) * np.exp(-rng.normal(0.4, 1, p.shape)))
    ),
}


def difference_cell(rng: np.random.Generator, name: str, change: str, problems: int, samples: int, runs: int) -> Cell:
    """Coverage of the paired difference, beside the paired and the unpaired normal interval; false alarms last."""
    shift = CHANGES[change]
    large = draw(rng, POPULATIONS[name], (1_000_000,))
    truth = 0.0 if change == "same model" else float(np.mean(shift(large, rng) - large))
    first = draw(rng, POPULATIONS[name], (runs, problems))
    a, b = rng.binomial(samples, first), rng.binomial(samples, shift(first, rng))
    moved = (b - a) / samples
    held = []
    for c_a, c_b, row in zip(a, b, moved, strict=True):
        noise = (c_a * (samples - c_a) + c_b * (samples - c_b)) / (samples**2 * (samples - 1)) if samples > 1 else None
        found = difference_interval(row, 0.95, noise)
        held.append(found.low <= truth <= found.high)
    paired = Z * moved.std(axis=1, ddof=1) / math.sqrt(problems)
    rates = a / samples, b / samples
    unpaired = Z * np.sqrt(sum(rate.var(axis=1, ddof=1) for rate in rates) / problems)
    off = np.abs(moved.mean(axis=1) - truth)
    alarms = [math.nan, math.nan]
    if change == "same model":
        n = np.full(problems, samples)
        alarms[0] = np.mean([sign_flip_p(row, samples)[0] <= 0.05 for row in moved])
        alarms[1] = np.mean([relabel_p((n, x), (n, y))[0] <= 0.05 for x, y in zip(a, b, strict=True)])
    shares = float(np.mean(held)), float(np.mean(off <= paired)), float(np.mean(off <= unpaired)), *map(float, alarms)
    return Cell(change, name, problems, samples, shares, math.sqrt(0.05 * 0.95 / runs))


def differences(rng: np.random.Generator, quick: bool) -> Iterator[Cell]:
    """Two models on the same problems."""
    for name in ("uniform",) if quick else ("uniform", "mostly not", "near one", "solved or not"):
        for change in CHANGES:
            for problems in (30,) if quick else (15, 30, 100, 500):
                for samples in (1, 16) if quick else (1, 4, 16, 64):
                    yield difference_cell(rng, name, change, problems, samples, 150 if quick else 600)


def alarm_cell(rng: np.random.Generator, name: str, problems: int, samples: int, runs: int) -> Cell:
    """How often two equal models are told apart at 5 %, by signs flipped and by samples dealt anew."""
    rates = draw(rng, POPULATIONS[name], (runs, problems))
    a, b, n = rng.binomial(samples, rates), rng.binomial(samples, rates), np.full(problems, samples)
    flipped = np.mean([sign_flip_p((y - x) / samples, samples)[0] <= 0.05 for x, y in zip(a, b, strict=True)])
    dealt = np.mean([relabel_p((n, x), (n, y))[0] <= 0.05 for x, y in zip(a, b, strict=True)])
    return Cell("same model", name, problems, samples, (float(flipped), float(dealt)), math.sqrt(0.05 * 0.95 / runs))


def alarms(rng: np.random.Generator, quick: bool) -> Iterator[Cell]:
    """The p-values alone where problems are few, with more runs than the differences can afford."""
    for name in ("uniform",) if quick else ("uniform", "mostly not", "near one", "solved or not"):
        for problems in (30,) if quick else (15, 30):
            for samples in (4,) if quick else (1, 4, 16, 64):
                yield alarm_cell(rng, name, problems, samples, 300 if quick else 2000)


def until_cell(rng: np.random.Generator, parts: list[Part], name: str, problems: int, width: float, runs: int) -> Cell:
    """Coverage on stopping at ± width, for these problems; beside pooling all samples with a normal interval."""
    held, pooled_held, spent, reached = [], [], [], []
    schedule = sequential.sizes(64)
    for rates in draw(rng, parts, (runs, problems)):
        truth, rounds, pooled = rates.mean(), [], None
        for number, size in enumerate(schedule, start=1):
            n = sequential.allocate(rounds, size, problems)
            rounds.append(Round(size, tuple(n.tolist()), tuple(rng.binomial(n, rates).tolist())))
            found = sequential.known(rounds)
            all_n, all_c = np.sum([r.n for r in rounds], axis=0), np.sum([r.c for r in rounds], axis=0)
            half = Z * math.sqrt(np.sum(all_c * (all_n - all_c) / (all_n**2 * (all_n - 1)))) / problems
            if pooled is None and (half <= width or number == len(schedule)):
                pooled = abs(np.mean(all_c / all_n) - truth) <= half
            if found.half_width <= width:
                break
        held.append(found.low <= truth <= found.high)
        pooled_held.append(bool(pooled))
        spent.append(sum(r.planned for r in rounds))
        reached.append(found.half_width <= width)
    shares = tuple(float(np.mean(x)) for x in (held, pooled_held, spent, reached))
    return Cell(f"± {100 * width:g}", name, problems, 0, shares, math.sqrt(0.05 * 0.95 / runs))


def untils(rng: np.random.Generator, quick: bool) -> Iterator[Cell]:
    """Sampling until it is known."""
    for name in ("mostly not",) if quick else POPULATIONS:
        for problems, width in ((30, 0.05),) if quick else ((15, 0.05), (30, 0.02), (100, 0.02)):
            yield until_cell(rng, POPULATIONS[name], name, problems, width, 60 if quick else 500)


def percent(share: float) -> str:
    """One decimal, or a dash where there is nothing to say."""
    return "–" if math.isnan(share) else f"{100 * share:.1f}"


def table(title: str, names: tuple[str, ...], cells: Iterator[Cell]) -> list[Cell]:
    """Print cells as they come; give them back."""
    print(f"\n## {title}\n\n| | population | problems | samples | {' | '.join(names)} |")
    print("|---" * (4 + len(names)) + "|")
    kept = []
    for cell in cells:
        kept.append(cell)
        shares = [percent(share) for share in cell.coverage]
        if cell.metric.startswith("±"):
            shares[2] = f"{cell.coverage[2]:.1f}"
        print(
            f"| {cell.metric} | {cell.population} | {cell.problems} | {cell.samples or '–'} | {' | '.join(shares)} |",
            flush=True,
        )
    return kept


def summary(cells: list[Cell]) -> None:
    """How many cells are within 93–97 %, and the extremes."""
    ours = np.array([cell.coverage[0] for cell in cells])
    within = np.mean((ours >= 0.93) & (ours <= 0.97))
    print(
        f"\nOurs: {percent(within)} % of {ours.size} cells within 93–97 %, lowest {percent(ours.min())} %, "
        f"highest {percent(ours.max())} %; {np.sum(ours < 0.93)} below 93 %, {np.sum(ours > 0.97)} above 97 %."
    )


TABLES = {
    "scores": ("Accuracy and pass@k: coverage of nominal 95 % intervals, %", ("ours", *PEERS), scores),
    "incomplete": ("Three responses in ten missing: coverage, %", ("ours",), incomplete),
    "differences": (
        "Differences: coverage, and p ≤ 0.05 for two equal models, %",
        ("ours", "paired normal", "unpaired normal", "false alarms", "… on these problems"),
        differences,
    ),
    "until": (
        "Until it is known, at most 64 samples per problem: coverage on stopping, %",
        ("ours", "pooled normal", "samples per problem", "reached"),
        untils,
    ),
    "alarms": ("Two equal models: p ≤ 0.05, %", ("signs flipped", "samples dealt anew"), alarms),
}


def main(arguments: list[str] | None = None) -> int:
    """Run it all and say whether the promises hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small part, in about 20 seconds")
    parser.add_argument("--only", choices=TABLES, help="one of the tables")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(arguments)
    started, failed = time.process_time(), []
    for number, (kind, (title, names, simulate)) in enumerate(TABLES.items()):
        if args.only in (None, kind):
            cells = table(title, names, simulate(np.random.default_rng((args.seed, number)), args.quick))
            if kind == "alarms":
                failed += [cell for cell in cells if max(cell.coverage) > 0.06 + 3 * cell.error]
                continue
            summary(cells)
            failed += [cell for cell in cells if cell.coverage[0] < 0.92 - 3 * cell.error]
            if kind == "differences":
                failed += [cell for cell in cells if max(cell.coverage[3:]) > 0.06 + 3 * cell.error]
    print(f"\nSeed {args.seed}, {time.process_time() - started:.0f} CPU-seconds.")
    for cell in failed:
        print(f"missed: {cell}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
