"""`markscheme audit`: mark the same responses with every protocol and show where they disagree."""

from __future__ import annotations

import argparse
from pathlib import Path

from markscheme.cli.mark import exit_code, warn_of_unmatched
from markscheme.cli.page import call, show
from markscheme.errors import UsageError
from markscheme.pages.parts import Part

FOR_ROLLOUTS = ("by", "strict", "plot", "html", "label_sample", "output")


def run(args: argparse.Namespace) -> int:
    if args.rollouts:
        from markscheme.cli.rollouts import audit_training

        return audit_training(args)
    if given := [name for name in FOR_ROLLOUTS if getattr(args, name)]:
        raise UsageError(f"--{given[0].replace('_', '-')} can only be used with --rollouts")
    from markscheme.api.reports import audit, benchmark_the_graders

    if args.benchmark_the_graders:
        show(args, call(benchmark_the_graders, args))
        return 0
    audits = {}
    for source in _sources(args.source):
        made = audits[source] = call(audit, args, source=source, show=max(args.show, 0))
        warn_of_unmatched(made.unmatched, made.audit.benchmark)
    if len(audits) == 1:
        show(args, made)
    else:
        parts = (part for source, each in audits.items() for part in (Part("text", source), *each.page()))
        show(args, [each.audit for each in audits.values()], parts)
    return exit_code([score for each in audits.values() for score in each.audit.scores])


def _sources(source: str) -> list[str]:
    """Return the source itself, or the runs in the folder of an experiment."""
    below = sorted(Path(source).glob("*/manifest.json")) if not (Path(source) / "manifest.json").exists() else []
    return [str(file.parent) for file in below] or [source]
