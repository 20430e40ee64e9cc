"""`markscheme push`: send a run to a tracker or to the Hugging Face Hub."""

from __future__ import annotations

import argparse


def run(args: argparse.Namespace) -> int:
    from markscheme.runs.folder import find_runs
    from markscheme.tracking import push_runs

    for line in push_runs(find_runs(args.runs), args.to, public=args.public, model_repo=args.model_repo):
        print(line)
    return 0
