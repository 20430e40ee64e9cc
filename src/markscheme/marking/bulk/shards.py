"""Find stored outputs, cut them into shards and read them: rows of a Parquet file or bytes of a JSON-lines file.

Rows are read one at a time in bounded memory. A row that cannot be read is yielded as the reason; a file that cannot be
read raises an error that names it.
"""

from __future__ import annotations

import fnmatch
import os
import threading
from collections.abc import Iterator
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

import msgspec

from markscheme.datasets.stored import ID_FIELDS, OUTPUT_FIELDS, QUESTION_FIELDS, SEVERAL_FIELDS
from markscheme.errors import DataError, UsageError, command, first_line, needed, os_reason
from markscheme.marking.bulk.outputs import GOLD_FIELDS

ROWS = 100_000  # rows per shard: a few seconds of work, so starting a shard costs nothing and losing it little
# Size of a shard of JSON lines. Row groups of Parquet are joined up to four times as much, since that counts columns
# that are not read.
BYTES = 64 << 20
MOST_PIECES = 16  # shards per row group: a shard that starts inside a group has to read the rows before it

PLAN_FILE = "marking.json"  # marks a folder of ours, which holds marks and not outputs
# Other columns of a Parquet file are not read.
COLUMNS = {
    *(*OUTPUT_FIELDS, *SEVERAL_FIELDS, *GOLD_FIELDS, *QUESTION_FIELDS, *ID_FIELDS),
    *(
        "sample",
        "reasoning",
        "finish_reason",
        "error",
        "model",
        "nums",
        "choices",
        "doc",
        "doc_id",
        "resps",
        "messages",
    ),
}
_OTHER_DATA = (".json", ".ndjson", ".csv", ".tsv", ".arrow", ".gz", ".zst", ".bz2", ".xz", ".zip")

BATCH = 256  # rows of Parquet decoded at a time; larger batches are not faster
BATCH_BYTES = 16 << 20  # approximate size of such a batch, judged by the file's footer
SLICE_BYTES = 4 << 20  # how much of a batch becomes Python objects at a time; they take up to four times as much
LARGEST_LINE = 64 << 20

Row = dict[str, Any] | str  # the row, or why it cannot be read


class Shard(msgspec.Struct, frozen=True):
    file: str
    start: int
    end: int


class StoredFiles(NamedTuple):
    """Files of stored outputs in order, and files that look like data but are not read."""

    files: list[Path]
    unread: list[Path]


def arrow(name: str) -> Any:
    """Import a module of pyarrow."""
    return needed(name, "data", DataError)


def find(source: Path) -> StoredFiles:
    """Return the files of stored outputs at a path. Skip folders of marks and refuse run folders."""
    if source.is_file():
        return StoredFiles([source], [])
    stored = StoredFiles([], [])
    for folder, below, names in os.walk(source, onerror=_unreadable):
        if PLAN_FILE in names:
            below.clear()
            continue
        if "manifest.json" in names and fnmatch.filter(names, "responses*.jsonl"):
            raise UsageError(
                f"{folder} is a run folder, which is marked in place: {command('mark', folder, protocol='NAME')}."
            )
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
    raise DataError(f"{error.filename} cannot be read: {os_reason(error)}")


def shards_of(file: Path) -> Iterator[Shard]:
    if file.suffix == ".parquet":
        cuts = _cuts_of_parquet(file)
    else:
        cuts = [*range(0, size := file.stat().st_size, BYTES), size]
    yield from (Shard(str(file), start, end) for start, end in pairwise(cuts))


def _cuts_of_parquet(file: Path) -> list[int]:
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
            # By rows alone: skipping long texts takes longer than marking them.
            pieces = max(1, min(MOST_PIECES, rows // ROWS))
            cuts += [cuts[-1] + rows * piece // pieces for piece in range(1, pieces + 1)]
            size = 0
    return cuts if cuts[-1] == end else [*cuts, end]


def rows_of(shard: Shard) -> Iterator[tuple[int, Row]]:
    """Yield every row with its position: the row number in Parquet, the byte offset in JSON lines."""
    parquet = shard.file.endswith(".parquet")
    broken = (OSError, arrow("pyarrow").ArrowException) if parquet else (OSError,)
    try:
        yield from _parquet_rows(shard) if parquet else _json_rows(shard)
    except broken as error:
        raise DataError(f"{shard.file} cannot be read: {first_line(error)}") from None


def _json_rows(shard: Shard) -> Iterator[tuple[int, Row]]:
    decoder = msgspec.json.Decoder(dict[str, Any])
    with Path(shard.file).open("rb") as lines:
        if shard.start:
            lines.seek(shard.start - 1)
            _skip_line(lines, shard.end)  # it belongs to the shard before, unless only its newline is left
        while (offset := lines.tell()) < shard.end and (line := lines.readline(LARGEST_LINE)):
            if len(line) == LARGEST_LINE and not line.endswith(b"\n"):
                _skip_line(lines, shard.end)
                yield offset, f"the line is longer than {LARGEST_LINE >> 20} MB"
            elif line.strip():
                try:
                    yield offset, decoder.decode(line.removeprefix(b"\xef\xbb\xbf"))  # the byte order mark
                except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                    yield offset, f"the line is not a JSON object ({first_line(error)})"


def _skip_line(lines: BinaryIO, end: int) -> None:
    """Read to the end of a line, or until the next line is past `end`."""
    while (piece := lines.readline(1 << 20)) and not piece.endswith(b"\n") and lines.tell() < end:
        pass


_left_open = threading.local()  # a reader must not be shared: several threads may mark in one process


def _parquet_rows(shard: Shard) -> Iterator[tuple[int, Row]]:
    left: _Reader | None = vars(_left_open).pop("reader", None)
    reader = left if left is not None and left.leads_to(shard) else _Reader(shard)
    yield from reader.rows(shard.start, shard.end)
    if reader.at < reader.end:
        _left_open.reader = reader


class _Reader:
    """An open Parquet file and how far it has been read.

    Pages are decoded as needed, since a row group may be larger than memory. A shard that starts inside a group has to
    skip the rows before it; a worker that has just marked the previous shard continues from there.
    """

    def __init__(self, shard: Shard) -> None:
        self._name, self._stamp = shard.file, _stamp(shard.file)
        file = arrow("pyarrow.parquet").ParquetFile(shard.file, buffer_size=1 << 20, pre_buffer=False)
        groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
        ranges = list(pairwise([0, *accumulate(group.num_rows for group in groups)]))
        read = [
            number for number, (low, high) in enumerate(ranges) if low < min(high, shard.end) and high > shard.start
        ]
        self.at: int = ranges[read[0]][0] if read else 0
        self.end: int = ranges[read[-1]][1] if read else 0
        self._batches = file.iter_batches(
            batch_size=min((_batch_size(groups[number]) for number in read), default=1),
            row_groups=read,
            columns=[name for name in file.schema_arrow.names if name in COLUMNS],
            use_threads=False,
        )
        self._batch: Any = None  # the unread rest of the last one

    def leads_to(self, shard: Shard) -> bool:
        """True if the shard is still ahead and the file has not changed."""
        ahead = self._name == shard.file and self.at <= shard.start and shard.end <= self.end
        return ahead and self._stamp == _stamp(shard.file)

    def rows(self, start: int, end: int) -> Iterator[tuple[int, Row]]:
        while self.at < end:
            if self._batch is None:
                self._batch = next(self._batches, None)
            if self._batch is None:
                raise DataError(f"{self._name} has fewer rows than when marking began; it has been changed.")
            first, last = (min(self._batch.num_rows, max(0, row - self.at)) for row in (start, end))
            yield from enumerate(_converted(self._batch.slice(first, last - first)), self.at + first)
            self._batch = self._batch.slice(last) if last < self._batch.num_rows else None
            self.at += last


def _stamp(file: str) -> tuple[int, int, int]:
    about = Path(file).stat()
    return about.st_ino, about.st_size, about.st_mtime_ns


def _batch_size(group: Any) -> int:
    columns = map(group.column, range(group.num_columns))
    size: int = sum(c.total_uncompressed_size for c in columns if c.path_in_schema.partition(".")[0] in COLUMNS)
    rows: int = group.num_rows
    return max(1, min(BATCH, BATCH_BYTES * rows // max(1, size)))


def _converted(batch: Any, step: int = 0) -> Iterator[Row]:
    step = step or max(1, batch.num_rows * SLICE_BYTES // max(1, batch.nbytes))
    for piece in (batch.slice(start, step) for start in range(0, batch.num_rows, step)):
        try:
            yield from piece.to_pylist()
        except (ValueError, OverflowError) as error:  # text that is not UTF-8, a date out of range …: find the row
            if piece.num_rows > 1:
                yield from _converted(piece, 1)
            else:
                yield f"the row cannot be decoded ({first_line(error)})"
