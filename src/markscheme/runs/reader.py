"""Reads a run folder: everything once, then only what was added. Never holds a text or writes to the folder.

Small files come first, so that the viewer has verdicts long before a gigabyte of responses is read. `refresh` stops when
its time is up and continues there on the next call.
"""

from __future__ import annotations

import threading
import time
from itertools import count
from pathlib import Path

import msgspec

from markscheme.errors import JournalError
from markscheme.runs.columns import LARGEST_SAMPLE, SAMPLE_BITS, MarkLines, ResponseLines
from markscheme.runs.files import marked_by, read_inside
from markscheme.runs.folder import Manifest, PlannedRound
from markscheme.runs.lines import UNREADABLE, LineReader, decode_or_none
from markscheme.runs.problems import ProblemTable
from markscheme.runs.snapshot import Snapshot
from markscheme.types import Response

# A line in which one of these cannot be read is damaged.
ESSENTIAL = ("key", "sample", "text", "reasoning", "error")

LARGEST_PLAN = 64 << 20

_versions = count(1)  # shared by all readers, so that a version is never used twice

_responses = msgspec.json.Decoder(Response)


class _MarkLine(msgspec.Struct, gc=False):
    """The fields of a mark that decide whether it counts."""

    key: str
    verdict: str
    sample: int = 0  # earlier versions left out a 0
    protocol: str = ""


_marks = msgspec.json.Decoder(_MarkLine)


class RunReader:
    """One run folder. `refresh` and `snapshot` may be called from any thread."""

    def __init__(self, folder: Path, root: Path | None = None) -> None:
        self.folder = folder
        self._root = root or folder.resolve()  # links out of it are not followed
        self._lock = threading.RLock()
        self._first_protocol = ""
        self._snapshot: Snapshot | None = None
        self._start_over()

    def _start_over(self) -> None:
        self._problems = ProblemTable()
        self._responses = ResponseLines()
        self._marks: dict[str, MarkLines] = {}
        self._questions_file = LineReader(self.folder / "problems.jsonl", self._root)
        self._response_files: list[LineReader] = []
        self._mark_files: dict[str, LineReader] = {}
        self._stray = 0
        self.complete = False
        self._changed(marks=True)

    def refresh(self, seconds: float = float("inf"), manifest: Manifest | None = None) -> bool:
        """Read what is new for about `seconds` at most, marks of the manifest's protocol first. True if nothing is left."""
        until = time.monotonic() + seconds
        with self._lock:
            self._first_protocol = manifest.protocol.partition("@")[0] if manifest else ""
            self._find_files()
            if "replaced" in self._look():
                self._start_over()
                self._find_files()
                self._look()
            before = self.complete
            self.complete = (
                self._read_problems(until)
                and all(self._read_marks(name, until) for name in self._protocol_order())
                and all(self._read_responses(number, until) for number in range(len(self._response_files)))
            )
            if self.complete != before:
                self._changed(marks=True)  # marks without a response stop counting
            return self.complete

    def snapshot(self, manifest: Manifest | None = None) -> Snapshot:
        """Return what was read so far, the same object as before if nothing changed. Without a manifest all samples count."""
        with self._lock:
            snapshot, planned = self._snapshot, self._planned()
            if snapshot is None or (snapshot.version, snapshot.manifest, snapshot.planned) != (
                self._version,
                manifest,
                planned,
            ):
                files = self._all_files()
                snapshot = self._snapshot = Snapshot(
                    folder=self.folder,
                    manifest=manifest,
                    version=self._version,
                    marks_version=self._marks_version,
                    complete=self.complete,
                    progress=self.progress,
                    planned=planned,
                    keys=tuple(self._problems.keys),
                    ids=tuple(self._problems.ids),
                    groups=self._problems.fields(),
                    clusters=tuple(self._problems.clusters),
                    question_offsets=tuple(self._problems.offsets),
                    files=tuple(reader.file for reader in self._response_files),
                    lines=self._responses.table(),
                    kinds=tuple(self._responses.kinds),
                    mark_lines={name: (marks.table(), tuple(marks.labels)) for name, marks in self._marks.items()},
                    damage={reader.file.name: reader.damaged for reader in files if reader.damaged},
                    torn=tuple(reader.file.name for reader in files if reader.torn),
                    refused=tuple(reader.file.name for reader in files if reader.refused),
                    stray=self._stray,
                )
            return snapshot

    @property
    def progress(self) -> float:
        """The part of all bytes that has been read, 0 to 1."""
        files = self._all_files()
        total = sum(reader.size for reader in files)
        return 1.0 if not total else 1.0 - sum(reader.unread for reader in files) / total

    def _look(self) -> list[str]:
        """Look at the problem and response files, which sets their sizes."""
        return [reader.look() for reader in (self._questions_file, *self._response_files)]

    def _all_files(self) -> list[LineReader]:
        return [self._questions_file, *self._response_files, *self._mark_files.values()]

    def _planned(self) -> tuple[PlannedRound, ...]:
        """Read the plan of a run with `--until`; other runs have none."""
        file = self.folder / "rounds.json"
        try:
            return tuple(msgspec.json.decode(read_inside(file, self._root, LARGEST_PLAN), type=list[PlannedRound]))
        except FileNotFoundError:
            return ()
        except (OSError, *UNREADABLE) as error:
            raise JournalError(f"{file} cannot be read: {error}") from None

    def _changed(self, *, marks: bool = False) -> None:
        self._version = next(_versions)
        if marks:
            self._marks_version = self._version

    def _find_files(self) -> None:
        known = {reader.file for reader in self._response_files}
        for file in sorted(self.folder.glob("responses*.jsonl")):
            if file not in known:
                self._response_files.append(LineReader(file, self._root))
        there = {marked_by(file): file for file in sorted((self.folder / "marks").glob("*.jsonl"))}
        for name in self._mark_files.keys() - there.keys():
            del self._mark_files[name], self._marks[name]
            self._changed(marks=True)
        for name in there.keys() - self._mark_files.keys():
            self._mark_files[name], self._marks[name] = LineReader(there[name], self._root), MarkLines()
            self._changed(marks=True)

    def _protocol_order(self) -> list[str]:
        return sorted(self._mark_files, key=lambda name: (name != self._first_protocol, name))

    def _read_problems(self, until: float) -> bool:
        reader = self._questions_file
        if reader.look() == "same":
            return True
        for offset, line in reader.lines(until):
            try:
                self._problems.add_line(offset, line)
            except UNREADABLE:
                reader.damaged += 1
        self._changed(marks=True)
        return reader.look() != "grown" or reader.torn

    def _read_marks(self, name: str, until: float) -> bool:
        reader = self._mark_files[name]
        state = reader.look()
        if state == "same":
            return True
        if state == "replaced":  # marked again
            reader.restart()
            self._marks[name] = MarkLines()
        number, add = self._problems.number, self._marks[name].add
        for offset, line in reader.lines(until):
            try:
                mark = _marks.decode(line.decode())  # msgspec does not check the encoding of fields that it skips
            except UNREADABLE:
                reader.damaged += 1
                continue
            problem = number.get(mark.key)
            if not 0 <= mark.sample <= LARGEST_SAMPLE:
                reader.damaged += 1
            elif problem is not None:
                add(problem << SAMPLE_BITS | mark.sample, offset, mark.protocol, mark.verdict)
        self._changed(marks=True)
        return reader.look() != "grown" or reader.torn

    def _read_responses(self, file: int, until: float) -> bool:
        reader = self._response_files[file]
        if reader.look() == "same":
            return True
        number, add = self._problems.number, self._responses.add
        for offset, line in reader.lines(until):
            try:
                one: Response | None = _responses.decode(line)
            except UNREADABLE:
                one = decode_or_none(line, Response, ESSENTIAL)
            if one is None or not 0 <= one.sample <= LARGEST_SAMPLE:
                reader.damaged += 1
                continue
            problem = number.get(one.key)
            if problem is None:
                self._stray += 1
            else:
                add(problem << SAMPLE_BITS | one.sample, one, file, offset, len(line))
        self._changed()
        return reader.look() != "grown" or reader.torn
