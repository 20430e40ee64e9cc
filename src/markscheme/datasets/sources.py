"""One data file of a benchmark: where it comes from, which columns its rows keep, and their expected hash.

A place to fetch rows from is a struct here and an entry of `PLACES`; its download is a module next to `hub.py`. Hashes
cover the canonical rows (`files.content_hash`), so they do not depend on the container.
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

# The revision of a source without a known commit: what its branch holds at the first fetch is recorded.
UNPINNED = "main"

# The branch on which the Hub keeps every public dataset as `<config>/<split>/0000.parquet`.
CONVERTED = "refs/convert/parquet"


class Download(NamedTuple):
    """A downloaded file and its commit."""

    path: Path
    commit: str


class NotThereError(DataError):
    """The file is missing or not public; another place may have it."""


class RemoteFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A place to fetch rows from, and which of its rows are wanted. `str()` names exactly these bytes."""

    revision: str = UNPINNED
    # A column of row numbers: rows are sorted by it and, after `slice`, numbered from 1 again.
    order: str | None = None
    slice: tuple[int, int] | None = None  # only the rows from the first number to the second, exclusive
    # Seed and count: shuffle the row numbers with Python's generator and keep the first `count`; a negative count
    # keeps the last ones.
    draw: tuple[int, int] | None = None

    @property
    def name(self) -> str:
        """The name that people use for the place."""
        raise NotImplementedError

    @property
    def pinned(self) -> bool:
        """True if the revision is a commit, whose content cannot change."""
        return re.fullmatch(r"[0-9a-f]{40}", self.revision) is not None

    @property
    def others(self) -> tuple[RemoteFile, ...]:
        """Other places with the same rows."""
        return ()

    def fetch(self, folder: Path) -> list[Download]:
        """Download the files into a folder; raises `NotThereError` or another `DataError`."""
        raise NotImplementedError

    def at(self, commit: str) -> str:
        """Return the address with the commit that was served."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.at(self.revision)

    def select(self, rows: list[Row]) -> list[Row]:
        """Return the wanted rows; `ValueError` if the order column is not of integers."""
        column = self.order
        if column is not None:
            numbers = [row.get(column) for row in rows]
            if not all(type(number) is int for number in numbers):
                raise ValueError(f"`{column}` must be an integer in every row")
            if len(set(numbers)) == len(numbers):  # else a second contest starts again at 1, and the order is right
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
    """One or more files in a dataset repository of the Hugging Face Hub."""

    repo: str
    path: str | tuple[str, ...]
    split: str | tuple[str, ...] = ()  # `<config>/<split>`, to fetch the Hub's conversion if `path` is missing

    @property
    def name(self) -> str:
        return self.repo

    @property
    def paths(self) -> tuple[str, ...]:
        return (self.path,) if isinstance(self.path, str) else self.path

    @property
    def others(self) -> tuple[HubFile, ...]:
        """Return the Hub's conversion of the same rows, if the split is named."""
        if not self.split:
            return ()
        one = isinstance(self.split, str)
        path = f"{self.split}/0000.parquet" if one else tuple(f"{name}/0000.parquet" for name in self.split)
        return (msgspec.structs.replace(self, path=path, revision=CONVERTED, split=()),)

    def fetch(self, folder: Path) -> list[Download]:
        from markscheme.datasets.hub import download

        return [download(self.repo, self.revision, file, folder) for file in self.paths]

    def at(self, commit: str) -> str:
        path = self.paths[0] if len(self.paths) == 1 else f"{{{','.join(self.paths)}}}"
        return f"hf://datasets/{self.repo}@{commit}/{path}"


PLACES: dict[str, type[RemoteFile]] = {"hub": HubFile}  # by their key in `[data.NAME]`


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One `[data.NAME]` of a benchmark's file: a file, its expected content, and where to fetch it.

    Without a `sha256` the first fetch is trusted and recorded next to the file, and every later one must equal it.
    """

    file: str = ""  # in the data folder, in the packaged samples, or next to the benchmark's file
    summary: str = ""
    hub: HubFile | tuple[HubFile, ...] = ()  # the first that exists is used
    rows: int | None = None
    sha256: str | None = None
    hashed: tuple[str, ...] = ()  # the columns that `sha256` covers; empty for all
    same: tuple[str, ...] = ()  # the sha256 of other files with exactly the same rows
    stand_in: str | None = None
    header: tuple[str, ...] = ()  # column names for a CSV or TSV file without a header
    language: str | None = None
    borrowed: str = ""  # set for the file of another benchmark, as `math:train`
    columns: dict[str, str] = {}  # set from the benchmark: the columns to keep, and their kinds
    like: str = ""  # set if the columns are inherited from another benchmark
    folder: str | None = None  # set for a file next to its benchmark's file, or in the package

    @property
    def places(self) -> tuple[RemoteFile, ...]:
        """Return the places to fetch it from, the preferred one first."""
        given = [getattr(self, key) for key in PLACES]
        named = [place for each in given for place in ((each,) if isinstance(each, RemoteFile) else each)]
        return tuple(each for place in named for each in (place, *place.others))

    def hash_of(self, rows: Iterable[Row]) -> str:
        """Return the hash of canonical rows to compare with `sha256`."""
        return content_hash({name: row[name] for name in self.hashed} if self.hashed else row for row in rows)

    def canonical(self, row: Row) -> Row:
        """Return the row with exactly `columns`, each of its kind; `ValueError` if it does not fit."""
        missing = next((name for name, kind in self.columns.items() if name not in row and kind != "anything"), None)
        if self.like and missing:
            raise ValueError(
                f"there is no column `{missing}`, which is inherited from {self.like} (`like`); there are "
                f"{', '.join(row)}. Name your own columns and fields in [columns] and [fields]"
            )
        return {name: _of_kind(row.get(name), name, kind) for name, kind in self.columns.items()} or row

    def all_canonical(self, rows: Iterable[Row], label: str) -> list[Row]:
        """Return every row in canonical form; `label` names the file in errors."""
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
        raise ValueError(f"a column cannot have the kind {kind!r}; the kinds are {KINDS}")


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
