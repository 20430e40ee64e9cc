"""`markscheme reproduce`: recompute a published score from stored outputs and explain every difference."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from markscheme.cli.page import call, show

SAY_EVERY = 5.0


def run(args: argparse.Namespace) -> int:
    """Check a claim; return 0 if every figure is reproduced, else 4."""
    from markscheme.api.reports import reproduce

    made = call(reproduce, args, watch=_Progress().read)
    show(args, made)
    if args.out is not None:
        print(f"`markscheme view {args.out}` shows a run for each class of difference", file=sys.stderr)
    return made.exit_code


class _Progress:
    """Show progress on standard error every few seconds: the file and the share that is read."""

    def __init__(self) -> None:
        self._said = time.monotonic()
        self._file, self._bytes = Path(), 0

    def read(self, file: Path, more: int) -> None:
        """More of a file was read."""
        if file != self._file:
            self._file, self._bytes = file, 0
        self._bytes += more
        if time.monotonic() - self._said > SAY_EVERY:
            self._said = time.monotonic()
            share = self._bytes / max(1, file.stat().st_size)
            print(f"{file}: {min(1.0, share):.0%} read", file=sys.stderr, flush=True)
