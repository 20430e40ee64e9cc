"""The grid of responses: one line per problem, one linked cell per sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup, escape

from markscheme.reporting.verdicts import LOOKS, Look, look
from markscheme.statistics import Counts, accuracy
from markscheme.view.library import OpenRun
from markscheme.view.links import Links
from markscheme.view.site import Sheet
from markscheme.view.visible import plain_visible

MOST_CELLS = 2_400  # cells per page: as many links as a browser lays out quickly
LARGEST_EXPORT = 20_000  # an exported grid has only one page
FEW = 2  # samples up to which all cells are in one block
ORDERS = {"hard": "hardest first", "easy": "easiest first", "mixed": "most undecided first", "": "as in the data"}


@dataclass(frozen=True)
class Line:
    """A problem in the grid."""

    number: int
    id: str
    rate: float
    cells: Markup


@dataclass(frozen=True)
class Grid:
    """One page of the grid."""

    lines: list[Line]
    order: str
    sheet: Sheet[list[Any]]
    problems: int
    flow: Markup | None = None  # all cells in one block, if problems have few samples
    width: str = ""  # CSS class for the width of the cells
    id_width: str = ""  # CSS class for the width of the ids


def grid(links: Links, run: OpenRun, counts: Counts, query: Mapping[str, str]) -> Grid:
    order = query.get("order", "") if query.get("order") in ORDERS else ""
    rates = accuracy(counts.n, counts.c)
    numbers = _ordered(rates, order)
    snapshot = run.snapshot
    wide = max(1, run.entry.manifest.samples if run.entry.manifest else 1, np.bincount(snapshot.problem).max(initial=0))
    each = max(1, (LARGEST_EXPORT if links.static else MOST_CELLS) // wide)
    sheet = Sheet.turn_to(numbers, query.get("grid", ""), each)
    if wide <= FEW:
        cells = [_cells(links, run, n, snapshot.ids[n]) + _boxes(run, n) for n in sheet.rows]
        return Grid([], order, sheet, len(numbers), Markup("").join(cells))
    lines = [Line(n, snapshot.ids[n], float(rates[n]), _cells(links, run, n) + _rest(run, n)) for n in sheet.rows]
    longest = max((len(line.id) for line in lines), default=0)
    return Grid(
        lines,
        order,
        sheet,
        len(numbers),
        width="few" if wide <= 8 else "some" if wide <= 16 else "many" if wide <= 40 else "very-many",
        id_width="short" if longest <= 10 else "medium" if longest <= 18 else "long",
    )


def _ordered(rates: npt.NDArray[np.float64], order: str) -> list[int]:
    if not order:
        return list(range(len(rates)))
    known = np.nan_to_num(rates, nan=2.0)
    keys = {"hard": known, "easy": np.where(known > 1, 2, -known), "mixed": np.abs(known - 0.5)}
    return [int(n) for n in np.argsort(keys[order], kind="stable")]


def _cells(links: Links, run: OpenRun, problem: int, name: str = "") -> Markup:
    # There are thousands of cells on a page: only the name and the address can contain special characters.
    name = escape(plain_visible(name[:80] + ", ")) if name else ""
    rows = run.snapshot.rows_of(problem)
    columns = (run.snapshot.sample, run.snapshot.verdict(run.protocol), run.snapshot.disagree)
    cells = []
    for sample, code, odd in zip(*(column[rows.start : rows.stop].tolist() for column in columns), strict=True):
        seen = look(code)
        href = escape(links.response(run.entry.slug, problem, sample))
        kind, note = (" odd", ", protocols disagree") if odd else ("", "")
        title = f"{name}sample {sample}: {seen.word}{note}"
        cells.append(f'<a class="c v-{seen.name}{kind}" href="{href}" title="{title}">{seen.symbol}</a>')
    return Markup("".join(cells))


def _absent(run: OpenRun, problem: int) -> int:
    """Return the number of missing samples; a complete run has none, even if problems differ in samples."""
    manifest = run.entry.manifest
    if manifest is None or manifest.status == "complete":
        return 0
    return max(0, manifest.samples - len(run.snapshot.rows_of(problem)))


def _boxes(run: OpenRun, problem: int) -> Markup:
    box = Markup('<span class="c v-missing" title="{}: missing"></span>').format(run.snapshot.ids[problem][:80])
    return box * min(_absent(run, problem), FEW)


def _rest(run: OpenRun, problem: int) -> Markup:
    absent = _absent(run, problem)
    word = "to come" if run.entry.running else "missing"
    return Markup('<span class="rest">{:,} {}</span>').format(absent, word) if absent else Markup("")


def legend(counts: Mapping[str, int]) -> list[tuple[Look, int]]:
    """Return the verdicts that occur, with their counts."""
    return [(LOOKS[verdict], times) for verdict, times in counts.items()]
