"""Coverage beyond single scores: ranks of several models, shares of a verdict, and the power that a plan states."""

from collections.abc import Iterator

import numpy as np
from cells import Cell, Effort, Tally, situation_of
from difficulties import CHANGES, SETS, Floats, truth_of

from markscheme.statistics import Counts, from_correct, interval, plan, rank
from markscheme.statistics.comparison import difference_of
from markscheme.statistics.counts import VERDICTS
from markscheme.statistics.difference import p_value
from markscheme.statistics.variances import BetweenProblems, assumed, difference_between, from_pilot
from markscheme.types import Verdict

THESE, DRAWN = "these problems", "problems drawn"
# How much better each of four models is, in log odds; each model also has luck of its own with every problem.
LADDERS = {"four alike": (0.0, 0.0, 0.0, 0.0), "a ladder": (0.0, 0.4, 0.8, 1.2), "one ahead": (0.0, 0.0, 0.0, 1.0)}


def _models(rng: np.random.Generator, rates: str, steps: tuple[float, ...], shape: tuple[int, ...]) -> Floats:
    base = np.clip(SETS[rates](rng, shape), 1e-6, 1 - 1e-6)
    luck = rng.normal(0, 0.5, (len(steps), *shape)) + np.reshape(steps, (-1, *(1 for _ in shape)))
    return base / (base + (1 - base) * np.exp(-luck))


def ranks(rng: np.random.Generator, effort: Effort) -> Iterator[Cell]:
    """All six differences of four models together; the last column is how often models that are alike are told apart."""
    for rates in ("uniform",) if effort else ("uniform", "bimodal 2/98"):
        for ladder, steps in LADDERS.items():
            for population in (DRAWN, THESE):
                about, tally = situation_of(rates, ladder, population), Tally()
                fixed, whole = _models(rng, rates, steps, (30,)), _models(rng, rates, steps, (200_000,)).mean(axis=1)
                for _ in effort.runs(40, 120, about):
                    chances = fixed if population == THESE else _models(rng, rates, steps, (30,))
                    truth = chances.mean(axis=1) if population == THESE else whole
                    models = {
                        str(at): from_correct(np.full(30, 16), rng.binomial(16, p)) for at, p in enumerate(chances)
                    }
                    pairs = rank("accuracy", models, population=population).pairs
                    apart = [truth[int(each.upper)] - truth[int(each.lower)] for each in pairs]
                    bounds = [(each.difference.low, each.difference.high) for each in pairs]
                    held = all(low <= true <= high for (low, high), true in zip(bounds, apart, strict=True))
                    alarm = any(low > 0 >= true - 0.005 for (low, _), true in zip(bounds, apart, strict=True))
                    error = pairs[0].difference.estimate - apart[0]
                    tally.rows.append((held, float(np.mean([high - low for low, high in bounds])), error, alarm))
                if tally.rows:
                    kind = "these" if population == THESE else "drawn"
                    yield tally.cell(f"accuracy, {ladder}, {kind}", rates, "30 × 16", situation=about)


def verdict_rates(rng: np.random.Generator, effort: Effort) -> Iterator[Cell]:
    """Responses cut off before an answer, three in ten of what would have been wrong, so most on hard problems."""
    for rates in ("uniform",) if effort else ("uniform", "bimodal 2/98", "saturated, some hard"):
        large = 0.3 * (1 - SETS[rates](rng, (400_000,))).mean()
        for population in (DRAWN, THESE):
            about, tally, fixed = situation_of(rates, population), Tally(), SETS[rates](rng, (6, 30))
            for number in effort.runs(60, 200, about):
                chances = fixed[number % 6] if population == THESE else SETS[rates](rng, (30,))
                table = np.zeros((30, len(VERDICTS)), dtype=np.int64)
                right = rng.binomial(16, chances)
                cut = rng.binomial(16 - right, 0.3)
                for verdict, part in zip((Verdict.CORRECT, Verdict.TRUNCATED), (right, cut), strict=True):
                    table[:, VERDICTS.index(verdict)] = part
                table[:, VERDICTS.index(Verdict.WRONG)] = 16 - right - cut
                counts = Counts(tuple(map(str, range(30))), table).of(Verdict.TRUNCATED)
                truth = 0.3 * (1 - chances).mean() if population == THESE else large
                tally.found(interval("accuracy", counts, population=population), truth)
            if tally.rows:
                kind = "these" if population == THESE else "drawn"
                yield tally.cell(f"truncated, {kind}", rates, "30 × 16", situation=about)


def plans(rng: np.random.Generator, effort: Effort) -> Iterator[Cell]:
    """Whether the power lies in the range that a plan states: from two pilots of 40 problems × 4, from one, from none.

    Shown and not judged: two pilots promise 80 %, and without them the range is about models in general. The power itself
    is simulated, and known to about 3 points.
    """
    problems, samples = 30, 8
    for rates in ("uniform",) if effort else ("uniform", "three camps", "U-shaped"):
        for change in ("all a little better", "some better, some worse"):
            tallies = {what: Tally() for what in ("two pilots", "one pilot", "no pilot")}

            def asked(count: int, each: int, rates: str = rates, change: str = change) -> tuple[Counts, Counts]:
                first = SETS[rates](rng, (count,))
                second = CHANGES[change](first, rng)
                a, b = (from_correct(np.full(count, each), rng.binomial(each, p)) for p in (first, second))
                return a, b

            large = SETS[rates](rng, (400_000,))
            detect = abs(truth_of("accuracy", CHANGES[change](large, rng)) - large.mean())
            found = [p_value(difference_of("accuracy", *asked(problems, samples), DRAWN)) for _ in range(300)]
            power = float(np.mean(np.array(found) < 0.05))
            for _ in effort.runs(20, 60, rates, change):
                a, b = asked(40, 4)
                known: dict[str, tuple[object, BetweenProblems | None]] = {
                    "two pilots": (from_pilot(a, b), difference_between(a, b)),
                    "one pilot": (from_pilot(a), None),
                    "no pilot": (assumed(float(large.mean())), None),
                }
                for what, (spread, between) in known.items():
                    made = plan(problems, detect, spread=spread, between=between)
                    row = next(row for row in made.rows if row.samples == samples)
                    tallies[what].add(row.power_low - 0.03, row.power_high + 0.03, row.power, power, power)
            for what, tally in tallies.items():
                if tally.rows:
                    yield tally.cell(f"{what}, {change}", rates, f"{problems} × {samples}", judged=False)
