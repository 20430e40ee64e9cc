"""What the doors share: starting or resuming a run, its report, and common flags."""

from __future__ import annotations

import argparse
import sys
from itertools import count
from pathlib import Path

from markscheme.config import RunConfig, check_pass_k
from markscheme.errors import JournalError, MarkschemeError
from markscheme.experiments import begin_or_extend
from markscheme.experiments.plan import asked
from markscheme.marking import mark_many, protocol_names
from markscheme.models.fleet.ranks import current
from markscheme.reporting.estimates import Estimate
from markscheme.reporting.summary import Summary, finish, summarize
from markscheme.running import Prepared, prepare
from markscheme.running.progress import progress
from markscheme.runs import Run

# The protocol shown next to the documented rule; `protocol` (`--protocol`, `-T protocol=`) swaps the two.
OURS = "math"

MISSING, INTERRUPTED = 3, 130  # the exit codes of `markscheme run` for missing responses and after Ctrl-C


def positive(word: str) -> int:
    """Parse a flag's whole number of 1 or more."""
    try:
        value = int(word)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{word!r} is not a whole number") from None
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is less than 1")
    return value


def own_folder(config: RunConfig, folder: Path) -> Path:
    """Return `folder`, or `folder-2` and so on: the first that is free or holds this run.

    So a door can be called again with other settings, and earlier answers are kept.
    """
    paths = (folder if n == 1 else folder.with_name(f"{folder.name}-{n}") for n in count(1))
    return next(path for path in paths if not path.exists() or holds(config, path))


def holds(config: RunConfig, folder: Path, prepared: Prepared | None = None) -> bool:
    """True if a folder holds this run: the same problems, settings and number of samples."""
    try:
        run = Run.open(folder)
        stored = run.manifest.config
        settings = [(asked(each), each.samples, each.limit) for each in (stored, config)]
        problems = [
            [each.problem.key for each in side] for side in (run.questions(), (prepared or prepare(config)).questions)
        ]
    except JournalError:  # not a run, or a damaged one
        return False
    return settings[0] == settings[1] and problems[0] == problems[1]


def run_or_resume(config: RunConfig, folder: Path, title: str, prepared: Prepared | None = None) -> Run:
    """Start a run, or continue one that is already in the folder. A different run there is refused."""
    check_pass_k(config)
    with progress(title, quiet=not current().first) as display:
        return begin_or_extend(config, folder, display, prepared=prepared)


def report(run: Run, protocol: str | None = None) -> Summary:
    """Save the report of a finished run and return it, by `protocol` if one is given. Print failures to standard error."""
    own = finish(run)
    summary = own if protocol is None else summarize(run, protocol)
    if summary.failures:
        total, worst = sum(each.count for each in summary.failures.values()), next(iter(summary.failures.values()))
        print(f"{total} responses failed, {worst.count} of them: {worst.example}", file=sys.stderr)
    return summary


def marked_by(run: Run, protocol: str) -> None:
    """Mark every response by another protocol than the run's own."""
    if protocol != run.manifest.protocol.partition("@")[0]:
        problems = {question.problem.key: question.problem for question in run.questions()}
        run.save_marks(protocol, mark_many(((each, problems[each.key]) for each in run.responses()), protocol))


def beside(run: Run, decides: str, other: str) -> str:
    """Return one line of a report: the score by another rule, and how often the two disagree."""
    first, second = (
        {(mark.key, mark.sample): mark.correct for mark in run.marks(name) if mark.score is not None}
        for name in (decides, other)
    )
    differ = sum(second[sample] != correct for sample, correct in first.items() if sample in second)
    return f"By {other}: {sum(second.values())} of {len(second)} samples are right; {differ} differ from {decides}"


def add_protocol(parser: argparse.ArgumentParser, documented: str) -> None:
    """Add the option to mark by another rule than the documented one."""
    parser.add_argument(
        "--protocol",
        choices=protocol_names(),
        metavar="NAME",
        help=f"the protocol that decides, such as {OURS} (default: {documented})",
    )


def shown(estimate: Estimate) -> str:
    """Format a figure with its interval."""
    if estimate.value is None:
        return "undefined (too few samples came back)"
    return f"{estimate.value:.4f}  (95 % interval {estimate.low:.4f} to {estimate.high:.4f})"


def exit_code(summaries: list[Summary], again: str | None = None) -> int:
    """Return 0, or after printing what is missing, another exit code."""
    unfinished = [summary for summary in summaries if summary.missing]
    if not unfinished:
        return 0
    missing = sum(summary.missing for summary in unfinished)
    again = again or f"`markscheme resume {' '.join(summary.run for summary in unfinished)}` asks for them"
    print(f"{missing} responses are missing and not counted; {again}", file=sys.stderr)
    return INTERRUPTED if interrupted(summaries) else MISSING


def interrupted(summaries: list[Summary]) -> bool:
    """True if the user stopped the last run, so that no other is started."""
    return bool(summaries) and summaries[-1].status == "interrupted"


def failed(program: str, failure: MarkschemeError) -> int:
    """Print one sentence as argparse does and return the exit code."""
    print(f"{program}: error: {failure}", file=sys.stderr)
    return failure.exit_code
