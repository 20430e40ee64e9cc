"""Errors over whole experiments, of gates, and of pass@k with few requests: `python perf/families.py [part …]`.

Runs are counts only, no folders. Solve rates are those of `difficulties.py` and `audit.py`, which no interval assumes.
Each part prints a Markdown table. `RUNS=0.2` makes a fifth of the runs.
"""

import os
import sys
from collections.abc import Iterator
from unittest.mock import patch

import numpy as np
from audit import Floats, Row, curves, truth
from designs import times, together
from difficulties import SETS

from markscheme.statistics import Counts, Interval, Population, from_correct, interval, ranking
from markscheme.statistics.comparison import as_interval, difference_of
from markscheme.statistics.gate import caught, decide

THESE: Population = "these problems"
DRAWN: Population = "problems drawn"
BENCHMARKS = {"uniform": 30, "bimodal 2/98": 60, "three camps": 15, "hard, some easy": 100}


def percent(count: int, runs: int) -> str:
    return f"{100 * count / runs:.1f} %"


def shifted(p: Floats, by: Floats | float) -> Floats:
    """Move rates by log odds."""
    odds = p * np.exp(by)
    return odds / (odds + 1 - p)


def _models(rng: np.random.Generator, p: Floats, number: int, gain: float, population: Population) -> Floats:
    """Rates of models, the last one better by `gain`; on similar problems the others are equal only on average."""
    by = np.zeros((number, p.size)) if population == THESE else rng.normal(0, 0.7, (number, p.size))
    by[-1] += gain
    return shifted(p, by)


def _score(_: str, counts: Counts, level: float, population: Population) -> Interval:
    share = float(np.mean(counts.c / counts.n))
    return Interval(estimate=share, low=0.0, high=1.0, level=level, method="none", problems=counts.n.size)


def drawn(rng: np.random.Generator) -> Iterator[Row]:
    """False claims of `compare FOLDER` about similar problems."""
    return _family(rng, [(3, 1, DRAWN, 0.0), (3, 8, DRAWN, 0.0), (3, 8, DRAWN, 0.6), (6, 4, DRAWN, 0.0)])


def these(rng: np.random.Generator) -> Iterator[Row]:
    """False claims of `compare FOLDER --these-problems`."""
    return _family(rng, [(3, 1, THESE, 0.0), (3, 8, THESE, 0.0), (3, 8, THESE, 0.6)])


def _family(rng: np.random.Generator, cells: list[tuple[int, int, Population, float]]) -> Iterator[Row]:
    """Every pair of models on every benchmark and on average is judged jointly."""
    yield (
        "population",
        "models × benchmarks",
        "samples",
        "models",
        "comparisons",
        "runs",
        "any false claim",
        "any interval misses",
    )
    for number, samples, population, gain in cells:
        shapes = dict(list(BENCHMARKS.items())[: 2 if population == THESE else 4])
        runs = times(250 if population == THESE else 1000)
        # On similar problems the truth is the mean over endless ones.
        whole = [
            _models(rng, SETS[name](rng, (200_000,)), number, gain, population).mean(axis=1) * [gain > 0]
            for name in shapes
        ]
        claims = misses = 0
        for _ in runs:
            rates = [_models(rng, SETS[name](rng, (size,)), number, gain, population) for name, size in shapes.items()]
            true = [each.mean(axis=1) for each in rates] if population == THESE else list(whole)
            true.append(np.mean(true, axis=0))
            tables = [
                {str(at): from_correct(np.full(p.size, samples), rng.binomial(samples, p)) for at, p in enumerate(each)}
                for each in rates
            ]
            # On similar problems the scores' own intervals do not enter, and take most of the time.
            with patch.object(ranking, "interval", interval if population == THESE else _score):
                ranked = ranking.rank_over("accuracy", tables, population=population)
            apart = [
                (pair, means[int(pair.upper)] - means[int(pair.lower)])
                for each, means in zip(ranked, true, strict=True)
                for pair in each.pairs
            ]
            claims += any(pair.p_value <= 0.05 and gap <= 1e-9 for pair, gap in apart)
            misses += any(not pair.difference.low - 1e-9 <= gap <= pair.difference.high + 1e-9 for pair, gap in apart)
        kind = "last one better" if gain else "all alike"
        done = percent(claims, len(runs)), percent(misses, len(runs))
        yield population, f"{number} × {len(shapes)}", samples, kind, ranked[0].comparisons, len(runs), *done


def _at(p: Floats, mean: float) -> Floats:
    """Shift rates by one number of log odds until their mean is this."""
    low, high = -15.0, 15.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if shifted(p, middle).mean() < mean else (low, middle)
    return shifted(p, low)


def _asked(rng: np.random.Generator, p: Floats, samples: int) -> Counts:
    return from_correct(np.full(p.size, samples), rng.binomial(samples, p))


def _found(rng: np.random.Generator, kind: str, base: Floats, p: Floats, samples: int) -> Interval:
    run = _asked(rng, p, samples)
    if kind == "score":
        return interval("accuracy", run, population=THESE)
    return as_interval(difference_of("accuracy", _asked(rng, base, samples), run, THESE), 0.95, p.size)


def gates(rng: np.random.Generator) -> Iterator[Row]:
    """Limits on a score and on a loss, on these problems: decisions exactly at the limit, and at the stated power."""
    yield (
        "limit",
        "problems × samples",
        "runs",
        "fails at the limit",
        "passes at the limit",
        "stated to catch, median",
        "fails there",
    )
    for kind in ("score", "loss"):
        for problems, samples in ((30, 4), (30, 16), (100, 4), (200, 1)):
            base = curves(rng, problems, 0.5)
            limit = float(base.mean()) if kind == "score" else -0.03

            there = base if kind == "score" else _at(base, float(base.mean()) + limit)
            runs = times(500)
            decisions, stated = [], []
            for _ in runs:
                each = _found(rng, kind, base, there, samples)
                decisions.append(decide(each, limit, at_least=True))
                stated.append(caught(each, limit, at_least=True))
            middle = float(np.median(stated))
            worse = _at(base, middle + (0.0 if kind == "score" else float(base.mean())))
            failed = sum(decide(_found(rng, kind, base, worse, samples), limit, at_least=True) == "fail" for _ in runs)
            rates = (percent(decisions.count(each), len(runs)) for each in ("fail", "pass"))
            yield kind, f"{problems} × {samples}", len(runs), *rates, f"{100 * middle:+.1f}", percent(failed, len(runs))


def requests(rng: np.random.Generator) -> Iterator[Row]:
    """pass@k with fewer requests than k: what covers, about samples as they were requested."""
    yield "metric", "requests × samples", "correlation", "runs", "coverage", "width", "bias"
    for name, asked, size, alike in (
        ("pass@4", 2, 4, 0.1),
        ("pass@4", 2, 4, 0.5),
        ("pass@4", 2, 4, 0.9),
        ("pass@4", 1, 8, 0.5),
        ("pass@8", 4, 4, 0.5),
        ("pass@8", 2, 8, 0.3),
        ("pass^4", 2, 4, 0.5),
    ):
        p, runs = curves(rng, 30, 0.0), times(200)
        # The mean over many runs is the truth about samples as they were requested.
        inside = [interval(name, together(rng, p, asked, size, alike), population=THESE) for _ in runs]
        estimates = np.array([each.estimate for each in inside])
        many = float(estimates.mean())
        held = sum(each.low <= many <= each.high for each in inside)
        width = 100 * float(np.mean([each.high - each.low for each in inside]))
        bias = 100 * (many - truth(name, p))
        yield name, f"{asked} × {size}", alike, len(runs), percent(held, len(runs)), f"{width:.1f}", f"{bias:+.1f}"


PARTS = {"drawn": drawn, "gates": gates, "requests": requests, "these": these}


def main(names: list[str]) -> None:
    """Print a Markdown table per part."""
    for name in names or PARTS:
        rows = PARTS[name](np.random.default_rng(int(os.environ.get("SEED", "1"))))
        head = next(rows)
        print(f"\n## {name}\n\n| {' | '.join(map(str, head))} |\n|{'---|' * len(head)}", flush=True)
        for row in rows:
            print(f"| {' | '.join(map(str, row))} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
