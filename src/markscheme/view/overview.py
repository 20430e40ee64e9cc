"""The figures of a run in the list of runs: from its report if that is up to date, else from its marks."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import numpy as np

from markscheme.errors import JournalError
from markscheme.reporting.estimates import Estimate, estimate, rate
from markscheme.reporting.figures import variance_rows
from markscheme.reporting.summary import Corrected, summarize
from markscheme.runs.files import read_inside
from markscheme.runs.folder import Manifest
from markscheme.runs.lines import UNREADABLE
from markscheme.runs.reader import RunReader
from markscheme.statistics import VarianceTable
from markscheme.types import Verdict
from markscheme.view.background import Made
from markscheme.view.library import REPORT, SLICE, Entry, FileStates, OpenRun
from markscheme.view.site import Site

LARGEST_REPORT = 16 << 20
SMALL = 30 << 20  # bytes of responses up to which a run is read again rather than kept in memory


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a `report.json` that the list of runs shows, or the same computed from the marks."""

    protocol: str = ""
    problems: int = 0
    samples: int = 0
    files: dict[str, int] = {}
    responses: int
    missing: int
    verdicts: dict[str, int]
    accuracy: Estimate
    truncation: Estimate = Estimate(None)
    pass_at_k: dict[str, Estimate] = {}
    corrected: Corrected | None = None
    warnings: tuple[str, ...] = ()
    variance: VarianceTable | None = None
    tokens: int | None = None  # completion tokens of the whole run
    cost: float | None = None

    @property
    def expected(self) -> int:
        return self.responses + self.missing

    @property
    def passes(self) -> list[tuple[int, Estimate]]:
        """Return pass@k for each k > 1 for which it is defined."""
        known = {k: each for k, each in self.pass_at_k.items() if k.isdecimal() and each.value is not None}
        return [(int(k), each) for k, each in known.items() if k != "1"]

    @property
    def errors(self) -> float | None:
        """Return the share of failed requests."""
        errors = self.verdicts.get(Verdict.ERROR, 0)
        return errors / (self.responses + errors) if self.responses + errors else None

    @property
    def mean_tokens(self) -> float | None:
        return self.tokens / self.responses if self.tokens is not None and self.responses else None

    @property
    def uncertainty(self) -> list[dict[str, str]]:
        return variance_rows(self.variance) if self.variance else []


def overview(site: Site, entry: Entry) -> Made[Overview]:
    """Return the figures of a run: at once from its report, or computed in the background."""
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
    """Return the figures of the run's own report if its files have not changed since.

    A copied folder may have newer times in any order, so sizes and the manifest must match too.
    """
    manifest, written = entry.manifest, {name: when for name, (when, _) in states.items()}
    needed = ("problems.jsonl", "responses", f"marks/{entry.protocol}.jsonl")
    if manifest is None or not all(any(name.startswith(each) for name in written) for each in needed):
        return None
    sources = (*needed, "rounds", "adjudications")
    if written.get(REPORT, 0) < max(when for name, when in written.items() if name.startswith(sources)):
        return None
    try:
        report = msgspec.json.decode(read_inside(entry.path / REPORT, root, LARGEST_REPORT), type=Overview)
    except (OSError, *UNREADABLE):
        return None
    reported = (report.protocol, report.problems, report.samples, report.verdicts)
    if reported != (manifest.protocol, manifest.problems, manifest.samples, manifest.counts):
        return None
    sizes = {name: size for name, (_, size) in states.items() if name.startswith((*needed, "rounds"))}
    if report.files not in ({}, sizes):  # a report of an earlier version has none
        return None
    return _with_usage(report, manifest)


def _with_usage(report: Overview, manifest: Manifest, tokens: int | None = None) -> Overview:
    """Add the tokens and the cost of the manifest."""
    usage = manifest.usage
    used = (tokens, None) if usage is None else (usage.completion_tokens, usage.cost)
    return msgspec.structs.replace(report, tokens=used[0], cost=used[1])


def _from_files(site: Site, entry: Entry, size: int) -> Overview | None:
    """Compute the figures from the run's files; None if they cannot be read, which the run's page explains."""
    manifest = entry.manifest
    # A running or large run is kept open, so that only new lines are read next time.
    kept = size > SMALL or entry.running or site.library.is_open(entry)
    reader = site.library.reader(entry) if kept else RunReader(entry.path, site.library.root)
    while not reader.refresh(SLICE, manifest):
        time.sleep(0.005)  # let a page that waits have the lock
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
        summary = summarize(snapshot, protocol, manifest.config.pass_k or ((most,) if most > 1 else ()))
        return _with_usage(msgspec.convert(summary, Overview, from_attributes=True), manifest, total)
    return Overview(
        responses=snapshot.answered,
        missing=snapshot.missing,
        verdicts=counts.totals(),
        accuracy=estimate("accuracy", counts),
        truncation=rate(counts, Verdict.TRUNCATED),
        pass_at_k={str(most): estimate(f"pass@{most}", counts)} if most > 1 else {},
        tokens=total,
    )
