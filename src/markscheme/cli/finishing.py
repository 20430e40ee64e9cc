"""The end of `run` and `resume`: always a report, how to continue, and the exit code."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Self

from markscheme.cli import EXIT_INTERRUPTED, complain
from markscheme.errors import IncompleteRunError, JournalError, MarkschemeError, counted
from markscheme.pages.terminal import print_json

if TYPE_CHECKING:
    from markscheme.reporting.summary import Summary
    from markscheme.running.progress import Quiet
    from markscheme.runs import Run


class Reports:
    """Writes and prints one report per run folder; a context manager around all of them."""

    def __init__(self, args: argparse.Namespace, *, quiet: bool = False, again: str | None = None) -> None:
        from markscheme.models.fleet.ranks import join

        self._again = again  # the command that continues, if it is not `resume`
        self._json: bool = args.json
        self._quiet = quiet  # all runs are shown together at the end
        self._silent = not join().first  # another rank reports
        self._track: list[str] = [] if self._silent else args.track
        self._summaries: dict[str, Summary] = {}  # by folder, so that a run that is continued is reported once
        self._unfinished: list[str] = []
        self.interrupted = False

    def ask(self, title: str, folder: Path, work: Callable[[Quiet], Run]) -> bool:
        """Do the work on one run with a display and trackers, and report it; return False if it was interrupted."""
        from markscheme.running.progress import progress
        from markscheme.tracking import tracked

        display = progress(title, quiet=self._json or self._silent)
        with tracked(display, self._track, folder) as shown:

            def shown_work() -> Run:
                with shown:
                    return work(shown)

            self.of(folder, shown_work)
        return not self.interrupted

    def of(self, folder: Path, work: Callable[[], Run]) -> None:
        """Do the work on one run and report it, even if it was stopped."""
        from markscheme.runs import Run

        try:
            finished = work()
        except KeyboardInterrupt:  # while the last responses were being marked, for example
            if self._silent or not (folder / "manifest.json").exists():
                raise
            finished = Run.open(folder)
            if finished.manifest.status != "interrupted":
                raise
        except MarkschemeError as failure:
            if isinstance(failure.stopped_run, Run) and not self._silent:
                self._report(failure.stopped_run)
            raise
        if not self._silent:
            self._report(finished)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Print the remaining reports, also if a later run could not begin."""
        if self._silent:
            return
        if self._json and self._summaries:
            summaries = [*self._summaries.values()]
            print_json(summaries if len(summaries) > 1 else summaries[0])
        if kind is not None:  # the error message explains how to continue
            return
        if self._again and self.interrupted:
            complain(f"interrupted; `{self._again}` continues, and asks nothing twice")
        elif self._missing:
            again = self._again or f"markscheme resume {' '.join(self._unfinished)}"
            verb = "is" if self._missing == 1 else "are"
            complain(f"{counted(self._missing, 'response')} {verb} missing; `{again}` asks for what is missing")

    @property
    def exit_code(self) -> int:
        """0 only if no response is missing and the protocol failed on none."""
        if self.interrupted:
            return EXIT_INTERRUPTED
        failed = any(summary.failed_marks for summary in self._summaries.values())
        return IncompleteRunError.exit_code if self._missing else int(failed)

    @property
    def _missing(self) -> int:
        return sum(summary.missing for summary in self._summaries.values())

    def _report(self, finished: Run) -> None:
        from markscheme.reporting.summary import finish
        from markscheme.reporting.summary_text import print_summary

        def not_written(failure: JournalError) -> None:
            complain(f"the report could not be written: {failure}")

        summary = finish(finished, not_written)  # before it is printed: the terminal may be gone
        self._summaries[summary.run] = summary
        self.interrupted = finished.manifest.status == "interrupted"
        if summary.failed_marks:
            complain(
                f"{summary.protocol} failed on {summary.failed_marks:,} of {summary.responses:,} responses, which count as "
                f"unmarkable; once it is fixed, `markscheme mark {finished.path}` marks them again"
            )
        if summary.missing:
            self._unfinished.append(str(finished.path))
        if not self._json and not self._quiet:
            print_summary(summary)
