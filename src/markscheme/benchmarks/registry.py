"""Benchmarks by name, by the other names people type, from plug-in packages, and by path."""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

import msgspec

from markscheme.benchmarks.benchmark import Benchmark, DataProblems
from markscheme.benchmarks.definition import SHIPPED, Definition, load_definition
from markscheme.benchmarks.fields import Expression, ProblemMaker
from markscheme.datasets import Source, read_rows
from markscheme.datasets.files import SUFFIXES, Row
from markscheme.errors import DataError, UsageError, nearest
from markscheme.types import Problem

ENTRY_POINTS = "markscheme.benchmarks"
"""Entry points of this group are a `Benchmark`, or the path of a benchmark's TOML file."""

OWN = "own"
"""The definition that a bare file of problems is read by."""


def benchmark(name: str | Path, data_dir: str | Path | None = None) -> Benchmark:
    """A benchmark by name, alias (`math-500`, `aime24`, `AIME-2024-I` …) or path: of a benchmark's `.toml` file, or of
    problems as `.jsonl`, `.csv`, `.tsv` or `.parquet`.

    Its `problems` are read on first use, from `data_dir`, else `$MARKSCHEME_DATA`, else the user cache.
    """
    folder = Path(data_dir) if data_dir is not None else None
    typed = str(name)
    if typed.endswith(SUFFIXES):
        return _from_rows(Path(typed).absolute())
    if typed.endswith(".toml"):
        return next(_benchmarks(load_definition(Path(typed)), folder))
    squashed = _squash(typed)
    for file in SHIPPED.glob("*.toml"):  # most often the name is a file's, and the others need not be read
        if _squash(file.stem) == squashed and file.stem != OWN:
            return next(_benchmarks(load_definition(file), folder))
    known = {_squash(each): each for each in benchmarks()}
    if squashed not in known:
        hint = nearest(typed.lower(), known.values(), f"there are {', '.join(known.values())}.")
        raise UsageError(f"no benchmark {typed!r}; {hint} A path to a .toml, .jsonl, .csv or .parquet file works too.")
    chosen = benchmarks()[known[squashed]]
    if chosen.definition is None:
        return chosen
    return next(each for each in _benchmarks(chosen.definition, folder) if each.name == chosen.name)


def with_examples(bench: Benchmark, pool: str, data_dir: str | Path | None = None) -> Benchmark:
    """The benchmark with worked examples from elsewhere: a file, or a benchmark's pool or, if it has none, its problems."""
    lender = benchmark(pool, data_dir)
    return replace(bench, pool=lender.problems if lender.pool is None else lender.pool, disjoint=False)


@cache
def benchmarks() -> dict[str, Benchmark]:
    """Every benchmark by its name: the shipped ones with their parts, then those of other packages."""
    files = sorted(SHIPPED.glob("*.toml"), key=lambda file: (file.stem.endswith("-sample"), file.stem))
    shipped = (each for file in files if file.stem != OWN for each in _benchmarks(load_definition(file), None))
    return {each.name: each for each in (*shipped, *_plugged_in())}


def expand(names: Iterable[str]) -> list[str]:
    """Names with `all` replaced by the default benchmarks, each once, in order."""
    full: list[str] = []
    for name in names:
        if name == "all":  # only then is every benchmark's file read
            full += sorted(each.name for each in benchmarks().values() if each.definition and each.definition.default)
        else:
            full.append(name)
    return list(dict.fromkeys(full))


def own_problem(index: int, row: Row) -> Problem:
    """The problem of a row that names its question and answer as most files do; `ValueError` or `KeyError` if not."""
    definition = _own_definition(row)
    return ProblemMaker(definition.fields, definition.protocol)(index, row)


def _benchmarks(definition: Definition, data_dir: Path | None) -> Iterator[Benchmark]:
    """The benchmark of a definition, and each of its parts."""
    parts = [(definition.name, definition.evaluated, definition.summary)]
    for part in definition.own_parts:
        source = definition.data[part]
        parts.append((f"{definition.name}-{part}", (part,), source.summary or f"{definition.name}, only {part}"))
    few = definition.fewshot
    for name, asked, summary in parts:
        yield Benchmark(
            name,
            DataProblems(definition, asked, name, data_dir),
            templates=definition.prompts,
            protocol=definition.protocol,
            summary=summary,
            pool=_pool(definition, few.pool, name, data_dir) if few else None,
            fewshot=few.count if few else 0,
            disjoint=few.disjoint if few else False,
            sampling=definition.sampling,
            definition=definition,
        )


def _pool(definition: Definition, part: str, name: str, data_dir: Path | None) -> DataProblems:
    """The few-shot pool; one that is borrowed is read as its own benchmark reads it."""
    lender, _, lent = definition.data[part].borrowed.partition(":")
    if lender:
        definition, part = load_definition(SHIPPED / f"{lender}.toml"), lent
    return DataProblems(definition, (part,), name, data_dir, pool=True)


def _from_rows(path: Path) -> Benchmark:
    """The benchmark of a bare file: what its first row has decides how all are asked and marked."""
    try:
        first = next(iter(read_rows(path)), {})
    except DataError:  # complained of when it is loaded
        first = {}
    definition = _own_definition(first)
    source = Source(file=path.name, folder=str(path.parent))
    made = msgspec.structs.replace(
        definition, name=path.stem, summary=f"problems of {path}", data={"test": source}, columns={}, fewshot=None
    )
    return next(_benchmarks(made, None))


def _own_definition(row: Row) -> Definition:
    """How a row like this is read: a puzzle as Countdown, a question with choices as AQuA, everything else as MATH-500."""
    if "nums" in row and "target" in row:
        return load_definition(SHIPPED / "countdown.toml")
    own = load_definition(SHIPPED / f"{OWN}.toml")
    choices: Expression = tuple(letter for letter in string.ascii_uppercase if letter in row)
    if listed := [name for name in ("choices", "options") if row.get(name)]:
        choices = listed[0]
    elif len(choices) < 2:
        return own
    fields = msgspec.structs.replace(own.fields, choices=choices, gold="letter of answer")
    return msgspec.structs.replace(own, fields=fields, prompts=load_definition(SHIPPED / "aqua.toml").prompts)


def _plugged_in() -> Iterator[Benchmark]:
    for point in entry_points(group=ENTRY_POINTS):
        loaded = point.load()
        if isinstance(loaded, Benchmark):
            yield loaded
        elif isinstance(loaded, str | Path):
            yield from _benchmarks(load_definition(Path(loaded)), None)
        else:
            raise UsageError(
                f"the entry point {point.name} of {ENTRY_POINTS} is {type(loaded).__name__}, where a Benchmark or the "
                "path of a .toml file belongs; mend or remove that package"
            )


def _squash(name: str) -> str:
    """`AIME-2024-I`, `aime_2024_i` and `aime24-I` are one name: case, separators and the century do not count."""
    squashed = "".join(character for character in name.lower() if character.isalnum())
    return squashed.replace("aime20", "aime")
