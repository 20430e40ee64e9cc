"""An experiment's runs, one after the other: begun, resumed or extended, whatever each needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from markscheme.experiments.plan import Cell
from markscheme.models.prices import price_of
from markscheme.running import Display, Prepared, execute, prepare, resume
from markscheme.running.budget import Budget
from markscheme.runs import Run

CHARACTERS_PER_TOKEN = 4
"""Of English text and LaTeX, about; only for what a dry run says."""


class Estimate(NamedTuple):
    """What a cell will ask."""

    cell: Cell
    problems: int
    there: int
    """Responses that it has already."""
    requests: int
    """Responses that are still to be asked for."""
    prompt_tokens: int
    """Of those, about."""
    cost: float | None
    """At most, in dollars: with every response as long as it may be. `None` where price or length is not known."""


def estimate(cell: Cell, folder: Path, prepared: Prepared) -> Estimate:
    """What a cell will ask, before anything is."""
    samples = cell.config.samples
    there = run.snapshot().answered if (run := _there(folder / cell.folder)) else 0
    total = len(prepared.questions) * samples
    letters = sum(len(message.content) for each in prepared.questions for message in each.prompt.messages)
    left = max(total - there, 0)
    tokens = round(letters / CHARACTERS_PER_TOKEN * samples * left / total) if total else 0
    price, longest = price_of(cell.config), cell.config.max_tokens
    cost = None
    if price is not None and longest is not None:
        cost = (tokens * price.input + left * longest * price.output) / 1_000_000
    return Estimate(cell, len(prepared.questions), there, left, tokens, cost)


def run_cells(
    cells: Sequence[Cell],
    folder: Path,
    displays: Callable[[int, Cell], Display | None],
    reuse: Sequence[Run] = (),
    prepared: Iterable[Prepared] | None = None,
) -> Iterator[tuple[Path, Callable[[], Run]]]:
    """For each cell its folder and the work to do, in order; ends early when the budget is used up.

    Runs of the experiment share the budget, and answers to the same request.
    """
    budget = _budget(cells, folder)
    ready = list(prepared) if prepared is not None else [prepare(cell.config) for cell in cells]
    for number, (cell, each) in enumerate(zip(cells, ready, strict=True)):
        if budget.used_up:
            return

        def work(cell: Cell = cell, each: Prepared = each, number: int = number) -> Run:
            path, display = folder / cell.folder, displays(number, cell)
            others = [*reuse, *(run for one in cells if one is not cell and (run := _there(folder / one.folder)))]
            there = _there(path)
            if there is None:
                return execute(cell.config, path, display, each, budget=budget, reuse=others)
            changes = msgspec.structs.asdict(cell.config)
            changes["samples"] = max(cell.config.samples, there.manifest.config.samples)
            stored = there.manifest.config.limit
            if stored is None or (cell.config.limit is not None and cell.config.limit < stored):
                changes["limit"] = stored
            return resume(there, changes, display, budget=budget, reuse=others)

        yield folder / cell.folder, work


def _budget(cells: Sequence[Cell], folder: Path) -> Budget:
    """For all runs together, with what they have spent already."""
    first = cells[0].config
    budget = Budget(first.max_cost, first.max_tokens_total)
    for cell in cells:
        there = _there(folder / cell.folder)
        if there is not None and there.manifest.usage is not None:
            usage = there.manifest.usage
            budget.add(usage.prompt_tokens or 0, usage.completion_tokens or 0, price_of(cell.config))
    return budget


def _there(path: Path) -> Run | None:
    return Run.open(path) if (path / "manifest.json").exists() else None
