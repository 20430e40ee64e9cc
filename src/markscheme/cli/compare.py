"""`markscheme compare`: two runs problem by problem, or several ranked, with what may be said about the difference."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from markscheme.errors import UsageError
from markscheme.reporting.terminal import print_json

EXIT_WORSE = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="run folders; the first is A, the one compared against. Two folders of runs, one a benchmark: the mean over "
        "benchmarks too. One folder of an experiment: each benchmark by itself",
    )
    parser.add_argument(
        "--metric", default="accuracy", help="accuracy (default), pass@K, pass^K, g-pass@K:TAU, maj@K, best-of-K:SCORE"
    )
    parser.add_argument(
        "--margin",
        type=float,
        metavar="POINTS",
        help="also: is B not worse than A by more, and are they the same within it",
    )
    parser.add_argument(
        "--cluster", metavar="FIELD", help="problems that share this field (contest, template) are not independent"
    )
    parser.add_argument("--protocol", metavar="NAME", help="of the protocols the runs are marked with")
    parser.add_argument("--level", type=float, default=0.95, metavar="SHARE", help="of the intervals (default: 0.95)")
    parser.add_argument(
        "--these-problems",
        action="store_true",
        help="say nothing about other problems: only the sampling is random, and more samples decide",
    )
    parser.add_argument(
        "--anyway",
        action="store_true",
        help="compare runs of different data or protocols too: by template or original id where the problems name one, else "
        "unpaired",
    )
    parser.add_argument(
        "--format",
        choices=("table", "text", "markdown", "latex"),
        default="table",
        help="the whole comparison (default), or only the sentence for a paper in this form",
    )
    parser.add_argument("--seed", type=int, default=0, help="of p-values that are drawn (default: 0)")
    parser.add_argument("--plot", metavar="FILE", help="also write a forest plot (.png, .svg, .pdf)")
    parser.add_argument(
        "--fail-if-worse",
        action="store_true",
        help=f"exit with {EXIT_WORSE} when B is shown to be worse: the whole interval of B − A lies below 0 (with --margin, "
        "below −POINTS)",
    )
    parser.add_argument("--json", action="store_true", help="print only JSON")


def run(args: argparse.Namespace) -> int:
    from markscheme.cli.report import tell_alterations
    from markscheme.reporting.comparing import forest_figure, shown_worse, terms_of
    from markscheme.reporting.comparison_text import print_compared
    from markscheme.reporting.family import MacroCompared, compare_folders
    from markscheme.runs import find_runs

    names = ("metric", "protocol", "level", "seed", "anyway", "cluster", "margin", "these_problems")
    compared = compare_folders(args.runs, terms_of(**{name: getattr(args, name) for name in names}))
    tell_alterations(find_runs(args.runs))
    if args.json:
        print_json(compared if len(compared) > 1 else compared[0])
    elif args.format != "table":
        from markscheme.reporting.sentence import FORMS

        print("\n\n".join(FORMS[args.format](each.sentence) for each in compared))
    else:
        for each in compared:
            print_compared(each)
    if args.plot:
        if len(compared) > 1 or isinstance(compared[0], MacroCompared):
            raise UsageError("--plot draws one benchmark; name its runs")
        from markscheme.reporting.plots import save

        save(forest_figure(compared[0]), Path(args.plot))
        print(f"wrote {args.plot}", file=sys.stderr)
    if args.fail_if_worse and any(
        shown_worse(each if isinstance(each, MacroCompared) else each.comparison) for each in compared
    ):
        print("markscheme: B is shown to be worse than A", file=sys.stderr)
        return EXIT_WORSE
    return 0
