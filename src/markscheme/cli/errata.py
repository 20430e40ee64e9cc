"""`markscheme errata`: golds that are known to be wrong, and golds that independent runs contradict."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    known = actions.add_parser("list", help="what is known to be wrong", allow_abbrev=False)
    known.add_argument(
        "benchmark", nargs="?", metavar="BENCHMARK", help="a name, or the file of your own (default: all)"
    )
    found = actions.add_parser("suspects", help="problems where runs agree on another answer", allow_abbrev=False)
    found.add_argument("runs", nargs="+", metavar="RUN", help="run folders, or folders that hold some")
    found.add_argument("--least", type=int, default=3, metavar="N", help="models that must agree on it (default: 3)")
    for each in (known, found):
        each.add_argument("--json", action="store_true", help="the table as JSON")


def run(args: argparse.Namespace) -> int:
    """List what is known, or look for more."""
    import msgspec

    from markscheme.api.reports import errata, suspects
    from markscheme.reporting.terminal import print_json, print_table

    if args.action == "list":
        known = errata(args.benchmark)
        if args.json:
            print_json(known)
        for name, each in known.items() if not args.json else ():
            print_table(
                f"{name}: {len(each)} problems",
                [
                    {"problem": one.problem, "gold": one.gold, "what is wrong": one.wrong, "source": one.source}
                    for one in each
                ],
            )
        return 0
    found = suspects(*args.runs, least=args.least)
    if args.json:
        print_json(found)
    elif found:
        rows = [
            {name: str(value) for name, value in msgspec.structs.asdict(each).items() if name != "key"}
            for each in found
        ]
        print_table(
            "models agree on an answer that is not the gold: look at the problem before you believe either", rows
        )
    else:
        print(f"on no problem do {args.least} models agree on an answer that is not the gold")
    return 0
