"""`markscheme verify`: what holds of a run folder, in one table."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders, or folders that hold some")
    parser.add_argument("--workers", type=int, metavar="N", help="processes that make the marks again")
    parser.add_argument("--json", action="store_true", help="the table as JSON")


def run(args: argparse.Namespace) -> int:
    from markscheme.reporting.terminal import print_json, print_table
    from markscheme.reporting.verifying import verify_run
    from markscheme.runs import find_runs

    verified = [verify_run(each, args.workers) for each in find_runs(args.runs)]
    if args.json:
        print_json(verified)
    else:
        words = {True: "holds", False: "does not hold", None: "–"}
        for each in verified:
            print_table(
                each.run, [{"": one.what, "result": words[one.holds], "found": one.found} for one in each.checks]
            )
    return 0 if all(each.holds for each in verified) else 1
