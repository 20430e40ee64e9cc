"""`markscheme gate`: check runs against a policy in CI."""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec

from markscheme.cli.page import show
from markscheme.pages.parts import Part


def run(args: argparse.Namespace) -> int:
    """Return 0 if every limit is shown to hold, 4 if one is shown to be broken, 5 if that is undecided."""
    from markscheme.errors import UsageError
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
            raise UsageError(f"cannot write {args.markdown}: {problem.strerror}") from None
    rows = [
        {name: str(value) for name, value in msgspec.structs.asdict(each).items() if name != "why"}
        for each in result.checks
    ]
    reasons = [f"{each.benchmark}, {each.check}: {each.why}" for each in result.checks]
    lines = [*reasons, *result.notes, f"gate: {result.decision}"]
    show(args, result, [Part("table", rows), *(Part("text", line) for line in lines)])
    return result.exit_code
