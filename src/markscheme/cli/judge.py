"""`markscheme judge`: ask a model about responses that the marker could not decide, or about a random share."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from markscheme.cli import EXIT_INTERRUPTED, complain
from markscheme.cli.options import add_run_options, typed_options
from markscheme.cli.page import pick
from markscheme.config import NOT_FOR_JUDGES
from markscheme.errors import IncompleteRunError
from markscheme.reporting.terminal import print_json

if TYPE_CHECKING:
    from markscheme.api.opinions import Opinions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_options(parser, leave_out=NOT_FOR_JUDGES)


def run(args: argparse.Namespace) -> int:
    """Judge and print the outcome; return 3 if replies are missing, 130 if interrupted."""
    from markscheme.api.asking import judge

    asked = pick(args, ("name", "which", "share", "votes", "swap", "template"))
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
    print("\n".join([*opinions.lines, f"the full replies are in {opinions.run.path}"]))
    if Path(args.run_folder).is_file():
        print(f"`markscheme audit --benchmark-the-graders {args.run_folder}` measures how often it is wrong")
    else:
        settled = f"PROTOCOL+{opinions.protocol}"
        print(f"`markscheme report {args.run_folder} --protocol {settled}` uses its verdict where PROTOCOL gave none")
    if opinions.missing:
        verb = "reply is" if opinions.missing == 1 else "replies are"
        complain(f"{opinions.missing} {verb} missing; the same command asks for what is missing")
