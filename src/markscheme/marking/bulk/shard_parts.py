"""The part: the file of a shard's marks, in the form of the outputs (JSON lines or Parquet), and what came of the shard.

It is written beside its place and moved there when it is whole: a shard is done when its part is there, so a worker may
die at any moment and be replaced, and two that work on the same shard do no harm.
"""

from __future__ import annotations

import os
import shutil
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from markscheme.errors import JournalError, first_line
from markscheme.marking.bulk.shards import arrow
from markscheme.marking.marker import FAILED
from markscheme.redaction import redacted
from markscheme.runs.folder import write_atomically
from markscheme.types import Mark

GROUP_ROWS = 20_000
GROUP_CHARACTERS = 16 << 20  # marks that are in memory before they are written: so many, or so much text

COUNTING = ".counting-"  # folders in which verdicts are sorted by problem begin like this

_METADATA = b"markscheme"


class ShardOutcome(msgspec.Struct, frozen=True, tag="Outcome"):
    """What came of a shard."""

    marks: int = 0
    unmatched: int = 0  # rows that answer no problem of the benchmark
    unusable: int = 0  # rows without an output or a gold answer, or that cannot be read
    example: str = ""  # what was wrong with the first of those
    failed: int = 0  # responses on which the protocol itself failed


class PartMark(msgspec.Struct, frozen=True):
    """A mark as a part holds it."""

    position: int  # row number in Parquet, byte offset in JSON lines
    problem_id: str
    key: str
    sample: int | None
    verdict: str
    answer: str | None
    why: str
    flags: tuple[str, ...]


def part_file(folder: Path, number: int, source: str) -> Path:
    """The part of a shard: JSON lines in, JSON lines out; Parquet in, Parquet out."""
    return folder / f"part-{number:05d}.{'parquet' if source.endswith('.parquet') else 'jsonl'}"


def outcome_of(file: Path) -> ShardOutcome | None:
    """What is kept with the part of a shard that is done; `None` where there is no whole one."""
    try:
        if file.suffix == ".jsonl":
            about = msgspec.json.decode(_beside(file).read_bytes(), type=dict[str, Any])
            whole = about["size"] == file.stat().st_size
            return msgspec.convert(about["outcome"], ShardOutcome) if whole else None
        footer = arrow("pyarrow.parquet").read_metadata(file).metadata or {}
        return msgspec.json.decode(footer.get(_METADATA, b""), type=ShardOutcome)
    except (OSError, KeyError, ValueError, msgspec.MsgspecError):  # pyarrow's errors are ValueErrors
        return None


def _beside(file: Path) -> Path:
    """What came of a part of JSON lines, which have no footer."""
    return file.with_name(f".{file.stem}.json")


def remove_leftovers(folder: Path) -> None:
    """Remove what killed workers, and a killed counting of verdicts, left in a folder where every shard is done."""
    for file in (*folder.glob(".part-*.parquet.*"), *folder.glob(".part-*.jsonl.*")):
        with suppress(OSError):
            file.unlink()
    for counting in folder.glob(f"{COUNTING}*"):
        shutil.rmtree(counting, ignore_errors=True)


class MarksPart:
    """The marks of a shard on their way into its file."""

    def __init__(self, file: Path, about: dict[str, str]) -> None:
        self._file, self._about = file, about
        # Two workers may have the same shard after a node was lost; each writes to a name of its own.
        self._temporary = file.with_name(f".{file.name}.{uuid.uuid4().hex[:12]}")
        self._writer: Any = None
        self._waiting: list[PartMark] = []
        self._characters = 0
        self.rows = self.failed = 0

    def __enter__(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            with suppress(OSError):  # we are here because of another error
                self._writer.close()
        self._temporary.unlink(missing_ok=True)

    def add(self, position: int, problem_id: str, sample: int | None, mark: Mark) -> None:
        """One more mark."""
        verdict = str(mark.verdict)
        self._waiting.append(
            PartMark(position, problem_id, mark.key, sample, verdict, mark.answer, mark.why, tuple(mark.flags))
        )
        self.rows += 1
        self.failed += FAILED in mark.flags
        self._characters += len(problem_id) + len(mark.why) + len(mark.answer or "")
        if len(self._waiting) >= GROUP_ROWS or self._characters >= GROUP_CHARACTERS:
            self._write()

    def finish(self, outcome: ShardOutcome) -> None:
        """Complete the file and put it in its place."""
        self._write()
        try:
            if self._file.suffix == ".jsonl":
                about = {"outcome": outcome, "size": self._writer.tell(), **self._about}
                write_atomically(_beside(self._file), msgspec.json.encode(about))
            else:
                footer = {name.encode(): value.encode() for name, value in self._about.items()}
                self._writer.add_key_value_metadata({_METADATA: msgspec.json.encode(outcome), **footer})
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
        try:
            if self._file.suffix == ".jsonl":
                self._writer = self._writer or self._temporary.open("wb")
                self._writer.write(redacted(b"".join(msgspec.json.encode(mark) + b"\n" for mark in self._waiting)))
            else:
                self._write_group()
        except OSError as error:
            raise JournalError(f"cannot write {self._file}: {first_line(error)}") from None
        self._waiting = []
        self._characters = 0

    def _write_group(self) -> None:
        pa = arrow("pyarrow")
        types = {"position": pa.int64(), "sample": pa.int32(), "flags": pa.list_(pa.string())}
        schema = pa.schema([(name, types.get(name, pa.string())) for name in PartMark.__struct_fields__])
        if self._writer is None:
            self._writer = arrow("pyarrow.parquet").ParquetWriter(self._temporary, schema, compression="zstd")
        columns = [pa.array([getattr(mark, f.name) for mark in self._waiting], type=f.type) for f in schema]
        self._writer.write_batch(pa.record_batch(columns, schema=schema))
