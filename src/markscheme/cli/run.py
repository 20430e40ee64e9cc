"""`markscheme run`: ask a model every question, mark every response, report."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from markscheme.cli.options import SEVERAL, add_prompt_file, add_run_options, config_from, typed_options
from markscheme.cli.push import add_track
from markscheme.config import is_text
from markscheme.errors import UsageError

if TYPE_CHECKING:
    from markscheme.experiments import Cell


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "benchmarks",
        nargs="*",
        metavar="BENCHMARK",
        help="names from `markscheme list`, paths of .toml, .jsonl, .csv … files, `all` (countdown gsm8k math500), or the "
        "file of an experiment",
    )
    parser.add_argument(
        "--model",
        "-m",
        nargs="+",
        action="extend",
        metavar="SPEC",
        help="backend/model, see `markscheme list`; or several",
    )
    add_run_options(parser, several=True)
    add_prompt_file(parser, several=True)
    parser.add_argument("--out", metavar="DIR", help="run folder (default: a new one below runs/)")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be asked, and what it may cost")
    parser.add_argument(
        "--reuse", action="append", default=[], metavar="DIR", help="take answers to the same requests from these runs"
    )
    series = parser.add_argument_group("a series over training")
    series.add_argument(
        "--series",
        nargs="+",
        metavar="CHECKPOINT",
        help="ask every checkpoint: paths, a pattern such as 'ckpt/step-*', names of a server, STEP=NAME, or a file with one a line; "
        "--model is then the backend (default: hf)",
    )
    series.add_argument(
        "--watch", action="store_true", help="with --series: wait for further checkpoints, until Ctrl-C"
    )
    series.add_argument("--until-step", type=int, metavar="N", help="with --watch: end when this step has been asked")
    add_track(parser)
    parser.add_argument("--json", action="store_true", help="print only JSON, one report a benchmark")


def run(args: argparse.Namespace) -> int:
    """Run each benchmark into its own folder; 3 when responses are missing at the end, 130 when interrupted."""
    from markscheme.benchmarks import expand
    from markscheme.cli.finishing import Reports
    from markscheme.experiments import begin_or_extend
    from markscheme.models.fleet.ranks import current
    from markscheme.running import prepare

    if args.out is not None and not (args.out.strip() and is_text(args.out)):
        raise UsageError("--out needs the name of a folder, in UTF-8")
    models, names = _sorted_out(args)
    if args.series:
        from markscheme.cli.series import run_series

        return run_series(args, models, names)
    if args.watch or args.until_step is not None:
        raise UsageError("--watch and --until-step are for a series: name its checkpoints with --series")
    if cells := _cells(args, models, names):
        from markscheme.cli.experiment import run_experiment

        return run_experiment(args, *cells)
    args.model = models[0]
    configs = [config_from(args, name) for name in expand(names)]
    # Whatever is wrong with any of them stops us before the first is asked.
    prepared = [prepare(config) for config in configs]
    for each in prepared:
        if each.benchmark.reading:
            print(f"markscheme: {each.benchmark.name} is read as {each.benchmark.reading}", file=sys.stderr)
    titles = [each.benchmark.name for each in prepared]
    if len(set(titles)) < len(titles):
        raise UsageError(f"the same benchmark twice: {', '.join(titles)}")
    ranks = current()
    with (reports := Reports(args, silent=not ranks.first)):
        for config, title, ready in zip(configs, titles, prepared, strict=True):
            chosen = _folder(args.out, title, config.model, several=len(configs) > 1) if ranks.first else Path()
            folder = ranks.agreed(chosen)
            if not reports.ask(title, folder, partial(begin_or_extend, config, folder, prepared=ready, ranks=ranks)):
                break
    return reports.exit_code


def _sorted_out(args: argparse.Namespace) -> tuple[list[str], list[str]]:
    """The models and the benchmarks: behind `--model A` a benchmark is taken for one more model."""
    models, names = list(args.model or ()), list(args.benchmarks)
    while not names and len(models) > 1 and _is_benchmark(models[-1]):
        names.insert(0, models.pop())
    if not names:
        raise UsageError("say what to ask: a benchmark from `markscheme list`, or the file of an experiment")
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
    """The runs of an experiment and its title, or nothing where one model is asked in one way."""
    from markscheme.benchmarks import expand
    from markscheme.experiments import is_experiment, read_cells, typed_cells

    options = typed_options(args)
    options.pop("model", None)
    if is_experiment(names[0], alone=not models and len(names) == 1):
        if models or len(names) > 1:
            raise UsageError(f"{names[0]} names its models and benchmarks itself; leave the others out")
        return read_cells(Path(names[0]), options), Path(names[0]).stem
    if not models:
        raise UsageError("say who is asked: --model SPEC, see `markscheme list`")
    swept = any(isinstance(options.get(name), tuple) for name in SEVERAL)
    if not (swept or len(models) > 1 or args.dry_run or args.reuse):
        return None
    return typed_cells(models, expand(names), options), "experiment"


def _folder(out: str | None, title: str, model: str, *, several: bool) -> Path:
    from markscheme.running import new_folder

    if out is None:
        return new_folder(title, model)
    return Path(out) / title if several else Path(out)
