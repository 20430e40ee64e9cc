"""Golds that are known to be wrong: one small file per benchmark, one JSON line per problem.

A problem is named by its key, a hash of statement and gold, so a line applies wherever the problem is asked. In your own
`FILE.errata.jsonl`, next to the benchmark's file, the id is enough.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

import msgspec

from markscheme.datasets.small_texts import LARGEST, read_plain
from markscheme.errors import DataError, UsageError, counted, first_line, os_reason
from markscheme.pages.frames import Printed
from markscheme.pages.parts import Part

FOLDER = Path(__file__).parent / "errata"
AMBIGUOUS = "ambiguous"  # instead of a gold: no single answer is right


class Erratum(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A known error in one problem."""

    problem: str  # its id
    key: str = ""
    wrong: str  # a sentence
    gold: str  # the right one, or `ambiguous`
    source: str


class Errata(Printed, dict[str, tuple[Erratum, ...]]):
    """Golds known to be wrong, by benchmark."""

    def content(self) -> dict[str, tuple[Erratum, ...]]:
        """Return what `errata list --json` prints."""
        return {**self}

    def page(self) -> Iterator[Part]:
        """Yield a table for each benchmark."""
        for name, each in self.items():
            yield Part("title", f"{name}: {counted(len(each), 'problem')}")
            yield Part("table", [
                {"problem": one.problem, "gold": one.gold, "what is wrong": one.wrong, "source": one.source} for one in each
            ])  # fmt: skip


def read_errata(file: Path) -> tuple[Erratum, ...]:
    """Read an errata file; `DataError` names an unreadable line."""
    found = list[Erratum]()
    try:
        lines = read_plain(file, LARGEST, "and errata are few").split(b"\n")
    except OSError as problem:
        raise DataError(f"{file} cannot be read: {os_reason(problem)}") from None
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                found.append(msgspec.json.decode(line, type=Erratum))
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
                raise DataError(f"{file}, line {number}, is not an erratum: {first_line(problem)}") from None
    return tuple(found)


@cache
def shipped_errata() -> dict[str, tuple[Erratum, ...]]:
    """Return the packaged errata by benchmark."""
    return {file.stem: read_errata(file) for file in sorted(FOLDER.glob("*.jsonl"))}


def errata_of(benchmark: str) -> tuple[Erratum, ...]:
    """Return the errata of a benchmark by name or path."""
    if (own := beside(benchmark)) is not None:
        return read_errata(own)
    if benchmark not in (there := shipped_errata()):
        raise UsageError(f"no errata are known for {benchmark}; there are some for {', '.join(there)}")
    return there[benchmark]


def beside(benchmark: str) -> Path | None:
    """Return `quiz.errata.jsonl` next to `quiz.toml` or `quiz.jsonl`, if it exists."""
    path = Path(benchmark)
    own = path.with_name(f"{path.name.partition('.')[0]}.errata.jsonl") if path.suffix else path
    return own if own != path and own.is_file() else None


def applying(benchmark: str, problems: Iterable[tuple[str, str]], more: Sequence[Erratum] = ()) -> dict[str, Erratum]:
    """Return key → erratum for problems given by key and id. `more` comes before the packaged errata."""
    own = (*more, *(read_errata(file) if (file := beside(benchmark)) else ()))
    by_key = {
        each.key: each for each in (*(one for part in shipped_errata().values() for one in part), *own) if each.key
    }
    by_id = {each.problem: each for each in own if not each.key}
    found = {key: by_key.get(key.partition("-")[0]) or by_id.get(name) for key, name in problems}
    return {key: each for key, each in found.items() if each is not None}


def errata_sha256(found: Iterable[Erratum]) -> str:
    """Return a digest, so that a later report can tell whether the errata changed."""
    return hashlib.sha256(b"\n".join(sorted(map(msgspec.json.encode, found)))).hexdigest()
