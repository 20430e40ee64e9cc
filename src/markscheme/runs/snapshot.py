"""A run folder at one moment: what resume, report, compare, audit, the viewer and the Python API all read.

It alone applies the rules for what counts:

- only problems of `problems.jsonl` and samples that the run asks for count;
- of several lines for one (problem, sample) the last one without an error wins, else the last error;
- a mark counts if it has the label that was asked for and fits its response: `error` for an error, else another verdict;
- a response with an error is an error under every protocol; a mark with an unknown verdict does not count;
- torn and damaged lines are counted and named, and have no other effect.

`reader.RunReader` makes snapshots. A snapshot holds numbers; texts are read from the files when needed. Its rows are the
responses that exist, ordered by problem and sample.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from markscheme.errors import JournalError
from markscheme.runs.columns import (
    ABSENT,
    CORRECT,
    ERROR,
    SAMPLE_BITS,
    UNKNOWN,
    UNMARKED,
    VERDICTS,
    Columns,
    Ints,
    Mask,
    Table,
    last_of_each,
    problem_of,
    sample_of,
)
from markscheme.runs.files import marks_file
from markscheme.runs.folder import Failure, Manifest, PlannedRound
from markscheme.runs.lines import decode_or_none, read_line, read_lines, replaced
from markscheme.runs.settling import Settled, differing, settle
from markscheme.runs.units import by_request
from markscheme.types import Mark, Question, Response

if TYPE_CHECKING:
    from markscheme.statistics import Counts, Round

T = TypeVar("T", Response, Mark)

Codes = npt.NDArray[np.int8]  # verdicts: their places in `VERDICTS`, or `UNMARKED`


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The content of a run folder by the rules above. Immutable."""

    folder: Path
    manifest: Manifest | None
    version: int  # different for any two snapshots that may differ
    marks_version: int  # changes only if a verdict may have changed, not while texts are being read
    complete: bool  # everything has been read; until then a mark counts before its response
    progress: float
    planned: tuple[PlannedRound, ...]  # the rounds of a run with `--until`
    keys: tuple[str, ...]  # the problems' keys, in the order of `problems.jsonl`
    ids: tuple[str, ...]
    groups: Mapping[str, Sequence[str | None]] = field(repr=False)  # metadata field → label of each problem
    clusters: tuple[str | None, ...] = field(repr=False)  # the family of each problem, if its benchmark names one
    question_offsets: tuple[int, ...] = field(repr=False)
    files: tuple[Path, ...]  # the files of responses
    lines: Table = field(repr=False)
    kinds: tuple[str, ...] = field(repr=False)
    # Protocol → the lines of its marks and the labels in them.
    mark_lines: Mapping[str, tuple[Table, tuple[str, ...]]] = field(repr=False)
    damage: Mapping[str, int]  # file → unreadable lines
    torn: tuple[str, ...]  # files that end in the middle of a line
    refused: tuple[str, ...]  # links out of the folder, and what is not a plain file
    stray: int  # responses to problems that the run does not have
    # Verdicts that the viewer made and did not store: protocol → label, verdict of each row.
    judged: Mapping[str, tuple[str, Codes]] = field(default_factory=dict, repr=False)
    _places: dict[str, Ints] = field(default_factory=dict, init=False)
    _codes: dict[str, Codes] = field(default_factory=dict, init=False)
    _settled: dict[str, Settled] = field(default_factory=dict, init=False)

    @cached_property
    def wanted(self) -> Ints:
        """The number of samples that the run asks for, per problem."""
        if self.planned:
            if any(len(each.asked) != self.problems for each in self.planned):
                file = self.folder / "rounds.json"
                raise JournalError(f"{file} does not fit the {self.problems} problems of this run; restore it")
            asked: Ints = np.array([each.asked for each in self.planned], np.int64)
            return np.asarray(asked.sum(axis=0))
        samples = self.manifest.samples if self.manifest is not None else 1 << SAMPLE_BITS
        return np.full(self.problems, samples, np.int64)

    def _asked_for(self, cells: Ints) -> Mask:
        return np.asarray(sample_of(cells) < self.wanted[problem_of(cells)])

    @cached_property
    def asked_lines(self) -> Table:
        """All lines that were asked for, including attempts that were replaced later."""
        mine = self._asked_for(self.lines["cell"])
        return self.lines if mine.all() else self.lines[mine]

    @cached_property
    def rows(self) -> Columns:
        """One row per existing (problem, sample), with the numbers of the line that counts."""
        lines, later = self.asked_lines, [self.asked_lines["kind"] == 0]
        if len(self.files) > 1:  # the lines of a single file are in order already
            names = [file.name for file in self.files]
            order = np.array([sorted(names).index(name) for name in names], np.int64)
            later += [order[lines["file"]], lines["offset"]]
        chosen = last_of_each(lines["cell"], *later)
        if self.complete:
            return Columns(lines, chosen)
        winners = lines[chosen]
        cells = np.concatenate([winners["cell"], *(table["cell"] for table, _ in self.mark_lines.values())])
        cells = np.unique(cells[self._asked_for(cells)])
        rows = np.full(len(cells), ABSENT)
        rows["cell"] = cells
        rows[np.searchsorted(cells, winners["cell"])] = winners
        return Columns(rows, np.arange(len(rows)))

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def problem(self) -> Ints:
        return problem_of(self.rows["cell"])

    @cached_property
    def sample(self) -> Ints:
        return sample_of(self.rows["cell"])

    @cached_property
    def failed(self) -> Mask:
        """Rows with an error instead of an answer."""
        return np.asarray(self.rows["kind"] > 0)

    @cached_property
    def arrived(self) -> Mask:
        """Rows whose response has been read: all of them in a complete snapshot."""
        return np.asarray(self.rows["file"] >= 0)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Problem key → number."""
        return {key: number for number, key in enumerate(self.keys)}

    def row(self, problem: int | str, sample: int) -> int | None:
        """Return the row of a problem (by number or key) and sample, or None."""
        number = self.numbers.get(problem, -1) if isinstance(problem, str) else problem
        if number < 0 or not 0 <= sample < 1 << SAMPLE_BITS:
            return None
        row = int(np.searchsorted(self.rows["cell"], number << SAMPLE_BITS | sample))
        return row if row < len(self) and (self.problem[row], self.sample[row]) == (number, sample) else None

    def rows_of(self, problem: int) -> range:
        low, high = np.searchsorted(self.problem, [problem, problem + 1])
        return range(int(low), int(high))

    @property
    def problems(self) -> int:
        """The number of problems, answered or not."""
        return len(self.keys)

    @property
    def expected(self) -> int:
        """Responses that the run asks for, including those to problems whose line is lost or damaged."""
        if self.planned or self.manifest is None:
            return int(self.wanted.sum()) if self.planned else len(self)
        return max(self.manifest.problems, self.problems) * self.manifest.samples

    @cached_property
    def answered(self) -> int:
        """Responses without an error."""
        return int((self.arrived & ~self.failed).sum())

    @property
    def missing(self) -> int:
        """Responses that `resume` would ask for."""
        return self.expected - self.answered

    @property
    def unasked(self) -> int:
        """Lines about problems or samples that the run does not ask for."""
        return self.stray + len(self.lines) - len(self.asked_lines)

    @property
    def damaged(self) -> int:
        return sum(self.damage.values())

    def failures(self) -> dict[str, Failure]:
        """Return the errors by kind, the most frequent first."""
        kinds = Counter(self.rows["kind"][self.failed].tolist())
        last = {kind: self._in_file_order(np.flatnonzero(self.rows["kind"] == kind))[-1] for kind in kinds}
        return {
            self.kinds[kind]: Failure(times, error.error or "" if (error := self.response(int(last[kind]))) else "")
            for kind, times in kinds.most_common()
        }

    @property
    def protocols(self) -> list[str]:
        """Bare names of the protocols with marks."""
        return sorted({*self.mark_lines, *self.judged})

    def label_of(self, protocol: str) -> str:
        """Return the label (`name@version`) for a protocol; of `math+judge:NAME`, both labels.

        A bare name gets the manifest's label, or if there are no marks under that, the label of the last mark.
        """
        if "+" in protocol:
            return "+".join(map(self.label_of, protocol.split("+")))
        if "@" in protocol:
            return protocol
        if protocol in self.judged:
            return self.judged[protocol][0]
        own = self.manifest.protocol if self.manifest else ""
        label = own if own.partition("@")[0] == protocol else protocol
        table, labels = self.mark_lines.get(protocol, (self.lines[:0], ()))
        return label if not len(table) or label in labels else labels[table["label"][-1]] or label

    def verdict(self, protocol: str) -> Codes:
        """Return the verdict of each row under a protocol, `UNMARKED` for rows without a mark."""
        if protocol in self.judged:
            return self.judged[protocol][1]
        label = self.label_of(protocol)
        if "+" in label:
            return self.settled(label).codes
        if label not in self._codes:
            places = self._mark_places(label)
            codes = np.full(len(self), UNMARKED, np.int8)
            if len(marked := np.flatnonzero(places >= 0)):
                codes[marked] = self.mark_lines[label.partition("@")[0]][0]["verdict"][places[marked]]
            codes[self.failed] = ERROR
            self._codes[label] = codes
        return self._codes[label]

    def settled(self, protocol: str) -> Settled:
        """Return the verdicts under `math+judge:NAME`."""
        label = self.label_of(protocol)
        return self._settled.get(label) or self._settled.setdefault(label, settle(self, label))

    def unmarked(self, protocol: str) -> Mask:
        """Return the rows without a stored mark of a protocol. Errors need one too, although they have a verdict."""
        return np.asarray(((self.verdict(protocol) == UNMARKED) | (self._mark_places(protocol) < 0)) & self.arrived)

    def mark_count(self, protocol: str) -> int:
        """Return the number of stored marks of a protocol that count."""
        return int((self._mark_places(protocol) >= 0).sum())

    def _mark_places(self, protocol: str) -> Ints:
        # The line of each row's mark, or UNKNOWN. Of `math+judge:NAME`, the line of the `math` mark.
        label = self.label_of(protocol).partition("+")[0]
        if label in self._places:
            return self._places[label]
        places = np.full(len(self), UNKNOWN, np.int64)
        table, labels = self.mark_lines.get(label.partition("@")[0], (self.lines[:0], ()))
        # The first version wrote no label.
        mine = [number for number, name in enumerate(labels) if name in (label, "")]
        lines = np.flatnonzero(np.isin(table["label"], mine)) if mine and len(self) else np.zeros(0, np.int64)
        cells = table["cell"][lines]
        rows = np.minimum(np.searchsorted(self.rows["cell"], cells), max(0, len(self) - 1))
        if len(lines):
            counts = self.rows["cell"][rows] == cells
            counts &= ((table["verdict"][lines] == ERROR) == self.failed[rows]) | ~self.arrived[rows]
            places[rows[counts]] = lines[counts]  # the last of several for one row wins
        self._places[label] = places
        return places

    @cached_property
    def verdicts(self) -> dict[str, Codes]:
        """Protocol → the verdict of each row."""
        return {name: self.verdict(name) for name in self.protocols}

    @cached_property
    def disagree(self) -> Mask:
        """Rows that one protocol calls correct and another does not."""
        return differing(self.verdicts.values(), len(self))

    def counts(self, protocol: str, chosen: Mask | None = None) -> Counts:
        """Return how often each problem got each verdict, over all rows or the chosen ones."""
        from markscheme.statistics import Counts, own_clusters

        verdict, width = self.verdict(protocol), len(VERDICTS)
        keep = (verdict != UNMARKED) & (True if chosen is None else chosen)
        table = np.bincount(self.problem[keep] * width + verdict[keep], minlength=self.problems * width)
        asked = tuple(self.wanted.tolist()) if chosen is None and self.manifest is not None else ()
        rounds, clusters = self._rounds(verdict) if chosen is None else (), own_clusters(self.clusters)
        requests = by_request(self, np.flatnonzero(keep), verdict)
        return Counts(self.keys, table.reshape(-1, width), rounds, asked, clusters, requests=requests)

    def _rounds(self, verdict: Codes) -> tuple[Round, ...]:
        """Return the counts of each round. A problem's samples are numbered across rounds."""
        from markscheme.statistics import Round

        if not self.planned:
            return ()
        ends = np.cumsum([each.asked for each in self.planned], axis=0)
        number = np.sum(self.sample >= ends[:, self.problem], axis=0)
        rounds = []
        for at, each in enumerate(self.planned):
            here = (verdict != UNMARKED) & (verdict != ERROR) & (number == at)
            places = (self.problem[here], self.problem[here & (verdict == CORRECT)])
            rounds.append(Round(each.size, *(tuple(np.bincount(x, minlength=self.problems).tolist()) for x in places)))
        return tuple(rounds)

    def question(self, problem: int) -> Question | None:
        """Read a problem with its prompt; None if it is gone."""
        if not 0 <= problem < self.problems:
            return None
        return decode_or_none(read_line(self.folder / "problems.jsonl", self.question_offsets[problem]), Question)

    def questions(self) -> list[Question]:
        """Read all problems with their prompts, in the order of the benchmark."""
        file = self.folder / "problems.jsonl"
        lines = read_lines(file, self.question_offsets) if self.keys else ()  # else the file may be gone
        return [decode_or_none(line, Question) or replaced(file) for line in lines]

    def response(self, row: int) -> Response | None:
        """Read a response; None if it is gone."""
        number, offset = int(self.rows["file"][row]), int(self.rows["offset"][row])
        return None if number < 0 else self._noun(read_line(self.files[number], offset), Response, row)

    def responses(self, chosen: Mask | None = None) -> Iterator[Response]:
        """Stream the responses of all rows or the chosen ones, in file order."""
        here = self.arrived if chosen is None else self.arrived & chosen
        rows = self._in_file_order(np.flatnonzero(here))
        for number in np.unique(self.rows["file"][rows]):
            mine = rows[self.rows["file"][rows] == number]
            yield from self._stream(self.files[number], mine, self.rows["offset"][mine], Response)

    def mark(self, protocol: str, row: int) -> Mark | None:
        """Read a stored mark; under `math+judge:NAME`, that of the protocol which decided the row."""
        if "+" in protocol:
            protocol = self.settled(protocol).by[row]
        place = UNKNOWN if protocol in self.judged else self._mark_places(protocol)[row]
        name = protocol.partition("@")[0]
        if place < 0:
            return None
        line = read_line(marks_file(self.folder, name), int(self.mark_lines[name][0]["offset"][place]))
        return self._noun(line, Mark, row)

    def marks(self, protocol: str) -> Iterator[Mark]:
        """Stream the stored marks that count under a protocol, in file order."""
        if "+" in protocol:
            yield from (mark for row in range(len(self)) if (mark := self.mark(protocol, row)) is not None)
            return
        places, name = self._mark_places(protocol), protocol.partition("@")[0]
        rows = np.flatnonzero(places >= 0)
        if len(rows):
            table = self.mark_lines[name][0]
            known = table["verdict"][places[rows]] != UNMARKED
            rows = rows[known][np.argsort(places[rows[known]])]
            yield from self._stream(marks_file(self.folder, name), rows, table["offset"][places[rows]], Mark)

    def _in_file_order(self, rows: Ints) -> Ints:
        return rows[np.lexsort((self.rows["offset"][rows], self.rows["file"][rows]))]

    def _stream(self, file: Path, rows: Ints, offsets: Ints, kind: type[T]) -> Iterator[T]:
        for row, line in zip(rows.tolist(), read_lines(file, offsets.tolist()), strict=True):
            noun = self._noun(line, kind, row)
            yield noun if noun is not None else replaced(file)

    def _noun(self, line: bytes, kind: type[T], row: int) -> T | None:
        noun = decode_or_none(line, kind)
        place = (self.keys[self.problem[row]], int(self.sample[row]))
        return noun if noun is not None and (noun.key, noun.sample) == place else None
