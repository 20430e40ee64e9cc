"""The part: the file of a shard's marks, and what came of the shard, kept in the file's footer.

It is written beside its place and moved there when it is whole: a shard is done when its part is there, so a worker may
die at any moment and be replaced, and two that work on the same shard do no harm.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from markscheme.errors import JournalError, first_line
from markscheme.marking.bulk.shards import arrow
from markscheme.types import Mark

GROUP_ROWS = 20_000
GROUP_CHARACTERS = 16 << 20
"""Marks that are in memory before they are written: so many, or so much text."""

COUNTING = ".counting-"
"""Folders in which verdicts are sorted by problem begin like this."""

_METADATA = b"markscheme"


class Outcome(msgspec.Struct, frozen=True, tag=True):
    """What came of a shard."""

    marks: int = 0
    unmatched: int = 0  # rows that answer no problem of the benchmark
    unusable: int = 0  # rows without an output or a gold answer, or that cannot be read
    example: str = ""  # what was wrong with the first of those


def outcome_of(file: Path) -> Outcome | None:
    """What is kept in the part of a shard that is done; `None` where there is no whole one."""
    try:
        about = arrow("pyarrow.parquet").read_metadata(file).metadata or {}
        return msgspec.json.decode(about.get(_METADATA, b""), type=Outcome)
    except (OSError, ValueError, msgspec.MsgspecError):  # pyarrow's errors are ValueErrors
        return None


def remove_leftovers(folder: Path) -> None:
    """Remove what killed workers, and a killed counting of verdicts, left in a folder where every shard is done."""
    for file in folder.glob(".part-*.parquet.*"):
        with suppress(OSError):
            file.unlink()
    for counting in folder.glob(f"{COUNTING}*"):
        shutil.rmtree(counting, ignore_errors=True)


class Part:
    """The marks of a shard on their way into its file."""

    def __init__(self, file: Path, about: dict[str, str]) -> None:
        self._file, self._about = file, about
        # Two workers may have the same shard after a node was lost; each writes to a name of its own.
        self._temporary = file.with_name(f".{file.name}.{uuid.uuid4().hex[:12]}")
        self._schema = _schema()
        self._writer: Any = None
        self._columns: list[list[Any]] = [[] for _ in self._schema.names]
        self._characters = 0
        self.rows = 0

    def __enter__(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            with suppress(OSError):  # we are here because of another error
                self._writer.close()
        self._temporary.unlink(missing_ok=True)

    def add(self, position: int, problem_id: str, sample: int | None, found: Mark) -> None:
        """One more mark."""
        values = (position, problem_id, found.key, sample, str(found.verdict), found.answer, found.why, found.flags)
        for column, value in zip(self._columns, values, strict=True):
            column.append(value)
        self.rows += 1
        self._characters += len(problem_id) + len(found.why) + len(found.answer or "")
        if len(self._columns[0]) >= GROUP_ROWS or self._characters >= GROUP_CHARACTERS:
            self._write()

    def finish(self, outcome: Outcome) -> None:
        """Complete the file and put it in its place."""
        self._write()
        about = {name.encode(): value.encode() for name, value in self._about.items()}
        try:
            self._writer.add_key_value_metadata({_METADATA: msgspec.json.encode(outcome), **about})
            self._writer.close()
            self._writer = None
            self._put_in_place()
        except OSError as error:
            raise JournalError(f"cannot write {self._file}: {first_line(error)}") from None

    def _put_in_place(self) -> None:
        try:
            handle = os.open(self._temporary, os.O_RDONLY)
            try:
                os.fsync(handle)  # else a power cut could leave the name without the content
            finally:
                os.close(handle)
            self._temporary.replace(self._file)
        except FileNotFoundError:  # another was faster, and the command that saw it has tidied up
            if not self._file.exists():
                raise

    def _write(self) -> None:
        pa, parquet = arrow("pyarrow"), arrow("pyarrow.parquet")
        arrays: Sequence[Any] = [
            pa.array(column, type=field.type) for column, field in zip(self._columns, self._schema, strict=True)
        ]
        try:
            if self._writer is None:
                self._writer = parquet.ParquetWriter(self._temporary, self._schema, compression="zstd")
            self._writer.write_batch(pa.record_batch(arrays, schema=self._schema))
        except OSError as error:
            raise JournalError(f"cannot write {self._file}: {first_line(error)}") from None
        self._columns = [[] for _ in self._schema.names]
        self._characters = 0


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
