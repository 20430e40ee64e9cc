"""The list of runs with their figures, to sort, filter and compare."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any
from urllib.parse import urlencode

from markscheme.config import SETTINGS
from markscheme.reporting.settings import differing, heading, names_tell_models, settings_of, shown
from markscheme.view.library import Entry
from markscheme.view.overview import Overview, overview
from markscheme.view.site import Page, Sheet, Site

PER_PAGE = 200
MOST_SETTINGS = 5  # settings shown as columns; more do not fit
MOST_OF_GROUP = 12  # runs of an experiment in the unfiltered list
MOST_PAIRS = 45  # comparisons in an exported site: the pairs of ten runs
# The columns that can be sorted by, with their headings.
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
# Columns whose figure has another name in `Overview`.
FIGURES = {
    "accuracy": "accuracy.value",
    "truncated": "truncation.value",
    "tokens": "mean_tokens",
}


@dataclass(frozen=True)
class Row:
    """A run in the table."""

    entry: Entry
    figures: Overview | None
    fresh: bool

    @property
    def experiment(self) -> str:
        """Return the folder that it shares with other runs."""
        return self.entry.name.rpartition("/")[0]

    @property
    def name(self) -> str:
        return self.entry.name.rpartition("/")[2]

    def setting(self, name: str) -> str:
        return shown(settings_of(self.entry.manifest)[name]) if self.entry.manifest else "–"

    def value(self, column: str) -> Any:
        """Return the value that a column sorts by; None goes last."""
        manifest, figures = self.entry.manifest, self.figures
        if column == "name":
            return self.entry.name
        if column in ("benchmark", "model", "started"):
            return getattr(manifest, column, None)
        if column in SETTINGS:
            value = settings_of(manifest)[column] if manifest else None
            return None if value is None else (isinstance(value, str | tuple | list), value)
        if figures is None:
            return None
        if column == "passes":
            return figures.passes[-1][1].value if figures.passes else None
        return attrgetter(FIGURES.get(column, column))(figures)


def runs_page(site: Site, query: Mapping[str, str]) -> Page:
    rows, asked = _rows(site, query)
    everything = site.library.entries()
    sheet = Sheet.turn_to(rows, query.get("page", ""), PER_PAGE, whole=site.links.static)
    pending = any(not row.fresh for row in rows)
    running = any(row.entry.running for row in sheet.rows)
    manifests = [row.entry.manifest for row in rows if row.entry.manifest]
    settings = differing(manifests)
    if len(settings) > MOST_SETTINGS:  # the runs have little in common
        settings = []
    return Page(
        "runs.html",
        "Runs",
        {
            "rows": sheet.rows,
            "groups": _groups(sheet.rows, asked, MOST_OF_GROUP if not site.links.static else len(sheet.rows)),
            "settings": settings,
            "named": "name" in settings and names_tell_models(manifests),
            "priced": any(row.figures and row.figures.cost is not None for row in rows),
            "heading": heading,
            "experiments": sorted({name for name, count in _experiments(everything).items() if count > 1}),
            "sheet": sheet,
            "total": len(everything),
            "folder": str(site.library.root),
            "columns": COLUMNS,
            "asked": asked,
            "benchmarks": sorted({e.manifest.benchmark for e in everything if e.manifest}),
            "statuses": sorted({e.status for e in everything if e.manifest}),
            "pairs": pairs(everything) if site.links.static else [],
            "query": lambda **changes: urlencode(
                {n: value for n, value in {**asked, **changes}.items() if value and n != "sorted"}
            ),
        },
        again=0.7 if pending else 3.0 if running or not everything else 10.0,  # a new run may appear at any time
    )


def _experiments(entries: list[Entry]) -> dict[str, int]:
    return Counter(folder for entry in entries if (folder := entry.name.rpartition("/")[0]))


def _groups(rows: list[Row], asked: Mapping[str, str], most: int) -> list[tuple[str, list[Row], int]]:
    """Group the runs by experiment, with the number of hidden runs of each; a sorted or filtered list has no groups."""
    if asked["sorted"] or any(asked[name] for name in ("q", "benchmark", "status", "experiment")):
        return [("", rows, 0)]
    several = {name for name, count in Counter(row.experiment for row in rows).items() if name and count > 1}
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.experiment if row.experiment in several else f"\0{row.entry.name}", []).append(row)
    return [
        ("", each, 0) if name[0] == "\0" else (name, each[:most], len(each) - most) for name, each in groups.items()
    ]


def pairs(entries: list[Entry]) -> list[tuple[Entry, Entry]]:
    """Return the pairs of runs of one benchmark, the earlier run first, which an exported site compares."""
    known = sorted(
        (entry.manifest.benchmark, entry.manifest.started, entry.slug, entry) for entry in entries if entry.manifest
    )
    couples = itertools.combinations(known, 2)
    same = ((one[3], two[3]) for one, two in couples if one[0] == two[0])
    return list(itertools.islice(same, MOST_PAIRS))


def runs_table(site: Site, query: Mapping[str, str]) -> Iterator[list[object]]:
    """Yield all rows for a CSV file."""
    rows, _ = _rows(site, query)
    names = differing([row.entry.manifest for row in rows if row.entry.manifest])
    yield ["run", "benchmark", "model", *names, "status", "protocol", "accuracy", "low", "high", "pass_at_k", "responses",
           "expected", "truncated", "errors", "completion_tokens", "cost", "started"]  # fmt: skip
    for row in rows:
        manifest, figures = row.entry.manifest, row.figures
        accuracy = figures.accuracy if figures else None
        yield [
            row.entry.name,
            *((manifest.benchmark, manifest.model) if manifest else [""] * 2),
            *(row.setting(name) for name in names),
            *((row.entry.status, manifest.protocol) if manifest else [""] * 2),
            *((accuracy.value, accuracy.low, accuracy.high) if accuracy else [""] * 3),
            " ".join(f"{k}:{figure.value:.4f}" for k, figure in figures.passes) if figures else "",
            *((figures.responses, figures.expected, figures.truncation.value, figures.errors) if figures else [""] * 4),
            *((figures.tokens, figures.cost) if figures else [""] * 2),
            manifest.started if manifest else "",
        ]


def _rows(site: Site, query: Mapping[str, str]) -> tuple[list[Row], dict[str, str]]:
    asked = {name: query.get(name, "")[:200] for name in ("q", "benchmark", "status", "experiment", "sort", "down")}
    asked["sorted"] = "1" if asked["sort"] in (*COLUMNS, *SETTINGS) else ""
    if not asked["sorted"]:
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
        and asked["experiment"] in ("", entry.name.rpartition("/")[0])
    )
