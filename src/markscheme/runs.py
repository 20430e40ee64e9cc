"""A run is a folder: what was asked, what came back, what was thought of it.

    manifest.json           everything needed to run it again and to trust it
    problems.jsonl          each problem with the prompt really sent
    responses*.jsonl        facts, appended as they arrive, one file a writer
    marks/<protocol>.jsonl  opinions, re-made at will
    report.json             the numbers

Reading is forgiving: a torn or damaged line is counted and left out, an unknown field is ignored, a missing marks
file is simply not there. Nothing here asks a model or judges an answer.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec

from markscheme.config import RunConfig
from markscheme.datasets import DataFile
from markscheme.errors import JournalError
from markscheme.types import Mark, Question, Response

FORMAT = 1
"""Version of the folder layout. A reader refuses only what is newer than it can know."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What `manifest.json` holds: the resolved options, the evidence, and how it ended."""

    format: int = FORMAT
    config: RunConfig
    benchmark: str
    model: str
    protocol: str  # "name@version", the one the headline figures come from
    samples: int
    problems: int
    data: tuple[DataFile, ...] = ()
    prompt_sha256: str = ""  # over every message of every prompt, in order
    fewshot_ids: tuple[str, ...] = ()
    server_model: str | None = None
    started: str = ""
    ended: str | None = None
    status: str = "running"  # running | complete | incomplete | interrupted
    counts: dict[str, int] = {}  # responses by verdict
    packages: dict[str, str] = {}
    python: str = ""
    platform: str = ""
    git_revision: str | None = None
    sampling: dict[str, Any] = {}  # as sent, benchmark defaults filled in


class _Head(msgspec.Struct, frozen=True):
    """The few fields that decide which line of a key counts; the text is skipped, not built."""

    key: str
    sample: int
    error: str | None = None


T = TypeVar("T")


class Run:
    """A run folder, opened. Cheap to make: files are read when asked for."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest
        self._damaged: dict[Path, int] = {}

    @classmethod
    def create(cls, path: Path, manifest: Manifest, questions: Iterable[Question]) -> Self:
        """Make the folder with its manifest and problems; refuses one that already holds a run."""
        if (path / "manifest.json").exists():
            raise JournalError(
                f"{path} already holds a run; `markscheme resume {path}` continues it, or choose another --out"
            )
        try:
            (path / "marks").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise JournalError(f"cannot make the run folder {path}: {error.strerror}") from None
        write_atomically(path / "problems.jsonl", b"".join(_line(question) for question in questions))
        run = cls(path, manifest)
        run.save_manifest(manifest)
        return run

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open an existing run folder."""
        folder = Path(path)
        try:
            raw = (folder / "manifest.json").read_bytes()
        except FileNotFoundError:
            raise JournalError(f"{folder} is not a run folder: it has no manifest.json") from None
        except OSError as error:
            raise JournalError(f"cannot read {folder}: {error.strerror}") from None
        try:
            manifest = msgspec.json.decode(raw, type=Manifest)
        except msgspec.MsgspecError as error:
            raise JournalError(f"{folder / 'manifest.json'} cannot be read: {error}") from None
        if manifest.format > FORMAT:
            raise JournalError(f"{folder} was written by a newer markscheme; upgrade to read it")
        return cls(folder, manifest)

    @property
    def damaged_lines(self) -> int:
        """Lines left out by the readings so far because they were torn or not ours."""
        return sum(self._damaged.values())

    def save_manifest(self, manifest: Manifest) -> None:
        """Replace the manifest, whole or not at all."""
        self.manifest = manifest
        write_atomically(self.path / "manifest.json", msgspec.json.format(msgspec.json.encode(manifest), indent=2))

    def questions(self) -> list[Question]:
        """The problems and prompts of this run, in the order of the benchmark."""
        return list(self._lines(self.path / "problems.jsonl", msgspec.json.Decoder(Question)))

    def responses(self) -> Iterator[Response]:
        """Each (problem, sample) once, streamed: the last answer that came back, or its error if none did.

        Several lines for one key are normal: an error, then a resumed success; two ranks after a restart.
        """
        heads, decoder = msgspec.json.Decoder(_Head), msgspec.json.Decoder(Response)
        winners: dict[tuple[str, int], tuple[int, int]] = {}
        answered: set[tuple[str, int]] = set()
        files = self.response_files()
        for number, file in enumerate(files):
            for offset, head in self._lines_at(file, heads):
                key = (head.key, head.sample)
                if head.error is None:
                    answered.add(key)
                elif key in answered:
                    continue
                winners[key] = (number, offset)
        for number, file in enumerate(files):
            for offset, response in self._lines_at(file, decoder):
                if winners.get((response.key, response.sample)) == (number, offset):
                    yield response

    def response_files(self) -> list[Path]:
        """`responses.jsonl` and those of other writers (`responses.<writer>.jsonl`)."""
        return sorted(self.path.glob("responses*.jsonl"))

    def marks(self, protocol: str) -> Iterator[Mark]:
        """The marks under one protocol, by its bare name."""
        file = self.marks_file(protocol)
        latest = {(mark.key, mark.sample): mark for mark in self._lines(file, msgspec.json.Decoder(Mark))}
        yield from latest.values()

    def marks_file(self, protocol: str) -> Path:
        """Where the marks of a protocol live."""
        return self.path / "marks" / f"{protocol.partition('@')[0]}.jsonl"

    def marked_protocols(self) -> list[str]:
        """Bare names of the protocols this run has been marked with."""
        return sorted(file.stem for file in (self.path / "marks").glob("*.jsonl"))

    def save_marks(self, protocol: str, marks: Iterable[Mark]) -> None:
        """Replace the marks of one protocol, whole or not at all."""
        write_atomically(self.marks_file(protocol), b"".join(_line(mark) for mark in marks))

    def _lines(self, file: Path, decoder: msgspec.json.Decoder[T]) -> Iterator[T]:
        return (item for _, item in self._lines_at(file, decoder))

    def _lines_at(self, file: Path, decoder: msgspec.json.Decoder[T]) -> Iterator[tuple[int, T]]:
        self._damaged[file] = 0
        if not file.exists():
            return
        offset = 0
        with file.open("rb") as lines:
            for line in lines:
                try:
                    yield offset, decoder.decode(line)
                except msgspec.MsgspecError:
                    self._damaged[file] += 1
                offset += len(line)


def write_atomically(file: Path, content: bytes) -> None:
    """Write a file so that a reader, or a crash, sees the old content or the new, never half."""
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        Path(temporary).chmod(0o644)  # mkstemp makes private files; a run folder is shared
        Path(temporary).replace(file)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise JournalError(f"cannot write {file}: {error.strerror}; what was there before is untouched") from None


def _line(item: msgspec.Struct) -> bytes:
    return msgspec.json.encode(item) + b"\n"
