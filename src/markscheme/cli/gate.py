"""`markscheme gate`: pass, fail or inconclusive by a policy's limits, for CI."""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec

from markscheme.reporting.terminal import print_json, print_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("policy", metavar="POLICY.toml", help="the limits, see docs/ci.md")
    parser.add_argument(
        "runs", nargs="+", metavar="RUN", help="run folders, or folders that hold some: one a benchmark"
    )
    parser.add_argument("--against", action="append", default=[], metavar="RUN", help="the baseline, for `worse_by`")
    parser.add_argument(
        "--aa",
        nargs="+",
        action="extend",
        default=[],
        metavar="RUN",
        help="runs of one model and settings, repeated: how much runs differ by themselves goes into the intervals",
    )
    parser.add_argument("--junit", metavar="FILE", help="also write JUnit XML")
    parser.add_argument("--markdown", metavar="FILE", help="also append a Markdown summary, as to $GITHUB_STEP_SUMMARY")
    parser.add_argument("--json", action="store_true", help="print only JSON")


def run(args: argparse.Namespace) -> int:
    """0 where every limit is shown to be kept, 4 where one is shown to be broken, 5 where neither is shown."""
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
    if args.json:
        print_json(result)
        return result.exit_code
    rows = [
        {name: value for name, value in msgspec.structs.asdict(each).items() if name != "why"} for each in result.checks
    ]
    print_table("", rows, fold="found")
    for each in result.checks:
        print(f"{each.benchmark}, {each.check}: {each.why}")
    print("\n".join([*result.notes, f"gate: {result.decision}"]))
    return result.exit_code
