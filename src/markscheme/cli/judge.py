"""`markscheme judge`: ask a model about responses that a marker left open, or about a random share of all."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from markscheme.api.python_words import NOT_FOR_JUDGES
from markscheme.cli.options import add_run_options, typed_options
from markscheme.errors import IncompleteRunError, UsageError

if TYPE_CHECKING:
    from markscheme.running.judges import Judged


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The run, the judge, what it is asked about and how."""
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
    from markscheme.cli import EXIT_INTERRUPTED
    from markscheme.running.judges import judge_file, judge_options, judge_run
    from markscheme.running.progress import progress
    from markscheme.runs import Run

    options = judge_options(args.name, args.which, args.share, args.swap, args.template)
    config = typed_options(args) | ({} if args.votes is None else {"samples": args.votes})
    display = progress("judge", quiet=args.json)
    source = Path(args.run_folder)
    if source.is_file() and (args.which == "all" or args.share is not None):
        raise UsageError("of a file of labelled responses all are judged; leave --which and --share out")
    with display:
        if source.is_file():
            judged = judge_file(source, options, config, display)
        else:
            judged = judge_run(Run.open(source), options, config, display)
    _print(args, judged)
    if judged.run.manifest.status == "interrupted":
        return EXIT_INTERRUPTED
    return IncompleteRunError.exit_code if judged.run.snapshot().missing else 0


def _print(args: argparse.Namespace, judged: Judged) -> None:
    from markscheme.reporting.terminal import print_json
    from markscheme.types import Verdict

    name = judged.label.partition("@")[0]
    right, wrong = judged.verdicts[Verdict.CORRECT], judged.verdicts[Verdict.WRONG]
    missing = judged.run.snapshot().missing
    if args.json:
        usage = judged.run.manifest.usage
        print_json(
            {"protocol": judged.label, "run": str(judged.run.path), "judged": judged.asked, "correct": right}
            | {"wrong": wrong, "undecided": judged.asked - right - wrong, "nothing_to_show": judged.nothing_to_show}
            | {"missing": missing, "cost": usage.cost if usage else None}
        )
        return
    print(
        f"{name}: {judged.asked} responses judged, {right} right, {wrong} wrong, {judged.asked - right - wrong} undecided"
    )
    if judged.nothing_to_show:
        print(f"{judged.nothing_to_show} responses hold nothing that this template could show a judge")
    print(f"every word is kept in {judged.run.path}")
    if Path(args.run_folder).is_file():
        print(f"`markscheme audit --benchmark-the-graders {args.run_folder}` says how often it errs")
    else:
        print(
            f"`markscheme report {args.run_folder} --protocol PROTOCOL+{name}` lets it settle what PROTOCOL left open"
        )
    if missing:
        print(f"markscheme: {missing} replies are missing; the same command asks for them", file=sys.stderr)
