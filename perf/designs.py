"""Coverage where samples depend, runs stop early, labels are unsure, gains are sparse: `python perf/designs.py [part …]`.

Solve rates are those of `audit.py` (heavy-tailed 3PL curves) and other shapes that no interval assumes. Each part prints a
Markdown table. All parts together take about twenty minutes on one core; `RUNS=0.2` makes a fifth of the runs.
"""

import os
import random
import sys
from collections.abc import Iterator
from dataclasses import replace

import marker_coverage
import numpy as np
from audit import Floats, Row, curves, truth
from difficulties import CHANGES, SETS
from scipy import special

from markscheme.benchmarks.benchmark import _from_each
from markscheme.statistics import Counts, compare, from_correct, interval
from markscheme.statistics.looking import look, schedule
from markscheme.statistics.marker_errors import corrected
from markscheme.statistics.repeats import difference_over_runs, over_runs

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
    """Several samples a request, on these exact 30 problems: requests as units, and as if samples were independent."""
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


def sparse(rng: np.random.Generator) -> Iterator[Row]:
    """One problem in twenty jumps by 80 points: the interval that allows for kinds not seen, and its price at no change."""
    yield (
        "rates",
        "problems × samples",
        "interval holds",
        "… for unseen kinds",
        "its width ÷ the interval's, no change",
    )
    for rates in ("uniform", "bimodal 2/98", "three camps", "hard, some easy", "U-shaped"):
        large = SETS[rates](rng, (400_000,))
        gain = float(np.mean(CHANGES["sparse gains"](large, rng) - large))
        for problems, samples in ((15, 16), (30, 16), (100, 16), (100, 64)):
            found = []
            for _ in times(100):
                p = SETS[rates](rng, (problems,))
                a, same, b = (
                    from_correct(np.full(problems, samples), rng.binomial(samples, chances))
                    for chances in (p, p, CHANGES["sparse gains"](p, rng))
                )
                made, null = compare("accuracy", a, b), compare("accuracy", a, same)
                assert made.unseen is not None
                assert null.unseen is not None
                held = [each.low <= gain <= each.high for each in (made.difference, made.unseen)]
                found.append((*held, null.unseen.half_width / null.difference.half_width))
            plain, unseen, price = np.mean(found, axis=0)
            yield (rates, f"{problems} × {samples}", f"{plain:.1%}", f"{unseen:.1%}", f"{price:.2f}")


def unsure(rng: np.random.Generator) -> Iterator[Row]:
    """Half of the marker's errors look unsure to people, and some other answers: bounds, and as if not judged (300 × 8)."""
    yield ("marker", "labels", "others unsure", "coverage", "width", "if unsure were not judged", "width", "unsure")
    for kind in ("FP 5 %, FN 5 %", "FP 2 % only", "misses on hard ones"):
        for labels, besides in ((300, 0.0), (300, 0.05), (100, 0.0)):
            found = []
            for _ in times(100):
                p = curves(rng, 300, 0.3)
                run = marker_coverage.draw(rng, kind, p, 8)
                judged = marker_coverage.adjudicate(rng, run, labels)
                error = (run.said != run.right).ravel()
                puzzling = judged.judged & (rng.random(error.size) < np.where(error, 0.5, besides))
                left = replace(
                    judged, judged=judged.judged & ~puzzling, overturned=judged.overturned & ~puzzling, unsure=puzzling
                )
                counts = from_correct(np.full(300, 8), run.said.sum(axis=1))
                marked, exact = interval("accuracy", counts, population="these problems"), float(p.mean())
                row = []
                for marks in (left, replace(left, unsure=None)):
                    made = corrected(marked, marks.shift(1, 0.95), spread=marks.spread())
                    row += [made.low <= exact <= made.high, made.high - made.low]
                found.append((*row, puzzling.sum() / labels))
            held, width, other, other_width, share = np.mean(found, axis=0)
            widths = (f"{100 * width:.1f}", f"{other:.1%}", f"{100 * other_width:.1f}")
            yield (kind, labels, f"{besides:.0%}", f"{held:.1%}", *widths, f"{share:.0%}")


def repeats(rng: np.random.Generator) -> Iterator[Row]:
    """Runs that differ (heavy-tailed shifts of the log-odds, 60 problems): a setting's score, and two equal settings."""
    yield ("runs × samples", "shift", "score, drawn", "score, these", "difference, drawn", "difference, these", "width")
    for runs, samples, shift in ((3, 1, 0.0), (3, 1, 0.3), (5, 4, 0.3), (3, 4, 1.0), (2, 4, 0.3)):
        shifts = shift * rng.standard_t(4, 400) / 2**0.5
        large, fixed = curves(rng, 20_000, 0.3), curves(rng, 60, 0.3)
        whole, these = (float(np.mean([_shifted(p, each).mean() for each in shifts])) for p in (large, fixed))

        def setting(p: Floats, shifts: Floats = shifts, runs: int = runs, samples: int = samples) -> list[Counts]:
            drawn = rng.choice(shifts, runs)
            return [from_correct(np.full(60, samples), rng.binomial(samples, _shifted(p, each))) for each in drawn]

        found = []
        for _ in times(250):
            p = curves(rng, 60, 0.3)
            score = over_runs("accuracy", setting(p)).score
            on_these = over_runs("accuracy", setting(fixed), population="these problems").score
            drawn = difference_over_runs("accuracy", setting(p), setting(p)).bounds(0.95)
            both = difference_over_runs("accuracy", setting(fixed), setting(fixed), "these problems").bounds(0.95)
            held = (score.low <= whole <= score.high, on_these.low <= these <= on_these.high)
            found.append((*held, drawn[0] <= 0 <= drawn[1], both[0] <= 0 <= both[1], score.high - score.low))
        *held, width = np.mean(found, axis=0)
        yield (f"{runs} × {samples}", shift, *(f"{each:.1%}" for each in held), f"{100 * width:.1f}")


def _shifted(p: Floats, shift: float) -> Floats:
    return p / (p + (1 - p) * np.exp(-shift))


def whole(rng: np.random.Generator) -> Iterator[Row]:
    """A random part for the whole benchmark, plain and stratified by three stored runs of other models."""
    yield ("part", "samples", "plain", "width", "stratified", "width")
    for size, part, samples, ability in (
        (1319, 400, 1, 2.5),
        (1319, 400, 4, 2.5),
        (500, 150, 1, 0.3),
        (134, 60, 4, -1.0),
    ):
        found = []
        for _ in times(200):
            difficulty, slope = rng.standard_t(2, size) * 1.5, rng.lognormal(0, 0.6, size)
            others = [special.expit(slope * (ability + rng.normal(0, 1) - difficulty)) for _ in range(3)]
            rate = np.mean([rng.random(size) < each for each in others], axis=0)
            strata = np.digitize(rate, [0.01, 0.34, 0.67, 0.99]).astype(str)
            right = rng.binomial(samples, special.expit(slope * (ability - difficulty)))
            exact, luck = float(right.mean()) / samples, random.Random(int(rng.integers(2**31)))
            row: list[float] = []
            for drawn in (luck.sample(range(size), part), _from_each(strata.tolist(), part, luck)):
                counts = replace(from_correct(np.full(part, samples), right[drawn]), whole=size)
                if row:
                    sizes = {label: int((strata == label).sum()) for label in np.unique(strata).tolist()}
                    counts = replace(counts, strata=tuple(strata[drawn].tolist()), strata_sizes=sizes)
                made = interval("accuracy", counts, population="the whole benchmark")
                row += [made.low <= exact <= made.high, made.high - made.low]
            found.append(row)
        plain, width, parts, parts_width = np.mean(found, axis=0)
        widths = (f"{plain:.1%}", f"{100 * width:.1f}", f"{parts:.1%}", f"{100 * parts_width:.1f}")
        yield (f"{part} of {size:,}", samples, *widths)


PARTS = {
    "dependent": dependent,
    "looking": looking,
    "sparse": sparse,
    "unsure": unsure,
    "repeats": repeats,
    "whole": whole,
}


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
