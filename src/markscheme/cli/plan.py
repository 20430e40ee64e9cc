"""`markscheme plan`: how many samples you need to detect a difference, and what they cost."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from markscheme.reporting.terminal import console, print_json, print_table

if TYPE_CHECKING:
    from markscheme.statistics import Plan
    from markscheme.statistics.planning import AnswerVariance


def run(args: argparse.Namespace) -> int:
    from markscheme.api.reports import plan
    from markscheme.reporting.planning import design_line, design_rows
    from markscheme.statistics.designs import Designs

    options = {name: value for name, value in vars(args).items() if name not in ("run", "json")}
    made = plan(**options).plan
    if isinstance(made, Designs):
        if args.json:
            print_json(made)
            return 0
        console().print(f"[bold]{design_line(made)}[/]", soft_wrap=True)
        _print_variance(made.spread, "")
        print_table("designs with the same width, fewest requests first", design_rows(made))
    elif args.json:
        print_json(made)
    else:
        _print(made)
    return 0


def _print(plan: Plan) -> None:
    from markscheme.reporting.planning import plan_range, plan_rows

    screen = console()
    about = "problems like these" if plan.population == "problems drawn" else "these problems"
    several = "" if plan.models == 2 else f" between any two of {plan.models} models (all comparisons hold together)"
    what = "" if plan.metric == "accuracy" else f" in {plan.metric}"
    difference = f"a difference of {100 * plan.detect:g} points{what}{several} on {plan.problems} problems"
    question = f"{difference}, with power {plan.power:g}, about {about}"
    guessed = not plan.pilots and plan.population == "problems drawn"
    if plan.samples is None:
        screen.print(
            f"[bold]{'As a guess, no' if guessed else 'No'} number of samples shows {question}.[/]\n"
            f"Unlimited samples would show {f'{100 * plan.limit:.1f} points' if plan.limit < 1 else 'no difference'}; "
            f"{max(16, plan.rows[0].samples)} samples each on {plan.problems_needed:,} problems would do. "
            "--these-problems asks about exactly these problems instead."
        )
    else:
        cost = "" if plan.tokens is None else f" ({plan.tokens:,.0f} tokens for each model)"
        screen.print(f"[bold]{'As a guess, ' * guessed}{plan.samples} samples per problem[/]{cost} show {question}.")
    for line in plan_range(plan):
        screen.print(line, soft_wrap=True)
    _print_variance(
        plan.spread,
        f"; of the difference between problems: {plan.between_difference:.3f}, plausible {plan.between_range[0]:.3f} to "
        f"{plan.between_range[1]:.3f}",
        plan.metric,
    )
    print_table("what n samples per problem can show", plan_rows(plan))


def _print_variance(spread: AnswerVariance, more: str, metric: str = "accuracy") -> None:
    what = "one answer" if metric == "accuracy" else f"{metric} of a problem"
    console().print(
        f"variance of {what}: {spread.within:.3f} by chance, {spread.between:.3f} between problems ({spread.source}){more}",
        style="dim",
    )
