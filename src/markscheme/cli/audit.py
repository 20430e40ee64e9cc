"""`markscheme audit`: mark the same responses with every protocol and show where they disagree."""

from __future__ import annotations

import argparse
from pathlib import Path

from markscheme.cli.mark import exit_code, warn_of_unmatched
from markscheme.cli.page import call, show
from markscheme.errors import UsageError, counted
from markscheme.pages.frames import Several


def run(args: argparse.Namespace) -> int:
    if args.rollouts:
        return _audit_rollouts(args)
    if args.label_sample is not None:
        raise UsageError("--label-sample needs --rollouts")
    from markscheme.api.reports import audit, benchmark_the_graders

    if args.benchmark_the_graders:
        show(args, call(benchmark_the_graders, args))
        return 0
    audits = {}
    for source in _sources(args.source):
        made = audits[source] = call(audit, args, source=source, show=max(args.show, 0))
        warn_of_unmatched(made.unmatched, made.benchmark)
    if len(audits) == 1:
        show(args, made)
    else:
        show(args, Several(audits, content=[*audits.values()]))
    return exit_code([score for each in audits.values() for score in each.scores])


def _audit_rollouts(args: argparse.Namespace) -> int:
    """Audit a training run step by step, or draw rollouts for people to label."""
    from markscheme.api.rewarding import audit_rollouts, label_sample

    if args.label_sample is not None:
        written = call(label_sample, args, rollouts=args.source, count=args.label_sample)
        sample = counted(written, "rollout", "is")
        print(f"{sample} in {args.output}; set each `label` to true or false, then audit that file")
        return 0
    first, *others = args.protocol or [None]
    watched = call(audit_rollouts, args, rollouts=args.source, protocol=first, beside=others or None)
    show(args, watched)
    return watched.exit_code


def _sources(source: str) -> list[str]:
    """Return the source itself, or the runs in the folder of an experiment."""
    below = sorted(Path(source).glob("*/manifest.json")) if not (Path(source) / "manifest.json").exists() else []
    return [str(file.parent) for file in below] or [source]
