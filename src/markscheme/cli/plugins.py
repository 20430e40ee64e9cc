"""`markscheme plugins`: where the files lie that other tools are to be pointed at."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    path = actions.add_parser("path", help="the folder to point another tool at", allow_abbrev=False)
    path.add_argument(
        "what",
        choices=["lm_eval", "nano"],
        help="lm_eval: its task files, for --include_path; nano: the model in the box, as a Hugging Face folder",
    )

    link = actions.add_parser("link", help="put our files where another tool looks by itself", allow_abbrev=False)
    link.add_argument("what", choices=["lm_eval"], help="its installed task folder, for `lm_eval --tasks countdown`")


def run(args: argparse.Namespace) -> int:
    """Print the folder, and nothing else."""
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
