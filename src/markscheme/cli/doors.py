"""`markscheme doors`: the published layouts of other systems, ready for their own commands."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from markscheme.plugins.doors.copying import DOORS

    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="which there are, and what is typed then", allow_abbrev=False)
    copy = actions.add_parser("copy", help="write one into a folder", allow_abbrev=False)
    copy.add_argument("door", choices=list(DOORS), metavar="DOOR", help=", ".join(DOORS))
    copy.add_argument("folder", type=Path, metavar="DIR", help="where to; for nanochat, its checkout")
    copy.add_argument(
        "--replace", action="store_true", help="replace files with other content, which are kept as FILE.before"
    )


def run(args: argparse.Namespace) -> int:
    """List the doors, or copy one."""
    from markscheme.plugins.doors.copying import DOORS, copy_door

    if args.action == "list":
        for name, door in DOORS.items():
            print(f"{name:17}{door.command}")
        return 0
    for file in copy_door(args.door, args.folder, replace=args.replace):
        print(file)
    print(f"cd {args.folder}; {DOORS[args.door].command}")
    return 0
