"""`markscheme compare`: compare two runs problem by problem, or rank several."""

from __future__ import annotations

import argparse
from pathlib import Path

from markscheme.cli import complain
from markscheme.errors import UsageError
from markscheme.pages.terminal import print_json

EXIT_WORSE = 4
TERMS = ("metric", "protocol", "level", "seed", "anyway", "cluster", "margin", "these_problems")


def run(args: argparse.Namespace) -> int:
    from markscheme.cli.report import complain_of_alterations
    from markscheme.reporting.comparing import forest_figure, shown_worse, terms_of
    from markscheme.reporting.family import MacroCompared, compare_folders
    from markscheme.reporting.report_text import print_compared
    from markscheme.runs import find_runs

    compared = compare_folders(args.runs, terms_of(**{name: getattr(args, name) for name in TERMS}))
    complain_of_alterations(find_runs(args.runs))
    if args.json:
        print_json(compared if len(compared) > 1 else compared[0])
    elif args.format != "table":
        from markscheme.reporting.sheets import FORMS

        print("\n\n".join(FORMS[args.format](each.sentence) for each in compared))
    else:
        for each in compared:
            print_compared(each)
    if args.plot:
        if len(compared) > 1 or isinstance(compared[0], MacroCompared):
            raise UsageError("--plot draws one benchmark: name only its runs")
        from markscheme.reporting.plots import save

        save(forest_figure(compared[0]), Path(args.plot))
        complain(f"wrote {args.plot}")
    if args.fail_if_worse and any(
        shown_worse(each if isinstance(each, MacroCompared) else each.comparison) for each in compared
    ):
        complain("B is shown to be worse than A")
        return EXIT_WORSE
    return 0
