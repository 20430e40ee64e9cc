"""`markscheme plan`: how many samples a difference needs, whether any number suffices, and what it costs in tokens."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from markscheme.reporting.terminal import console, print_json, print_table

if TYPE_CHECKING:
    from markscheme.statistics import Plan
    from markscheme.statistics.planning import AnswerVariance


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-b", "--benchmark", metavar="NAME", help="its number of problems is used")
    parser.add_argument("--problems", type=int, metavar="N", help="so many problems, whatever the benchmark")
    parser.add_argument("--detect", type=float, metavar="POINTS", help="difference to be found, in points")
    parser.add_argument(
        "--half-width",
        type=float,
        metavar="POINTS",
        help="instead: one score on the whole benchmark to ± so many points, for the fewest requests",
    )
    parser.add_argument(
        "--metric", default="accuracy", metavar="NAME", help="accuracy (default), pass@K, pass^K, g-pass@K:TAU"
    )
    parser.add_argument(
        "--models", type=int, default=2, metavar="N", help="so many models, every pair compared (default: 2)"
    )
    parser.add_argument("--power", type=float, default=0.8, metavar="SHARE", help="chance to find it (default: 0.8)")
    parser.add_argument("--level", type=float, default=0.95, metavar="SHARE", help="of the test (default: 0.95)")
    parser.add_argument(
        "--pilot",
        action="append",
        default=[],
        metavar="RUN",
        help="a run to learn the variance and tokens from; name two models' to learn how their difference varies too",
    )
    parser.add_argument(
        "--solve-rate", type=float, metavar="SHARE", help="expected accuracy where there is no pilot (default: 0.5)"
    )
    parser.add_argument(
        "--these-problems", action="store_true", help="a difference on exactly these problems, nothing about others"
    )
    parser.add_argument(
        "--cluster", metavar="FIELD", help="of two pilots: problems that share this field are not independent"
    )
    parser.add_argument("--data-dir", metavar="DIR", help="where the benchmark's data lies")
    parser.add_argument("--json", action="store_true", help="print only JSON")


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
        print_table("ways to the same width, fewest requests first", design_rows(made))
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
    print_table("what n samples per problem buy", plan_rows(plan))


def _print_variance(spread: AnswerVariance, more: str, metric: str = "accuracy") -> None:
    what = "one answer" if metric == "accuracy" else f"{metric} of a problem"
    console().print(
        f"variance of {what}: {spread.within:.3f} by chance, {spread.between:.3f} between problems ({spread.source}){more}",
        style="dim",
    )
