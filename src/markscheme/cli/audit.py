"""`markscheme audit`: every protocol side by side on the same responses, and where they disagree."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from markscheme.cli.mark import (
    add_format_arguments,
    add_source_arguments,
    failures,
    score_rows,
    shown,
    warn_of_unmatched,
)
from markscheme.reporting.terminal import console, gold_line, print_json, print_table

if TYPE_CHECKING:
    from markscheme.marking.bulk.audit import Audit
    from markscheme.types import Mark


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_source_arguments(parser, "RUN|FILE.jsonl|CLAIM.toml")
    parser.add_argument("--root", type=Path, metavar="DIR", help="the folder that the files of a claim are below")
    parser.add_argument("--show", type=int, default=10, metavar="N", help="differing responses shown (default: 10)")
    parser.add_argument(
        "--benchmark-the-graders",
        action="store_true",
        help="the responses have labels (`correct`): false positives and negatives of every protocol",
    )
    add_format_arguments(parser)


def run(args: argparse.Namespace) -> int:
    if args.benchmark_the_graders:
        from markscheme.cli.graders import benchmark_graders

        return benchmark_graders(args)
    from markscheme.api.reports import audit

    options = {
        name: getattr(args, name) for name in ("benchmark", "protocol", "data_dir", "workers", "think_end", "root")
    }
    sources = _sources(args.source)
    audits = []
    for source in sources:
        made = audit(source, show=max(args.show, 0), **options)
        warn_of_unmatched(made.unmatched, made.audit.benchmark)
        audits.append(made.audit)
    if args.json or args.format == "json":
        print_json(audits if len(audits) > 1 else audits[0])
    for source, each in zip(sources, audits, strict=True) if args.format != "json" and not args.json else ():
        if len(audits) > 1:
            print(f"{source}\n")
        if args.format == "markdown":
            print(as_markdown(each))
        else:
            _print_tables(each)
    return failures([score for each in audits for score in each.scores])


def _sources(source: str) -> list[str]:
    """What is named, or the runs of an experiment's folder."""
    below = sorted(Path(source).glob("*/manifest.json")) if not (Path(source) / "manifest.json").exists() else []
    return [str(file.parent) for file in below] or [source]


def _headline(audit: Audit) -> str:
    title = f"{audit.benchmark}: {audit.responses} responses to {audit.problems} problems"
    return title + (f", {audit.errors} never came" if audit.errors else "")


def _range(audit: Audit) -> str:
    """One sentence: how much of the score is the grader."""
    scores = sorted((each.score, each.protocol) for each in audit.scores if each.score is not None)
    if len(scores) < 2:
        return ""
    (low, lowest), (high, highest) = scores[0], scores[-1]
    return (
        f"From {shown(low)} ({lowest}) to {shown(high)} ({highest}): {100 * (high - low):.1f} points are the grader. "
        f"The protocols differ on {audit.differing} of {audit.responses} responses."
    )


def _left_out(audit: Audit) -> str:
    """Which protocols were not compared, and why; those with the same reason together."""
    reasons: dict[str, list[str]] = {}
    for name, why in audit.left_out.items():
        reasons.setdefault(why, []).append(name)
    return " ".join(f"Left out: {', '.join(names)} ({why})." for why, names in reasons.items())


def _print_tables(audit: Audit) -> None:
    from rich.markup import escape

    screen = console()
    screen.print(escape(_range(audit)))
    if audit.left_out:
        screen.print(escape(_left_out(audit)), soft_wrap=True)
    screen.print()
    print_table(_headline(audit), score_rows(audit.scores))
    screen.print()
    if audit.differing:
        names = list(audit.disagreements)
        rows = [
            {"": f"{row} {name}", **{str(column): _cell(audit, name, other) for column, other in enumerate(names, 1)}}
            for row, name in enumerate(names, 1)
        ]
        print_table("responses on which two protocols disagree", rows)
    for each in audit.differences:
        screen.print(f"[bold]{escape(each.problem)}[/] sample {each.sample}, gold {escape(gold_line(each.gold))}")
        screen.print(escape("… " + _one_line(each.ending)[-160:]), style="dim", soft_wrap=True)
        for name, mark in each.marks.items():
            screen.print(escape(f"  {name:22} {mark.verdict:11} {_reason(mark)}"), soft_wrap=True)
        screen.print()


def as_markdown(audit: Audit) -> str:
    """The whole audit as a Markdown page."""
    from markscheme.reporting.table import markdown_table

    lines = [f"## {_headline(audit)}", "", _range(audit), ""]
    if audit.left_out:
        lines += [_left_out(audit), ""]
    lines += markdown_table(score_rows(audit.scores))
    names = list(audit.disagreements)
    if audit.differing:
        pairs = [{"": name, **{other: _cell(audit, name, other) for other in names}} for name in names]
        lines += ["", "Responses on which two protocols disagree:", "", *markdown_table(pairs)]
    for each in audit.differences:
        lines += ["", f"### {each.problem}, sample {each.sample}, gold `{gold_line(each.gold)}`", ""]
        lines += ["```text", each.ending.replace("```", "'''"), "```", ""]
        lines += markdown_table([
            {"protocol": name, "verdict": str(mark.verdict)}
            | {"answer": _as_code(mark.answer or ""), "why": _as_code(_reason(mark))}
            for name, mark in each.marks.items()
        ])  # fmt: skip
    return "\n".join(lines)


def _cell(audit: Audit, one: str, other: str) -> str:
    return "" if one == other else str(audit.disagreements[one][other])


def _reason(mark: Mark) -> str:
    """Why, and what a sceptic should know: `equal (rounded)`."""
    return f"{mark.why} ({', '.join(mark.flags)})" if mark.flags else mark.why


def _as_code(text: str) -> str:
    text = _one_line(text)[:80]
    return f"`{text}`" if text and "`" not in text else text


def _one_line(text: str) -> str:
    return " ".join(text.split())
