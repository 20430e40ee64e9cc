"""Benchmarks by name or alias, from plug-in packages, and by path."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

import msgspec

from markscheme.benchmarks.benchmark import Benchmark, DataProblems
from markscheme.benchmarks.choices import AmbiguousError
from markscheme.benchmarks.definition import SHIPPED, Definition, load_definition
from markscheme.benchmarks.fields import Expression, ProblemMaker, several
from markscheme.benchmarks.hub_tasks import hub_definition
from markscheme.benchmarks.inferring import infer, needs_inferring
from markscheme.datasets import Source, SourceRows, locate
from markscheme.datasets.files import SUFFIXES, Row
from markscheme.errors import DataError, UsageError, command, nearest
from markscheme.prompts import Template
from markscheme.types import Problem

# Its entry points are a `Benchmark`, or the path of a benchmark's TOML file.
ENTRY_POINTS = "markscheme.benchmarks"

OWN = "own"  # the definition for a bare file of problems


def benchmark(name: str | Path, data_dir: str | Path | None = None, *, statement: Expression = ()) -> Benchmark:
    """Return a benchmark by name, alias (`math-500`, `aime24`, `AIME-2024-I` …) or path.

    A path names a benchmark's `.toml` file, or problems as `.jsonl`, `.csv`, `.tsv` or `.parquet`, also compressed
    (`.jsonl.gz`, `.csv.zst`) or several files (`train-*.parquet`). `statement` names the question column of such a file.
    Problems are read on first use, from `data_dir`, else `$MARKSCHEME_DATA`, else the user cache.
    """
    folder = Path(data_dir) if data_dir is not None else None
    typed = str(name)
    if typed.endswith(SUFFIXES):
        return _from_rows(Path(typed).absolute(), statement)
    if typed.endswith(".toml"):
        return _understood(load_definition(Path(typed)), folder, typed)
    if typed.startswith("hf/") and (found := hub_definition(typed, locate(folder), _own_definition(()))) is not None:
        return _understood(found, folder, found.name)
    squashed = _squash(typed)
    for file in SHIPPED.glob("*.toml"):  # usually the name is a file's, and the other files need not be read
        if _squash(file.stem) == squashed and file.stem != OWN:
            return next(_benchmarks(load_definition(file), folder))
    known = {_squash(each): each for each in benchmarks()}
    if squashed not in known:
        hint = nearest(typed.lower(), known.values(), f"{command('list')} lists them.")
        raise UsageError(f"no benchmark {typed!r}; {hint} A path to a .toml, .jsonl, .csv or .parquet file works too.")
    chosen = benchmarks()[known[squashed]]
    if chosen.definition is None:
        return chosen
    return _understood(chosen.definition, folder, chosen.name)


def with_examples(bench: Benchmark, pool: str, data_dir: str | Path | None = None) -> Benchmark:
    """Take worked examples from elsewhere: a file, or a benchmark's pool or, if it has none, its problems."""
    lender = benchmark(pool, data_dir)
    return replace(bench, pool=lender.problems if lender.pool is None else lender.pool, disjoint=False)


@cache
def benchmarks() -> dict[str, Benchmark]:
    """Return every benchmark by name: the shipped ones with their parts, then those of other packages."""
    files = sorted(SHIPPED.glob("*.toml"), key=lambda file: (file.stem.endswith("-sample"), file.stem))
    shipped = (each for file in files if file.stem != OWN for each in _benchmarks(load_definition(file), None))
    return {each.name: each for each in (*shipped, *_plugged_in())}


def expand(names: Iterable[str]) -> list[str]:
    """Replace `all` by the default benchmarks, and drop repeated names."""
    full: list[str] = []
    for name in names:
        if name == "all":
            full += sorted(each.name for each in benchmarks().values() if each.definition and each.definition.default)
        else:
            full.append(name)
    return list(dict.fromkeys(full))


def own_problems(rows: Sequence[Row]) -> Callable[[int, Row], Problem]:
    """Return the maker of problems for rows with the usual column names; `ValueError` if they have others."""
    definition = _own_definition(rows)
    fields = infer(definition.fields, rows).fields if needs_inferring(definition.fields) else definition.fields
    return ProblemMaker(fields, definition.protocol)


def _benchmarks(definition: Definition, data_dir: Path | None) -> Iterator[Benchmark]:
    """Yield the benchmark of a definition, and each of its parts."""
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
            tools=definition.tools,
            definition=definition,
        )


def _pool(definition: Definition, part: str, name: str, data_dir: Path | None) -> DataProblems:
    """Return the few-shot pool. A borrowed one is read by its own benchmark's fields."""
    lender, _, lent = definition.data[part].borrowed.partition(":")
    if lender:
        definition, part = load_definition(SHIPPED / f"{lender}.toml"), lent
    return DataProblems(definition, (part,), name, data_dir, pool=True)


def _from_rows(path: Path, statement: Expression) -> Benchmark:
    """Return the benchmark of a bare file, whose rows decide how it is asked and marked."""
    source = Source(file=path.name, folder=str(path.parent))
    try:
        definition = _own_definition(SourceRows(source, path.parent)[:1])
    except DataError:  # reported when the problems are read
        definition = _own_definition(())
    fields = msgspec.structs.replace(definition.fields, statement=definition.fields.statement or statement)
    bare = next(path.name.removesuffix(each) for each in sorted(SUFFIXES, key=len)[::-1] if path.name.endswith(each))
    name = re.sub(r"[-_.]*[*?\[\]]+", "", bare) or "problems"  # of `train-*.parquet`, train
    data, summary = {"test": source}, f"problems of {path}"
    made = msgspec.structs.replace(
        definition, name=name, summary=summary, data=data, fields=fields, columns={}, fewshot=None
    )
    return _understood(made, None, str(path))


def _own_definition(rows: Sequence[Row]) -> Definition:
    """Return the definition for these rows: Countdown for puzzles, else one that infers the columns."""
    puzzles = bool(rows) and "nums" in rows[0] and "target" in rows[0]
    return load_definition(SHIPPED / f"{'countdown' if puzzles else OWN}.toml")


def _understood(definition: Definition, folder: Path | None, typed: str) -> Benchmark:
    """Return the benchmark of this name or path, with the unstated parts of its file inferred from all rows."""
    told = ""
    if needs_inferring(definition.fields):
        sources = [definition.data[part] for part in definition.evaluated]
        try:
            rows = [row for source in sources for row in SourceRows(source, locate(folder))]
        except (FileNotFoundError, DataError):  # reported when the problems are read
            rows = []
        if rows:
            try:
                inferred = infer(definition.fields, rows)
            except (KeyError, TypeError, ValueError) as problem:
                raise DataError(_refusal(problem, typed, sources[0].file, definition.name)) from None
            told, prompts = inferred.told, definition.prompts
            if definition.plain_prompts and inferred.fields.choices is not None:
                prompts = load_definition(SHIPPED / "aqua.toml").prompts
            if definition.plain_prompts and inferred.system is not None:
                given = Template(user="{statement}", system=inferred.system or None, summary="as the data has it")
                prompts = {"given": given, **prompts}
            definition = msgspec.structs.replace(definition, fields=inferred.fields, prompts=prompts)
    names = (definition.name, typed) if typed.endswith((".toml", *SUFFIXES)) else (typed,)
    return replace(next(each for each in _benchmarks(definition, folder) if each.name in names), reading=told)


def _refusal(problem: Exception, typed: str, file: str, name: str) -> str:
    if not isinstance(problem, AmbiguousError):
        return f"{typed}, {problem}."
    ways = [json.dumps(several(way) if isinstance(way, tuple) else way, ensure_ascii=False) for way in problem.ways]
    ways = [way.replace("\\\\n", "\\n") for way in ways]
    line = f"{problem.field} = {ways[0]}" + "".join(f"  # or {way}" for way in ways[1:])
    if typed.endswith(".toml"):
        return f"{typed}: {problem}. Say which in [fields]:\n\n{line}"
    return (
        f"{typed}: {problem}. Write these lines to a file {name}.toml next to it, and use that file instead:\n\n"
        f'data.test.file = {json.dumps(file, ensure_ascii=False)}\nfields.metadata = "rest"\nfields.{line}'
    )


def _plugged_in() -> Iterator[Benchmark]:
    for point in entry_points(group=ENTRY_POINTS):
        loaded = point.load()
        if isinstance(loaded, Benchmark):
            yield loaded
        elif isinstance(loaded, str | Path):
            yield from _benchmarks(load_definition(Path(loaded)), None)
        else:
            raise UsageError(
                f"the entry point {point.name} of {ENTRY_POINTS} is {type(loaded).__name__} instead of a Benchmark or the "
                "path of a .toml file; fix or remove that package"
            )


def _squash(name: str) -> str:
    """Drop case, separators and the century: `AIME-2024-I`, `aime_2024_i` and `aime24-I` are one name."""
    squashed = "".join(character for character in name.lower() if character.isalnum())
    return squashed.replace("aime20", "aime")
