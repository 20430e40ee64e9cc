"""One data file of a benchmark: where it comes from, which columns its rows keep, and the hash they must have.

A place that rows are fetched from is a struct here and a row of `PLACES`; its download is a file beside `hub.py`. A hash
is over the canonical rows (`files.content_hash`), so it does not change with the container. What is not pinned says so and never passes for pinned.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from markscheme.datasets.files import Row, content_hash
from markscheme.errors import DataError

# The revision of a source for which no commit is known: whatever its branch holds at the first fetch is recorded.
UNPINNED = "main"

# The branch on which the Hub keeps every public data set as `<config>/<split>/0000.parquet`, however its owner stores
# it.
CONVERTED = "refs/convert/parquet"


class Download(NamedTuple):
    """A file as it came, and the commit or version that its place says it belongs to."""

    path: Path
    commit: str


class NotThereError(DataError):
    """The place answered, and the file is not there or not for everybody: another place may have it."""


class RemoteFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A place that rows are fetched from, and which of its rows are wanted. Its text form names exactly these bytes."""

    revision: str = UNPINNED
    # A column that numbers the rows: they are sorted by it and, after `slice`, numbered from 1 again.
    order: str | None = None
    slice: tuple[int, int] | None = None  # only the rows from the first number to the second, exclusive
    # Seed and count: shuffle the row numbers with Python's generator and take the first so many; below 0, leave
    # them out.
    draw: tuple[int, int] | None = None

    @property
    def name(self) -> str:
        """What people call the place."""
        raise NotImplementedError

    @property
    def pinned(self) -> bool:
        """Whether the revision is a commit, which can never come to mean other content."""
        return re.fullmatch(r"[0-9a-f]{40}", self.revision) is not None

    @property
    def others(self) -> tuple[RemoteFile, ...]:
        """Where the same rows are, should they not be here."""
        return ()

    def fetch(self, folder: Path) -> list[Download]:
        """The files, in the folder; raises `NotThereError` or another `DataError`."""
        raise NotImplementedError

    def at(self, commit: str) -> str:
        """The address with the commit that was really served."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.at(self.revision)

    def select(self, rows: list[Row]) -> list[Row]:
        """The rows that are wanted; `ValueError` when they cannot be told apart."""
        column = self.order
        if column is not None:
            numbers = [row.get(column) for row in rows]
            if not all(type(number) is int for number in numbers):
                raise ValueError(f"`{column}` must be an integer in every row")
            if len(set(numbers)) == len(numbers):  # a second contest that starts again at 1 is told by its place
                rows = sorted(rows, key=lambda row: int(row[column]))
        if self.slice is not None:
            rows = rows[slice(*self.slice)]
        if self.draw is not None:
            seed, count = self.draw
            places = list(range(len(rows)))
            random.Random(seed).shuffle(places)
            rows = [rows[place] for place in (places[:count] if count > 0 else places[-count:])]
        return rows if column is None else [{**row, column: place} for place, row in enumerate(rows, start=1)]


class HubFile(RemoteFile, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file in a dataset repository of the Hugging Face Hub (or several, read one after the other)."""

    repo: str
    path: str | tuple[str, ...]
    # `<config>/<split>`, by which the Hub's own conversion is fetched should there be no file at `path`.
    split: str | tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The repository."""
        return self.repo

    @property
    def paths(self) -> tuple[str, ...]:
        """Every file, in order."""
        return (self.path,) if isinstance(self.path, str) else self.path

    @property
    def others(self) -> tuple[HubFile, ...]:
        """The same rows as the Hub converted them, if the split is named."""
        if not self.split:
            return ()
        one = isinstance(self.split, str)
        path = f"{self.split}/0000.parquet" if one else tuple(f"{name}/0000.parquet" for name in self.split)
        return (msgspec.structs.replace(self, path=path, revision=CONVERTED, split=()),)

    def fetch(self, folder: Path) -> list[Download]:
        """By the Hub's own client."""
        from markscheme.datasets.hub import download

        return [download(self.repo, self.revision, file, folder) for file in self.paths]

    def at(self, commit: str) -> str:
        """In the notation of the Hub's own tools."""
        path = self.paths[0] if len(self.paths) == 1 else f"{{{','.join(self.paths)}}}"
        return f"hf://datasets/{self.repo}@{commit}/{path}"


PLACES: dict[str, type[RemoteFile]] = {"hub": HubFile}  # the kinds of places, by their key in `[data.NAME]`


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One `[data.NAME]` of a benchmark's file: a file, what it must hold, and where the Hub has it.

    Without a `sha256` the first fetch is trusted and recorded beside the file, and every later one must equal it.
    """

    file: str = ""  # in the data folder, in the package's samples, or beside the benchmark's own file
    summary: str = ""
    hub: HubFile | tuple[HubFile, ...] = ()  # the first of these that exists is used
    rows: int | None = None
    sha256: str | None = None
    hashed: tuple[str, ...] = ()  # the columns that `sha256` covers, all of them if empty
    same: tuple[str, ...] = ()  # the sha256 of other files that are known to hold exactly the rows of `sha256`
    stand_in: str | None = None
    header: tuple[str, ...] = ()  # the names of the columns of a CSV or TSV file that does not name them itself
    language: str | None = None
    borrowed: str = ""  # set for the file of another benchmark, as `math:train`
    columns: dict[str, str] = {}  # set from the benchmark: what each row keeps, and of which kind
    like: str = ""  # set where the columns are those of another benchmark
    folder: str | None = None  # set for a file that lies beside its benchmark's, or in the package

    @property
    def places(self) -> tuple[RemoteFile, ...]:
        """The places it can be fetched from, the preferred one first."""
        given = [getattr(self, key) for key in PLACES]
        named = [place for each in given for place in ((each,) if isinstance(each, RemoteFile) else each)]
        return tuple(each for place in named for each in (place, *place.others))

    def hash_of(self, rows: Iterable[Row]) -> str:
        """The hash of canonical rows that is to be compared with `sha256`."""
        return content_hash({name: row[name] for name in self.hashed} if self.hashed else row for row in rows)

    def canonical(self, row: Row) -> Row:
        """The row in its one form: exactly `columns`, each of its kind. Nothing is guessed, repaired or dropped."""
        missing = next((name for name, kind in self.columns.items() if name not in row and kind != "anything"), None)
        if self.like and missing:
            raise ValueError(
                f"there is no column `{missing}`, which is taken over from {self.like} (`like`); there are "
                f"{', '.join(row)}. Say which columns and fields there are in [columns] and [fields]"
            )
        return {name: _of_kind(row.get(name), name, kind) for name, kind in self.columns.items()} or row

    def all_canonical(self, rows: Iterable[Row], label: str) -> list[Row]:
        """Every row in its one form; `label` names the file in the sentence about a row that does not fit."""
        fitting = []
        for number, row in enumerate(rows, start=1):
            try:
                fitting.append(self.canonical(row))
            except ValueError as problem:
                raise DataError(f"{label}, row {number}: {problem}.") from problem
        return fitting


_KIND = re.compile(r"integers?(?: (?:from (\d+)|(\d+) to (\d+)))?")
KINDS = "text, integer, integer 0 to 999, integer from 1, integers, texts or anything"


def check_kind(kind: str) -> None:
    """`ValueError` for a kind of column that does not exist."""
    if kind not in ("text", "texts", "anything") and not _KIND.fullmatch(kind):
        raise ValueError(f"there is no kind of column {kind!r}; there are {KINDS}")


def _of_kind(value: object, name: str, kind: str) -> object:
    if kind == "anything":
        return value
    if kind == "text":
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f"`{name}` must be a text, not {_short(value)}")
        return value
    if kind.startswith(("texts", "integers")):
        if not isinstance(value, list) or not value:
            raise ValueError(f"`{name}` must be a list of {kind}, not {_short(value)}")
        one = re.sub("^(text|integer)s", r"\1", kind)
        return [_of_kind(each, name, one) for each in value]
    return _integer(value, name, kind)


def _integer(value: object, name: str, kind: str) -> int:
    least, low, high = (int(bound) if bound else None for bound in _KIND.fullmatch(kind).groups())  # type: ignore[union-attr]
    low = least if low is None else low
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        value = int(value)
    if type(value) is not int or (low is not None and value < low) or (high is not None and value > high):
        bounds = f", {low} to {high}" if high is not None else f", {low} or more" if low is not None else ""
        raise ValueError(f"`{name}` must be an integer{bounds}, not {_short(value)}")
    return value


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "…"
