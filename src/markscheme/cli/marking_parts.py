"""`markscheme mark` for files of stored outputs: JSON lines, Parquet, and folders of them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from markscheme.errors import DataError, MarkingError, MarkschemeError, UsageError

if TYPE_CHECKING:
    from markscheme.marking.bulk.campaign import Marked


def add_engine_arguments(parser: argparse.ArgumentParser) -> None:
    """Where the work is done."""
    parser.add_argument(
        "--engine",
        choices=("local", "ray"),
        help="where large files are marked: on this machine's cores (the default) or on a Ray cluster",
    )
    parser.add_argument("--ray-address", metavar="ADDRESS", help="the Ray cluster, such as `auto`")


def is_run(args: argparse.Namespace) -> bool:
    """Whether the source is a run folder rather than files. Options that would do nothing are refused."""
    if args.ray_address is not None and args.engine != "ray":
        raise UsageError("--ray-address is for --engine ray; add that, or leave the address out.")
    if args.workers is not None and args.engine == "ray":
        raise UsageError("--workers is for this machine; on a Ray cluster every core marks, so leave it out.")
    run = (Path(args.source) / "manifest.json").exists()
    if run and args.engine is not None:
        raise UsageError("a run folder is marked in place; --engine is for files of stored outputs.")
    if args.engine == "ray" and args.out is None:
        raise UsageError("on a Ray cluster the marks go to storage that every node sees: say with --out DIR where.")
    return run


def mark_parts(args: argparse.Namespace) -> list[Marked]:
    """Mark whatever is not marked yet in the folder `--out`, and score all of it."""
    from markscheme.marking import get_protocol
    from markscheme.marking.bulk.campaign import default_protocol, mark_in_bulk
    from markscheme.marking.bulk.shards import find

    source = Path(args.source)
    if not source.exists():
        raise DataError(f"{source} is neither a run folder nor a file or folder of stored outputs.")
    if unread := find(source).unread:
        more = f" and {len(unread) - 1:,} more" if len(unread) > 1 else ""
        _say(f"not read, since it is no .parquet or .jsonl file: {unread[0]}{more}")
    names = args.protocol or [default_protocol(source, args.benchmark, args.data_dir)]
    done: list[Marked] = []
    failed: list[MarkschemeError] = []
    for protocol in [get_protocol(name).name for name in names]:  # a typo stops us before any work
        try:
            marked = mark_in_bulk(
                source,
                protocol,
                Path(args.out) if args.out is not None else None,
                benchmark=args.benchmark,
                data_dir=args.data_dir,
                think_end=args.think_end,
                engine=args.engine or "local",
                workers=args.workers,
                ray_address=args.ray_address,
                say=_say,
            )
        except (DataError, MarkingError) as error:  # of some part, when all others are marked: so with each protocol
            failed.append(error)
            continue
        _tell(marked, args.benchmark)
        done.append(marked)
    if failed:
        raise failed[0]
    return done


def _tell(marked: Marked, benchmark: str | None) -> None:
    """Where the marks are, and what was left out: of a gold that one protocol cannot judge, another knows more."""
    if marked.folder:
        parts = f"(parts: {marked.parts}, from before: {marked.earlier})"
        _say(f"{marked.outcome.marks:,} marks are in {marked.folder} {parts}")
    if marked.outcome.unmatched:
        _say(f"{marked.outcome.unmatched:,} outputs match no problem of {benchmark}")
    if marked.outcome.unusable:
        _say(f"{marked.outcome.unusable:,} rows could not be used; the first: {marked.outcome.example}")


def _say(text: str) -> None:
    print(f"markscheme: {text}", file=sys.stderr, flush=True)
