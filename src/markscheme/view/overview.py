"""One line of figures for each run: from its own report if that is up to date, else from its marks."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from markscheme.errors import JournalError
from markscheme.reporting.figures import variance_rows
from markscheme.reporting.summary import Corrected, Estimate, Summary, summarize
from markscheme.runs.columns import VERDICTS
from markscheme.runs.files import read_inside
from markscheme.runs.folder import Manifest
from markscheme.runs.lines import UNREADABLE
from markscheme.runs.reader import RunReader
from markscheme.statistics import Interval, VarianceTable
from markscheme.view import figures
from markscheme.view.background import Made
from markscheme.view.library import REPORT, SLICE, Entry, FileStates, OpenRun
from markscheme.view.site import Site

LARGEST_REPORT = 16 << 20
SMALL = 30 << 20
"""Bytes of responses up to which a run that nobody looks at is read anew rather than kept in memory."""


@dataclass(frozen=True)
class Overview:
    """What the table of runs shows."""

    expected: int
    scored: int
    accuracy: Interval | None
    passes: tuple[tuple[int, Interval], ...]
    verdicts: dict[str, int]
    tokens: int | None
    """Completion tokens of the whole run."""
    cost: float | None
    truncated: float | None = None
    """Share of the responses that were cut off before an answer, a mean over problems."""
    corrected: Interval | None = None
    """The accuracy corrected for the marker's errors, where people have judged a sample."""
    notes: tuple[str, ...] = ()
    """What a reader must know before quoting a figure, as every report says it."""
    variance: tuple[dict[str, str], ...] = ()
    """What the uncertainty is made of, a row for each population."""

    @property
    def errors(self) -> float | None:
        """Share of what came back at all that is an error."""
        returned = self.scored + self.verdicts["error"]
        return self.verdicts["error"] / returned if returned else None

    @property
    def mean_tokens(self) -> float | None:
        """Completion tokens a response."""
        return self.tokens / self.scored if self.tokens is not None and self.scored else None


class _Report(msgspec.Struct):
    """The part of a `report.json` that is shown, so that one of an older or newer version will do."""

    responses: int
    missing: int
    verdicts: dict[str, int]
    accuracy: Estimate
    truncation: Estimate = Estimate(None)
    pass_at_k: dict[str, Estimate] = {}
    corrected: Corrected | None = None
    warnings: tuple[str, ...] = ()
    variance: VarianceTable | None = None


def overview(site: Site, entry: Entry) -> Made[Overview]:
    """The figures of a run: at once where its report has them, else made in the background."""
    key, states = (entry.path, "overview"), entry.file_states()
    stamp = tuple(states.items())
    ready = site.background.known(key, stamp)
    if ready is not None:
        return ready
    reported = None if entry.running else _from_report(entry, states, site.library.root)
    if reported is not None:
        return site.background.keep(key, stamp, reported)
    size = sum(size for name, (_, size) in states.items() if name.startswith("responses"))
    return site.background.get(key, stamp, lambda _: _from_files(site, entry, size), site.left)


def _from_report(entry: Entry, states: FileStates, root: Path) -> Overview | None:
    """The figures that the run itself reported, if they are of its present marks."""
    written = {name: when for name, (when, _) in states.items()}
    sources = [when for name, when in written.items() if name.startswith(("responses", "adjudications"))]
    sources.append(written.get(f"marks/{entry.protocol}.jsonl", 0))
    if entry.manifest is None or not written.get(REPORT, 0) >= max(sources) > 0:
        return None
    try:
        summary = msgspec.json.decode(read_inside(entry.path / REPORT, root, LARGEST_REPORT), type=_Report)
    except (OSError, *UNREADABLE):
        return None
    return _shown(summary, entry.manifest)


def _shown(summary: _Report | Summary, manifest: Manifest, tokens: int | None = None) -> Overview:
    """What the pages show of a report, with the tokens and the cost that the manifest has added up, where it has."""
    passes = [(int(k), _interval(figure)) for k, figure in summary.pass_at_k.items() if k.isdecimal() and k != "1"]
    usage = manifest.usage
    return Overview(
        expected=summary.responses + summary.missing,
        scored=sum(count for verdict, count in summary.verdicts.items() if verdict != "error"),
        accuracy=_interval(summary.accuracy),
        passes=tuple((k, figure) for k, figure in passes if figure is not None),
        verdicts={str(verdict): summary.verdicts.get(str(verdict), 0) for verdict in VERDICTS},
        tokens=usage.completion_tokens if usage else tokens,
        cost=usage.cost if usage else None,
        truncated=summary.truncation.value,
        corrected=_interval(summary.corrected.accuracy) if summary.corrected else None,
        notes=summary.warnings,
        variance=tuple(variance_rows(summary.variance)) if summary.variance else (),
    )


def _interval(figure: Estimate) -> Interval | None:
    if figure.value is None or figure.low is None or figure.high is None:
        return None
    low, high, problems = figure.low, figure.high, figure.problems
    return Interval(estimate=figure.value, low=low, high=high, level=figure.level, method=REPORT, problems=problems)


def _from_files(site: Site, entry: Entry, size: int) -> Overview | None:
    """The same from the run's files; None where they cannot be read as a run, which its own pages tell."""
    manifest = entry.manifest
    # A run that is growing or took long to read is kept open, so that the next look reads only what is new.
    kept = size > SMALL or entry.running or site.library.is_open(entry)
    reader = site.library.reader(entry) if kept else RunReader(entry.path, site.library.root)
    while not reader.refresh(SLICE, manifest):
        time.sleep(0.005)  # a page that waits for the lock gets it
    try:
        snapshot = reader.snapshot(manifest)
        protocol = OpenRun(entry, snapshot).protocol
        counts = snapshot.counts(protocol)
    except JournalError:
        return None
    most = int(counts.n.max(initial=0))
    tokens = snapshot.rows["tokens"]
    known = tokens[tokens >= 0].astype(np.int64)
    total = int(known.sum()) if known.size else None
    if manifest is not None and most:
        asked = manifest.config.pass_k or ((most,) if most > 1 else ())
        return _shown(summarize(snapshot, protocol, asked), manifest, total)
    passed = figures.estimate(f"pass@{most}", counts) if most > 1 else None
    return Overview(
        expected=snapshot.expected,
        scored=int(counts.n.sum()),
        accuracy=figures.estimate("accuracy", counts),
        passes=((most, passed),) if passed else (),
        verdicts=figures.verdict_counts(counts),
        tokens=total,
        cost=None,
        truncated=cut.estimate if (cut := figures.truncation(counts)) else None,
    )
