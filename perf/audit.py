"""An audit of the intervals by generators unlike their own model: `python perf/audit.py [part …]`.

Difficulty is a three-parameter logistic curve with heavy tails, so solve rates are no beta and no two camps. Each part
prints a Markdown table with coverage, mean width and bias; together they take about two minutes.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import numpy.typing as npt
from others import student, wilson
from scipy import special

from markscheme.statistics import compare, from_correct, interval

Floats = npt.NDArray[np.float64]
Row = tuple[object, ...]


def curves(rng: np.random.Generator, problems: int, ability: float) -> Floats:
    """Solve rates by a 3PL curve: heavy-tailed difficulty, unequal slopes, and a chance to guess on some problems."""
    difficulty = rng.standard_t(2, problems) * 1.5
    guess = np.where(rng.random(problems) < 0.2, 0.15, 0.0)
    return guess + (1 - guess) * special.expit(rng.lognormal(0, 0.6, problems) * (ability - difficulty))


def truth(name: str, p: Floats) -> float:
    """The mean of a metric over these solve rates."""
    kind, _, k = name.partition("@") if "@" in name else name.partition("^")
    power = int(k or 1)
    return float(np.mean(1 - (1 - p) ** power if kind == "pass" and "@" in name else p**power))


def impossible(rng: np.random.Generator) -> Iterator[Row]:
    """Random tables with every pattern of missing: how often a figure lies outside what its own footnote allows."""
    yield ("metric", "tables", "estimate outside [if wrong, if right]", "interval outside the bounds")
    for name in ("accuracy", "pass@8", "pass@4", "pass^8", "pass^4", "g-pass@8:0.5"):
        tables = outside = wider = 0
        for _ in range(100):
            problems = int(rng.integers(2, 25))
            n = np.minimum(8, rng.integers(0, 9, problems) + rng.integers(0, 9))
            counts = replace(from_correct(n, rng.binomial(n, rng.beta(0.4, 0.4, problems))), asked=(8,) * problems)
            made = interval(name, counts)
            if made.if_wrong is None or made.if_right is None or not made.problems:
                continue
            assert made.lowest is not None
            assert made.highest is not None
            tables += 1
            outside += not made.if_wrong - 1e-12 <= made.estimate <= made.if_right + 1e-12
            wider += made.low < made.lowest - 1e-12 or made.high > made.highest + 1e-12
        yield (name, tables, outside, wider)


def lost(rng: np.random.Generator) -> Iterator[Row]:
    """Responses that go missing more often on hard problems: bias and coverage on these exact problems and drawn ones."""
    yield ("metric", "lost if hard", "population", "bias", "coverage", "width", "undefined")
    for name, asked, share in (("pass@8", 16, 0.6), ("pass@8", 8, 0.3), ("pass^4", 8, 0.6), ("pass@4", 4, 0.2)):
        large = truth(name, curves(rng, 400_000, 0.3))
        for population in ("these problems", "problems drawn"):
            found = []
            undefined = 0
            for _ in range(60):
                p = curves(rng, 60, 0.3)
                n = rng.binomial(asked, np.where(p < 0.4, 1 - share, 0.97))
                counts = replace(from_correct(n, rng.binomial(n, p)), asked=(asked,) * 60)
                made = interval(name, counts, population=population)
                if not made.problems:
                    undefined += 1
                    continue
                exact = truth(name, p)
                aim = exact if population == "these problems" else large
                found.append((made.estimate - exact, made.low <= aim <= made.high, made.high - made.low))
            bias, held, width = np.mean(found, axis=0)
            what = f"{share:.0%} of {asked}"
            yield (name, what, population, f"{100 * bias:+.1f}", f"{held:.1%}", f"{100 * width:.1f}", undefined)


def few_samples(rng: np.random.Generator) -> Iterator[Row]:
    """Exactly these problems with few samples each: coverage and width beside Wilson's and problems drawn."""
    yield ("metric", "problems × samples", "ability", "coverage", "lowest set", "width", "drawn", "Wilson", "it covers")
    cases = (("accuracy", 15, 1), ("accuracy", 60, 1), ("accuracy", 15, 2), ("pass@16", 30, 16))
    for (name, problems, samples), ability in product(cases, (-2.0, 0.3, 3.0)):
        found = []
        for _ in range(4):  # sets of problems, each asked again and again
            p = curves(rng, problems, ability)
            exact, held = truth(name, p), []
            for _ in range(25):
                counts = from_correct(np.full(problems, samples), rng.binomial(samples, p))
                made, drawn = (interval(name, counts, population=of) for of in ("these problems", "problems drawn"))
                low, high = wilson(made.estimate, 0.0, problems * samples if name == "accuracy" else problems)
                other = (drawn.high - drawn.low, high - low, low <= exact <= high)
                held.append((made.low <= exact <= made.high, made.high - made.low, *other))
            found.append(np.mean(held, axis=0))
        covered, width, drawn_width, wilson_width, wilson_covers = np.mean(found, axis=0)
        widths = (f"{100 * each:.1f}" for each in (width, drawn_width, wilson_width))
        lowest = f"{min(each[0] for each in found):.1%}"
        yield (name, f"{problems} × {samples}", ability, f"{covered:.1%}", lowest, *widths, f"{wilson_covers:.1%}")


def few_compared(rng: np.random.Generator) -> Iterator[Row]:
    """Two models on these exact problems: coverage, width beside Student's paired t, false alarms, power for ten points."""
    yield (
        "problems × samples",
        "coverage",
        "width",
        "paired t",
        "it covers",
        "false alarms",
        "alarms at a real change",
    )
    for problems, samples in ((30, 1), (100, 1), (30, 8)):
        found = []
        for _ in range(80):
            p = curves(rng, problems, 0.3)
            better = np.clip(p + rng.choice([0.0, 0.3], problems, p=[0.6, 0.4]), 0, 1)
            a, same, b = (from_correct(np.full(problems, samples), rng.binomial(samples, of)) for of in (p, p, better))
            null, made = (compare("accuracy", a, of, population="these problems") for of in (same, b))
            change = b.c / samples - a.c / samples
            low, high = student(float(change.mean()), float(change.std(ddof=1)) / problems**0.5, problems - 1)
            exact, wide = float(np.mean(better - p)), made.difference
            held = wide.low <= exact <= wide.high
            alarms = (null.p_value < 0.05, made.p_value < 0.05)
            found.append((held, wide.high - wide.low, high - low, low <= exact <= high, *alarms))
        covered, width, t_width, t_covers, false, real = np.mean(found, axis=0)
        shown = (f"{covered:.1%}", f"{100 * width:.1f}", f"{100 * t_width:.1f}", f"{t_covers:.1%}")
        yield (f"{problems} × {samples}", *shown, f"{false:.1%}", f"{real:.1%}")


PARTS: dict[str, Callable[[np.random.Generator], Iterator[Row]]] = {
    "impossible": impossible,
    "lost": lost,
    "few-samples": few_samples,
    "few-compared": few_compared,
}


def main(names: list[str]) -> None:
    """Print the parts that were asked for, or all."""
    for name in names or PARTS:
        header, *rows = PARTS[name](np.random.default_rng(20))
        print(f"\n## {name}: {(PARTS[name].__doc__ or '').splitlines()[0]}\n")
        for row in (header, ["---"] * len(header), *rows):
            print(f"| {' | '.join(map(str, row))} |")


if __name__ == "__main__":
    main(sys.argv[1:])
