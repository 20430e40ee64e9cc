"""Stored outputs found, cut into shards and read: rows [start, end) of a Parquet file, or bytes of a JSON-lines file.

Rows are read one after the other, bounded in bytes whatever a row holds. One that cannot be read comes as the reason in
words; a file that cannot be read ends in an error that names it.
"""

from __future__ import annotations

import fnmatch
import os
import threading
from collections.abc import Iterator
from importlib import import_module
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

import msgspec

from markscheme.datasets.stored import ID_FIELDS, OUTPUT_FIELDS, QUESTION_FIELDS, SEVERAL_FIELDS
from markscheme.errors import DataError, UsageError, first_line
from markscheme.marking.bulk.outputs import GOLD_FIELDS

ROWS = 100_000  # rows of a shard, about: some seconds of work, so that starting it costs nothing and losing it little
# Size of a shard of JSON lines. Row groups of Parquet are taken together up to four times as much: that counts
# columns which are not read.
BYTES = 64 << 20
# Into how many shards one row group is cut: whoever begins inside a group must read through what stands before.
MOST_PIECES = 16

PLAN_FILE = "marking.json"  # marks a folder as one of ours, with marks in it and not outputs

# Columns that can matter; whatever else a Parquet file holds is not read.
COLUMNS = {
    *(*OUTPUT_FIELDS, *SEVERAL_FIELDS, *GOLD_FIELDS, *QUESTION_FIELDS, *ID_FIELDS),
    *("sample", "reasoning", "finish_reason", "error", "model", "nums", "doc", "doc_id", "resps", "messages"),
}

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
    stored = StoredFiles([], [])
    for folder, below, names in os.walk(source, onerror=_unreadable):
        if PLAN_FILE in names:
            below.clear()
            continue
        if "manifest.json" in names and fnmatch.filter(names, "responses*.jsonl"):
            raise UsageError(f"{folder} is a run folder, which is marked in place: `markscheme mark {folder}`.")
        for file in map(Path(folder).joinpath, names):
            if file.suffix in (".parquet", ".jsonl") and file.is_file():
                stored.files.append(file)
            elif file.suffix in (".parquet", ".jsonl", *_OTHER_DATA):
                stored.unread.append(file)
    if not stored.files:
        raise DataError(f"{source} holds no .parquet and no .jsonl file of stored outputs.")
    stored.files.sort()
    return stored


def _unreadable(error: OSError) -> NoReturn:
    raise DataError(f"{error.filename} cannot be read: {error.strerror}")


def shards_of(file: Path) -> Iterator[Shard]:
    """A file in parts of about equal work."""
    if file.suffix == ".parquet":
        cuts = _cuts_of_parquet(file)
    else:
        cuts = [*range(0, size := file.stat().st_size, BYTES), size]
    yield from (Shard(str(file), start, end) for start, end in pairwise(cuts))


def _cuts_of_parquet(file: Path) -> list[int]:
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


BATCH = 256  # rows of Parquet decoded at a time, at most; larger batches are not faster
BATCH_BYTES = 16 << 20  # size of such a batch, about, as far as the file's footer can tell
SLICE_BYTES = 4 << 20  # how much of it becomes Python objects at a time, which take up to four times as much
LARGEST_LINE = 64 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

Row = dict[str, Any] | str  # what stands there, or why it cannot be read


def rows_of(shard: Shard) -> Iterator[tuple[int, Row]]:
    """Every row with its place: its number in Parquet, its offset in JSON lines."""
    parquet = shard.file.endswith(".parquet")
    broken = (OSError, arrow("pyarrow").ArrowException) if parquet else (OSError,)
    try:
        yield from _parquet_rows(shard) if parquet else _json_rows(shard)
    except broken as error:
        raise DataError(f"{shard.file} cannot be read: {first_line(error)}") from None


def _json_rows(shard: Shard) -> Iterator[tuple[int, Row]]:
    """The lines that begin in the range."""
    decoder = msgspec.json.Decoder(dict[str, Any])
    with Path(shard.file).open("rb") as lines:
        if shard.start:
            lines.seek(shard.start - 1)
            _end_of_line(lines, shard.end)  # of the shard before, unless it is only the end of a line
        while (offset := lines.tell()) < shard.end and (line := lines.readline(LARGEST_LINE)):
            if len(line) == LARGEST_LINE and not line.endswith(b"\n"):
                _end_of_line(lines, shard.end)
                yield offset, f"the line is longer than {LARGEST_LINE >> 20} MB"
            elif line.strip():
                try:
                    yield offset, decoder.decode(line.removeprefix(_BYTE_ORDER_MARK))
                except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                    yield offset, f"the line is no JSON object ({first_line(error)})"


def _end_of_line(lines: BinaryIO, enough: int) -> None:
    """Read to the end of a line, or so far that the next one is no longer of the range."""
    while (piece := lines.readline(1 << 20)) and not piece.endswith(b"\n") and lines.tell() < enough:
        pass


def _parquet_rows(shard: Shard) -> Iterator[tuple[int, Row]]:
    left: _Reader | None = vars(_left_open).pop("reader", None)
    reader = left if left is not None and left.leads_to(shard) else _Reader(shard)
    yield from reader.rows(shard.start, shard.end)
    if reader.at < reader.end:
        _left_open.reader = reader


class _Reader:
    """An open Parquet file and how far it was read.

    Pages are decoded as they are needed, for a row group may be larger than memory. A shard that begins inside a group
    must be read up to; a worker that has just marked the shard before goes on from there.
    """

    def __init__(self, shard: Shard) -> None:
        self._name, self._stamp = shard.file, _stamp(shard.file)
        file = arrow("pyarrow.parquet").ParquetFile(shard.file, buffer_size=1 << 20, pre_buffer=False)
        about = file.metadata
        ends: list[int] = list(accumulate(about.row_group(number).num_rows for number in range(about.num_row_groups)))
        begins = [0, *ends[:-1]]
        groups = [
            number
            for number, (begin, end) in enumerate(zip(begins, ends, strict=True))
            if begin < min(end, shard.end) and end > shard.start
        ]
        self.at, self.end = (begins[groups[0]], ends[groups[-1]]) if groups else (0, 0)
        self._batches = file.iter_batches(
            batch_size=min((_batch_size(about.row_group(number)) for number in groups), default=1),
            row_groups=groups,
            columns=[name for name in file.schema_arrow.names if name in COLUMNS],
            use_threads=False,
        )
        self._batch: Any = None  # what is left of the last one

    def leads_to(self, shard: Shard) -> bool:
        """Whether the shard lies in what is still to come, and the file is as it was."""
        ahead = self._name == shard.file and self.at <= shard.start and shard.end <= self.end
        return ahead and self._stamp == _stamp(shard.file)

    def rows(self, start: int, end: int) -> Iterator[tuple[int, Row]]:
        """The rows of a range, after passing by those before it."""
        while self.at < end:
            if self._batch is None:
                self._batch = next(self._batches, None)
            if self._batch is None:
                raise DataError(f"{self._name} has fewer rows than when its marking began; it has been changed.")
            first, last = (min(self._batch.num_rows, max(0, row - self.at)) for row in (start, end))
            yield from enumerate(_converted(self._batch.slice(first, last - first)), self.at + first)
            self._batch = self._batch.slice(last) if last < self._batch.num_rows else None
            self.at += last


_left_open = threading.local()  # a reader must not be shared: several threads may mark in one process


def _stamp(file: str) -> tuple[int, int, int]:
    about = Path(file).stat()
    return about.st_ino, about.st_size, about.st_mtime_ns


def _batch_size(group: Any) -> int:
    columns = map(group.column, range(group.num_columns))
    size: int = sum(
        column.total_uncompressed_size for column in columns if column.path_in_schema.partition(".")[0] in COLUMNS
    )
    rows: int = group.num_rows
    return max(1, min(BATCH, BATCH_BYTES * rows // max(1, size)))


def _converted(batch: Any) -> Iterator[Row]:
    """The rows of a batch as Python objects, some at a time."""
    step = max(1, batch.num_rows * SLICE_BYTES // max(1, batch.nbytes))
    for start in range(0, batch.num_rows, step):
        piece = batch.slice(start, step)
        try:
            rows = piece.to_pylist()
        except (ValueError, OverflowError):  # text that is not UTF-8, a date out of range …: of one row, hopefully
            rows = [_converted_row(piece.slice(number, 1)) for number in range(piece.num_rows)]
        yield from rows


def _converted_row(row: Any) -> Row:
    try:
        values: dict[str, Any] = row.to_pylist()[0]
    except (ValueError, OverflowError) as error:
        return f"the row cannot be decoded ({first_line(error)})"
    return values
