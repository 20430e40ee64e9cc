"""`markscheme import`: a log of Inspect, lm-evaluation-harness and five others becomes a run, to be marked, audited and compared."""

from __future__ import annotations

import argparse
from pathlib import Path

from markscheme.reporting.terminal import print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "log",
        metavar="LOG",
        type=Path,
        help="Inspect's .eval, lm_eval's samples_….jsonl, lighteval's details_….parquet, OpenCompass' "
        "predictions, EvalScope's reviews, verifiers' results.jsonl, or a model's folder of MathArena",
    )
    parser.add_argument("-b", "--benchmark", metavar="NAME", help="where questions of tasks that are not ours are from")
    parser.add_argument("--protocol", metavar="NAME", help="how to mark (default: the benchmark's)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="run folder (default: a new one below runs/)")
    parser.add_argument("--json", action="store_true", help="print only the report, as JSON")


def run(args: argparse.Namespace) -> int:
    """Import, mark, report; 3 when responses are missing."""
    from markscheme.api.exchange import import_log
    from markscheme.errors import IncompleteRunError
    from markscheme.reporting.report_text import print_summary
    from markscheme.reporting.summary import summarize

    summary = summarize(import_log(args.log, benchmark=args.benchmark, protocol=args.protocol, out=args.out))
    if args.json:
        print_json(summary)
    else:
        print_summary(summary)
    return IncompleteRunError.exit_code if summary.missing else 0
