"""The cheapest design for one score: fewer samples per problem before fewer problems.

The score is the mean solve rate over all N problems of a benchmark. With n samples on m random problems its variance is
(1/m - 1/N) B + W/(n m): a new problem reduces both terms, a second sample of the same one only the second.
"""

from __future__ import annotations

import math

import msgspec

from markscheme.errors import UsageError
from markscheme.statistics import quantiles
from markscheme.statistics.variances import AnswerVariance

SAMPLES = (1, 2, 4, 8, 16)


class Design(msgspec.Struct, frozen=True):
    """A number of samples on a number of problems."""

    samples: int
    problems: int
    half_width: float  # approximate, of the score on the whole benchmark
    requests: int
    tokens: float | None = None


class Designs(msgspec.Struct, frozen=True, kw_only=True):
    """Designs that reach a half-width, cheapest first."""

    whole: int  # problems of the benchmark
    half_width: float
    level: float
    spread: AnswerVariance
    designs: tuple[Design, ...]


def designs(
    whole: int, half_width: float, spread: AnswerVariance, level: float = 0.95, tokens_per_response: float | None = None
) -> Designs:
    """Return, for each number of samples, the fewest problems that reach a half-width."""
    if whole < 2 or not 0 < half_width < 0.5 or not 0 < level < 1:
        raise UsageError(
            "a design needs at least 2 problems, a half-width below 50 points, and a level between 0 and 1"
        )
    z = quantiles.normal((1 + level) / 2)
    allowed = (half_width / z) ** 2
    least = math.ceil(spread.within / (whole * allowed) - 1e-9)  # needed even with all problems
    found = []
    for n in sorted({max(1, least), *(n for n in SAMPLES if n >= least)}):
        needed = (spread.between + spread.within / n) / (allowed + spread.between / whole)
        m = min(whole, max(2, math.ceil(needed - 1e-9)))
        reached = z * math.sqrt(max(0.0, (1 / m - 1 / whole) * spread.between) + spread.within / (n * m))
        tokens = None if tokens_per_response is None else n * m * tokens_per_response
        found.append(Design(n, m, reached, n * m, tokens))
    ways = tuple(sorted(found, key=lambda each: (each.requests, each.samples)))
    return Designs(whole=whole, half_width=half_width, level=level, spread=spread, designs=ways)
