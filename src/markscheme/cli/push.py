"""`markscheme push`: a run to a tracker or to the Hugging Face Hub; and `--track`, which tells a tracker while it runs."""

from __future__ import annotations

import argparse

from markscheme.tracking import TRACKERS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders, or folders that hold some")
    parser.add_argument(
        "--to",
        required=True,
        metavar="WHERE",
        help=f"a tracker ({', '.join(TRACKERS)}), or OWNER/NAME: a dataset of the Hugging Face Hub",
    )
    parser.add_argument("--public", action="store_true", help="a dataset that is made may be seen by everybody")
    parser.add_argument(
        "--model-repo",
        metavar="OWNER/NAME",
        help="also propose the score to this model of the Hub, as an evaluation result in a pull request",
    )


def add_track(parser: argparse.ArgumentParser) -> None:
    """`--track` of the commands that ask."""
    parser.add_argument(
        "--track",
        action="append",
        default=[],
        metavar="TRACKER",
        help=f"tell {', '.join(TRACKERS)} of it while it runs; may be repeated",
    )


def run(args: argparse.Namespace) -> int:
    from markscheme.runs.folder import find_runs
    from markscheme.tracking import push_runs

    for line in push_runs(find_runs(args.runs), args.to, public=args.public, model_repo=args.model_repo):
        print(line)
    return 0
