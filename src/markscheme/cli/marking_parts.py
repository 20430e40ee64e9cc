"""`markscheme mark` for outputs by the million: Parquet, folders of files, and whatever is given an engine."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from markscheme.errors import DataError, UsageError

if TYPE_CHECKING:
    from markscheme.marking.audit import Score


def add_engine_arguments(parser: argparse.ArgumentParser) -> None:
    """Where the work is done."""
    parser.add_argument(
        "--engine",
        choices=("local", "ray"),
        help="mark part by part, on this machine's cores (as Parquet and folders always are) or on a Ray cluster",
    )
    parser.add_argument("--ray-address", metavar="ADDRESS", help="the Ray cluster, such as `auto`")


def in_parts(args: argparse.Namespace) -> bool:
    """Whether the source is marked part by part."""
    source = Path(args.source)
    if not (source / "manifest.json").exists():
        return args.engine is not None or source.is_dir() or source.suffix == ".parquet"
    if args.engine is not None:
        raise UsageError("a run folder is marked in place; --engine is for files of stored outputs.")
    return False


def mark_parts(args: argparse.Namespace) -> list[Score]:
    """Mark whatever is not marked yet into the folder `--out`, and score all of it."""
    from markscheme.marking import get_protocol
    from markscheme.scale.bulk import default_protocol, mark_in_bulk

    source = Path(args.source)
    if not source.exists():
        raise DataError(f"{source} is neither a run folder nor a file or folder of stored outputs.")
    if args.out is None:
        raise UsageError(f"{source} is marked part by part, so say with --out DIR where the marks go.")
    names = args.protocol or [default_protocol(source, args.benchmark, args.data_dir)]
    done = [
        mark_in_bulk(
            source,
            protocol,
            Path(args.out),
            benchmark=args.benchmark,
            data_dir=args.data_dir,
            think_end=args.think_end,
            engine=args.engine or "local",
            workers=args.workers,
            ray_address=args.ray_address,
            say=_say,
        )
        for protocol in [get_protocol(name).name for name in names]  # a typo stops us before any work
    ]
    outcome = done[0].outcome
    if outcome.unmatched:
        _say(f"{outcome.unmatched} outputs match no problem of {args.benchmark}")
    if outcome.unusable:
        _say(f"{outcome.unusable} rows could not be used; the first: {outcome.example}")
    return [one.score for one in done]


def _say(text: str) -> None:
    print(f"markscheme: {text}", file=sys.stderr, flush=True)
