"""A run is a folder: what was asked, what came back, and how it was judged.

    manifest.json           everything needed to run it again and to trust it
    problems.jsonl          each problem with the prompt really sent
    responses*.jsonl        facts, appended as they arrive, one file per writer
    marks/<protocol>.jsonl  opinions, which can be made again
    report.json             the numbers
    usage.json              tokens, attempts, seconds, cost: in total and for each problem
    rounds.json             the samples planned for each problem, if a run asks until the score is known

Only `reader` reads the files, and only `snapshot` decides which lines count.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self
from uuid import uuid4

import msgspec
from msgspec import Meta

from markscheme.config import MOST_SAMPLES, RunConfig, settings
from markscheme.datasets import DataFile
from markscheme.errors import JournalError, command, first_line, option, os_reason
from markscheme.redaction import redacted
from markscheme.runs.digests import FileDigest, order_digest, sealed, settings_digest
from markscheme.runs.files import marks_file, read_inside, refuse_links
from markscheme.runs.journal import Journal, sync_folder
from markscheme.runs.lines import UNREADABLE, decode_or_none
from markscheme.runs.lock import RunLock
from markscheme.runs.usage import Usage
from markscheme.types import Mark, Question, Response

if TYPE_CHECKING:
    from markscheme.runs.reader import RunReader
    from markscheme.runs.snapshot import Snapshot

FORMAT = 1  # of the folder layout; a newer one is refused

# The model in the options of a run made from another tool's log: it cannot be asked.
IMPORTED = "import"

# Samples of a problem. A file that says more, or less than 0, is damaged.
Size = Annotated[int, Meta(ge=0, le=MOST_SAMPLES)]

LARGEST_MANIFEST = 16 << 20

# Fields that decide what is asked or counted. Any other field of an unexpected type is left out.
ESSENTIAL = ("config", "protocol", "samples", "problems", "status", "sampling", "prompt_sha256", "format")

RESERVE, RESERVE_PER_PROBLEM = 1 << 16, 512  # bytes; manifest, report and usage take less


class Manifest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The content of `manifest.json`: the resolved options, the evidence, and how the run ended."""

    format: int = 0  # written as FORMAT; a folder without it has the first format
    config: RunConfig
    benchmark: str
    model: str
    protocol: str  # "name@version", the one the headline figures come from
    samples: Size
    problems: Size
    drawn_from: Size = 0  # problems of the benchmark, if --limit-seed drew some of them
    strata: dict[str, Size] = {}  # problems of the benchmark in each stratum, if --stratify drew from each
    stratum: tuple[str, ...] = ()  # of each drawn problem, in order
    data: tuple[DataFile, ...] = ()
    prompt_sha256: str = ""  # over every message of every prompt, in order
    fewshot_ids: tuple[str, ...] = ()
    server_model: str | None = None
    started: str = ""
    ended: str | None = None
    status: str = "running"  # running | complete | incomplete | interrupted | stopped
    counts: dict[str, int] = {}  # responses by verdict
    packages: dict[str, str] = {}
    python: str = ""
    platform: str = ""
    git_revision: str | None = None
    sampling: dict[str, Any] = {}  # as sent, benchmark defaults filled in
    tools: dict[str, str] = {}  # tools that the model may call, and where they run
    objects: dict[str, str] = {}  # SHA-256 of the source of a protocol or model that is a Python object
    usage: Usage | None = None  # tokens, latency, attempts, cost
    resumed: int = 0  # how many times
    digests: dict[str, FileDigest] = {}  # of each file when the run ended or was marked again
    redacted: str = ""  # sha256 of the original problems, if their statements were removed
    order_sha256: str = ""  # of all other fields but the next, in their order
    settings_sha256: str = ""  # of all other fields

    @property
    def settings(self) -> dict[str, Any]:
        """Options that differ from their defaults."""
        return settings(self.config)

    @property
    def fewshot(self) -> int:
        """The number of worked examples in each prompt."""
        return len(self.fewshot_ids)


class PlannedRound(msgspec.Struct, frozen=True):
    """A round of `--until`, written before any of it is asked."""

    size: Size  # samples per problem, on average
    asked: tuple[Size, ...]  # samples of each problem, in file order; they follow those of the previous round


class Failure(msgspec.Struct, frozen=True):
    """One reason why responses are missing."""

    count: int
    example: str  # the message of the last one


class Run:
    """An open run folder. Files are read when they are needed."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest
        self._reader: RunReader | None = None

    def __fspath__(self) -> str:
        return str(self.path)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_reader": None}  # open files and locks cannot be pickled

    @classmethod
    def create(cls, path: Path, manifest: Manifest, questions: Iterable[Question]) -> Self:
        """Create the folder with its manifest and problems; refuses a folder that already holds a run."""
        if (path / "manifest.json").exists():
            raise JournalError(
                f"{path} already holds a run; {command('resume', path)} continues it, or choose another {option('out')}"
            )
        try:
            (path / "marks").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise JournalError(f"cannot create the run folder {path}: {os_reason(error)}") from None
        write_atomically(path / "problems.jsonl", map(_line, questions))
        run = cls(path, manifest)
        run.save_manifest(manifest)
        for folder in (path.absolute(), *path.absolute().parents[:3]):  # any of them may be new
            sync_folder(folder)
        return run

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open an existing run folder."""
        folder = folder_of(path)
        try:
            raw = read_inside(folder / "manifest.json", folder.resolve(), LARGEST_MANIFEST + 1)
        except (FileNotFoundError, NotADirectoryError):
            why = "is not a run folder: it has no manifest.json" if folder.exists() else "does not exist"
            raise JournalError(f"{folder} {why}") from None
        except OSError as error:
            raise JournalError(f"cannot read {folder}: {os_reason(error)}") from None
        if len(raw) > LARGEST_MANIFEST:
            raise JournalError(
                f"{folder / 'manifest.json'} is larger than {LARGEST_MANIFEST >> 20} MB, so it is not a manifest of ours"
            )
        try:
            manifest = decode_manifest(raw)
        except UNREADABLE as error:
            raise JournalError(f"{folder / 'manifest.json'} cannot be read: {first_line(error)}") from None
        if manifest.format > FORMAT:
            raise JournalError(f"{folder} was written by a newer markscheme; upgrade to read it")
        return cls(folder, manifest)

    def discard(self) -> bool:
        """Remove a run that has no response, turn or server log. False if there is something to keep."""
        # Turns and submitted batches have been paid for.
        kept = ("responses*.jsonl", "turns*.jsonl", "marks/*.jsonl", "batches.jsonl")
        journals = [file for pattern in kept for file in self.path.glob(pattern)]
        if self.manifest.resumed or (self.path / "servers").exists() or any(file.stat().st_size for file in journals):
            return False
        for file in (
            *journals,
            *(self.path / name for name in ("manifest.json", "problems.jsonl", "rounds.json", "lock")),
        ):
            file.unlink(missing_ok=True)
        with suppress(OSError):  # there are files of the user's
            (self.path / "marks").rmdir()
            self.path.rmdir()
        return True

    def snapshot(self) -> Snapshot:
        """Return what the folder holds now. Only what was added since the last call is read."""
        from markscheme.runs.reader import RunReader

        if self._reader is None:
            self._reader = RunReader(self.path)
        self._reader.refresh(manifest=self.manifest)
        snapshot = self._reader.snapshot(self.manifest)
        if snapshot.refused:  # ignoring the file would ask for its responses again
            raise JournalError(
                f"{self.path}: {snapshot.refused[0]} is a link out of the folder, or not a plain file; replace it by the "
                "file itself, or remove it"
            )
        return snapshot

    def save_manifest(self, manifest: Manifest) -> None:
        """Replace the manifest atomically."""
        manifest = msgspec.structs.replace(manifest, format=FORMAT, order_sha256="", settings_sha256="")
        if manifest.digests:
            order = order_digest(redacted(msgspec.json.encode(manifest)))
            manifest = msgspec.structs.replace(manifest, order_sha256=order)
            whole = settings_digest(redacted(msgspec.json.encode(manifest)))
            manifest = msgspec.structs.replace(manifest, settings_sha256=whole)
        self.manifest = manifest
        write_atomically(self.path / "manifest.json", msgspec.json.format(msgspec.json.encode(manifest), indent=2))

    def seal(self, manifest: Manifest, only: str | None = None) -> None:
        """Save the manifest with digests of the files as they are now, or of the file `only` alone."""
        self.save_manifest(msgspec.structs.replace(manifest, digests=sealed(self.path, manifest.digests, only)))

    def seal_file(self, file: Path) -> None:
        """Update the digest of a file that was written after the run ended."""
        stored = Run.open(self.path).manifest
        if stored.digests and stored.status != "running":
            self.seal(stored, file.relative_to(self.path).as_posix())

    def save_rounds(self, rounds: Sequence[PlannedRound]) -> None:
        """Replace the plan. The manifest's `samples` becomes the average per problem."""
        write_atomically(self.path / "rounds.json", msgspec.json.encode(rounds) + b"\n")
        self.save_manifest(msgspec.structs.replace(self.manifest, samples=sum(each.size for each in rounds)))

    def save_questions(self, questions: Iterable[Question]) -> None:
        """Replace the problems when a run is extended."""
        write_atomically(self.path / "problems.jsonl", map(_line, questions))
        self._reader = None

    def questions(self) -> list[Question]:
        """Return the problems and prompts, in the order of the benchmark."""
        return self.snapshot().questions()

    def responses(self) -> Iterator[Response]:
        """Stream each (problem, sample) once: its last answer, or its error if there is none."""
        return self.snapshot().responses()

    def marks(self, protocol: str) -> Iterator[Mark]:
        """Stream each mark that counts under a protocol, given by bare name or label."""
        return self.snapshot().marks(protocol)

    def marks_file(self, protocol: str) -> Path:
        """Return the file of a protocol's marks, in a folder that exists: marks can be made again at any time."""
        try:
            (self.path / "marks").mkdir(exist_ok=True)
        except OSError as error:
            advice = "; move the file of that name away, then mark again" if isinstance(error, FileExistsError) else ""
            raise JournalError(f"cannot create the folder {self.path / 'marks'}: {os_reason(error)}{advice}") from None
        return marks_file(self.path, protocol)

    def marks_journal(self, protocol: str) -> Journal:
        """Return the journal to which marks are appended."""
        return Journal(self.marks_file(protocol))

    def save_marks(self, protocol: str, marks: Iterable[Mark]) -> None:
        """Replace the marks of one protocol."""
        file = self.marks_file(protocol)
        write_atomically(file, map(_line, marks))
        self.seal_file(file)

    def mark_again(self, label: str, marks: Iterable[Mark]) -> None:
        """Replace the marks of one protocol under the run's lock. If it is the run's own, update the manifest."""
        with RunLock(self.path):
            self.save_marks(label, marks)
            stored = Run.open(self.path).manifest
            if label.partition("@")[0] == stored.protocol.partition("@")[0]:
                self.manifest = msgspec.structs.replace(stored, protocol=label)
                counts = self.snapshot().counts(label).totals()
                known = {str(verdict): times for verdict, times in counts.items() if times}
                self.save_manifest(msgspec.structs.replace(self.manifest, counts=known))


def folder_of(path: str | Path) -> Path:
    """Return the folder of a run; an `.msz` archive is unpacked."""
    from markscheme.runs.archive import SUFFIX, unpacked

    place = Path(path)
    return unpacked(place) if place.suffix == SUFFIX and not place.is_dir() else place


def decode_manifest(raw: bytes) -> Manifest:
    """Decode a `manifest.json`; raises one of `UNREADABLE`."""
    return decode_or_none(raw, Manifest, ESSENTIAL) or msgspec.json.decode(raw, type=Manifest)


def find_runs(named: Iterable[str | Path]) -> list[Run]:
    """Open the runs that were named. A folder names its own run and those directly below it."""
    folders: list[Path] = []
    for folder in map(folder_of, named):
        there = [*folder.glob("manifest.json"), *sorted(folder.glob("*/manifest.json"))]
        if not there and not folder.exists():
            raise JournalError(f"{folder} does not exist; name a run folder, or a folder of them")
        if not there:
            raise JournalError(f"{folder} is not a run folder and does not contain one: there is no manifest.json")
        folders += [file.parent for file in there]
    return [Run.open(folder) for folder in dict.fromkeys(folders)]


def write_atomically(file: Path, content: bytes | Iterable[bytes], gate: bool = True) -> None:
    """Write a file so that a reader or a crash sees either the old content or the new.

    `gate` removes secrets; it is off for content that has already passed it.
    """
    # The name tells who wrote it, so that `lock.py` can remove what a killed process left.
    temporary = file.with_name(f".{file.name}.{os.getpid()}.{uuid4().hex[:12]}")
    try:
        if file.parent.is_symlink():
            refuse_links(file)
        with temporary.open("xb") as out:
            pieces = [content] if isinstance(content, bytes) else content
            out.writelines(map(redacted, pieces) if gate else pieces)
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(file)
        sync_folder(file.parent)
    except OSError as error:
        raise JournalError(f"cannot write {file}: {os_reason(error)}; what was there before is untouched") from None
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)  # also if making the content failed


def _line(item: msgspec.Struct) -> bytes:
    return msgspec.json.encode(item) + b"\n"


@contextmanager
def disk_reserve(folder: Path, problems: int) -> Iterator[None]:
    """Reserve disk space during a run, so that a full disk still leaves room for the manifest and the report."""
    file = folder / ".reserve"
    with suppress(OSError):  # if the disk is full already, the first answer will say so
        file.unlink(missing_ok=True)  # it could be a link or a pipe
        with file.open("xb") as reserve:
            reserve.write(bytes(RESERVE + RESERVE_PER_PROBLEM * problems))
    try:
        yield
    finally:
        with suppress(OSError):
            file.unlink(missing_ok=True)
