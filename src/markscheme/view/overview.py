"""One line of figures for each run: from its own report if that is up to date, else from its marks."""

from __future__ import annotations

import time
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from markscheme.errors import JournalError
from markscheme.reporting.summary import Estimate
from markscheme.runs.columns import VERDICTS
from markscheme.runs.files import read_inside
from markscheme.runs.lines import UNREADABLE
from markscheme.runs.reader import RunReader
from markscheme.runs.snapshot import Snapshot
from markscheme.statistics import Interval
from markscheme.view import figures
from markscheme.view.background import Made
from markscheme.view.library import SLICE, Entry, OpenRun
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

    @property
    def truncated(self) -> float | None:
        """Share of the scored responses that were cut off before an answer."""
        return self.verdicts["truncated"] / self.scored if self.scored else None

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
    pass_at_k: dict[str, Estimate] = {}


def overview(site: Site, entry: Entry) -> Made[Overview]:
    """The figures of a run: at once where its report has them, else made in the background."""
    key, stamp = (entry.path, "overview"), _stamp(entry.path)
    ready: Made[Overview] | None = site.background.known(key, stamp)
    if ready is not None:
        return ready
    reported = None if entry.running else _from_report(entry, site.library.root)
    if reported is not None:
        return site.background.keep(key, stamp, reported)
    return site.background.get(key, stamp, lambda: _from_files(site, entry), site.left)


def _stamp(path: Path) -> Hashable:
    """Changes whenever a file of the run does."""
    names = ["manifest.json", "report.json", *sorted(file.name for file in path.glob("responses*.jsonl"))]
    names += sorted(f"marks/{file.name}" for file in path.glob("marks/*.jsonl"))
    return tuple((name, _state(path / name)) for name in names)


def _state(file: Path) -> tuple[int, int]:
    try:
        state = file.stat()
    except OSError:
        return (0, 0)
    return (state.st_mtime_ns, state.st_size)


def _from_report(entry: Entry, root: Path) -> Overview | None:
    """The figures that the run itself reported, if they are of its present marks."""
    report = entry.path / "report.json"
    marks = entry.path / "marks" / f"{entry.protocol}.jsonl"
    latest = max((_state(file)[0] for file in entry.path.glob("responses*.jsonl")), default=0)
    if entry.manifest is None or not _state(report)[0] >= max(latest, _state(marks)[0]) > 0:
        return None
    try:
        summary = msgspec.json.decode(read_inside(report, root, LARGEST_REPORT), type=_Report)
    except (OSError, *UNREADABLE):
        return None
    passes = [(int(k), _interval(found)) for k, found in summary.pass_at_k.items() if k.isdecimal() and k != "1"]
    usage = entry.manifest.usage
    return Overview(
        expected=summary.responses + summary.missing,
        scored=summary.responses,
        accuracy=_interval(summary.accuracy),
        passes=tuple((k, found) for k, found in passes if found is not None),
        verdicts={str(verdict): summary.verdicts.get(str(verdict), 0) for verdict in VERDICTS},
        tokens=usage.completion_tokens if usage else None,
        cost=usage.cost if usage else None,
    )


def _interval(found: Estimate) -> Interval | None:
    if found.value is None or found.low is None or found.high is None:
        return None
    return Interval(
        estimate=found.value,
        low=found.low,
        high=found.high,
        level=found.level,
        method="report.json",
        problems=found.problems,
    )


def _from_files(site: Site, entry: Entry) -> Overview | None:
    """The same from the run's files; None where they cannot be read as a run, which its own pages tell."""
    manifest = entry.manifest
    large = sum(_state(file)[1] for file in entry.path.glob("responses*.jsonl")) > SMALL
    # A run that is growing or took long to read is kept open, so that the next look reads only what is new.
    kept = large or entry.running or site.library.is_open(entry)
    reader = site.library.reader(entry) if kept else RunReader(entry.path, site.library.root)
    while not reader.refresh(SLICE, manifest):
        time.sleep(0.005)  # a page that waits for the lock gets it
    try:
        snapshot = reader.snapshot(manifest)
        counts = snapshot.counts(OpenRun(entry, snapshot).protocol)
    except JournalError:
        return None
    most = int(counts.n.max(initial=0))
    asked = manifest.config.pass_k if manifest else ()
    passes = [(k, figures.estimate(f"pass@{k}", counts)) for k in asked or ((most,) if most > 1 else ()) if k > 1]
    usage = manifest.usage if manifest else None
    return Overview(
        expected=snapshot.expected,
        scored=int(counts.n.sum()),
        accuracy=figures.estimate("accuracy", counts),
        passes=tuple((k, found) for k, found in passes if found is not None),
        verdicts=figures.verdict_counts(counts),
        tokens=usage.completion_tokens if usage is not None else _tokens(snapshot),
        cost=usage.cost if usage is not None else None,
    )


def _tokens(snapshot: Snapshot) -> int | None:
    tokens = snapshot.rows["tokens"]
    known = tokens >= 0
    return int(tokens[known].astype(np.int64).sum()) if known.any() else None
