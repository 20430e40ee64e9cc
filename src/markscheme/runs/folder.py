"""A run is a folder: what was asked, what came back, what was thought of it.

    manifest.json           everything needed to run it again and to trust it
    problems.jsonl          each problem with the prompt really sent
    responses*.jsonl        facts, appended as they arrive, one file a writer
    marks/<protocol>.jsonl  opinions, re-made at will
    report.json             the numbers
    usage.json              tokens, attempts, seconds, cost: in total and of each problem
    rounds.json             what was planned for each problem, where samples are added until the score is known

What the files say is read by `reader` alone, and what of it counts is decided in `snapshot`. Nothing here asks a
model or judges an answer.
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
from markscheme.errors import JournalError, command, first_line, option
from markscheme.redaction import redacted
from markscheme.runs.digests import FileDigest, sealed, settings_digest
from markscheme.runs.files import marks_file, read_inside, refuse_links
from markscheme.runs.journal import Journal, sync_folder
from markscheme.runs.lines import UNREADABLE, decode_or_none
from markscheme.runs.lock import RunLock
from markscheme.runs.usage import Usage
from markscheme.types import Mark, Question, Response

if TYPE_CHECKING:
    from markscheme.runs.reader import RunReader
    from markscheme.runs.snapshot import Snapshot

FORMAT = 1  # Version of the folder layout. A reader refuses only what is newer than it can know.

# The model in the options of a run that was made from another tool's log: nothing can be asked for it.
IMPORTED = "import"

# Samples of a problem. A file that says more, or less than none, is damaged.
Size = Annotated[int, Meta(ge=0, le=MOST_SAMPLES)]

LARGEST_MANIFEST = 16 << 20

# Fields of a manifest that decide what is asked or counted; any other of another type than ours is left out.
ESSENTIAL = ("config", "protocol", "samples", "problems", "status", "sampling", "prompt_sha256", "format")

RESERVE, RESERVE_A_PROBLEM = 1 << 16, 512  # bytes that manifest, report and accounts take, generously


class Manifest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What `manifest.json` holds: the resolved options, the evidence, and how it ended."""

    format: int = 0  # always written as FORMAT; a folder without it is of the first format
    config: RunConfig
    benchmark: str
    model: str
    protocol: str  # "name@version", the one the headline figures come from
    samples: Size
    problems: Size
    drawn_from: Size = 0  # problems of the benchmark, where --limit-seed drew a part of them
    strata: dict[str, Size] = {}  # problems of the benchmark in each stratum, where --stratify drew a part of each
    stratum: tuple[str, ...] = ()  # of each problem that was drawn, in order
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
    tools: dict[str, str] = {}  # what the model may call, and where that runs
    objects: dict[str, str] = {}  # SHA-256 of the source of a protocol or model that is a Python object
    usage: Usage | None = None  # tokens, latency, attempts, cost
    resumed: int = 0  # how many times
    digests: dict[str, FileDigest] = {}  # of each file, when the run ended or was marked again
    redacted: str = ""  # sha256 of the problems, where the folder holds them without their statements
    settings_sha256: str = ""  # of everything else here

    @property
    def settings(self) -> dict[str, Any]:
        """The options that were set to another value than their default."""
        return settings(self.config)

    @property
    def fewshot(self) -> int:
        """Worked examples in each prompt."""
        return len(self.fewshot_ids)


class PlannedRound(msgspec.Struct, frozen=True):
    """A round of `--until`: written down before anything of it is asked, so that nothing depends on when it broke off."""

    size: Size  # samples per problem, on average
    # Samples of each problem, in the order of `problems.jsonl`; their indices follow those of the round before.
    asked: tuple[Size, ...]


class Failure(msgspec.Struct, frozen=True):
    """One reason why responses are missing."""

    count: int
    example: str  # the message of the last of them


class Run:
    """A run folder, opened. Cheap to make: files are read when asked for."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest
        self._reader: RunReader | None = None

    def __fspath__(self) -> str:
        return str(self.path)  # so that a run may stand wherever its folder may

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_reader": None}  # open files and locks do not travel; they are opened again

    @classmethod
    def create(cls, path: Path, manifest: Manifest, questions: Iterable[Question]) -> Self:
        """Make the folder with its manifest and problems; refuses one that already holds a run."""
        if (path / "manifest.json").exists():
            raise JournalError(
                f"{path} already holds a run; {command('resume', path)} continues it, or choose another {option('out')}"
            )
        try:
            (path / "marks").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise JournalError(f"cannot make the run folder {path}: {error.strerror}") from None
        write_atomically(path / "problems.jsonl", map(_line, questions))
        run = cls(path, manifest)
        run.save_manifest(manifest)
        for folder in (path.absolute(), *path.absolute().parents[:3]):  # those that may be new
            sync_folder(folder)
        return run

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open an existing run folder."""
        folder = folder_of(path)
        try:
            raw = read_inside(folder / "manifest.json", folder.resolve(), LARGEST_MANIFEST + 1)
        except FileNotFoundError:
            raise JournalError(f"{folder} is not a run folder: it has no manifest.json") from None
        except OSError as error:
            raise JournalError(f"cannot read {folder}: {error.strerror}") from None
        if len(raw) > LARGEST_MANIFEST:
            raise JournalError(
                f"{folder / 'manifest.json'} holds more than {LARGEST_MANIFEST >> 20} MB: it is not one of ours"
            )
        try:
            manifest = decode_manifest(raw)
        except UNREADABLE as error:
            raise JournalError(f"{folder / 'manifest.json'} cannot be read: {first_line(error)}") from None
        if manifest.format > FORMAT:
            raise JournalError(f"{folder} was written by a newer markscheme; upgrade to read it")
        return cls(folder, manifest)

    def discard(self) -> bool:
        """Take back a run that never began, without a response or a server's log; false where there is something to keep."""
        kept = ("responses*.jsonl", "marks/*.jsonl", "batches.jsonl")  # a batch that was handed over is paid for
        journals = [file for pattern in kept for file in self.path.glob(pattern)]
        if self.manifest.resumed or (self.path / "servers").exists() or any(file.stat().st_size for file in journals):
            return False
        for file in (
            *journals,
            *(self.path / name for name in ("manifest.json", "problems.jsonl", "rounds.json", "lock")),
        ):
            file.unlink(missing_ok=True)
        with suppress(OSError):  # somebody has put something of their own there
            (self.path / "marks").rmdir()
            self.path.rmdir()
        return True

    def snapshot(self) -> Snapshot:
        """What the folder holds now, by the rules of `runs.snapshot`: only what was added since the last time is read."""
        from markscheme.runs.reader import RunReader

        if self._reader is None:
            self._reader = RunReader(self.path)
        self._reader.refresh(manifest=self.manifest)
        snapshot = self._reader.snapshot(self.manifest)
        if snapshot.refused:  # left out in silence, what is there would be asked again
            raise JournalError(
                f"{self.path}: {snapshot.refused[0]} is a link out of the folder, or not a plain file; put the file "
                "itself there, or take it away"
            )
        return snapshot

    def save_manifest(self, manifest: Manifest) -> None:
        """Replace the manifest, whole or not at all."""
        self.manifest = manifest = msgspec.structs.replace(manifest, format=FORMAT, settings_sha256="")
        if manifest.digests:
            whole = settings_digest(redacted(msgspec.json.encode(manifest)))
            self.manifest = manifest = msgspec.structs.replace(manifest, settings_sha256=whole)
        write_atomically(self.path / "manifest.json", msgspec.json.format(msgspec.json.encode(manifest), indent=2))

    def seal(self, manifest: Manifest, only: str | None = None) -> None:
        """Keep the manifest with digests of what the folder holds now; with `only`, those of other files stay."""
        self.save_manifest(msgspec.structs.replace(manifest, digests=sealed(self.path, manifest.digests, only)))

    def seal_file(self, file: Path) -> None:
        """Keep the digest of a file that was written after the run had ended."""
        stored = Run.open(self.path).manifest
        if stored.digests and stored.status != "running":
            self.seal(stored, file.relative_to(self.path).as_posix())

    def save_rounds(self, rounds: Sequence[PlannedRound]) -> None:
        """Replace the plan, whole or not at all; the manifest's samples are those per problem on average."""
        write_atomically(self.path / "rounds.json", msgspec.json.encode(rounds) + b"\n")
        self.save_manifest(msgspec.structs.replace(self.manifest, samples=sum(each.size for each in rounds)))

    def save_questions(self, questions: Iterable[Question]) -> None:
        """Replace the problems, whole or not at all: a run that is extended has more of them."""
        write_atomically(self.path / "problems.jsonl", map(_line, questions))
        self._reader = None

    def questions(self) -> list[Question]:
        """The problems and prompts of this run, in the order of the benchmark."""
        return self.snapshot().questions()

    def responses(self) -> Iterator[Response]:
        """Each (problem, sample) once, streamed: the last answer that came back, or its error if none did."""
        return self.snapshot().responses()

    def marks(self, protocol: str) -> Iterator[Mark]:
        """Each mark that counts under one protocol, by its bare name or label, once and streamed."""
        return self.snapshot().marks(protocol)

    def marks_file(self, protocol: str) -> Path:
        """The file of a protocol's marks."""
        return marks_file(self.path, protocol)

    def marks_journal(self, protocol: str) -> Journal:
        """The journal to which marks are appended."""
        self._make_marks_folder()
        return Journal(self.marks_file(protocol))

    def save_marks(self, protocol: str, marks: Iterable[Mark]) -> None:
        """Replace the marks of one protocol, whole or not at all."""
        self._make_marks_folder()
        write_atomically(self.marks_file(protocol), map(_line, marks))
        self.seal_file(self.marks_file(protocol))

    def mark_again(self, label: str, marks: Iterable[Mark]) -> None:
        """Replace the marks of one protocol while nobody else writes; where it is the run's own, the manifest says so."""
        with RunLock(self.path):
            self.save_marks(label, marks)
            stored = Run.open(self.path).manifest
            if label.partition("@")[0] == stored.protocol.partition("@")[0]:
                self.manifest = msgspec.structs.replace(stored, protocol=label)
                counts = self.snapshot().counts(label).totals()
                known = {str(verdict): times for verdict, times in counts.items() if times}
                self.save_manifest(msgspec.structs.replace(self.manifest, counts=known))

    def _make_marks_folder(self) -> None:
        """Make the folder again where somebody has removed it: marks can be re-made at any time."""
        try:
            (self.path / "marks").mkdir(exist_ok=True)
        except OSError as error:
            advice = "; move the file of that name away, then mark again" if isinstance(error, FileExistsError) else ""
            raise JournalError(f"cannot make the folder {self.path / 'marks'}: {error.strerror}{advice}") from None


def folder_of(path: str | Path) -> Path:
    """The folder that is meant; of a run that was sent as one file, where it is unpacked."""
    from markscheme.runs.archive import SUFFIX, unpacked

    place = Path(path)
    return unpacked(place) if place.suffix == SUFFIX and not place.is_dir() else place


def decode_manifest(raw: bytes) -> Manifest:
    """What a `manifest.json` says; raises one of `UNREADABLE` where it cannot be read."""
    return decode_or_none(raw, Manifest, ESSENTIAL) or msgspec.json.decode(raw, type=Manifest)


def find_runs(named: Iterable[str | Path]) -> list[Run]:
    """The runs that are meant: a folder stands for the run that it is and for those directly below it."""
    folders: list[Path] = []
    for folder in map(folder_of, named):
        there = [*folder.glob("manifest.json"), *sorted(folder.glob("*/manifest.json"))]
        if not there:
            raise JournalError(f"{folder} is no run folder and holds none: there is no manifest.json")
        folders += [file.parent for file in there]
    return [Run.open(folder) for folder in dict.fromkeys(folders)]


def write_atomically(file: Path, content: bytes | Iterable[bytes], gate: bool = True) -> None:
    """Write a file so that a reader, or a crash, sees the old content or the new, never half.

    `gate` is off for what was written through it before and is packed now.
    """
    # Named after its writer, so that what a killed one left is found (`lock.py`); no other process of any machine has it.
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
        raise JournalError(f"cannot write {file}: {error.strerror}; what was there before is untouched") from None
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)  # also when the content itself could not be made


def _line(item: msgspec.Struct) -> bytes:
    return msgspec.json.encode(item) + b"\n"


@contextmanager
def disk_reserve(folder: Path, problems: int) -> Iterator[None]:
    """Reserve a little of the disk while asking, for manifest, report and accounts.

    Otherwise a full disk, which stops a run, would take no manifest either, and the folder would say `running`.
    """
    file = folder / ".reserve"
    with suppress(OSError):  # no room already: the first answer will say so
        file.unlink(missing_ok=True)  # a link in its place would lead the bytes elsewhere, a pipe nowhere
        with file.open("xb") as reserve:
            reserve.write(bytes(RESERVE + RESERVE_A_PROBLEM * problems))
    try:
        yield
    finally:
        with suppress(OSError):
            file.unlink(missing_ok=True)
