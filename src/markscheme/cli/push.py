"""`markscheme push`: a run to a tracker or to the Hugging Face Hub; and `--track`, which tells a tracker while it runs."""

from __future__ import annotations

import argparse

from markscheme.errors import UsageError
from markscheme.tracking import TRACKERS, check_trackers


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which runs, where to."""
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
    """Tell of each run, and say where it is."""
    from markscheme.runs.folder import find_runs

    runs = find_runs(args.runs)
    if "/" not in args.to:
        from markscheme.tracking import push

        check_trackers([args.to])
        if args.public or args.model_repo:
            raise UsageError("--public and --model-repo are for the Hub: --to OWNER/NAME")
        for each in runs:
            push(each, args.to)
            print(f"told {TRACKERS[args.to]} of {each.path}")
        return 0
    from markscheme.tracking.hub import propose_result, push_dataset

    if len(runs) > 1:
        raise UsageError("a dataset holds one run; name just that run")
    print(push_dataset(runs[0], args.to, public=args.public))
    if args.model_repo:
        print(propose_result(runs[0], args.model_repo, args.to))
    return 0
