"""What the doors share: a run started or taken up where it stopped, its report, and values of flags."""

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
from markscheme.models.fleet.ranks import ALONE, Ranks
from markscheme.reporting.estimates import Estimate
from markscheme.reporting.summary import Summary, finish, summarize
from markscheme.running import Prepared, prepare
from markscheme.running.progress import progress
from markscheme.runs import Run

# The protocol shown beside a documented rule, or used in its place with `protocol` (`--protocol`, `-T protocol=`).
OURS = "math"

MISSING, INTERRUPTED = 3, 130  # exit codes when responses are missing and after Ctrl-C, as those of `markscheme run`


def positive(word: str) -> int:
    """A flag's whole number of 1 or more, refused where it is typed and under the name that was typed."""
    try:
        value = int(word)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{word!r} is not a whole number") from None
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is less than 1")
    return value


def own_folder(config: RunConfig, folder: Path) -> Path:
    """`folder`, or `folder-2` and so on: the first that is free or holds this very run.

    A door can always be typed again: what was answered under other settings is kept, and never in the way.
    """
    paths = (folder if n == 1 else folder.with_name(f"{folder.name}-{n}") for n in count(1))
    return next(path for path in paths if not path.exists() or holds(config, path))


def holds(config: RunConfig, folder: Path, prepared: Prepared | None = None) -> bool:
    """Whether a folder holds this very run: the same problems, asked in the same way as often."""
    try:
        run = Run.open(folder)
        stored = run.manifest.config
        settings = [(asked(each), each.samples, each.limit) for each in (stored, config)]
        problems = [
            [each.problem.key for each in side] for side in (run.questions(), (prepared or prepare(config)).questions)
        ]
    except JournalError:  # not a run, or a damaged one: left alone
        return False
    return settings[0] == settings[1] and problems[0] == problems[1]


def run_or_resume(
    config: RunConfig, folder: Path, title: str, ranks: Ranks = ALONE, prepared: Prepared | None = None
) -> Run:
    """Into a folder that holds this run already: only what is missing is asked. Another run there is refused."""
    check_pass_k(config)
    with progress(title, quiet=not ranks.first) as display:
        return begin_or_extend(config, folder, display, prepared=prepared, ranks=ranks)


def report(run: Run, protocol: str | None = None) -> Summary:
    """The figures of a finished run, kept in its folder; why responses failed goes to standard error.

    Under another `protocol` than the run's own, the folder keeps the run's own.
    """
    own = finish(run)
    summary = own if protocol is None else summarize(run, protocol)
    if summary.failures:
        total, worst = sum(each.count for each in summary.failures.values()), next(iter(summary.failures.values()))
        print(f"{total} responses failed, {worst.count} of them: {worst.example}", file=sys.stderr)
    return summary


def marked_by(run: Run, protocol: str) -> None:
    """Have every response marked by a protocol that need not be the run's own."""
    if protocol != run.manifest.protocol.partition("@")[0]:
        problems = {question.problem.key: question.problem for question in run.questions()}
        run.save_marks(protocol, mark_many(((each, problems[each.key]) for each in run.responses()), protocol))


def beside(run: Run, decides: str, other: str) -> str:
    """What another rule says of the samples, and of how many it differs: one line of a door's report."""
    first, second = (
        {(mark.key, mark.sample): mark.correct for mark in run.marks(name) if mark.score is not None}
        for name in (decides, other)
    )
    differ = sum(second[sample] != correct for sample, correct in first.items() if sample in second)
    return f"By {other}: {sum(second.values())} of {len(second)} samples are right; {differ} differ from {decides}"


def add_protocol(parser: argparse.ArgumentParser, documented: str) -> None:
    """The one option with which a door marks by another rule than the documented one."""
    parser.add_argument(
        "--protocol",
        choices=protocol_names(),
        metavar="NAME",
        help=f"which protocol decides, such as {OURS} (default: {documented}, which is shown beside it then)",
    )


def shown(estimate: Estimate) -> str:
    """A figure with its interval, for a line of a door's report."""
    if estimate.value is None:
        return "undefined (too few samples came back)"
    return f"{estimate.value:.4f}  (95 % interval {estimate.low:.4f} to {estimate.high:.4f})"


def exit_code(summaries: list[Summary], again: str | None = None) -> int:
    """0, or another after saying on standard error what is missing and what asks for it (`markscheme resume`)."""
    unfinished = [summary for summary in summaries if summary.missing]
    if not unfinished:
        return 0
    missing = sum(summary.missing for summary in unfinished)
    again = again or f"`markscheme resume {' '.join(summary.run for summary in unfinished)}` asks for them"
    print(f"{missing} responses are missing and not counted; {again}", file=sys.stderr)
    return INTERRUPTED if interrupted(summaries) else MISSING


def interrupted(summaries: list[Summary]) -> bool:
    """Whether the last run was stopped by hand: nothing more is to be started then."""
    return bool(summaries) and summaries[-1].status == "interrupted"


def failed(program: str, failure: MarkschemeError) -> int:
    """One sentence in the way of argparse, and its exit code."""
    print(f"{program}: error: {failure}", file=sys.stderr)
    return failure.exit_code
