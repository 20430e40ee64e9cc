"""What a benchmark is: problems from named data files, the ways to ask them, and the defaults.

Problems load on first use and are checked row by row; a bad row names its file and line.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import msgspec

from markscheme.datasets import DataFile, read_data_file, read_sample
from markscheme.errors import DataError, UsageError
from markscheme.prompts import Template, build_prompts, draw_examples
from markscheme.types import Problem, Question

Row = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """One data file of a benchmark and how its rows become problems (`to_problem(index, row)`)."""

    file: str
    to_problem: Callable[[int, Row], Problem]
    packaged: bool = False
    """Ships with the package, instead of lying in the data folder."""


@dataclass(frozen=True)
class Benchmark:
    """A named list of problems with its prompts, few-shot pool and defaults. Get one with `ms.benchmark(name)`."""

    name: str
    summary: str
    parts: tuple[Part, ...]
    templates: Mapping[str, Template]
    """Prompt variants by name; the first is the default."""
    protocol: str
    pool: tuple[Part, ...] = ()
    fewshot: int = 0
    """Worked examples in the prompt unless the user says otherwise."""
    data_dir: Path | None = field(default=None, compare=False)

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """Every problem, in the order of the data."""
        return self._loaded[0]

    @cached_property
    def files(self) -> tuple[DataFile, ...]:
        """The data files the problems came from, with their hashes."""
        return self._loaded[1]

    @cached_property
    def fewshot_pool(self) -> Sequence[Problem]:
        """Where worked examples are drawn from: never the evaluated split. Each is made when it is asked for."""
        return self._loaded_pool[0]

    @cached_property
    def pool_files(self) -> tuple[DataFile, ...]:
        """The data files the few-shot pool came from."""
        return self._loaded_pool[1]

    @cached_property
    def _loaded_pool(self) -> tuple[Sequence[Problem], tuple[DataFile, ...]]:
        return self._read(self.pool)

    @cached_property
    def _loaded(self) -> tuple[tuple[Problem, ...], tuple[DataFile, ...]]:
        problems, files = self._read(self.parts)
        return _with_distinct_keys(problems), files

    def _read(self, parts: tuple[Part, ...]) -> tuple[Sequence[Problem], tuple[DataFile, ...]]:
        rows: list[tuple[Part, int, Row]] = []
        files: list[DataFile] = []
        for part in parts:
            found, file = (
                read_sample(part.file) if part.packaged else read_data_file(part.file, self.data_dir, self.name)
            )
            files.append(file)
            rows += [(part, index, row) for index, row in enumerate(found)]
        paths = dict(zip((part.file for part in parts), (file.path for file in files), strict=True))
        return _Problems(self.name, rows, paths), tuple(files)

    def template(self, variant: str | None) -> Template:
        """A prompt variant by name; `None` is the default."""
        if variant is None:
            return next(iter(self.templates.values()))
        if variant not in self.templates:
            raise UsageError(f"{self.name} has no prompt variant {variant!r}; there are {', '.join(self.templates)}")
        return self.templates[variant]

    def questions(
        self,
        *,
        variant: str | None = None,
        fewshot: int | None = None,
        fewshot_seed: int = 42,
        limit: int | None = None,
        limit_seed: int | None = None,
        system_prompt: str | None = None,
    ) -> list[Question]:
        """The problems with the prompts really sent; with `limit_seed`, `limit` of them drawn at random, in order."""
        template = self.template(variant)
        if system_prompt is not None:
            template = msgspec.structs.replace(template, system=system_prompt)
        count = fewshot if fewshot is not None else (self.fewshot if template.example else 0)
        if count and not self.pool:
            raise UsageError(f"{self.name} has no pool of worked examples; leave --fewshot out")
        examples = draw_examples(self.fewshot_pool, count, fewshot_seed, self.problems) if count else []
        asked = _some(self.problems, limit, limit_seed)
        prompts = build_prompts(template, asked, examples, fewshot_seed)
        return [Question(problem=problem, prompt=prompt) for problem, prompt in zip(asked, prompts, strict=True)]


class _Problems(Sequence[Problem]):
    """Problems made from their rows one by one: of a pool of thousands, a run needs ten."""

    def __init__(self, benchmark: str, rows: list[tuple[Part, int, Row]], paths: Mapping[str, str]) -> None:
        self._benchmark, self._rows, self._paths = benchmark, rows, paths

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Problem: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Problem]: ...
    def __getitem__(self, index: int | slice) -> Problem | Sequence[Problem]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        part, number, row = self._rows[index]
        try:
            return part.to_problem(number, row)
        except (KeyError, TypeError, ValueError) as error:
            reason = f"no field {error}" if isinstance(error, KeyError) else str(error)
            raise DataError(
                f"{self._paths[part.file]}, row {number + 1}, is not a problem of {self._benchmark}: {reason}"
            ) from None


def _some(problems: tuple[Problem, ...], limit: int | None, seed: int | None) -> tuple[Problem, ...]:
    if limit is None or seed is None or limit >= len(problems):
        return problems[:limit]
    chosen = sorted(random.Random(seed).sample(range(len(problems)), limit))
    return tuple(problems[index] for index in chosen)


_JSON_NAMES = {bool: "true or false", list: "a list", dict: "an object"}


def text_field(row: Row, *names: str) -> str:
    """The first of these fields that is there, as text; `KeyError` names what was looked for."""
    for name in names:
        if name in row:
            value = row[name]
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                raise TypeError(f"{name} is {_JSON_NAMES.get(type(value), 'null')}, where text or a number belongs")
            return str(value)
    raise KeyError("/".join(names))


def _with_distinct_keys(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """A problem that really stands twice in the data is asked twice: the second copy's key gets `-2`."""
    seen: Counter[str] = Counter()
    distinct = []
    for problem in problems:
        seen[problem.key] += 1
        copies = seen[problem.key]
        distinct.append(problem if copies == 1 else msgspec.structs.replace(problem, key=f"{problem.key}-{copies}"))
    return tuple(distinct)
