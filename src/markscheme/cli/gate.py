"""`markscheme gate`: check runs against a policy in CI."""

from __future__ import annotations

import argparse
from pathlib import Path

from markscheme.cli.page import show


def run(args: argparse.Namespace) -> int:
    """Return 0 if every limit is shown to hold, 4 if one is shown to be broken, 5 if that is undecided."""
    from markscheme.errors import UsageError, os_reason
    from markscheme.reporting.gate import gate_from, gate_junit, gate_markdown
    from markscheme.runs.folder import write_atomically

    result = gate_from(args.policy, args.runs, args.against, args.aa)
    if args.junit:
        write_atomically(Path(args.junit), gate_junit(result).encode())
    if args.markdown:
        try:
            with Path(args.markdown).open("a", encoding="utf-8") as summary:
                summary.write(gate_markdown(result))
        except OSError as problem:
            raise UsageError(f"cannot write {args.markdown}: {os_reason(problem)}") from None
    show(args, result)
    return result.exit_code
