"""One run: how good, how sure, where it fails, and everything it was made with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from markscheme.reporting.figures import asked_with
from markscheme.runs.digests import alteration_line
from markscheme.runs.files import read_inside
from markscheme.runs.folder import Run
from markscheme.runs.problems import sorted_labels
from markscheme.runs.snapshot import Snapshot
from markscheme.statistics import accuracy
from markscheme.view import figures, plots
from markscheme.view.filters import Filter
from markscheme.view.library import MANIFEST, OpenRun
from markscheme.view.overview import overview
from markscheme.view.pages.grid import ORDERS, grid, legend
from markscheme.view.pages.pace import pace
from markscheme.view.site import Page, Site, live


@dataclass(frozen=True)
class Spread:
    """A number over the responses: typical and large."""

    total: float
    median: float
    high: float


def run_page(site: Site, slug: str, query: Mapping[str, str]) -> Page:
    """The page of a run."""
    run = site.open(slug)
    snapshot, protocol = run.snapshot, run.protocol
    counts = snapshot.counts(protocol)
    verdicts = figures.verdict_counts(counts)
    line = overview(site, run.entry)
    curve = site.figure(run, ("curve", protocol), lambda: figures.pass_curve(counts))
    limits = None
    if run.entry.manifest and run.entry.status == "complete" and not site.links.static:
        stored = Run(run.entry.path, run.entry.manifest)
        limits = site.figure(run, ("limits", protocol), lambda: figures.limit_curve(stored, protocol))
    fields = group_labels(run).items()
    groups = site.figure(
        run,
        ("groups", protocol),
        lambda: {field: figures.breakdown(counts, snapshot.groups[field], order) for field, order in fields},
    )
    bins = figures.token_bins(snapshot, protocol)
    pending = not (line.fresh and curve.fresh and groups.fresh and (limits is None or limits.fresh))
    return Page(
        "run.html",
        run.entry.name,
        {
            **header(run),
            "line": line.value,
            "pace": pace(run),
            "verdicts": verdicts,
            "legend": legend(verdicts),
            "bar": plots.verdict_bar(verdicts) if sum(verdicts.values()) else None,
            "curve": plots.pass_curve(curve.value) if curve.value and len(curve.value) > 1 else None,
            "limits": plots.pass_curve(limits.value, "accuracy at {}", "token limit")
            if limits and limits.value
            else None,
            "histogram": plots.token_histogram(bins) if bins else None,
            "rates": plots.solve_rates(accuracy(counts.n, counts.c).tolist()) if counts.n.max(initial=0) > 1 else None,
            "grid": grid(site.links, run, counts, query),
            "orders": ORDERS,
            "samples": _samples(run),
            "groups": groups.value or {},
            "tokens": _spread(snapshot, "tokens"),
            "latency": _spread(snapshot, "latency"),
            "facts": _facts(run),
            "manifest_text": manifest_text(site, run),
            "filter": Filter,
            "pending": pending,
        },
        again=live(run, pending=pending),
    )


def header(run: OpenRun) -> dict[str, Any]:
    """What every page of a run shows at its top."""
    return {
        "run": run,
        "entry": run.entry,
        "slug": run.entry.slug,
        "manifest": run.entry.manifest,
        "protocol": run.protocol,
        "label": run.snapshot.label_of(run.protocol),
        "snapshot": run.snapshot,
        "asked_with": asked_with(run.entry.manifest) if run.entry.manifest else "",
        "disagreements": int(run.snapshot.disagree.sum()),
        "altered": alteration_line(run.entry.path, run.entry.manifest) if run.entry.manifest else None,
    }


def group_labels(run: OpenRun) -> dict[str, list[str]]:
    """The fields by which problems are grouped, with their labels in order."""
    groups = run.snapshot.groups.items()
    return {field: sorted_labels([*{label for label in labels if label is not None}]) for field, labels in groups}


def _spread(snapshot: Snapshot, column: str) -> Spread | None:
    numbers = snapshot.rows[column].astype(float)
    known = numbers[snapshot.arrived & (~snapshot.failed) & (numbers >= 0) & np.isfinite(numbers)]
    if not known.size:
        return None
    median, high = np.quantile(known, [0.5, 0.9])
    return Spread(float(known.sum()), float(median), float(high))


def _samples(run: OpenRun) -> str:
    """How many samples a problem has: as asked for, or from the fewest to the most where a run chose by itself."""
    manifest = run.entry.manifest
    if manifest is None:
        return ""
    most = least = manifest.samples
    if manifest.status == "complete" and run.snapshot.complete and len(run.snapshot):
        each = np.bincount(run.snapshot.problem, minlength=run.snapshot.problems)
        least, most = int(each.min()), int(each.max())
    return f"{least:,} to {most:,} samples" if least < most else f"{most:,} sample{'s' * (most != 1)}"


def _facts(run: OpenRun) -> list[tuple[str, str]]:
    """The manifest's most asked for lines, in words."""
    manifest = run.entry.manifest
    if manifest is None:
        return []
    sampling = ", ".join(f"{name} {value}" for name, value in manifest.sampling.items()) or "the model's defaults"
    data = ", ".join(f"{file.path} (sha256 {file.sha256[:12]}…)" for file in manifest.data)
    facts = {
        "Benchmark": f"{manifest.benchmark}, {manifest.problems:,} problems × {_samples(run)}",
        "Model": manifest.model + (f", the server says {manifest.server_model}" if manifest.server_model else ""),
        "Protocol": manifest.protocol,
        "Sampling": sampling,
        "Data": data,
        "Prompt": f"sha256 {manifest.prompt_sha256[:12]}…" if manifest.prompt_sha256 else "",
        "Worked examples": ", ".join(manifest.fewshot_ids),
        "Software": ", ".join(f"{name} {version}" for name, version in manifest.packages.items()),
        "Git revision": manifest.git_revision or "",
        "Folder": str(run.entry.path),
    }
    return [(name, value) for name, value in facts.items() if value]


def manifest_text(site: Site, run: OpenRun, longest: int = 200_000) -> str:
    """The manifest as it stands in the file."""
    try:
        raw = read_inside(run.entry.path / MANIFEST, site.library.root, longest)
        return msgspec.json.format(raw, indent=2).decode()
    except OSError:
        return ""
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return raw.decode("utf-8", "replace")
