"""Stored outputs cut into shards, and what a worker does with one: read, mark, write, in bounded memory.

A shard is some row groups of a Parquet file, or a range of bytes of a JSON-lines file. Its marks become one Parquet file,
written beside its place and moved there when it is whole: a shard is done when its file is there, so a worker may die at
any moment and be replaced, and two that work on the same shard do no harm.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from markscheme.errors import DataError, MarkschemeError
from markscheme.marking import mark
from markscheme.marking.outputs import GOLD_FIELDS, Matcher, response_of
from markscheme.stored import ID_FIELDS, OUTPUT_FIELDS, QUESTION_FIELDS, SEVERAL_FIELDS
from markscheme.types import Mark, Problem

ROWS = 100_000
"""Rows of a shard, about: some seconds of work, so that starting it costs nothing and losing it little."""
BYTES = 64 << 20
BATCH = 2_000
"""Rows in memory at a time."""
LARGEST_LINE = 256 << 20

COLUMNS = {
    *(*OUTPUT_FIELDS, *SEVERAL_FIELDS, *GOLD_FIELDS, *QUESTION_FIELDS, *ID_FIELDS),
    *("sample", "reasoning", "finish_reason", "error", "model", "nums", "doc", "doc_id", "resps", "messages"),
}
"""Columns that can matter; whatever else a Parquet file holds is not read."""

METADATA = b"markscheme"


class Shard(msgspec.Struct, frozen=True):
    """A part of one file: row groups [start, end) of Parquet, bytes [start, end) of JSON lines."""

    file: str
    start: int
    end: int
    first: int = 0  # of Parquet, the number of the first row


class Job(msgspec.Struct, frozen=True):
    """What a worker is told: which shard, judged how, and where its marks go."""

    shard: Shard
    out: str
    protocol: str
    benchmark: str | None
    data_dir: str | None
    think_end: str


class Outcome(msgspec.Struct, frozen=True):
    """What came of a shard; also kept in its file."""

    marks: int = 0
    unmatched: int = 0  # rows that answer no problem of the benchmark
    unusable: int = 0  # rows without an output or a gold answer
    example: str = ""  # what was wrong with the first of those


def arrow(name: str) -> Any:
    """A module of pyarrow, or what to install."""
    try:
        return import_module(name)
    except ImportError as error:
        raise DataError(f"Parquet needs pyarrow ({error}): pip install 'markscheme[data]'") from None


def files_of(source: Path) -> list[Path]:
    """The files of stored outputs at a place."""
    if source.is_file():
        return [source]
    found = sorted(file for kind in ("*.parquet", "*.jsonl") for file in source.rglob(kind))
    if not found:
        raise DataError(f"{source} holds no .parquet and no .jsonl file.")
    return found


def shards_of(file: Path) -> Iterator[Shard]:
    """A file in parts of about equal work."""
    if file.suffix != ".parquet":
        size = file.stat().st_size
        yield from (Shard(str(file), start, min(start + BYTES, size)) for start in range(0, size, BYTES))
        return
    try:
        about = arrow("pyarrow.parquet").read_metadata(file)
    except (OSError, ValueError) as error:  # pyarrow's errors are ValueErrors
        raise DataError(f"{file} cannot be read as Parquet: {error}") from None
    if COLUMNS.isdisjoint(about.schema.to_arrow_schema().names):
        raise DataError(f"{file} has no column that could hold an output, such as {', '.join(OUTPUT_FIELDS[:3])}.")
    start = first = rows = 0
    for group in range(about.num_row_groups):
        rows += about.row_group(group).num_rows
        if rows >= ROWS or group == about.num_row_groups - 1:
            yield Shard(str(file), start, group + 1, first)
            start, first, rows = group + 1, first + rows, 0


def mark_shard(told: dict[str, Any]) -> dict[str, Any]:
    """Mark one shard; plain data in and out, for it runs in another process."""
    job = msgspec.convert(told, Job)
    table = _Table(Path(job.out), job)
    match = _matcher(job.benchmark, job.data_dir)
    shard = job.shard
    unmatched = unusable = 0
    example = ""
    with table:
        for position, row in _rows(shard):
            try:
                problem, texts = match(row, shard.file, f"{Path(shard.file).name}:{position}")
            except MarkschemeError as error:
                unusable += 1
                example = example or str(error)
                continue
            if problem is None:
                unmatched += 1
                continue
            for index, text in enumerate(texts):
                given = row.get("sample") if len(texts) == 1 else index
                sample = given if isinstance(given, int) and 0 <= given < 1 << 31 else None
                response = response_of(row, text, problem, sample or 0)
                found = mark(response, problem, protocol=job.protocol, think_end=job.think_end)
                table.add(position, problem.id, sample, found)
        outcome = Outcome(table.rows, unmatched, unusable, example)
        table.finish(outcome)
    made: dict[str, Any] = msgspec.to_builtins(outcome)
    return made


def first_problem(shard: Shard) -> Problem | None:
    """The first problem that a shard brings itself."""
    match = Matcher()
    for position, row in _rows(shard):
        with suppress(MarkschemeError):
            return match(row, shard.file, str(position))[0]
    return None


def outcome_of(file: Path) -> Outcome:
    """What is kept in the file of a shard that is done."""
    about = arrow("pyarrow.parquet").read_metadata(file).metadata
    return msgspec.json.decode(about[METADATA], type=Outcome)


@lru_cache(maxsize=4)
def _matcher(benchmark: str | None, data_dir: str | None) -> Matcher:
    if benchmark is None:
        return Matcher()
    from markscheme.benchmarks import benchmark as load

    return Matcher(load(benchmark, data_dir).problems)


def _rows(shard: Shard) -> Iterator[tuple[int, dict[str, Any]]]:
    return _parquet_rows(shard) if shard.file.endswith(".parquet") else _json_rows(shard)


def _parquet_rows(shard: Shard) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows with their numbers. Pages are read as they are needed: a row group may be larger than memory."""
    parquet = arrow("pyarrow.parquet")
    number = shard.first
    with parquet.ParquetFile(shard.file, buffer_size=1 << 20, pre_buffer=False) as file:
        columns = [name for name in file.schema_arrow.names if name in COLUMNS]
        groups = list(range(shard.start, shard.end))
        for batch in file.iter_batches(batch_size=BATCH, row_groups=groups, columns=columns, use_threads=False):
            for row in batch.to_pylist():
                yield number, row
                number += 1


def _json_rows(shard: Shard) -> Iterator[tuple[int, dict[str, Any]]]:
    """Lines that begin in the range, with their offsets; a line that is no JSON object is an empty row."""
    decoder = msgspec.json.Decoder(dict[str, Any])
    with Path(shard.file).open("rb") as lines:
        if shard.start:
            lines.seek(shard.start - 1)
            lines.readline(LARGEST_LINE)  # belongs to the shard before, unless it is only the end of a line
        while (offset := lines.tell()) < shard.end and (line := lines.readline(LARGEST_LINE)):
            if line.strip():
                try:
                    yield offset, decoder.decode(line)
                except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                    yield offset, {}


class _Table:
    """The marks of a shard on their way into its file."""

    def __init__(self, file: Path, job: Job) -> None:
        self._file, self._job = file, job
        # Two workers may have the same shard after a node was lost; each writes to a name of its own.
        self._temporary = file.with_name(f".{file.name}.{uuid.uuid4().hex[:12]}")
        self._schema = _schema()
        self._writer: Any = None
        self._columns: list[list[Any]] = [[] for _ in self._schema.names]
        self.rows = 0

    def __enter__(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()
        self._temporary.unlink(missing_ok=True)

    def add(self, position: int, problem_id: str, sample: int | None, found: Mark) -> None:
        """One more mark."""
        values = (position, problem_id, found.key, sample, str(found.verdict), found.answer, found.why, found.flags)
        for column, value in zip(self._columns, values, strict=True):
            column.append(value)
        self.rows += 1
        if len(self._columns[0]) >= 10 * BATCH:
            self._write()

    def finish(self, outcome: Outcome) -> None:
        """Complete the file and put it in its place."""
        self._write()
        about = {METADATA: msgspec.json.encode(outcome), b"protocol": self._job.protocol.encode()}
        self._writer.add_key_value_metadata({**about, b"source": self._job.shard.file.encode()})
        self._writer.close()
        self._writer = None
        self._temporary.replace(self._file)

    def _write(self) -> None:
        pa, parquet = arrow("pyarrow"), arrow("pyarrow.parquet")
        if self._writer is None:
            self._writer = parquet.ParquetWriter(self._temporary, self._schema, compression="zstd")
        arrays: Sequence[Any] = [
            pa.array(column, type=field.type) for column, field in zip(self._columns, self._schema, strict=True)
        ]
        self._writer.write_batch(pa.record_batch(arrays, schema=self._schema))
        self._columns = [[] for _ in self._schema.names]


def _schema() -> Any:
    pa = arrow("pyarrow")
    fields = [
        ("position", pa.int64()),  # row number in Parquet, byte offset in JSON lines
        ("problem_id", pa.string()),
        ("key", pa.string()),
        ("sample", pa.int32()),
        ("verdict", pa.string()),
        ("answer", pa.string()),
        ("why", pa.string()),
        ("flags", pa.list_(pa.string())),
    ]
    return pa.schema(fields)
