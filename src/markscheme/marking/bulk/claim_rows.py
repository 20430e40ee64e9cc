"""The stored rows behind a published figure, one at a time: JSON of any shape, tables and text logs, in bounded memory."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from markscheme.benchmarks.fields import Expression, Fields, MissingFieldError, ProblemMaker, Value, several
from markscheme.datasets.files import PACKED, TABLES, Row, read_rows
from markscheme.datasets.stored import rows as lines
from markscheme.datasets.stored import squeezed
from markscheme.errors import DataError
from markscheme.marking.bulk.claims import Between, Entry
from markscheme.marking.equality.comparing import equal
from markscheme.types import Gold, Problem, Response

AT_ONCE, MOST = 1 << 20, 256 << 20
"""Characters read at a time of a JSON document, and the most that one element of it may have."""
TRUE, FALSE = (
    {"true", "1", "1.0", "correct", "right", "yes"},
    {"false", "0", "0.0", "-1", "-1.0", "wrong", "incorrect", "no"},
)

Watch = Callable[[Path, int], None]
"""Called with the file and the number of its bytes that were read since the last call."""


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """One stored sample: what was answered, and what was made of it then."""

    response: Response
    problem: Problem
    verdict: bool | None
    answer: str | None
    score: float | None


class StoredRows:
    """The samples of one row of a table. Iterate, once; what is odd about the files is counted meanwhile."""

    def __init__(self, entry: Entry, root: Path, watch: Watch = lambda *_: None) -> None:
        self.entry, self.root, self._watch = entry, root, watch
        self.files = [file for pattern in entry.patterns for file in sorted(root.glob(pattern)) if file.is_file()]
        if not self.files:
            raise DataError(f"no file matches {', '.join(entry.patterns)} in {root}; --root names the folder.")
        columns = entry.fields
        made = Fields(statement=columns.statement, gold=columns.gold, id=columns.id, choices=columns.choices)
        self._closed = ProblemMaker(made, "math")
        plain = tuple(each for each in several(columns.gold) if not each.startswith("letter "))  # needs choices
        self._open = ProblemMaker(msgspec.structs.replace(made, choices=None, gold=plain), "math")
        self._golds = self._gold_table()
        self._where = {
            self._open.read(name): each if isinstance(each, list) else [each] for name, each in entry.where.items()
        }
        self.rows = 0
        self.unread: Counter[str] = Counter()
        """Rows of which no sample could be made, by the reason."""
        self.example_unread = ""
        self.doubled: list[str] = []
        """Ids that one file holds more than once, as often as they are too many."""

    def __iter__(self) -> Iterator[Stored]:
        seen: Counter[str] = Counter()
        for file in self.files:
            ids: set[str] = set()
            for index, row in enumerate(self._documents(file)):
                try:
                    if not all(read(row) in wanted for read, wanted in self._where.items()):
                        continue
                    problem = self._problem(index, row)
                    samples = list(self._samples(row, problem))
                    self.rows += 1
                except (KeyError, TypeError, ValueError) as reason:
                    why = str(reason)
                    self.rows += 1
                    self.unread[why] += 1
                    self.example_unread = self.example_unread or f"{file}, row {index + 1}: {why}"
                    continue
                if problem.id in ids:
                    self.doubled.append(problem.id)
                ids.add(problem.id)
                for text, verdict, answer, score in samples:
                    told = {"error": "no output is stored"} if text is None else {}
                    number = seen[problem.key]
                    seen[problem.key] += 1
                    response = Response(key=problem.key, sample=number, problem_id=problem.id, text=text or "", **told)
                    yield Stored(response=response, problem=problem, verdict=verdict, answer=answer, score=score)
        if not seen:
            reason = self.example_unread or f"{self.files[0]} holds no rows"
            raise DataError(f"nothing could be read for {self.entry.name}: {reason}.")

    def _gold_table(self) -> dict[str, Gold] | None:
        """Golds by the name of their problem, where they are not in the rows: from a file, or the benchmark's own."""
        entry, golds = self.entry, self.entry.golds
        if golds is not None:
            read = [self._open.read(each) for each in ((golds.id if golds.by == "id" else golds.statement), golds.gold)]
            found: dict[str, Gold] = {}
            for file in sorted(self.root.glob(golds.files)):
                for index, row in enumerate(_json_rows(file, "", self._watch)):
                    name, gold = (each({"position": f"{index:04d}", **row}) for each in read)
                    found[squeezed(str(name))] = str(gold)
            if not found:
                raise DataError(f"no golds in {golds.files} in {self.root}.")
            return found
        if entry.benchmark is not None and entry.fields.gold == "official":
            from markscheme.benchmarks import benchmark

            return {squeezed(each.statement): each.gold for each in benchmark(entry.benchmark).problems}
        return None

    def _problem(self, index: int, row: Row) -> Problem:
        choices, golds = self.entry.fields.choices, self.entry.golds
        if self._golds is not None:
            by = self.entry.fields.id if golds is not None and golds.by == "id" else self.entry.fields.statement
            name = squeezed(str(self._open.read(by)({"position": f"{index:04d}", **row})))
            if name not in self._golds:
                raise MissingFieldError(f"no gold for {name[:60]!r}")
            row = {**row, "gold": self._golds[name], "official": self._golds[name]}
        given = _value(self._open, choices, row) if isinstance(choices, str) else choices
        return (self._closed if given else self._open)(index, row)

    def _samples(
        self, row: Row, problem: Problem
    ) -> Iterator[tuple[str | None, bool | None, str | None, float | None]]:
        columns = self.entry.fields
        given = self._open.read(columns.response)(row) if _has(self._open, columns.response, row) else None
        texts = given if isinstance(given, list) else [given]
        verdicts = _each(self._verdict(row, problem), len(texts), "verdict")
        answers = _each(_value(self._open, columns.answer, row), len(texts), "answer")
        scores = _each(_value(self._open, columns.score, row), len(texts), "score")
        for text, verdict, answer, score in zip(texts, verdicts, answers, scores, strict=True):
            while isinstance(score, list) and len(score) == 1:
                (score,) = score
            yield (
                None if text is None else text if isinstance(text, str) else str(text),
                None if verdict is None else _truth(verdict),
                None if answer is None else str(answer),
                float(score) if isinstance(score, int | float) else None,
            )

    def _verdict(self, row: Row, problem: Problem) -> Any:
        stated = self.entry.fields.verdict
        for word, same in ((" is close to ", _close), (" is ", _same), (" equals ", equal)):
            if isinstance(stated, str) and word in stated:
                given, right = (
                    _value(self._open, part, {**row, "gold": problem.gold}) for part in stated.split(word, 1)
                )
                said = given if isinstance(given, list) else [given]
                return [each is not None and right is not None and same(str(each), str(right)) for each in said]
        return _value(self._open, stated, row)

    def _documents(self, file: Path) -> Iterator[Row]:
        """Every row of a file; one whose value has a name is given it as `key`."""
        entry = self.entry
        if entry.log:
            yield from _records(file, entry.separator, entry.log, self._watch)
        elif file.suffix in (*TABLES, *PACKED, ".parquet"):
            yield from read_rows(file)
            self._watch(file, file.stat().st_size)
        else:
            yield from _json_rows(file, entry.records, self._watch)


def _json_rows(file: Path, records: str, watch: Watch) -> Iterator[Row]:
    steps = [step for step in records.split(".") if step]
    for value in _json_values(file, watch):
        yield from _below(value, steps or (["*"] if isinstance(value, _Whole) else []))


class _Whole(dict[str, Any]):
    """A JSON document that is one object: its values are the rows, unless the claim says otherwise."""


def _json_values(file: Path, watch: Watch) -> Iterator[Any]:
    """The objects of JSON lines, the elements of an array, or the one object that a file is."""
    try:
        with file.open("rb") as opened:
            start = opened.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror}.") from None
    if start == b"[":
        yield from _elements(file, watch)
        return
    if file.suffix == ".json":
        whole = None
        if file.stat().st_size <= MOST:
            try:
                whole = msgspec.json.decode(file.read_bytes())
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                whole = None  # JSON lines under another name
        if whole is not None:
            watch(file, file.stat().st_size)
            yield _Whole(whole) if isinstance(whole, dict) else whole
            return
    before = 0
    for _, offset, row in lines(file):
        watch(file, offset - before)
        before = offset
        yield row


def _elements(file: Path, watch: Watch) -> Iterator[Any]:
    """The elements of a JSON array, however long it is: no more than one of them is held."""
    decoder, text, place, number = json.JSONDecoder(), "", 0, 0
    with file.open(encoding="utf-8-sig", errors="replace") as opened:
        text = opened.read(AT_ONCE).lstrip()[1:]
        size = AT_ONCE
        while True:
            place = _past(text, place)
            if place < len(text) and text[place] == "]":
                return
            try:
                value, end = decoder.raw_decode(text, place)
            except (ValueError, RecursionError) as problem:
                more = opened.read(size) if len(text) - place < MOST else ""
                if not more:
                    raise DataError(f"{file}, element {number + 1}: not valid JSON ({problem}).") from None
                watch(file, len(more))
                text, place, size = text[place:] + more, 0, max(AT_ONCE, len(text) - place)
                continue
            number += 1
            yield value
            place = end


def _past(text: str, place: int) -> int:
    while place < len(text) and text[place] in " \t\r\n,":
        place += 1
    return place


def _below(value: Any, steps: list[str]) -> Iterator[Row]:
    """The rows that a path leads to."""
    if not steps:
        for row in value if isinstance(value, list) else [value]:
            if isinstance(row, dict):
                yield row
            else:
                raise DataError(
                    f"a stored row is {type(row).__name__}, where an object belongs; `records` names the way."
                )
        return
    step, *rest = steps
    if step == "*":
        for key, inner in (
            value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ())
        ):
            yield from _below({"key": key, **inner} if isinstance(inner, dict) else inner, rest)
    elif isinstance(value, dict) and step in value:
        yield from _below(value[step], rest)
    else:
        raise DataError(f"`records` leads to {step!r}, which is not there.")


def _records(file: Path, separator: str, fields: dict[str, Between], watch: Watch) -> Iterator[Row]:
    """The records of a text log, each as the fields that it has; what has none of them is not a record."""
    record: list[str] = []
    held = 0
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            for line in opened:
                if line.strip() == separator.strip():
                    yield from _cut(record, fields, file, watch)
                    record, held = [], 0
                    continue
                record.append(line)
                held += len(line)
                if held > MOST:
                    raise DataError(f"{file}: no line {separator!r} in {MOST >> 20} MB; `separator` ends a record.")
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror}.") from None
    yield from _cut(record, fields, file, watch)


def _cut(record: list[str], fields: dict[str, Between], file: Path, watch: Watch) -> Iterator[Row]:
    text = "".join(record)
    watch(file, len(text))
    row = {}
    for name, marks in fields.items():
        start = text.rfind(marks.after) if marks.last else text.find(marks.after)
        if start >= 0:
            begin = start + len(marks.after)
            end = text.find(marks.before, begin)
            row[name] = text[begin : end if end >= 0 else len(text)].strip()
    if row:
        yield row


def _has(maker: ProblemMaker, expression: Expression, row: Row) -> bool:
    try:
        maker.read(expression)(row)
    except MissingFieldError:
        return False
    return True


def _value(maker: ProblemMaker, expression: Expression | None, row: Row) -> Any:
    if not several(expression):
        return None
    try:
        reader: Value = maker.read(expression or ())
        return reader(row)
    except MissingFieldError:
        return None


def _each(value: Any, count: int, name: str) -> list[Any]:
    """One value for each sample."""
    values = value if isinstance(value, list) else [value] * count
    if len(values) != count:
        raise ValueError(f"there are {len(values)} of {name} for {count} samples")
    return values


def _same(one: str, other: str) -> bool:
    return one.strip() == other.strip()


def _close(one: str, other: str) -> bool:
    """As ToRA's grader and those made from it compare: numbers to four digits, also as percent; else as mathematics."""
    try:
        a, b = (float(each.replace(",", "")) for each in (one, other))
    except ValueError:
        return equal(one, other)
    return any(math.isclose(a, b * factor, rel_tol=1e-4) for factor in (1, 100, 0.01))


def _truth(value: Any) -> bool:
    word = str(value).strip().lower()
    if word not in TRUE | FALSE:
        raise ValueError(f"the stored verdict {value!r} is neither right nor wrong")
    return word in TRUE
