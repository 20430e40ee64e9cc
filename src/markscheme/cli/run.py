"""`markscheme run`: ask a model every question, mark every response, report."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from markscheme.cli import complain
from markscheme.cli.options import SEVERAL, add_run_options, config_from, typed_options
from markscheme.config import is_text
from markscheme.errors import UsageError

if TYPE_CHECKING:
    from markscheme.experiments import Cell


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_options(parser, several=True)


def run(args: argparse.Namespace) -> int:
    """Run each benchmark in its own folder; return 3 if responses are missing, 130 if interrupted."""
    from markscheme.benchmarks import expand
    from markscheme.cli.finishing import Reports
    from markscheme.experiments import begin_or_extend
    from markscheme.running import prepare

    if args.out is not None and not (args.out.strip() and is_text(args.out)):
        raise UsageError("--out is empty or not in UTF-8; name a folder")
    models, names = _sorted_out(args)
    if args.series:
        from markscheme.cli.series import run_series

        return run_series(args, models, names)
    if cells := _cells(args, models, names):
        from markscheme.cli.experiment import run_experiment

        return run_experiment(args, *cells)
    args.model = models[0]
    configs = [config_from(args, name) for name in expand(names)]
    # A mistake in any of them is reported before the first is asked.
    prepared = [prepare(config) for config in configs]
    for each in prepared:
        if each.benchmark.reading:
            complain(f"{each.benchmark.name} is read as {each.benchmark.reading}")
    titles = [each.benchmark.name for each in prepared]
    if len(set(titles)) < len(titles):
        raise UsageError(f"a benchmark is given twice: {', '.join(titles)}")
    with (reports := Reports(args)):
        for config, title, ready in zip(configs, titles, prepared, strict=True):
            folder = _folder(args.out, title, config.model, several=len(configs) > 1)
            if not reports.ask(title, folder, partial(begin_or_extend, config, folder, prepared=ready)):
                break
    return reports.exit_code


def _sorted_out(args: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Return the models and the benchmarks: argparse takes a benchmark after `--model A` for one more model."""
    models, names = list(args.model or ()), list(args.benchmarks)
    while not names and len(models) > 1 and _is_benchmark(models[-1]):
        names.insert(0, models.pop())
    if not names:
        raise UsageError("no benchmark given: name one from `markscheme list`, or the file of an experiment")
    return models, names


def _is_benchmark(name: str) -> bool:
    from markscheme.benchmarks import benchmark
    from markscheme.errors import MarkschemeError
    from markscheme.models import backend_names

    if name.partition("/")[0] in backend_names():
        return False
    try:
        return name == "all" or bool(benchmark(name))
    except MarkschemeError:
        return False


def _cells(args: argparse.Namespace, models: list[str], names: list[str]) -> tuple[list[Cell], str] | None:
    """Return the runs of an experiment and its title, or None if one model is asked in one way."""
    from markscheme.benchmarks import expand
    from markscheme.experiments import is_experiment, read_cells, typed_cells

    options = typed_options(args)
    options.pop("model", None)
    if is_experiment(names[0], alone=not models and len(names) == 1):
        if models or len(names) > 1:
            raise UsageError(f"{names[0]} names its own models and benchmarks: give no others")
        return read_cells(Path(names[0]), options), Path(names[0]).stem
    if not models:
        raise UsageError("no model given: add --model SPEC (see `markscheme list`)")
    swept = any(isinstance(options.get(name), tuple) for name in SEVERAL)
    if not (swept or len(models) > 1 or args.dry_run or args.reuse):
        return None
    return typed_cells(models, expand(names), options), "experiment"


def _folder(out: str | None, title: str, model: str, *, several: bool) -> Path:
    from markscheme.running import new_folder

    if out is None:
        return new_folder(title, model)
    return Path(out) / title if several else Path(out)
