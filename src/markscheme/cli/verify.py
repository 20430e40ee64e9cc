"""`markscheme verify`: what holds of a run folder, in one table."""

from __future__ import annotations

import argparse
import sys


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders, or folders that hold some")
    parser.add_argument("--workers", type=int, metavar="N", help="processes that make the marks again")
    parser.add_argument(
        "--sign", metavar="KEY", help="sign what holds with this SSH or minisign private key, by ssh-keygen or minisign"
    )
    parser.add_argument(
        "--signature",
        metavar="FILE",
        help="it must be signed by this public key (SSH or minisign), or by one of an SSH file of allowed signers",
    )
    parser.add_argument("--json", action="store_true", help="the table as JSON")


def run(args: argparse.Namespace) -> int:
    from markscheme.api.reports import verify
    from markscheme.reporting.terminal import print_json, print_table

    verified = verify(*args.runs, workers=args.workers, sign=args.sign, signature=args.signature)
    if args.sign:
        print(f"markscheme: signed {', '.join(args.runs)}", file=sys.stderr)
    if args.json:
        print_json(verified)
    else:
        words = {True: "holds", False: "does not hold", None: "–"}
        for each in verified:
            print_table(
                each.run, [{"": one.what, "result": words[one.holds], "found": one.found} for one in each.checks]
            )
    return 0 if all(each.holds for each in verified) else 1
