"""The index of one run folder: read once, then only what was added. Never holds a text, never writes to the folder.

Small files come first, so that a page has its verdicts long before a gigabyte of responses has been gone through;
`refresh` stops when its time is up and goes on from there at the next call.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from markscheme.runs.columns import CODE, ERROR, FINISH, UNKNOWN, UNMARKED, Cells, Snapshot
from markscheme.runs.folder import PlannedRound
from markscheme.runs.problems import UNREADABLE, ProblemTable
from markscheme.runs.tail import Tail
from markscheme.types import Mark, Question, Response

T = TypeVar("T", bound=msgspec.Struct)

LARGEST_SAMPLE = 1_000_000
"""As everywhere that reads run folders; a larger index is a damaged line."""


class _ResponseHead(msgspec.Struct):
    """What the columns keep; texts are skipped over, not built (a `Raw` is only their place in the line)."""

    key: str
    sample: int
    problem_id: str = ""
    error: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    latency: float | None = None
    text: msgspec.Raw = msgspec.Raw(b"")
    reasoning: msgspec.Raw = msgspec.Raw(b"")


class _MarkHead(msgspec.Struct):
    key: str
    sample: int = 0  # left out when it is 0
    verdict: str = ""
    protocol: str = ""


_responses = msgspec.json.Decoder(_ResponseHead)
_marks = msgspec.json.Decoder(_MarkHead)


class RunIndex:
    """One run folder. `refresh` and `snapshot` may be called from any thread."""

    def __init__(self, folder: Path, root: Path | None = None) -> None:
        self.folder = folder
        self._root = root or folder.resolve()
        """Files outside of it are not read."""
        self.lock = threading.RLock()
        self.version = 0
        self.marks_version = 0
        """Changes only when a verdict may have: what is reckoned from verdicts is kept while texts are still read."""
        self.first_protocol = ""
        """Whose marks are read first: those of the manifest."""
        self.generation = time.monotonic_ns()
        """Tells this index from another of the same folder, whose versions count from 0 as well."""
        self.reading = threading.Event()
        """Somebody is reading the rest in the background."""
        self._snapshot: Snapshot | None = None
        self.start_over()

    def start_over(self) -> None:
        """Forget everything that was read."""
        self.problems = ProblemTable()
        self.cells = Cells()
        self.labels: dict[str, str] = {}
        self.questions_tail = Tail(self.folder / "problems.jsonl", self._root)
        self.response_tails: list[Tail] = []
        self.mark_tails: dict[str, Tail] = {}
        self.complete = False
        self._changed_marks()

    def refresh(self, seconds: float = float("inf"), *, responses: bool = True) -> bool:
        """Read what is new, for at most about so long; True if nothing is left to read.

        Without `responses` only problems and marks are read, which is enough for scores and a fraction of the bytes.
        """
        until = time.monotonic() + seconds
        with self.lock:
            self._find_files()
            tails = [self.questions_tail, *self.response_tails]
            if any(tail.look() == "replaced" for tail in tails):
                self.start_over()
                self._find_files()
                for tail in (self.questions_tail, *self.response_tails):
                    tail.look()
            small = self._read_problems(until) and all(self._read_marks(name, until) for name in self._protocol_order())
            if not responses:
                return small
            numbers = range(len(self.response_tails))
            before = self.complete
            self.complete = small and all(self._read_responses(number, until) for number in numbers)
            if self.complete and not before and self.cells.has_gone():
                self._changed_marks()  # marks without a response count no longer
            return self.complete

    @property
    def progress(self) -> float:
        """The share of all bytes that has been read, 0 to 1."""
        tails = [self.questions_tail, *self.mark_tails.values(), *self.response_tails]
        total = sum(tail.size for tail in tails)
        return 1.0 if not total else 1.0 - sum(tail.unread for tail in tails) / total

    @property
    def refused(self) -> list[str]:
        """Names of files that are links out of the folder or no plain files."""
        tails = [self.questions_tail, *self.response_tails, *self.mark_tails.values()]
        return [tail.file.name for tail in tails if tail.refused]

    def snapshot(self) -> Snapshot:
        """The columns as they are now; the same object as before if nothing was read since."""
        with self.lock:
            kept = self._snapshot
            if kept is None or kept.version != self.version or kept.complete != self.complete:
                tails = [self.questions_tail, *self.response_tails, *self.mark_tails.values()]
                kept = self._snapshot = Snapshot.of(
                    self.cells,
                    version=self.version,
                    marks_version=self.marks_version,
                    complete=self.complete,
                    progress=self.progress,
                    labels=dict(self.labels),
                    damaged=sum(tail.damaged for tail in tails),
                    torn=sum(tail.torn for tail in tails),
                    keys=tuple(self.problems.keys),
                    ids=tuple(self.problems.ids),
                    rounds=self._rounds(),
                )
            return kept

    def _rounds(self) -> Sequence[PlannedRound]:
        """The plan of a run that asked until its score was known; like any other file it may be missing or damaged."""
        file = self.folder / "rounds.json"
        try:
            if not file.resolve().is_relative_to(self._root):
                return ()
            return msgspec.json.decode(file.read_bytes(), type=list[PlannedRound])
        except (OSError, *UNREADABLE):
            return ()

    # What the files say ------------------------------------------------------------------------------------------

    def question(self, problem: int) -> Question | None:
        """A problem with its prompt, read from its line."""
        offsets = self.problems.offsets
        offset = offsets[problem] if problem < len(offsets) else -1  # the folder may have been replaced meanwhile
        line = _line_at(self.questions_tail.file, offset) if offset >= 0 else b""
        return decode_or_none(line, Question)

    def response(self, snapshot: Snapshot, row: int) -> Response | None:
        """A response, read from its line; None if it is not there (any more)."""
        number = int(snapshot.numbers["file"][row])
        if not 0 <= number < len(self.response_tails):
            return None
        line = _line_at(self.response_tails[number].file, int(snapshot.numbers["offset"][row]))
        response = decode_or_none(line, Response)
        place = (snapshot.keys[snapshot.problem[row]], int(snapshot.sample[row]))
        return response if response is not None and (response.key, response.sample) == place else None

    def mark(self, snapshot: Snapshot, protocol: str, row: int) -> Mark | None:
        """A stored mark, read from its line."""
        offsets, tail = snapshot.mark_offsets.get(protocol), self.mark_tails.get(protocol)
        if offsets is None or tail is None or offsets[row] < 0:
            return None
        mark = decode_or_none(_line_at(tail.file, int(offsets[row])), Mark)
        place = (snapshot.keys[snapshot.problem[row]], int(snapshot.sample[row]))
        return mark if mark is not None and (mark.key, mark.sample) == place else None

    # Reading -----------------------------------------------------------------------------------------------------

    def _find_files(self) -> None:
        known = {tail.file for tail in self.response_tails}
        for file in sorted(self.folder.glob("responses*.jsonl")):
            if file not in known:
                self.response_tails.append(Tail(file, self._root))
        found = {file.stem: file for file in sorted((self.folder / "marks").glob("*.jsonl"))}
        for name in set(self.mark_tails) - set(found):
            del self.mark_tails[name]
            self.cells.drop_marks(name)
            self._changed_marks()
        for name in set(found) - set(self.mark_tails):
            self.mark_tails[name] = Tail(found[name], self._root)
            self.cells.clear_marks(name)
            self._changed_marks()

    def _changed_marks(self) -> None:
        self.version += 1
        self.marks_version += 1

    def _protocol_order(self) -> list[str]:
        return sorted(self.mark_tails, key=lambda name: (name != self.first_protocol, name))

    def _read_problems(self, until: float) -> bool:
        tail = self.questions_tail
        if tail.look() == "same":
            return True
        for offset, line in tail.lines(until):
            try:
                self.problems.add_line(offset, line)
            except UNREADABLE:
                tail.damaged += 1
        self._changed_marks()
        return tail.look() != "grown" or tail.torn

    def _read_marks(self, name: str, until: float) -> bool:
        tail = self.mark_tails[name]
        state = tail.look()
        if state == "same":
            return True
        if state == "replaced":  # marked again: opinions are re-made at will
            tail.restart()
            self.cells.clear_marks(name)
        cells, index = self.cells, self.problems.index
        verdicts, offsets = cells.verdicts[name], cells.mark_offsets[name]
        for offset, line in tail.lines(until):
            try:
                head = _marks.decode(line.decode())
                row = cells.row(index(head.key), _sample(head.sample))
            except (*UNREADABLE, ValueError):
                tail.damaged += 1
                continue
            code = CODE.get(head.verdict, UNMARKED)
            if code == ERROR and verdicts[row] not in (UNMARKED, ERROR):
                continue  # an error never replaces an answer, as with the responses
            verdicts[row] = code
            offsets[row] = offset
            if head.protocol:
                self.labels[name] = head.protocol
        self._changed_marks()
        return tail.look() != "grown" or tail.torn

    def _read_responses(self, number: int, until: float) -> bool:
        tail = self.response_tails[number]
        if tail.look() == "same":
            return True
        for offset, line in tail.lines(until):
            try:
                # msgspec does not look inside what it skips, so bytes that are no text would pass.
                head = _responses.decode(line.decode())
                row = self.cells.row(self.problems.index(head.key, head.problem_id), _sample(head.sample))
            except (*UNREADABLE, ValueError):
                tail.damaged += 1
                continue
            if self._wins(row, head, number, offset):
                self._keep(row, head, number, offset, len(line))
        self.version += 1
        return tail.look() != "grown" or tail.torn

    def _wins(self, row: int, head: _ResponseHead, number: int, offset: int) -> bool:
        """Whether a line replaces what a cell has: an answer beats an error, else the later line beats the earlier."""
        numbers = self.cells.numbers
        file = numbers["file"][row]
        if file == UNKNOWN:
            return True
        kept = (not numbers["failed"][row], self.response_tails[file].file.name, numbers["offset"][row])
        return (head.error is None, self.response_tails[number].file.name, offset) > kept

    def _keep(self, row: int, head: _ResponseHead, number: int, offset: int, length: int) -> None:
        self.cells.put(
            row,
            file=number,
            offset=offset,
            length=length,
            failed=head.error is not None,
            finish=FINISH.index(head.finish_reason) if head.finish_reason in FINISH else UNKNOWN,
            prompt_tokens=head.prompt_tokens,
            tokens=head.completion_tokens,
            latency=head.latency,
            size=_inside(head.text) + _inside(head.reasoning),
        )


def _sample(number: int) -> int:
    if not 0 <= number <= LARGEST_SAMPLE:
        raise ValueError("not a sample number")
    return number


def _inside(raw: msgspec.Raw) -> int:
    """Bytes between the quotes of a JSON string."""
    return max(0, memoryview(raw).nbytes - 2)


def _line_at(file: Path, offset: int) -> bytes:
    try:
        with file.open("rb") as stream:
            stream.seek(offset)
            return stream.readline()
    except OSError:
        return b""


def decode_or_none(line: bytes, kind: type[T]) -> T | None:
    """A line as one of the nouns; None if it is not one. A field of another type than ours is left out, not fatal."""
    try:
        return msgspec.json.decode(line, type=kind)
    except msgspec.ValidationError:
        return _salvage(line, kind)
    except UNREADABLE:
        return None


def _salvage(line: bytes, kind: type[T]) -> T | None:
    found = msgspec.json.decode(line)
    good: dict[str, object] = {}
    for field in msgspec.structs.fields(kind) if isinstance(found, dict) else ():
        if field.encode_name in found:
            with suppress(msgspec.ValidationError):
                good[field.name] = msgspec.convert(found[field.encode_name], field.type)
    try:
        return kind(**good)
    except TypeError:  # a field that must be there is not
        return None
