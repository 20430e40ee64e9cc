"""Start, resume or extend the runs of an experiment, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from markscheme.config import RunConfig
from markscheme.errors import JournalError, ModelError, UsageError, option
from markscheme.experiments.plan import Cell, asked
from markscheme.models.backends import check_backend, check_options
from markscheme.models.prices import price_of
from markscheme.models.secrets import hide_spec
from markscheme.running import Display, Prepared, execute, holds_run, prepare, resume
from markscheme.running.budget import Budget
from markscheme.running.live import Live
from markscheme.running.progress import Quiet
from markscheme.running.rounds import first_round
from markscheme.runs import Run

CHARACTERS_PER_TOKEN = 4  # roughly, for English and LaTeX; used for forecasts only
# What stops only its own run: a server that is away, or a model that refuses the benchmark or an option.
STOPS_ONE_RUN = (ModelError, UsageError)


class Forecast(NamedTuple):
    """A run that is ready to be asked, and what it will ask."""

    cell: Cell
    path: Path
    prepared: Prepared
    there: int  # responses that exist already
    requests: int  # responses still to ask for
    prompt_tokens: int  # approximate tokens of their prompts
    # Highest cost in dollars, if every response has the maximum length; None if price or length is not known.
    cost: float | None

    @property
    def problems(self) -> int:
        return len(self.prepared.questions)


def forecasts(cells: Sequence[Cell], folder: Path) -> list[Forecast]:
    """Return what each run will ask; a mistake in any of them is reported before the first is asked."""
    prepared = [prepare(cell.config) for cell in cells]
    return [forecast(*each) for each in zip(cells, places(cells, folder), prepared, strict=True)]


def forecast(cell: Cell, path: Path, prepared: Prepared) -> Forecast:
    """Return what a run will ask, without asking."""
    check_backend(cell.config.model)
    check_options(cell.config.model, cell.config)
    samples = cell.config.samples
    there = run.snapshot().answered if (run := _there(path)) else 0
    total = len(prepared.questions) * samples
    letters = sum(len(message.content) for each in prepared.questions for message in each.prompt.messages)
    left = max(total - there, 0)
    tokens = round(letters / CHARACTERS_PER_TOKEN * samples * left / total) if total else 0
    price, longest = price_of(cell.config), cell.config.max_tokens
    cost = None
    if price is not None and longest is not None:
        cost = (tokens * price.input + left * longest * price.output) / 1_000_000
    return Forecast(cell, path, prepared, there, left, tokens, cost)


def run_cells(
    plan: Sequence[Forecast], screen: Quiet, reuse: Sequence[Run] = ()
) -> Iterator[tuple[Path, Callable[[], Run]]]:
    """Yield the folder of each run and a function that asks it, until the shared budget is used up.

    The runs share the screen, and answers to the same requests.
    """
    budget = _budget(plan)

    def work(number: int, samples: int = 0) -> Run:
        cell, path, prepared, *_ = plan[number]
        config = cell.config
        if samples:  # names the baseline in the manifest
            config = msgspec.structs.replace(config, samples=samples, until_better=hide_spec(plan[0].cell.config.model))
        others = [*reuse, *(run for each in plan if each.path != path and (run := _there(each.path)))]
        shared: dict[str, Any] = {"budget": budget, "reuse": others, "driven": bool(samples)}
        return begin_or_extend(config, path, _OneOfSeveral(screen, plan, number), prepared, **shared)

    if any(each.cell.config.until_better for each in plan):
        for one, two in pairs_to_compare([each.cell for each in plan]):
            for samples in _looks(plan[two].cell.config, plan[one].path, plan[two].path):
                for number in (one, two):
                    if budget.used_up:
                        return
                    yield plan[number].path, partial(work, number, samples)
        return
    for number, each in enumerate(plan):
        if budget.used_up:
            return
        yield each.path, partial(work, number)


class _OneOfSeveral:
    """The display of one run, with the overall progress in the title."""

    def __init__(self, screen: Quiet, plan: Sequence[Forecast], number: int) -> None:
        self._screen, self.every = screen, screen.every
        self._total = sum(each.there + each.requests for each in plan) or 1
        self._before = sum(each.there + each.requests for each in plan[:number])
        self._before += sum(each.there for each in plan[number + 1 :])
        cell = plan[number].cell
        name = " · ".join(filter(None, (cell.config.benchmark, cell.model, cell.variation)))
        self._place, self._name = f"{number + 1} of {len(plan)}", name

    def show(self, live: Live) -> None:
        share = 100 * (self._before + live.done) / self._total
        self._screen.title = f"{self._place}, {share:.0f} %: {self._name}"
        self._screen.show(live)

    def say(self, line: str) -> None:
        self._screen.say(line)


def pairs_to_compare(cells: Sequence[Cell]) -> list[tuple[int, int]]:
    """Return the two models of each benchmark and setting by number, the baseline first; refuse any other number."""
    names = list(dict.fromkeys(cell.model for cell in cells))
    first = cells[0].config.until_better
    if len(names) != 2 or first not in (names[0], cells[0].config.model):
        raise UsageError(
            f"{option('until_better')} in an experiment needs two models and names the first one ({names[0]}), the one to beat; here "
            f"the models are {', '.join(names)}, and it names {first}"
        )
    groups: dict[tuple[str, str], list[int]] = {}
    for number, cell in enumerate(cells):
        groups.setdefault((cell.config.benchmark, cell.variation), []).append(number)
    if any(len(group) != 2 for group in groups.values()):
        raise UsageError(f"{option('until_better')} needs both models with the same settings on every benchmark")
    return [(one, two) for one, two in groups.values()]


def _looks(config: RunConfig, baseline: Path, other: Path) -> Iterator[int]:
    """Yield the samples per problem to ask of both models, as long as more are needed."""
    from markscheme.statistics import looking

    first = samples = first_round(config)
    while True:
        stored = [run.manifest.samples for path in (baseline, other) if (run := _there(path))]
        samples = max(samples, *stored) if stored else samples
        yield samples
        runs = [run for path in (baseline, other) if (run := _there(path)) and run.manifest.status == "complete"]
        following = looking.next_look(samples, config.max_samples)
        if len(runs) < 2 or following == samples or config.margin is None:
            return
        one, two = (run.snapshot().counts(run.manifest.protocol) for run in runs)
        if looking.look(one, two, config.margin / 100, first, both=True).outcome != "open":
            return
        samples = following


def begin_or_extend(
    config: RunConfig,
    path: Path,
    display: Display | None,
    prepared: Prepared | None = None,
    **shared: Any,
) -> Run:
    """Run into a folder. If it holds this run already, ask only what is missing; another run there is refused.

    Asking for less of an incomplete run is refused too: resuming would ask more than was typed.
    """
    if not holds_run(path):
        return execute(config, path, display, prepared, **shared)
    run, changes = Run.open(path), msgspec.structs.asdict(config)
    stored = run.manifest.config
    if run.manifest.status == "complete":
        rounds = config.until or stored.until or (config.until_better and not shared.get("driven"))
        changes["samples"] = config.samples if rounds else max(config.samples, stored.samples)
        if stored.limit is None or (config.limit is not None and config.limit < stored.limit):
            changes["limit"] = stored.limit
    return resume(run, changes, display, **shared)


def places(cells: Sequence[Cell], folder: Path) -> list[Path]:
    """Return each run's folder: an existing one with the same questions, or a new one."""
    there = {}
    for path in (folder, *(file.parent for file in sorted(folder.glob("*/manifest.json")))):
        with suppress(JournalError):  # ignore a damaged run next to it
            if run := _there(path):
                there[asked(run.manifest.config)] = path
    return [there.get(asked(cell.config), folder / cell.folder) for cell in cells]


def _budget(plan: Sequence[Forecast]) -> Budget:
    """Return the shared budget minus what the runs have spent."""
    first = plan[0].cell.config
    budget = Budget(first.max_cost, first.max_tokens_total)
    for each in plan:
        if (there := _there(each.path)) is not None and there.manifest.usage is not None:
            budget.spend(there.manifest.usage, price_of(each.cell.config))
    return budget


def _there(path: Path) -> Run | None:
    return Run.open(path) if (path / "manifest.json").exists() else None
