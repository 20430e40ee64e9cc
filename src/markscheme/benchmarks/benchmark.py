"""A benchmark: problems, prompts and defaults. Problems are made from rows on demand; a bad row names its file and line."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import msgspec

from markscheme.benchmarks.definition import Definition
from markscheme.benchmarks.fields import ProblemMaker
from markscheme.datasets import DataFile, Source, SourceRows, locate
from markscheme.datasets.files import LazySequence, Row
from markscheme.errors import DataError, UsageError, command, option
from markscheme.prompts import Template, build_prompts, custom_template, draw_examples, fixed_examples, further_turns
from markscheme.types import Problem, Question, Sampling

BOXED = Template(
    summary="step by step, answer in \\boxed{}",
    user="{statement}\n\nReason step by step, and put your final answer within \\boxed{}.",
)


@dataclass(frozen=True, eq=False)
class Benchmark:
    """A named list of problems with its prompts, few-shot pool and defaults. `ms.benchmark(name)` gets one.

    `Benchmark("mine", problems)` makes one out of any sequence of `Problem`.
    """

    name: str
    problems: Sequence[Problem]
    templates: Mapping[str, Template] = field(default_factory=lambda: {"boxed": BOXED})
    """Prompt variants by name; the first is the default."""
    protocol: str = "math"
    summary: str = ""
    pool: Sequence[Problem] | None = None
    """The source of worked examples, never the evaluated split."""
    fewshot: int = 0
    """Default number of worked examples in the prompt."""
    disjoint: bool = False
    """True if the pool of the pinned rows was checked to contain no evaluated question."""
    sampling: Sampling = field(default_factory=Sampling)
    """Default sampling."""
    tools: tuple[str, ...] = ()
    """Tools that the model may call by default."""
    definition: Definition | None = None
    reading: str = ""
    """What was inferred from the rows, for the user to check; empty if the benchmark states everything."""

    def __repr__(self) -> str:
        prompts, summary = ", ".join(self.templates), self.summary or "your own problems"
        read = f"; {self.reading}" * bool(self.reading)
        return f"Benchmark({self.name!r}): {summary}; prompts {prompts}; protocol {self.protocol}{read}"

    @property
    def files(self) -> tuple[DataFile, ...]:
        """The data files of the problems, with their hashes."""
        return _data(self.problems).files

    @property
    def pool_files(self) -> tuple[DataFile, ...]:
        """The data files of the few-shot pool."""
        return _data(self.pool).files

    @property
    def sources(self) -> tuple[Source, ...]:
        """The files of the problems and the few-shot pool."""
        if self.definition is not None and self.definition.name == self.name:
            return tuple(self.definition.data.values())
        return tuple(source for each in (self.problems, self.pool) for source in _data(each).sources.values())

    def rows(self) -> Iterator[Row]:
        """Yield the rows of the data in canonical form."""
        return _data(self.problems).rows()

    def pool_rows(self) -> Iterator[Row]:
        """Yield the rows of the few-shot pool in canonical form."""
        return _data(self.pool).rows()

    @property
    def pool_sources(self) -> tuple[Source, ...]:
        """The files of the few-shot pool alone."""
        return tuple(_data(self.pool).sources.values())

    def make_problem(self, index: int, row: Row) -> Problem:
        """Make a problem of a row; `ValueError`, `KeyError` or `TypeError` if that is impossible."""
        assert self.definition is not None
        return ProblemMaker(self.definition.fields, self.definition.protocol)(index, row)

    def template(self, variant: str | None) -> Template:
        """Return a prompt variant by name, or a text with `{statement}` as a prompt; `None` is the default."""
        if variant is None:
            return next(iter(self.templates.values()))
        if "{" in variant:
            return custom_template(variant)
        if variant not in self.templates:
            raise UsageError(
                f"{self.name} has no prompt variant {variant!r}; there are {', '.join(self.templates)}, and a text with "
                "{statement} in it is a prompt of your own"
            )
        return self.templates[variant]

    def questions(
        self,
        *,
        variant: str | None = None,
        fewshot: int | None = None,
        fewshot_seed: int = 42,
        limit: int | None = None,
        limit_seed: int | None = None,
        strata: Sequence[str] = (),
        system_prompt: str | None = None,
        then: tuple[str, ...] = (),
    ) -> list[Question]:
        """Return the problems with their prompts; with `limit_seed`, a random sample of `limit` problems, in order.

        `strata` gives a label for each problem; the sample then takes the same share of each stratum.
        """
        template = self.template(variant)
        if system_prompt is not None:
            template = msgspec.structs.replace(template, system=system_prompt)
        if then:
            template = further_turns(template, then)
        examples = self._examples(template, fewshot, fewshot_seed)
        asked = _some(self.problems, limit, limit_seed, strata)
        prompts = build_prompts(template, asked, examples, fewshot_seed)
        return [Question(problem=problem, prompt=prompt) for problem, prompt in zip(asked, prompts, strict=True)]

    def default_sampling(self, variant: str | None) -> Sampling:
        """Return the default sampling for a prompt."""
        stop = self.template(variant).stop
        return msgspec.structs.replace(self.sampling, stop=stop) if stop else self.sampling

    def _examples(self, template: Template, fewshot: int | None, seed: int) -> list[Problem]:
        usual = template.fewshot if template.fewshot is not None else len(template.examples)
        count = fewshot if fewshot is not None else usual or (self.fewshot if template.example else 0)
        if not count:
            return []
        if self.pool is None:
            raise UsageError(
                f"{self.name} has no pool of worked examples; name one with {option('fewshot_pool')}, or leave out {option('fewshot')}"
            )
        if template.examples:
            return fixed_examples(self.pool, template.examples, count)
        pinned = self.disjoint and all(file.check == "content" for file in (*self.files, *self.pool_files))
        return draw_examples(self.pool, count, seed, () if pinned else self.problems)


class DataProblems(LazySequence[Problem]):
    """The problems of some data files of a benchmark, read on first use."""

    def __init__(
        self,
        definition: Definition,
        parts: Sequence[str],
        name: str,
        data_dir: Path | None = None,
        *,
        pool: bool = False,
    ) -> None:
        self.sources = {part: definition.data[part] for part in parts}
        self._definition, self._name, self._data_dir, self._pool = definition, name, data_dir, pool
        self._make = ProblemMaker(definition.fields, definition.protocol)
        self._made: list[Problem] = []
        self._seen: Counter[str] = Counter()

    @cached_property
    def files(self) -> tuple[DataFile, ...]:
        """The files with their hashes."""
        return tuple(rows.describe() for rows in self._rows.values())

    @cached_property
    def _rows(self) -> dict[str, SourceRows]:
        return {part: self._open(source) for part, source in self.sources.items()}

    @cached_property
    def _places(self) -> list[tuple[str, int]]:
        return [(part, index) for part, rows in self._rows.items() for index in range(len(rows))]

    def rows(self) -> Iterator[Row]:
        return (row for rows in self._rows.values() for row in rows)

    def _open(self, source: Source) -> SourceRows:
        folder = locate(self._data_dir)
        try:
            return SourceRows(source, folder)
        except FileNotFoundError:
            sample = self._definition.sample
            raise DataError(
                f"{self._name} needs {source.file}, which is not in {folder}: {command('data prepare', self._definition.typed or self._name)} "
                f"fetches it{f', and `{sample}` runs now without it' if sample else ''}."
            ) from None

    def __len__(self) -> int:
        return len(self._places)

    def _item(self, index: int) -> Problem:
        if self._pool:
            return self._problem(*self._places[index])
        for each in self._places[len(self._made) : index + 1]:
            self._made.append(self._with_distinct_key(self._problem(*each)))
        return self._made[index]

    def _problem(self, part: str, index: int) -> Problem:
        rows = self._rows[part]
        row = rows[index]
        try:
            return self._make(index, row, part, self.sources[part].language)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{rows.path}, row {index + 1}, is not a problem of {self._name}: {error}") from None

    def _with_distinct_key(self, problem: Problem) -> Problem:
        """Give the second copy of a problem the key `-2`: problems that are in the data twice are asked twice."""
        self._seen[problem.key] += 1
        copies = self._seen[problem.key]
        return problem if copies == 1 else msgspec.structs.replace(problem, key=f"{problem.key}-{copies}")


def _data(problems: Sequence[Problem] | None) -> DataProblems:
    """Return the data files of problems that came from files, else none."""
    return problems if isinstance(problems, DataProblems) else DataProblems(Definition(), (), "")


def _some(
    problems: Sequence[Problem], limit: int | None, seed: int | None, strata: Sequence[str] = ()
) -> Sequence[Problem]:
    if limit is None or seed is None or limit >= len(problems):
        return problems[:limit]
    luck = random.Random(seed)
    chosen = sorted(_from_each(strata, limit, luck) if strata else luck.sample(range(len(problems)), limit))
    return [problems[index] for index in chosen]


def _from_each(strata: Sequence[str], limit: int, luck: random.Random) -> list[int]:
    """Draw the same share of each stratum. The remainder goes to the strata that lost most by rounding."""
    members: dict[str, list[int]] = {}
    for index, label in enumerate(strata):
        members.setdefault(label, []).append(index)
    share = {label: limit * len(each) / len(strata) for label, each in members.items()}
    take = {label: int(part) for label, part in share.items()}
    for label in sorted(members, key=lambda label: (take[label] - share[label], label))[: limit - sum(take.values())]:
        take[label] += 1
    return [index for label in sorted(members) for index in luck.sample(members[label], take[label])]
