"""Do scores hold that are corrected for the marker's errors? Markers, judges and labels for `coverage.py`.

Labels are drawn as `adjudicate` draws them (strata in turn, small and doubtful ones more densely); errors come in ways that
the correction knows nothing of: on problems altogether, with difficulty, one-sided, shared with a judge.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from difficulties import SETS, Floats

from markscheme.statistics import Interval, from_correct, interval
from markscheme.statistics.comparison import difference_of
from markscheme.statistics.marker_errors import JudgedMarks, corrected

Mask = npt.NDArray[np.bool_]
THESE, DRAWN = "these problems", "problems drawn"
Z = 1.959964


class Marked(NamedTuple):
    """Tables, problem × sample: what is right, what the marker says, and what a second protocol or judge doubts."""

    right: Mask
    said: Mask
    doubtful: Mask


def errs(wrong_yes: float, wrong_no: float, unread: float = 0.0) -> Callable[..., Mask]:
    """Errors at random, and problems of which every answer is taken for wrong."""

    def errors(rng: np.random.Generator, right: Mask, chances: Floats) -> Mask:
        at_random = rng.random(right.shape) < np.where(right, wrong_no, wrong_yes)
        return at_random | (right & (rng.random((len(right), 1)) < unread))

    return errors


def with_difficulty(wrong_yes: float, wrong_no: float) -> Callable[..., Mask]:
    """Errors that become more likely the harder a problem is."""

    def errors(rng: np.random.Generator, right: Mask, chances: Floats) -> Mask:
        return rng.random(right.shape) < np.where(right, wrong_no, wrong_yes) * (1 - chances[:, None])

    return errors


MARKERS: dict[str, Callable[..., Mask]] = {
    "never errs": errs(0, 0),
    "0.2 % each": errs(0.002, 0.002),
    "FP 2 % only": errs(0.02, 0),
    "FN 2 % only": errs(0, 0.02),
    "FP 5 %, FN 5 %": errs(0.05, 0.05),
    "5 % of problems unread": errs(0, 0.005, 0.05),
    "generous on hard ones": with_difficulty(0.2, 0),
    "misses on hard ones": with_difficulty(0, 0.3),
}


def draw(rng: np.random.Generator, kind: str, chances: Floats, samples: int) -> Marked:
    """A run, its marks, and the doubt of a judge that shares seven in ten of the marker's errors and makes its own."""
    right = rng.random((chances.size, samples)) < chances[:, None]
    wrong = MARKERS[kind](rng, right, chances)
    judge = np.where(rng.random(right.shape) < 0.7, wrong, rng.random(right.shape) < 0.05)
    return Marked(right, right ^ wrong, judge != wrong)


def adjudicate(rng: np.random.Generator, run: Marked, labels: int) -> JudgedMarks:
    """So many labels in the order in which people are shown responses; they see what is right."""
    problems, samples = run.right.shape
    said, right, doubtful = run.said.ravel(), run.right.ravel(), run.doubtful.ravel()
    position = np.empty(said.size)
    for correct in (False, True):
        for doubt in (False, True):
            rows = np.flatnonzero((said == correct) & (doubtful == doubt))
            pace = math.sqrt(max(rows.size, 1)) * (1 + doubt)
            position[rng.permutation(rows)] = (np.arange(rows.size) + rng.random()) / pace
    judged = np.zeros(said.size, bool)
    judged[np.argsort(position)[:labels]] = True
    problem = np.repeat(np.arange(problems), samples)
    return JudgedMarks(problem, doubtful.astype(np.int64), said, judged, judged & (said != right))


def powered(run: Marked, marks: JudgedMarks) -> tuple[float, float]:
    """The prediction-powered interval (a normal one) from the same labels, stratum by stratum."""
    cells = 2 * marks.stratum + marks.correct
    shift = variance = 0.0
    for cell in np.unique(cells):
        inside, turned = cells == cell, marks.overturned[(cells == cell) & marks.judged]
        if turned.size:
            share, rate = inside.mean(), turned.mean()
            shift += (1 if cell % 2 == 0 else -1) * share * rate
            variance += share**2 * rate * (1 - rate) / turned.size
    means = run.said.mean(axis=1)
    half = Z * math.sqrt(means.var(ddof=1) / means.size + variance)
    return means.mean() + shift - half, means.mean() + shift + half


def one(name: str, run: Marked, marks: JudgedMarks, population: str) -> tuple[Interval, Interval]:
    """A score as marked and corrected, as a report has it."""
    k = 1 if name == "accuracy" else int(name.removeprefix("pass@"))
    problems, samples = run.said.shape
    plain = interval(name, from_correct(np.full(problems, samples), run.said.sum(axis=1)), population=population)
    return plain, corrected(plain, marks.shift(k, 0.95), spread=marks.spread() if k == 1 else 1.0)


def true_score(name: str, chances: Floats) -> float:
    """By definition."""
    return float(np.mean(1 - (1 - chances) ** (1 if name == "accuracy" else int(name.removeprefix("pass@")))))


def scores(rng: np.random.Generator, quick: bool, tally: Callable[[], Any]) -> Iterator[Any]:
    """Accuracy and pass@4; the last column is how often the uncorrected interval holds."""
    cases = [(30, 4, 25, DRAWN), (30, 4, 50, DRAWN), (30, 4, 100, DRAWN), (100, 4, 50, DRAWN), (100, 4, 50, THESE)]
    for kind in ("generous on hard ones",) if quick else MARKERS:
        for problems, samples, labels, population in cases[1:2] if quick else cases:
            names = ("accuracy", "pass@4")
            tallies = {name: tally() for name in names}
            large, fixed = SETS["uniform"](rng, (400_000,)), SETS["uniform"](rng, (6, problems))
            for number in range(60 if quick else 200):
                chances = fixed[number % 6] if population == THESE else SETS["uniform"](rng, (problems,))
                run = draw(rng, kind, chances, samples)
                marks = adjudicate(rng, run, labels)
                for name in names:
                    truth = true_score(name, chances if population == THESE else large)
                    plain, made = one(name, run, marks, population)
                    others = (
                        {"prediction-powered": powered(run, marks)} if (name, population) == (names[0], DRAWN) else {}
                    )
                    tallies[name].found(made, truth, others, float(plain.low <= truth <= plain.high))
            for name in names:
                about = "these" if population == THESE else "drawn"
                yield tallies[name].cell(f"{name}, {labels} labels, {about}", kind, f"{problems} × {samples}")


def differences(rng: np.random.Generator, quick: bool, tally: Callable[[], Any]) -> Iterator[Any]:
    """Two models with a marker that errs on the second alone; the last column is how often the uncorrected one holds."""
    for kind in (
        ("misses on hard ones",)
        if quick
        else ("never errs", "FN 2 % only", "generous on hard ones", "misses on hard ones")
    ):
        for name in ("accuracy", "pass@4"):
            made_of = tally()
            for _ in range(40 if quick else 150):
                chances = SETS["uniform"](rng, (60,))
                runs = [draw(rng, each, chances, 4) for each in ("0.2 % each", kind)]
                first, second = (adjudicate(rng, run, 50) for run in runs)
                a, b = (from_correct(np.full(60, 4), run.said.sum(axis=1)) for run in runs)
                found = difference_of(name, a, b, DRAWN)
                low, high = found.bounds(0.95)
                plain = Interval(estimate=found.estimate, low=low, high=high, level=0.95, method="paired", problems=60)
                k = 1 if name == "accuracy" else 4
                spread = max(first.spread(), second.spread()) if k == 1 else 1.0
                made = corrected(plain, second.shift(k, 0.95), first.shift(k, 0.95), spread)
                made_of.found(made, 0.0, {}, float(low <= 0 <= high))
            yield made_of.cell(f"difference in {name}, 50 labels each", kind, "60 × 4")


def beside_ppi(rng: np.random.Generator, runs: int = 400) -> Iterator[str]:
    """PPI++ as its authors wrote it (`pip install ppi-python`), on its own ground: one sample a problem, labels at random."""
    from ppi_py import ppi_mean_ci

    for kind in MARKERS:
        for labels in (25, 50, 100):
            held, wide = [], []
            for _ in range(runs):
                run = draw(rng, kind, SETS["uniform"](rng, (300,)), 1)
                judged = np.zeros(300, bool)
                judged[rng.permutation(300)[:labels]] = True
                right, said = run.right.ravel(), run.said.ravel()
                marks = JudgedMarks(np.arange(300), np.zeros(300, int), said, judged, judged & (said != right))
                made = one("accuracy", run, marks, DRAWN)[1]
                truths, guesses, rest = (
                    values.astype(float) for values in (right[judged], said[judged], said[~judged])
                )
                low, high = (float(np.ravel(bound)[0]) for bound in ppi_mean_ci(truths, guesses, rest, alpha=0.05))
                held.append((made.low <= 0.5 <= made.high, low <= 0.5 <= high))
                wide.append((made.high - made.low, high - low))
            cover, width = 100 * np.mean(held, axis=0), 100 * np.mean(wide, axis=0)
            yield f"| {kind} | {labels} | {cover[0]:.1f} | {width[0]:.1f} | {cover[1]:.1f} | {width[1]:.1f} |"


if __name__ == "__main__":
    print("| marker | labels | ours holds, % | width | PPI++ holds, % | width |\n|---|---|---|---|---|---|")
    for line in beside_ppi(np.random.default_rng(1)):
        print(line, flush=True)
