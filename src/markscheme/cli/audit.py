"""`markscheme audit`: mark the same responses with every protocol and show where they disagree."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from markscheme.cli.mark import exit_code, score_rows, warn_of_unmatched
from markscheme.cli.page import Part, one_line, pick, share, show
from markscheme.errors import UsageError
from markscheme.reporting.terminal import gold_line

if TYPE_CHECKING:
    from markscheme.marking.bulk.audit import Audit

OPTIONS = ("benchmark", "protocol", "data_dir", "workers", "think_end", "root")


def run(args: argparse.Namespace) -> int:
    if args.rollouts:
        from markscheme.cli.rollouts import audit_training

        return audit_training(args)
    given = [name for name in ("by", "strict", "plot", "html", "label_sample", "output") if getattr(args, name)]
    if given:
        raise UsageError(f"--{given[0].replace('_', '-')} needs --rollouts; add that, or leave it out")
    if args.benchmark_the_graders:
        from markscheme.cli.graders import benchmark_graders

        return benchmark_graders(args)
    from markscheme.api.reports import audit

    audits: dict[str, Audit] = {}
    for source in _sources(args.source):
        made = audit(source, show=max(args.show, 0), **pick(args, OPTIONS))
        warn_of_unmatched(made.unmatched, made.audit.benchmark)
        audits[source] = made.audit
    every = [*audits.values()]
    parts = (part for source, each in audits.items() for part in _parts(each, source if len(audits) > 1 else ""))
    show(args, every if len(every) > 1 else every[0], parts)
    return exit_code([score for each in every for score in each.scores])


def _sources(source: str) -> list[str]:
    """Return the source itself, or the runs in the folder of an experiment."""
    below = sorted(Path(source).glob("*/manifest.json")) if not (Path(source) / "manifest.json").exists() else []
    return [str(file.parent) for file in below] or [source]


def _parts(audit: Audit, source: str) -> Iterator[Part]:
    never = f", {audit.errors} failed requests" if audit.errors else ""
    yield Part("text", source)
    yield Part("title", f"{audit.benchmark}: {audit.responses} responses to {audit.problems} problems{never}")
    yield Part("text", _range(audit))
    yield Part("text", _left_out(audit))
    yield Part("table", score_rows(audit.scores))
    names = list(audit.disagreements)
    if audit.differing:
        yield Part("text", "Number of responses on which two protocols disagree:")
        yield Part("table", [
            {"": f"{number} {name}"}
            | {str(at): "" if name == b else str(audit.disagreements[name][b]) for at, b in enumerate(names, 1)}
            for number, name in enumerate(names, 1)
        ])  # fmt: skip
    for each in audit.differences:
        yield Part("heading", f"{each.problem}, sample {each.sample}, gold {gold_line(each.gold)}")
        yield Part("quote", each.ending)
        yield Part("table", [
            {"protocol": name, "verdict": str(mark.verdict), "answer": one_line(mark.answer or "")[:80]}
            | {"why": f"{mark.why} ({', '.join(mark.flags)})" if mark.flags else mark.why}
            for name, mark in each.marks.items()
        ])  # fmt: skip


def _range(audit: Audit) -> str:
    """Return a sentence on how much of the score depends on the protocol."""
    scores = sorted((each.score, each.protocol) for each in audit.scores if each.score is not None)
    if len(scores) < 2:
        return ""
    (low, lowest), (high, highest) = scores[0], scores[-1]
    return (
        f"From {share(low)} ({lowest}) to {share(high)} ({highest}): {100 * (high - low):.1f} points are the grader. "
        f"The protocols differ on {audit.differing} of {audit.responses} responses."
    )


def _left_out(audit: Audit) -> str:
    """Return the protocols that were not compared, grouped by reason."""
    reasons: dict[str, list[str]] = {}
    for name, why in audit.left_out.items():
        reasons.setdefault(why, []).append(name)
    return " ".join(f"Left out: {', '.join(names)} ({why})." for why, names in reasons.items())
