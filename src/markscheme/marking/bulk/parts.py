"""A part: the file with the marks of one shard, in the format of the outputs (JSON lines or Parquet), and its outcome.

A part is written under a temporary name and renamed when complete. A shard is done when its part exists, so a worker may
die at any moment and be replaced, and two workers on the same shard do no harm.
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

# Marks are kept in memory up to this many rows or characters, then written.
GROUP_ROWS = 20_000
GROUP_CHARACTERS = 16 << 20

COUNTING = ".counting-"  # prefix of the folders in which verdicts are sorted by problem
_METADATA = b"markscheme"


class ShardOutcome(msgspec.Struct, frozen=True, tag="Outcome"):
    marks: int = 0
    unmatched: int = 0  # rows that answer no problem of the benchmark
    unusable: int = 0  # rows without an output or a gold answer, or that cannot be read
    example: str = ""  # what was wrong with the first of those
    failed: int = 0  # responses on which the protocol itself failed

    def __add__(self, other: ShardOutcome) -> ShardOutcome:
        return ShardOutcome(
            self.marks + other.marks,
            self.unmatched + other.unmatched,
            self.unusable + other.unusable,
            self.example or other.example,
            self.failed + other.failed,
        )


class PartMark(msgspec.Struct, frozen=True):
    position: int  # row number in Parquet, byte offset in JSON lines
    problem_id: str
    key: str
    sample: int | None
    verdict: str
    answer: str | None
    why: str
    flags: tuple[str, ...]


def part_file(folder: Path, number: int, source: str) -> Path:
    return folder / f"part-{number:05d}.{'parquet' if source.endswith('.parquet') else 'jsonl'}"


def outcome_of(file: Path) -> ShardOutcome | None:
    """Return the outcome stored with a complete part; `None` if it is missing or damaged."""
    try:
        if file.suffix == ".jsonl":
            about = msgspec.json.decode(_sidecar(file).read_bytes(), type=dict[str, Any])
            whole = about["size"] == file.stat().st_size
            return msgspec.convert(about["outcome"], ShardOutcome) if whole else None
        footer = arrow("pyarrow.parquet").read_metadata(file).metadata or {}
        return msgspec.json.decode(footer.get(_METADATA, b""), type=ShardOutcome)
    except (OSError, KeyError, ValueError, msgspec.MsgspecError):  # pyarrow's errors are ValueErrors
        return None


def _sidecar(file: Path) -> Path:
    return file.with_name(f".{file.stem}.json")


def remove_leftovers(folder: Path) -> None:
    """Remove leftovers of killed workers from a folder in which every shard is done."""
    for file in (*folder.glob(".part-*.parquet.*"), *folder.glob(".part-*.jsonl.*")):
        with suppress(OSError):
            file.unlink()
    for counting in folder.glob(f"{COUNTING}*"):
        shutil.rmtree(counting, ignore_errors=True)


class MarksPart:
    """A part that is being written. Use as a context manager; without `finish` it is removed."""

    def __init__(self, file: Path, about: dict[str, str]) -> None:
        self._file, self._about = file, about
        # Two workers may have the same shard after a node was lost, so each writes to its own name.
        self._temporary = file.with_name(f".{file.name}.{uuid.uuid4().hex[:12]}")
        self._writer: Any = None
        self._waiting: list[PartMark] = []
        self._characters = 0
        self.rows = self.failed = 0

    def __enter__(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            with suppress(OSError):  # another error is on its way
                self._writer.close()
        self._temporary.unlink(missing_ok=True)

    def add(self, position: int, problem_id: str, sample: int | None, mark: Mark) -> None:
        self._waiting.append(
            PartMark(position, problem_id, mark.key, sample, str(mark.verdict), mark.answer, mark.why, mark.flags)
        )
        self.rows += 1
        self.failed += FAILED in mark.flags
        self._characters += len(problem_id) + len(mark.why) + len(mark.answer or "")
        if len(self._waiting) >= GROUP_ROWS or self._characters >= GROUP_CHARACTERS:
            self._write()

    def finish(self, outcome: ShardOutcome) -> None:
        self._write()
        try:
            if self._file.suffix == ".jsonl":
                about = {"outcome": outcome, "size": self._writer.tell(), **self._about}
                write_atomically(_sidecar(self._file), msgspec.json.encode(about))
            else:
                footer = {name.encode(): value.encode() for name, value in self._about.items()}
                self._writer.add_key_value_metadata({_METADATA: msgspec.json.encode(outcome), **footer})
            self._writer.close()
            self._writer = None
            with self._temporary.open("rb") as written:
                os.fsync(written.fileno())  # or a power cut could leave the name without the content
            self._temporary.replace(self._file)
        except FileNotFoundError:
            if not self._file.exists():  # else another worker was faster, and the command has cleaned up
                raise JournalError(f"cannot write {self._file}: {self._temporary.name} was removed") from None
        except OSError as error:
            raise JournalError(f"cannot write {self._file}: {first_line(error)}") from None

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
