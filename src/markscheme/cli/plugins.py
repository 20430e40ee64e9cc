"""`markscheme plugins`: print the paths of the task files for other tools and of the packaged model."""

from __future__ import annotations

import argparse


def run(args: argparse.Namespace) -> int:
    if args.action == "link":
        from markscheme.plugins.lm_eval import link_tasks

        print(link_tasks())
    elif args.what == "nano":
        from markscheme.nano import WEIGHTS

        print(WEIGHTS)
    else:
        from markscheme.plugins.lm_eval import TASKS

        print(TASKS)
    return 0
