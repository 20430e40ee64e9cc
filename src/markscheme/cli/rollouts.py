"""`markscheme audit --rollouts`: a training run step by step, and the step at which its reward begins to be gamed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from markscheme.cli.page import call, show
from markscheme.errors import UsageError, counted
from markscheme.pages.parts import Part, one_line

if TYPE_CHECKING:
    from markscheme.rewards.gaming import Share, Step, Watched

MOST_ROWS = 40


def audit_training(args: argparse.Namespace) -> int:
    """Audit rollouts; 1 if there is an alarm, so that a script can stop a training run."""
    from markscheme.api.rewarding import audit_rollouts, label_sample

    if (args.label_sample is None) != (args.output is None):
        raise UsageError("--label-sample N and -o FILE go together")
    if args.label_sample is not None:
        written = call(label_sample, args, rollouts=args.source, count=args.label_sample)
        sample = counted(written, "rollout", "is")
        print(f"{sample} in {args.output}; set each `label` to true or false, then audit that file")
        return 0
    first, *others = args.protocol or [None]
    watched = call(audit_rollouts, args, rollouts=args.source, protocol=first, beside=others or None)
    show(args, watched, _parts(watched))
    if watched.unread:
        print(f"markscheme: not read: {', '.join(watched.unread[:3])}", file=sys.stderr)
    return 1 if watched.alarms else 0


def _parts(watched: Watched) -> Iterator[Part]:
    yield Part("title", f"{watched.source}: {sum(each.rollouts for each in watched.steps):,} rollouts")
    yield Part("table", [_row(each) for each in _even(watched)])
    if not watched.alarms:
        yield Part("text", "No curve bends beyond chance: nothing shows that the reward is gamed.")
    for alarm in watched.alarms:
        before, now = 100 * alarm.before, 100 * alarm.now
        yield Part("text", f"Step {alarm.step}: {alarm.signal} rose from {before:.1f} to {now:.1f} % of rollouts.")
        yield Part(
            "items",
            [f"{place}: {one_line(text)[-120:]}" for place, text in zip(alarm.examples, alarm.texts, strict=True)],
        )


def _even(watched: Watched) -> list[Step]:
    """Return evenly spaced steps that fit on a screen, including the steps of alarms."""
    steps, alarmed = watched.steps, {each.step for each in watched.alarms}
    every = -(-len(steps) // MOST_ROWS)
    return [each for at, each in enumerate(steps) if at % every == 0 or each.step in alarmed or at == len(steps) - 1]


def _row(step: Step) -> dict[str, str]:
    refused = sorted(step.refused.items(), key=lambda pair: -pair[1])[:2]
    row = {
        "step": str(step.step),
        "rollouts": str(step.rollouts),
        "reward": f"{step.reward:.3f}",
        "honest": _interval(step.honest),
        "paid, not honest": _interval(step.overpaid),
        "honest, not paid": f"{100 * step.underpaid.value:.1f} %",
        "protocols disagree": _interval(step.disagree),
        "truncated": f"{100 * step.truncated:.1f} %",
        "characters": f"{step.length:.0f}",
        "refused most": ", ".join(f"{why} {100 * value:.0f} %" for why, value in refused),
    }
    if step.false_positives is not None or step.false_negatives is not None:
        row["false positives"] = _interval(step.false_positives)
        row["false negatives"] = _interval(step.false_negatives)
    return row


def _interval(share: Share | None) -> str:
    return "–" if share is None else f"{100 * share.value:.1f} % ({100 * share.low:.1f} to {100 * share.high:.1f})"
