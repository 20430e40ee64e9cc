"""Coverage where samples depend, runs stop early, labels are unsure, gains are sparse: `python perf/designs.py [part …]`.

Solve rates are those of `audit.py` (heavy-tailed 3PL curves) and other shapes that no interval assumes. Each part prints a
Markdown table. All parts together take about twenty minutes on one core; `RUNS=0.2` makes a fifth of the runs.
"""

import os
import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from audit import Floats, Row, curves, truth

from markscheme.statistics import Counts, from_correct, interval
from markscheme.statistics.looking import look, schedule

RUNS = float(os.environ.get("RUNS", "1"))


def times(runs: int) -> range:
    """So many runs, or the part of them that was asked for."""
    return range(max(4, round(RUNS * runs)))


def together(rng: np.random.Generator, p: Floats, requests: int, size: int, alike: float) -> Counts:
    """Samples of one request share a rate drawn around the problem's own; `alike` is their correlation."""
    weight = (1 - alike) / alike
    rates = rng.beta(np.maximum(p * weight, 1e-3), np.maximum((1 - p) * weight, 1e-3), (requests, p.size)).T
    right = rng.binomial(size, rates)
    tables = tuple(from_correct(np.full(requests, size), each).table for each in right)
    return replace(from_correct(np.full(p.size, requests * size), right.sum(axis=1)), requests=tables)


def dependent(rng: np.random.Generator) -> Iterator[Row]:
    """Several samples a request, on exactly these 30 problems: requests as units, and as if samples were independent."""
    yield (
        "metric",
        "requests × samples",
        "correlation",
        "coverage",
        "width",
        "bias",
        "if independent",
        "width",
        "bias",
    )
    for (requests, size), alike in (((4, 4), 0.5), ((8, 2), 0.9), ((2, 8), 0.3), ((16, 4), 0.5), ((4, 4), 0.01)):
        for name in ("accuracy", "pass@4", "pass^2"):
            if name == "pass@4" and requests < 4:
                continue  # about samples as they were asked, and the report says so
            found = []
            for ability in (-1.0, 0.3, 1.5, 3.0):
                for _ in times(5):
                    p = curves(rng, 30, ability)
                    exact = truth(name, p)
                    for _ in times(8):
                        counts = together(rng, p, requests, size, alike)
                        both = (counts, replace(counts, requests=()))
                        made = [interval(name, each, population="these problems") for each in both]
                        found.append([(m.low <= exact <= m.high, m.high - m.low, m.estimate - exact) for m in made])
            rows = np.mean(found, axis=0)
            cells = [(f"{held:.1%}", f"{100 * width:.1f}", f"{100 * bias:+.1f}") for held, width, bias in rows]
            yield (name, f"{requests} × {size}", alike, *cells[0], *cells[1])


def better(p: Floats, gain: float) -> Floats:
    """The same odds ratio on every problem, so that the mean rises by the gain."""
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        risen = p / (p + (1 - p) * np.exp(-middle))
        low, high = (middle, high) if risen.mean() - p.mean() < gain else (low, middle)
    return risen


WORLDS = {
    "3PL": lambda rng, size: curves(rng, size, 0.3),
    "hard 3PL": lambda rng, size: curves(rng, size, -2.5),
    "easy 3PL": lambda rng, size: curves(rng, size, 4.0),
    "two camps": lambda rng, size: np.where(rng.random(size) < 0.5, 0.03, 0.97),
}


def looking(rng: np.random.Generator) -> Iterator[Row]:
    """Asking until better: samples beside the fixed plan (80 % power), power, false alarms if one never stops looking."""
    yield (
        "problems",
        "gain",
        "who is asked on",
        "plan, samples each",
        "samples ÷ plan at the gain",
        "found",
        "samples ÷ plan at no gain",
        "ever called better at no gain",
        "interval held at every look",
    )
    cases = (("3PL", 30, 0.06), ("two camps", 30, 0.03), ("hard 3PL", 60, 0.04), ("easy 3PL", 60, 0.025))
    for (world, problems, gain), both in ((case, both) for case in cases for both in (False, True)):
        found: dict[float, list[tuple[float, ...]]] = {0.0: [], gain: []}
        for true in found:
            for _ in times(150):
                p = WORLDS[world](rng, problems)
                found[true].append(_asked(rng, p, better(p, true), gain, both, never_stops=true == 0))
        at, none = (np.mean(found[true], axis=0) for true in (gain, 0.0))
        held = np.mean([each[4] for true in found for each in found[true]])
        who = "both" if both else "B, against as many of A as planned"
        shown = (f"{at[2]:.0f}", f"{at[0]:.2f}", f"{at[1]:.0%}", f"{none[0]:.2f}", f"{none[3]:.1%}", f"{held:.1%}")
        yield (f"{world}, {problems}", f"{100 * gain:g}", who, *shown)


def _asked(
    rng: np.random.Generator, p: Floats, q: Floats, margin: float, both: bool, never_stops: bool
) -> tuple[float, ...]:
    """One run: samples at the stop beside the plan, found, plan, ever called better, interval held at every look."""
    problems = p.size
    variance = float(np.mean(p * (1 - p)) + np.mean(q * (1 - q))) / problems
    plan = max(2, int(np.ceil(variance * (1.96 + 0.8416) ** 2 / margin**2)))
    most = (4 if both else 2) * plan
    a, b = ((rng.random((problems, most)) < rates[:, None]).cumsum(axis=1) for rates in (p, q))
    stop, ever, held, exact = None, False, True, float(np.mean(q - p))
    for n in schedule(2, most):
        of_a = n if both else plan
        one, two = (from_correct(np.full(problems, m), each[:, m - 1]) for m, each in ((of_a, a), (n, b)))
        made = look(one, two, margin, 2, both)
        ever |= made.outcome == "better"
        held &= made.difference.low <= exact <= made.difference.high
        if stop is None and made.outcome != "open":
            stop = (n / plan, made.outcome == "better")
        if stop is not None and not (never_stops and n < 2 * plan):
            break
    return (*(stop or (most / plan, False)), plan, ever, held)


PARTS = {"dependent": dependent, "looking": looking}


def main(names: list[str]) -> None:
    """Print the parts that were asked for, or all."""
    for name in names or PARTS:
        print(f"\n## {name}: {(PARTS[name].__doc__ or '').splitlines()[0]}\n")
        for number, row in enumerate(PARTS[name](np.random.default_rng(31))):
            print(f"| {' | '.join(map(str, row))} |", flush=True)
            if number == 0:
                print(f"|{' --- |' * len(row)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
