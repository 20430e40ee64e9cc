"""Writes the pages as files: a site that needs no server and no network, with relative addresses.

It is only written to an empty folder or over an earlier export. A small script filters the lists, from data in a file
next to the page.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from markscheme.errors import UsageError, os_reason
from markscheme.view.filters import Filter
from markscheme.view.html import render_page
from markscheme.view.library import Entry, Library, OpenRun
from markscheme.view.links import PAGES, Links
from markscheme.view.pages.compare import compare_page, compare_problem_page, moved_problems
from markscheme.view.pages.responses import listed, responses_page, responses_table
from markscheme.view.pages.runs import pairs
from markscheme.view.server import ASSETS, asset, csv_lines
from markscheme.view.site import Page, Site
from markscheme.view.visible import one_line

MARKER = ".markscheme-site"
FOREVER = 1e6  # seconds; a file is written once, so everything on it must be ready
TEXTS = 6_000_000  # bytes of responses up to which the texts can be searched too

Say = Callable[[str], None]


def export(folder: Path, target: Path, say: Say) -> int:
    """Write the site and return the number of pages."""
    claim(folder, target)
    site = Site(Library(folder), Links(page="index.html"), patience=FOREVER)
    pages = _Pages(site, target)
    try:
        for name in ({*ASSETS} - {"adjudicate.js"}) | {"static.js"}:
            pages.file(f"assets/{name}", asset(name))
        entries = site.library.entries()
        if not entries:
            raise UsageError(f"{folder} contains no run to export")
        pages.listed()
        for entry in entries:
            if entry.manifest is not None:
                say(f"{entry.name}: {_write_run(pages, entry)} pages")
        for one, two in pairs(entries):
            _write_comparison(pages, [one.slug, two.slug])
        return pages.count
    finally:
        site.close()


class _Pages:
    def __init__(self, site: Site, target: Path) -> None:
        self.site, self._target, self.count = site, target, 0

    def listed(self, slug: str = "", *numbers: int) -> None:
        """Write the pages of the table whose file names exactly these parts: a run, a problem, a sample."""
        parts = (slug, *numbers) if slug else ()
        for name, place in PAGES.items():
            if place.file.count("{") == len(parts):
                make = _list_page if name == "responses" else place.make
                self.page(place.at(slug, *numbers)[1], make, *parts, {})

    def page(self, name: str, make: Callable[..., Page], *arguments: Any) -> None:
        site = self.site.begin(Links(page=name))
        self.file(name, render_page(site, make(site, *arguments)).encode("utf-8", "replace"))
        self.count += 1

    def file(self, name: str, content: bytes) -> None:
        write(self._target / name, content)


def write(file: Path, content: bytes) -> None:
    """Write a file of the site, and the folders above it."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {os_reason(error)}") from None


def claim(folder: Path, target: Path) -> None:
    """Make sure that the site gets a new folder: never over other files, never in a run."""
    if any((parent / "manifest.json").exists() for parent in (target, *target.absolute().parents)):
        raise UsageError(f"{target} is inside a run folder, which is never written to; choose another --export folder")
    try:
        target.mkdir(parents=True, exist_ok=True)
        if any(target.iterdir()) and not (target / MARKER).exists():
            raise UsageError(f"{target} is neither empty nor an earlier export; choose another --export folder")
        (target / MARKER).write_text(
            f"Written by markscheme from {folder.name}; a new export overwrites this folder.\n"
        )
    except OSError as error:
        raise UsageError(f"cannot write {target}: {os_reason(error)}") from None


def _write_run(pages: _Pages, entry: Entry) -> int:
    before, slug, home = pages.count, entry.slug, f"run/{entry.slug}"
    run = pages.site.begin().open(slug)
    pages.listed(slug)
    pages.file(f"{home}/responses.js", b"window.markscheme = " + msgspec.json.encode(_list(run)) + b";\n")
    table = responses_table(pages.site.begin(), slug, Filter())
    pages.file(f"{home}/responses.csv", csv_lines(table, len(run.snapshot) + 1))
    for problem in range(run.snapshot.problems):
        pages.listed(slug, problem)
    for problem, sample in zip(run.snapshot.problem.tolist(), run.snapshot.sample.tolist(), strict=True):
        pages.listed(slug, problem, sample)
    return pages.count - before


def _write_comparison(pages: _Pages, slugs: list[str]) -> None:
    """Write a comparison, and each problem that it lists side by side."""
    place = f"compare/{'--'.join(slugs)}"
    pages.page(f"{place}.html", compare_page, slugs, {})
    for problem in moved_problems(pages.site.begin(), slugs):
        pages.page(f"{place}/{problem + 1}.html", compare_problem_page, slugs, {"problem": str(problem + 1)})


def _list_page(site: Site, slug: str, query: Mapping[str, str]) -> Page:
    """Make the list of responses without its rows, which the script adds."""
    page = responses_page(site, slug, query)
    return replace(page, template="responses_static.html")


def _list(run: OpenRun) -> dict[str, Any]:
    """Return the data of the script: the columns of the list, and the texts if they are small."""
    snapshot = run.snapshot
    rows = [_row(run, row) for row in range(len(snapshot))]
    small = int(snapshot.rows["size"].sum()) <= TEXTS
    texts = [_text(run, row) for row in range(len(snapshot))] if small else None
    return {"rows": rows, "texts": texts, "groups": run.snapshot.groups}


def _row(run: OpenRun, row: int) -> list[Any]:
    one = listed(run, row, run.protocol)
    verdicts = [one.look.name, *(look.name for look in one.others.values())]
    answer, why = one.answer and one_line(one.answer, 80), one_line(one.why, 160)
    numbers = [one.tokens, one.size, None if math.isnan(one.latency) else round(one.latency, 2)]
    return [one.problem, one.sample, one.id, verdicts, answer, why, *numbers, one.cut, one.disagree]


def _text(run: OpenRun, row: int) -> str:
    response = run.snapshot.response(row)
    return "" if response is None else (response.reasoning or "") + response.text
