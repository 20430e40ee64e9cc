"""`markscheme doors`: copy the commands of five other systems into a folder."""

from __future__ import annotations

import argparse


def run(args: argparse.Namespace) -> int:
    from markscheme.plugins.doors.copying import DOORS, copy_door

    if args.action == "list":
        for name, door in DOORS.items():
            print(f"{name:17}{door.command}")
        return 0
    for file in copy_door(args.door, args.folder, replace=args.replace):
        print(file)
    print(f"cd {args.folder}; {DOORS[args.door].command}")
    return 0
