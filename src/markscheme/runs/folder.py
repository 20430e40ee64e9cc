"""A run is a folder: what was asked, what came back, what was thought of it.

    manifest.json           everything needed to run it again and to trust it
    problems.jsonl          each problem with the prompt really sent
    responses*.jsonl        facts, appended as they arrive, one file a writer
    marks/<protocol>.jsonl  opinions, re-made at will
    report.json             the numbers
    usage.json              tokens, attempts, seconds, cost: in total and of each problem
    rounds.json             what was planned for each problem, where samples are added until the score is known

Reading is forgiving: a torn or damaged line is counted and left out, an unknown field is ignored, a missing marks
file is simply not there. Nothing here asks a model or judges an answer.
"""

from __future__ import annotations

import os
import tempfile
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

import msgspec

from markscheme.config import RunConfig
from markscheme.datasets import DataFile
from markscheme.errors import JournalError
from markscheme.redaction import redacted
from markscheme.runs.usage import Usage
from markscheme.types import FinishReason, Mark, Question, Response, Verdict

FORMAT = 1
"""Version of the folder layout. A reader refuses only what is newer than it can know."""

IMPORTED = "import"
"""The model in the options of a run that was made from another tool's log: nothing can be asked for it."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What `manifest.json` holds: the resolved options, the evidence, and how it ended."""

    format: int = 0  # always written as FORMAT; a folder without it is of the first format
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
    status: str = "running"  # running | complete | incomplete | interrupted | stopped
    counts: dict[str, int] = {}  # responses by verdict
    packages: dict[str, str] = {}
    python: str = ""
    platform: str = ""
    git_revision: str | None = None
    sampling: dict[str, Any] = {}  # as sent, benchmark defaults filled in
    usage: Usage | None = None  # tokens, latency, attempts, cost
    resumed: int = 0  # how many times


class PlannedRound(msgspec.Struct, frozen=True):
    """A round of `--until`: written down before anything of it is asked, so that nothing depends on when it broke off."""

    size: int
    """Samples per problem, on average."""
    asked: tuple[int, ...]
    """Samples of each problem, in the order of `problems.jsonl`; their indices follow those of the round before."""


Index = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
"""A sample's index. A larger one is a damaged line: an index costs memory in proportion to it."""


class Head(msgspec.Struct, frozen=True, gc=False):
    """A response without its texts, which are skipped, not built: what is needed to count, not to judge."""

    key: str
    sample: Index
    error: str | None = None
    error_kind: str | None = None
    finish_reason: FinishReason | None = None  # what cannot be read as a response must not count as one
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    latency: float | None = None
    attempts: int = 1
    model: str | None = None


class MarkHead(msgspec.Struct, frozen=True, gc=False):
    """A mark without its reasons. Marks leave out what is the default, so a missing `sample` is 0."""

    key: str
    verdict: Verdict
    sample: Index = 0
    protocol: str = ""


class Failure(msgspec.Struct, frozen=True):
    """One reason why responses are missing."""

    count: int
    example: str
    """The message of the last of them."""


class _MarkLine(msgspec.Struct, frozen=True, gc=False):
    """A mark to be counted. The verdict is plain text: looking up a member of an enumeration costs as much as all the rest."""

    key: str
    verdict: str
    sample: Index = 0


class Standing:
    """Which samples of which problem have an answer, and which only an error: one byte each."""

    ERROR, ANSWER = 1, 2

    def __init__(self) -> None:
        self.states: dict[str, bytearray] = {}
        self._kinds: dict[tuple[str, int], str] = {}
        self._examples: dict[str, str] = {}

    def add(self, head: Head) -> None:
        """Note one line of a journal. An error never replaces an answer."""
        states, sample = self.states.get(head.key), head.sample
        if states is None:
            states = self.states[head.key] = bytearray()
        if len(states) <= sample:
            states.extend(bytes(sample + 1 - len(states)))
        if head.error is None:
            states[sample] = self.ANSWER
            if self._kinds:
                self._kinds.pop((head.key, head.sample), None)
        elif states[head.sample] != self.ANSWER:
            states[head.sample] = self.ERROR
            kind = head.error_kind or "unknown"
            self._kinds[head.key, head.sample] = kind
            self._examples[kind] = head.error

    def supports(self, mark: MarkHead) -> bool:
        """Whether a mark judges what is there: a verdict needs an answer, and `error` an error."""
        states = self.states.get(mark.key, b"")
        wanted = self.ERROR if mark.verdict is Verdict.ERROR else self.ANSWER
        return mark.sample < len(states) and states[mark.sample] == wanted

    def answered(self, wanted: Mapping[str, int]) -> int:
        """How many of each problem's so many first samples have an answer, together."""
        return sum(self.states.get(key, b"")[:count].count(self.ANSWER) for key, count in wanted.items())

    def failures(self) -> dict[str, Failure]:
        """Why there is an error in place of an answer, the most frequent reason first."""
        return {
            kind: Failure(count, self._examples[kind]) for kind, count in Counter(self._kinds.values()).most_common()
        }


class _Places:
    """Where the line that counts for each (problem, sample) stands: eight bytes a sample."""

    def __init__(self) -> None:
        self._places: dict[str, array[int]] = {}

    def put(self, key: str, sample: int, place: int) -> None:
        places = self._places.get(key)
        if places is None:
            places = self._places[key] = array("q")
        while len(places) <= sample:
            places.append(-1)
        places[sample] = place

    def get(self, key: str, sample: int) -> int:
        places = self._places.get(key)
        return places[sample] if places is not None and sample < len(places) else -1


T = TypeVar("T")
H = TypeVar("H", Head, MarkHead)


class Run:
    """A run folder, opened. Cheap to make: files are read when asked for."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest
        self._damaged: dict[Path, int] = {}
        self._standing: tuple[object, Standing] | None = None

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
        write_atomically(path / "problems.jsonl", map(_line, questions))
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
        self.manifest = manifest = msgspec.structs.replace(manifest, format=FORMAT)
        write_atomically(self.path / "manifest.json", msgspec.json.format(msgspec.json.encode(manifest), indent=2))

    def questions(self) -> list[Question]:
        """The problems and prompts of this run, in the order of the benchmark."""
        return list(self._lines(self.path / "problems.jsonl", msgspec.json.Decoder(Question)))

    def rounds(self) -> list[PlannedRound]:
        """The rounds of a run that adds samples until its score is known; of any other run none."""
        file = self.path / "rounds.json"
        try:
            return msgspec.json.decode(file.read_bytes(), type=list[PlannedRound])
        except FileNotFoundError:
            return []
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise JournalError(f"{file} cannot be read: {error}") from None

    def save_rounds(self, rounds: list[PlannedRound]) -> None:
        """Replace the plan, whole or not at all; the manifest's samples are those per problem on average."""
        write_atomically(self.path / "rounds.json", msgspec.json.encode(rounds) + b"\n")
        self.save_manifest(msgspec.structs.replace(self.manifest, samples=sum(each.size for each in rounds)))

    def wanted(self, keys: Sequence[str]) -> dict[str, int]:
        """How many samples of each problem this run asks for; `keys` in the order of `problems.jsonl`."""
        rounds = self.rounds()
        if not rounds:
            return dict.fromkeys(keys, self.manifest.samples)
        if any(len(each.asked) != len(keys) for each in rounds):
            raise JournalError(f"{self.path / 'rounds.json'} is of other problems than these {len(keys)}; restore it")
        return {key: sum(each.asked[row] for each in rounds) for row, key in enumerate(keys)}

    def responses(self) -> Iterator[Response]:
        """Each (problem, sample) once, streamed: the last answer that came back, or its error if none did.

        Several lines for one key are normal: an error, then a resumed success; two ranks after a restart.
        """
        return self._winners(
            self.response_files(),
            msgspec.json.Decoder(Head),
            msgspec.json.Decoder(Response),
            lambda head: Standing.ERROR if head.error is not None else Standing.ANSWER,
        )

    def heads(self) -> Iterator[Head]:
        """Every line of the journals without its texts, in order: for counting."""
        for file in self.response_files():
            yield from self._lines(file, msgspec.json.Decoder(Head))

    def standing(self) -> Standing:
        """What is answered. Read once and kept until a journal changes."""
        files = self.response_files()
        state = [(file, (about := file.stat()).st_size, about.st_mtime_ns) for file in files]
        if self._standing is None or self._standing[0] != state:
            found = Standing()
            for head in self.heads():
                found.add(head)
            self._standing = (state, found)
        return self._standing[1]

    def response_files(self) -> list[Path]:
        """`responses.jsonl` and those of other writers (`responses.<writer>.jsonl`)."""
        return sorted(self.path.glob("responses*.jsonl"))

    def marks(self, protocol: str) -> Iterator[Mark]:
        """Each mark under one protocol, by its bare name, once and streamed: the last one made.

        A mark whose response is not there (its line was damaged, say) is not given: it stands for nothing.
        """
        return self._marks(protocol, msgspec.json.Decoder(Mark))

    def mark_heads(self, protocol: str) -> Iterator[MarkHead]:
        """The same, verdicts only."""
        return self._marks(protocol, msgspec.json.Decoder(MarkHead))

    def _marks(self, protocol: str, decoder: msgspec.json.Decoder[T]) -> Iterator[T]:
        standing = self.standing()
        return self._winners([self.marks_file(protocol)], msgspec.json.Decoder(MarkHead), decoder, standing.supports)

    def verdicts(self, protocol: str) -> dict[str, bytearray]:
        """The verdict of every sample of each problem in one byte: 1 + its place in `Verdict`, 0 where there is none.

        The same verdicts as `mark_heads` in one reading of the file, for counting a million of them in seconds.
        """
        code = {str(verdict): number for number, verdict in enumerate(Verdict, start=1)}
        error, states = code[Verdict.ERROR], self.standing().states
        file, found = self.marks_file(protocol), dict[str, bytearray]()
        for line in self._lines(file, msgspec.json.Decoder(_MarkLine)):
            key, sample, number = line.key, line.sample, code.get(line.verdict, 0)
            there = states.get(key, b"")
            if not number:
                self._damaged[file] += 1
            elif sample < len(there) and there[sample] == (Standing.ERROR if number == error else Standing.ANSWER):
                row = found.get(key)
                if row is None:
                    row = found[key] = bytearray(len(there))
                row[sample] = number
        return found

    def marks_file(self, protocol: str) -> Path:
        """Where the marks of a protocol live."""
        return self.path / "marks" / f"{protocol.partition('@')[0]}.jsonl"

    def marked_protocols(self) -> list[str]:
        """Bare names of the protocols this run has been marked with."""
        return sorted(file.stem for file in (self.path / "marks").glob("*.jsonl"))

    def save_marks(self, protocol: str, marks: Iterable[Mark]) -> None:
        """Replace the marks of one protocol, whole or not at all."""
        write_atomically(self.marks_file(protocol), map(_line, marks))

    def _winners(
        self,
        files: list[Path],
        heads: msgspec.json.Decoder[H],
        decoder: msgspec.json.Decoder[T],
        rank: Callable[[H], int],
    ) -> Iterator[T]:
        """The line that counts for each (problem, sample), in file order: the last of the highest rank above 0."""
        places, ranks = _Places(), _Places()
        for number, file in enumerate(files):
            for offset, head in self._lines_at(file, heads):
                if (found := rank(head)) >= max(1, ranks.get(head.key, head.sample)):
                    ranks.put(head.key, head.sample, found)
                    places.put(head.key, head.sample, number << 48 | offset)
        for number, file in enumerate(files):
            for offset, item in self._lines_at(file, decoder):
                if places.get(item.key, item.sample) == number << 48 | offset:  # type: ignore[attr-defined]
                    yield item

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
                    # msgspec does not look inside what it skips, so bytes that are no text would pass.
                    item = decoder.decode(line.decode())
                except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                    self._damaged[file] += bool(line.strip())
                else:
                    yield offset, item
                offset += len(line)


def find_runs(named: Iterable[str | Path]) -> list[Run]:
    """The runs that are meant: a folder without a manifest stands for those directly below it."""
    found: list[Path] = []
    for folder in map(Path, named):
        below = [] if (folder / "manifest.json").exists() else sorted(folder.glob("*/manifest.json"))
        if not below and not (folder / "manifest.json").exists():
            raise JournalError(f"{folder} is no run folder and holds none: there is no manifest.json")
        found += [file.parent for file in below] or [folder]
    return [Run.open(folder) for folder in dict.fromkeys(found)]


def write_atomically(file: Path, content: bytes | Iterable[bytes]) -> None:
    """Write a file so that a reader, or a crash, sees the old content or the new, never half."""
    try:
        handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    except OSError as error:
        raise JournalError(f"cannot write {file}: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as out:
            out.writelines(map(redacted, [content] if isinstance(content, bytes) else content))
            out.flush()
            os.fsync(out.fileno())
        Path(temporary).chmod(0o666 & ~_umask())  # mkstemp makes private files; ours are as the user wants new ones
        Path(temporary).replace(file)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise JournalError(f"cannot write {file}: {error.strerror}; what was there before is untouched") from None


def _umask() -> int:
    mask = os.umask(0o077)  # it can only be read by setting it
    os.umask(mask)
    return mask


def _line(item: msgspec.Struct) -> bytes:
    return msgspec.json.encode(item) + b"\n"
