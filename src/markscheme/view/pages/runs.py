"""The first page: every run with its figures, to sort, narrow down and compare."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any
from urllib.parse import urlencode

from markscheme.view.library import Entry
from markscheme.view.overview import Overview, overview
from markscheme.view.site import Page, Sheet, Site

PER_PAGE = 200
MOST_PAIRS = 45
"""Comparisons in an exported site: all pairs of ten runs."""
COLUMNS = {
    "name": "Run",
    "benchmark": "Benchmark",
    "model": "Model",
    "accuracy": "Accuracy",
    "passes": "pass@k",
    "truncated": "Truncated",
    "errors": "Errors",
    "responses": "Responses",
    "tokens": "Tokens each",
    "cost": "Cost",
    "started": "Started",
}
"""What can be sorted by, with the heading."""
FIGURES = {
    "accuracy": "accuracy.value",
    "truncated": "truncation.value",
    "tokens": "mean_tokens",
}
"""Columns whose figure has another name in the overview."""


@dataclass(frozen=True)
class Row:
    """A run in the table."""

    entry: Entry
    figures: Overview | None
    fresh: bool

    def value(self, column: str) -> Any:
        """What a column sorts by; None goes last."""
        manifest, figures = self.entry.manifest, self.figures
        if column == "name":
            return self.entry.name
        if column in ("benchmark", "model", "started"):
            return getattr(manifest, column, None)
        if figures is None:
            return None
        if column == "passes":
            return figures.passes[-1][1].value if figures.passes else None
        return attrgetter(FIGURES.get(column, column))(figures)


def runs_page(site: Site, query: Mapping[str, str]) -> Page:
    """The table of runs."""
    rows, asked = _rows(site, query)
    everything = site.library.entries()
    sheet = Sheet.turn_to(rows, query.get("page", ""), PER_PAGE, whole=site.links.static)
    pending = any(not row.fresh for row in rows)
    running = any(row.entry.running for row in sheet.rows)
    return Page(
        "runs.html",
        "Runs",
        {
            "rows": sheet.rows,
            "sheet": sheet,
            "total": len(everything),
            "folder": str(site.library.root),
            "columns": COLUMNS,
            "asked": asked,
            "benchmarks": sorted({e.manifest.benchmark for e in everything if e.manifest}),
            "statuses": sorted({e.status for e in everything if e.manifest}),
            "pairs": pairs(everything) if site.links.static else [],
            "query": lambda **changes: urlencode({n: value for n, value in {**asked, **changes}.items() if value}),
        },
        again=0.7 if pending else 3.0 if running or not everything else 10.0,  # a new run may appear at any time
    )


def pairs(entries: list[Entry]) -> list[tuple[Entry, Entry]]:
    """Runs of one benchmark, each with each, the earlier one first: what a site without a server compares."""
    known = sorted(
        (entry.manifest.benchmark, entry.manifest.started, entry.slug, entry) for entry in entries if entry.manifest
    )
    couples = itertools.combinations(known, 2)
    same = ((one[3], two[3]) for one, two in couples if one[0] == two[0])
    return list(itertools.islice(same, MOST_PAIRS))


def runs_table(site: Site, query: Mapping[str, str]) -> Iterator[list[object]]:
    """The same rows for a CSV file, all of them."""
    rows, _ = _rows(site, query)
    yield ["run", "benchmark", "model", "status", "protocol", "accuracy", "low", "high", "pass_at_k", "responses",
           "expected", "truncated", "errors", "completion_tokens", "cost", "started"]  # fmt: skip
    for row in rows:
        manifest, figures = row.entry.manifest, row.figures
        accuracy = figures.accuracy if figures else None
        yield [
            row.entry.name,
            *((manifest.benchmark, manifest.model, row.entry.status, manifest.protocol) if manifest else [""] * 4),
            *((accuracy.value, accuracy.low, accuracy.high) if accuracy else [""] * 3),
            " ".join(f"{k}:{figure.value:.4f}" for k, figure in figures.passes) if figures else "",
            *((figures.responses, figures.expected, figures.truncation.value, figures.errors) if figures else [""] * 4),
            *((figures.tokens, figures.cost) if figures else [""] * 2),
            manifest.started if manifest else "",
        ]


def _rows(site: Site, query: Mapping[str, str]) -> tuple[list[Row], dict[str, str]]:
    asked = {name: query.get(name, "")[:200] for name in ("q", "benchmark", "status", "sort", "down")}
    if asked["sort"] not in COLUMNS:
        asked["sort"], asked["down"] = "started", "1"
    rows = []
    for entry in site.library.entries():
        if _wanted(entry, asked):
            made = overview(site, entry)
            rows.append(Row(entry, made.value, made.fresh))
    column = asked["sort"]
    known = [row for row in rows if row.value(column) is not None]
    known.sort(key=lambda row: (row.value(column), row.entry.name), reverse=bool(asked["down"]))
    return known + [row for row in rows if row.value(column) is None], asked


def _wanted(entry: Entry, asked: Mapping[str, str]) -> bool:
    manifest = entry.manifest
    words = " ".join([entry.name, manifest.benchmark, manifest.model] if manifest else [entry.name]).lower()
    return (
        all(word in words for word in asked["q"].lower().split())
        and asked["benchmark"] in ("", manifest.benchmark if manifest else None)
        and asked["status"] in ("", entry.status)
    )
