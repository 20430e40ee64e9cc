"""The page of one run: score, uncertainty, failures, settings and progress."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec
import numpy as np

from markscheme.reporting.figures import asked_with
from markscheme.running.progress import duration
from markscheme.runs.digests import alteration_line
from markscheme.runs.files import read_inside
from markscheme.runs.folder import Run
from markscheme.runs.problems import sorted_labels
from markscheme.runs.snapshot import Snapshot
from markscheme.statistics import accuracy
from markscheme.view import figures, plots
from markscheme.view.background import Made
from markscheme.view.filters import Filter
from markscheme.view.library import MANIFEST, OpenRun
from markscheme.view.overview import overview
from markscheme.view.pages.grid import ORDERS, grid, legend
from markscheme.view.site import Page, Site, live

RECENT = 100  # responses from which the rate of a resumed run is computed: the earlier ones came before it was resumed
LONGEST_MANIFEST = 200_000  # bytes


class Spread(NamedTuple):
    """A number over the responses: sum, median and 90 % quantile."""

    total: float
    median: float
    high: float


class Pace(NamedTuple):
    """How far a running run is, with a line such as `3.1 responses/s, 840 tokens/s, about 12 min left`."""

    done: int
    total: int
    line: str = ""


def run_page(site: Site, slug: str, query: Mapping[str, str]) -> Page:
    run = site.open(slug)
    snapshot, protocol, manifest = run.snapshot, run.protocol, run.entry.manifest
    counts = snapshot.counts(protocol)
    verdicts = counts.totals()
    fields = group_labels(run).items()
    made: dict[str, Made[Any]] = {
        "line": overview(site, run.entry),
        "curve": site.figure(run, ("curve", protocol), lambda: figures.pass_curve(counts)),
        "groups": site.figure(
            run,
            ("groups", protocol),
            lambda: {field: figures.breakdown(counts, snapshot.groups[field], order) for field, order in fields},
        ),
    }
    if manifest and run.entry.status == "complete" and not site.links.static:
        stored = Run(run.entry.path, manifest)
        made["limits"] = site.figure(run, ("limits", protocol), lambda: figures.limit_curve(stored, protocol))
    limits = made["limits"].value if "limits" in made else None
    curve, bins = made["curve"].value, figures.token_bins(snapshot, protocol)
    pending = not all(each.fresh for each in made.values())
    return Page(
        "run.html",
        run.entry.name,
        {
            **header(run),
            "line": made["line"].value,
            "pace": _pace(run),
            "verdicts": verdicts,
            "legend": legend(verdicts),
            "bar": plots.verdict_bar(verdicts) if sum(verdicts.values()) else None,
            "curve": plots.pass_curve(curve) if curve and len(curve) > 1 else None,
            "limits": plots.pass_curve(limits, "accuracy at {}", "token limit") if limits else None,
            "histogram": plots.token_histogram(bins) if bins else None,
            "rates": plots.solve_rates(accuracy(counts.n, counts.c).tolist()) if counts.n.max(initial=0) > 1 else None,
            "grid": grid(site.links, run, counts, query),
            "orders": ORDERS,
            "samples": _samples(run),
            "groups": made["groups"].value or {},
            "tokens": _spread(snapshot, "tokens"),
            "latency": _spread(snapshot, "latency"),
            "manifest_text": _manifest_text(site, run),
            "filter": Filter,
            "pending": pending,
        },
        again=live(run, pending=pending),
    )


def header(run: OpenRun) -> dict[str, Any]:
    """Return what every page of a run shows at its top."""
    manifest = run.entry.manifest
    return {
        "run": run,
        "entry": run.entry,
        "slug": run.entry.slug,
        "manifest": manifest,
        "protocol": run.protocol,
        "label": run.snapshot.label_of(run.protocol),
        "snapshot": run.snapshot,
        "asked_with": asked_with(manifest) if manifest else "",
        "disagreements": int(run.snapshot.disagree.sum()),
        "altered": alteration_line(run.entry.path, manifest) if manifest else None,
    }


def group_labels(run: OpenRun) -> dict[str, list[str]]:
    """Return the fields by which problems are grouped, with their sorted labels."""
    groups = run.snapshot.groups.items()
    return {field: sorted_labels([*{label for label in labels if label is not None}]) for field, labels in groups}


def _spread(snapshot: Snapshot, column: str) -> Spread | None:
    numbers = snapshot.rows[column].astype(float)
    known = numbers[snapshot.arrived & (~snapshot.failed) & (numbers >= 0) & np.isfinite(numbers)]
    return Spread(float(known.sum()), *np.quantile(known, [0.5, 0.9]).tolist()) if known.size else None


def _samples(run: OpenRun) -> str:
    """Return how many samples a problem has; a range if the run chose the number itself."""
    manifest = run.entry.manifest
    if manifest is None:
        return ""
    most = least = manifest.samples
    if manifest.status == "complete" and run.snapshot.complete and len(run.snapshot):
        each = np.bincount(run.snapshot.problem, minlength=run.snapshot.problems)
        least, most = int(each.min()), int(each.max())
    return f"{least:,} to {most:,} samples" if least < most else f"{most:,} sample{'s' * (most != 1)}"


def _pace(run: OpenRun) -> Pace | None:
    """Return the progress of a running run."""
    if run.entry.status != "running":
        return None
    snapshot, manifest = run.snapshot, run.entry.manifest
    done, total = snapshot.answered, snapshot.answered + snapshot.missing
    rows = np.flatnonzero(snapshot.arrived)
    rows = rows[np.lexsort((snapshot.rows["offset"][rows], snapshot.rows["file"][rows]))]
    begun = manifest.started if manifest else ""
    if manifest and manifest.resumed and len(rows):
        rows = rows[-RECENT:]
        first = snapshot.response(int(rows[0]))
        begun = (first.created if first else None) or ""
    seconds = 0.0
    with suppress(ValueError, TypeError):
        seconds = (datetime.now(UTC) - datetime.fromisoformat(begun)).total_seconds()
    if seconds <= 0 or not len(rows):
        return Pace(done, total)
    rate, tokens = len(rows) / seconds, snapshot.rows["tokens"][rows]
    parts = [f"{rate:.1f} responses/s" if rate >= 1 else f"{60 * rate:.1f} responses/min"]
    if (tokens > 0).any():
        parts.append(f"{tokens[tokens > 0].sum() / seconds:,.0f} tokens/s")
    if done < total:
        parts.append(f"about {duration((total - done) / rate)} left")
    return Pace(done, total, ", ".join(parts))


def _manifest_text(site: Site, run: OpenRun) -> str:
    try:
        raw = read_inside(run.entry.path / MANIFEST, site.library.root, LONGEST_MANIFEST)
        return msgspec.json.format(raw, indent=2).decode()
    except OSError:
        return ""
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return raw.decode("utf-8", "replace")
