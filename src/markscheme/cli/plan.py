"""`markscheme plan`: how many samples you need to detect a difference, and their cost."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from markscheme.cli.page import Part, show

if TYPE_CHECKING:
    from markscheme.statistics import Plan
    from markscheme.statistics.variances import AnswerVariance


def run(args: argparse.Namespace) -> int:
    from markscheme.api.reports import plan
    from markscheme.reporting.planning import design_line, design_rows
    from markscheme.statistics.designs import Designs

    options = {name: value for name, value in vars(args).items() if name not in ("run", "json")}
    made = plan(**options).plan
    if isinstance(made, Designs):
        parts = [
            Part("title", design_line(made)),
            Part("text", _variance(made.spread)),
            Part("text", "Designs with this width, fewest requests first:"),
            Part("table", design_rows(made)),
        ]
        show(args, made, parts)
    else:
        show(args, made, _parts(made))
    return 0


def _parts(plan: Plan) -> Iterator[Part]:
    from markscheme.reporting.planning import plan_range, plan_rows

    about = "similar problems" if plan.population == "problems drawn" else "these exact problems"
    several = "" if plan.models == 2 else f" between any two of {plan.models} models (all comparisons hold together)"
    what = "" if plan.metric == "accuracy" else f" in {plan.metric}"
    difference = f"a difference of {100 * plan.detect:g} points{what}{several} on {plan.problems} problems"
    question = f"{difference}, with power {plan.power:g}, about {about}"
    guessed = not plan.pilots and plan.population == "problems drawn"
    if plan.samples is None:
        yield Part("title", f"{'As a guess, no' if guessed else 'No'} number of samples shows {question}.")
        least = f"{100 * plan.limit:.1f} points" if plan.limit < 1 else "no difference"
        yield Part(
            "text",
            f"Unlimited samples would show {least}; {max(16, plan.rows[0].samples)} samples each on "
            f"{plan.problems_needed:,} problems would be enough. --these-problems asks about these problems only.",
        )
    else:
        cost = "" if plan.tokens is None else f" ({plan.tokens:,.0f} tokens for each model)"
        yield Part("title", f"{'As a guess, ' * guessed}{plan.samples} samples per problem{cost} show {question}.")
    yield from (Part("text", line) for line in plan_range(plan))
    low, high = plan.between_range
    differing = (
        f"; of the difference between problems: {plan.between_difference:.3f}, plausible {low:.3f} to {high:.3f}"
    )
    yield Part("text", _variance(plan.spread, plan.metric) + differing)
    yield Part("text", "What n samples per problem can show:")
    yield Part("table", plan_rows(plan))


def _variance(spread: AnswerVariance, metric: str = "accuracy") -> str:
    what = "one answer" if metric == "accuracy" else f"{metric} of a problem"
    parts = f"{spread.within:.3f} by chance, {spread.between:.3f} between problems"
    return f"variance of {what}: {parts} ({spread.source})"
