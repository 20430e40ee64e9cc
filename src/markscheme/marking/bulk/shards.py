"""Stored outputs found and cut into shards: rows [start, end) of a Parquet file, or bytes of a JSON-lines file."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import msgspec

from markscheme.datasets.stored import ID_FIELDS, OUTPUT_FIELDS, QUESTION_FIELDS, SEVERAL_FIELDS
from markscheme.errors import DataError, UsageError, first_line
from markscheme.marking.bulk.outputs import GOLD_FIELDS

ROWS = 100_000
"""Rows of a shard, about: some seconds of work, so that starting it costs nothing and losing it little."""
BYTES = 64 << 20
"""Size of a shard of JSON lines. Row groups of Parquet are taken together up to four times as much: that counts
columns which are not read."""
MOST_PIECES = 16
"""Into how many shards one row group is cut: whoever begins inside a group must read through what stands before."""

PLAN_FILE = "marking.json"
"""Marks a folder as one of ours, with marks in it and not outputs."""

COLUMNS = {
    *(*OUTPUT_FIELDS, *SEVERAL_FIELDS, *GOLD_FIELDS, *QUESTION_FIELDS, *ID_FIELDS),
    *("sample", "reasoning", "finish_reason", "error", "model", "nums", "doc", "doc_id", "resps", "messages"),
}
"""Columns that can matter; whatever else a Parquet file holds is not read."""

_OTHER_DATA = (".json", ".ndjson", ".csv", ".tsv", ".arrow", ".gz", ".zst", ".bz2", ".xz", ".zip")


class Shard(msgspec.Struct, frozen=True):
    """A part of one file."""

    file: str
    start: int
    end: int


class StoredFiles(NamedTuple):
    """The files at a place, in order, and those that look like data and are not read."""

    files: list[Path]
    unread: list[Path]


def arrow(name: str) -> Any:
    """A module of pyarrow, or what to install."""
    try:
        return import_module(name)
    except ImportError as error:
        raise DataError(f"Parquet needs pyarrow ({error}): pip install 'markscheme[data]'") from None


def find(source: Path) -> StoredFiles:
    """The files of stored outputs at a place; folders of marks are passed by, and a run folder is refused."""
    if source.is_file():
        return StoredFiles([source], [])
    found = StoredFiles([], [])
    for folder, below, names in os.walk(source, onerror=_unreadable):
        if PLAN_FILE in names:
            below.clear()
            continue
        if "manifest.json" in names and fnmatch.filter(names, "responses*.jsonl"):
            raise UsageError(f"{folder} is a run folder, which is marked in place: `markscheme mark {folder}`.")
        for file in map(Path(folder).joinpath, names):
            if file.suffix in (".parquet", ".jsonl") and file.is_file():
                found.files.append(file)
            elif file.suffix in (".parquet", ".jsonl", *_OTHER_DATA):
                found.unread.append(file)
    if not found.files:
        raise DataError(f"{source} holds no .parquet and no .jsonl file of stored outputs.")
    found.files.sort()
    return found


def _unreadable(error: OSError) -> NoReturn:
    raise DataError(f"{error.filename} cannot be read: {error.strerror}")


def shards_of(file: Path) -> Iterator[Shard]:
    """A file in parts of about equal work."""
    cuts = _cuts_of_parquet(file) if file.suffix == ".parquet" else _cuts_of_lines(file)
    yield from (Shard(str(file), start, end) for start, end in pairwise(cuts))


def _cuts_of_lines(file: Path) -> Sequence[int]:
    size = file.stat().st_size
    return [*range(0, size, BYTES), size] if size else []


def _cuts_of_parquet(file: Path) -> Sequence[int]:
    """Small row groups are taken together, large ones are cut."""
    try:
        about = arrow("pyarrow.parquet").read_metadata(file)
    except (OSError, ValueError) as error:  # pyarrow's errors are ValueErrors
        raise DataError(f"{file} cannot be read as Parquet: {first_line(error)}") from None
    if COLUMNS.isdisjoint(about.schema.to_arrow_schema().names):
        raise DataError(f"{file} has no column that could hold an output, such as {', '.join(OUTPUT_FIELDS[:3])}.")
    cuts = [0]
    end = size = 0
    for group in map(about.row_group, range(about.num_row_groups)):
        end += group.num_rows
        size += group.total_byte_size
        rows = end - cuts[-1]
        if rows >= ROWS or size >= 4 * BYTES:
            # By rows alone: long texts take longer to read through than to mark.
            pieces = max(1, min(MOST_PIECES, rows // ROWS))
            cuts += [cuts[-1] + rows * piece // pieces for piece in range(1, pieces + 1)]
            size = 0
    return cuts if cuts[-1] == end else [*cuts, end]
