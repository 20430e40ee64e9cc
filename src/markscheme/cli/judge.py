"""`markscheme judge`: ask a model about responses that a marker left open, or about a random share of all."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from markscheme.cli.options import add_run_options, typed_options
from markscheme.config import NOT_FOR_JUDGES
from markscheme.errors import IncompleteRunError
from markscheme.reporting.terminal import print_json

if TYPE_CHECKING:
    from markscheme.api.opinions import Opinions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run_folder",
        metavar="RUN|FILE.jsonl",
        help="the run whose responses are judged, or a file of labelled responses",
    )
    parser.add_argument("--model", "-m", metavar="SPEC", required=True, help="who judges: backend/model")
    parser.add_argument("--name", default="", help="the opinion is kept as judge:NAME (default: the model's name)")
    parser.add_argument(
        "--which",
        choices=("open", "all"),
        default="open",
        help="responses that are unmarkable, without an answer, or on which protocols differ (the default), or all",
    )
    parser.add_argument("--share", type=float, metavar="S", help="a random share of all responses, by --seed")
    parser.add_argument("--votes", type=int, metavar="K", help="ask K times; more than half decide (default: 1)")
    parser.add_argument(
        "--swap", action="store_true", help="ask in both orders of reference and response; both must agree"
    )
    parser.add_argument(
        "--template", default="", metavar="NAME|FILE.toml",
        help="strict (default), simple-evals, xverify, compass-verifier, or a file of your own",
    )  # fmt: skip
    add_run_options(parser, leave_out=NOT_FOR_JUDGES)
    parser.add_argument("--json", action="store_true", help="print only JSON")


def run(args: argparse.Namespace) -> int:
    """Judge and say what came of it; 3 when replies are missing, 130 when interrupted."""
    from markscheme.api.asking import judge
    from markscheme.cli import EXIT_INTERRUPTED

    asked = {name: getattr(args, name) for name in ("name", "which", "share", "votes", "swap", "template")}
    options = {name: value for name, value in typed_options(args).items() if name not in NOT_FOR_JUDGES}
    opinions = judge(args.run_folder, **asked, progress=not args.json, **options)
    _print(args, opinions)
    if opinions.run.manifest.status == "interrupted":
        return EXIT_INTERRUPTED
    return IncompleteRunError.exit_code if opinions.missing else 0


def _print(args: argparse.Namespace, opinions: Opinions) -> None:
    if args.json:
        usage = opinions.run.manifest.usage
        print_json(
            {"protocol": opinions.label, "run": str(opinions.run.path), "judged": opinions.asked, **opinions.counts}
            | {"nothing_to_show": opinions.nothing_to_show, "missing": opinions.missing}
            | {"cost": usage.cost if usage else None}
        )
        return
    print("\n".join([*opinions.lines, f"every word is kept in {opinions.run.path}"]))
    if Path(args.run_folder).is_file():
        print(f"`markscheme audit --benchmark-the-graders {args.run_folder}` says how often it errs")
    else:
        settled = f"PROTOCOL+{opinions.protocol}"
        print(f"`markscheme report {args.run_folder} --protocol {settled}` lets it settle what PROTOCOL left open")
    if opinions.missing:
        print(f"markscheme: {opinions.missing} replies are missing; the same command asks for them", file=sys.stderr)
