"""Read the stored rows of a published figure, one at a time in bounded memory: JSON of any shape, tables, text logs."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from markscheme.benchmarks.fields import Expression, Fields, MissingFieldError, ProblemMaker, several
from markscheme.datasets.files import PACKED, TABLES, Row, read_rows
from markscheme.datasets.stored import rows as lines
from markscheme.datasets.stored import squeezed
from markscheme.errors import DataError, option, os_reason
from markscheme.marking.bulk.claims import Between, Entry
from markscheme.marking.equality.comparing import equal
from markscheme.types import Gold, Problem, Response

AT_ONCE = 1 << 20  # characters of a JSON document read at a time
MOST = 256 << 20  # characters of one row
RIGHT = {"true", "1", "1.0", "correct", "right", "yes"}
NOT_RIGHT = {"false", "0", "0.0", "-1", "-1.0", "wrong", "incorrect", "no"}

# Called with the file and the number of its bytes read since the last call.
Watch = Callable[[Path, int], None]


class Stored(NamedTuple):
    """One stored sample: the response, and the verdict, answer and score stored with it."""

    response: Response
    problem: Problem
    verdict: bool | None
    answer: str | None
    score: float | None


class StoredRows:
    """The samples of one row of a table. Iterate once; irregularities in the files are collected meanwhile."""

    def __init__(self, entry: Entry, root: Path, watch: Watch = lambda *_: None) -> None:
        self.entry, self.root, self._watch = entry, root, watch
        self.files = [file for pattern in entry.patterns for file in sorted(root.glob(pattern)) if file.is_file()]
        if not self.files:
            raise DataError(
                f"no file matches {', '.join(entry.patterns)} in {root}; {option('root')} names the folder."
            )
        columns = entry.fields
        made = Fields(statement=columns.statement, gold=columns.gold, id=columns.id, choices=columns.choices)
        plain = tuple(each for each in several(columns.gold) if not each.startswith("letter "))  # which needs choices
        self._closed = ProblemMaker(made, "math")
        self._open = ProblemMaker(msgspec.structs.replace(made, choices=None, gold=plain), "math")
        self._golds = self._gold_table()
        self.unread: list[str] = []  # location and reason of each row that could not be read
        self.doubled: list[str] = []  # ids that one file holds more than once, once for each extra row

    def __iter__(self) -> Iterator[Stored]:
        seen: Counter[str] = Counter()
        for file in self.files:
            ids: set[str] = set()
            for index, row in enumerate(self._documents(file)):
                row.setdefault("position", f"{index:04d}")
                try:
                    if not all(self._value(name, row) in _listed(wanted) for name, wanted in self.entry.where.items()):
                        continue
                    problem = self._problem(index, row)
                    samples = list(self._samples(row, problem))
                except (KeyError, TypeError, ValueError) as reason:
                    self.unread.append(f"{file.name}, row {index + 1}: {reason}")
                    continue
                if problem.id in ids:
                    self.doubled.append(problem.id)
                ids.add(problem.id)
                for text, verdict, answer, score in samples:
                    number = seen[problem.key]
                    seen[problem.key] += 1
                    error = "no output is stored" if text is None else None
                    response = Response(
                        key=problem.key, sample=number, problem_id=problem.id, text=text or "", error=error
                    )
                    yield Stored(response, problem, verdict, answer, score)
        if not seen:
            why = self.unread[0] if self.unread else f"no row of {self.files[0]} counts"
            raise DataError(f"nothing could be read for {self.entry.name}: {why}.")

    def _gold_table(self) -> dict[str, Gold] | None:
        """Return golds by problem name if they are not in the rows: from a file, or from the benchmark."""
        entry, golds = self.entry, self.entry.golds
        if golds is None and entry.fields.gold == "official" and entry.benchmark is not None:
            from markscheme.benchmarks import benchmark

            return {squeezed(each.statement): each.gold for each in benchmark(entry.benchmark).problems}
        if golds is None:
            return None
        found: dict[str, Gold] = {}
        for file in sorted(self.root.glob(golds.files)):
            for index, row in enumerate(_json_rows(file, "", self._watch)):
                row.setdefault("position", f"{index:04d}")
                name = self._value(golds.id if golds.by == "id" else golds.statement, row)
                found[squeezed(str(name))] = str(self._value(golds.gold, row))
        if not found:
            raise DataError(f"there are no golds in {golds.files} in {self.root}.")
        return found

    def _problem(self, index: int, row: Row) -> Problem:
        columns, golds = self.entry.fields, self.entry.golds
        if self._golds is not None:
            name = squeezed(str(self._value(columns.id if golds and golds.by == "id" else columns.statement, row)))
            if name not in self._golds:
                raise MissingFieldError(f"no gold for {name[:60]!r}")
            row |= {"gold": self._golds[name], "official": self._golds[name]}
        given = self._value(columns.choices, row) if isinstance(columns.choices, str) else columns.choices
        return (self._closed if given else self._open)(index, row)

    def _samples(
        self, row: Row, problem: Problem
    ) -> Iterator[tuple[str | None, bool | None, str | None, float | None]]:
        columns = self.entry.fields
        texts = _listed(self._value(columns.response, row))
        others = (self._verdict(row, problem), self._value(columns.answer, row), self._value(columns.score, row))
        each = zip(texts, *(_each(value, len(texts)) for value in others), strict=True)
        for text, verdict, answer, score in each:
            while isinstance(score, list) and len(score) == 1:  # a reward model's scores of the only step
                (score,) = score
            yield (
                None if text is None else str(text),
                None if verdict is None else _truth(verdict),
                None if answer is None else str(answer),
                float(score) if isinstance(score, int | float) else None,
            )

    def _verdict(self, row: Row, problem: Problem) -> Any:
        """Return the stored verdict, or that of the first comparison whose left side the row has; without one, False."""
        compared = False
        for stated in several(self.entry.fields.verdict):
            word = next((word for word in COMPARED if word in stated), None)
            parts = stated.split(word, 1) if word else [stated]
            given, *right = (self._value(part, {**row, "gold": problem.gold}) for part in parts)
            if word is None and given is not None:
                return given
            if word is not None and given is not None:
                return [each is not None and COMPARED[word](str(each), str(right[0])) for each in _listed(given)]
            compared |= word is not None
        return False if compared else None

    def _value(self, expression: Expression | None, row: Row) -> Any:
        try:
            return self._open.read(expression)(row) if expression else None
        except MissingFieldError:
            return None

    def _documents(self, file: Path) -> Iterator[Row]:
        entry = self.entry
        if entry.log:
            yield from _records(file, entry.separator, entry.log, self._watch)
        elif file.suffix in (*TABLES, *PACKED, ".parquet"):
            yield from read_rows(file)
            self._watch(file, file.stat().st_size)
        else:
            yield from _json_rows(file, entry.records, self._watch)


class _Whole(dict[str, Any]):
    """A JSON document that is one object. Its values are the rows, unless the claim says otherwise."""


def _json_rows(file: Path, records: str, watch: Watch) -> Iterator[Row]:
    """Yield the rows of JSON lines, an array or an object. A named row gets its name as `key`."""
    steps = [step for step in records.split(".") if step]
    try:
        for value in _json_values(file, watch):
            yield from _below(value, steps or (["*"] if isinstance(value, _Whole) else []), file)
    except OSError as error:
        raise DataError(f"{file} cannot be read: {os_reason(error)}.") from None


def _json_values(file: Path, watch: Watch) -> Iterator[Any]:
    with file.open("rb") as opened:
        start = opened.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if start == b"[":
        yield from _elements(file, watch)
        return
    if file.suffix == ".json" and file.stat().st_size <= MOST:
        try:
            whole = msgspec.json.decode(file.read_bytes())
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass  # JSON lines under another name
        else:
            watch(file, file.stat().st_size)
            yield _Whole(whole) if isinstance(whole, dict) else whole
            return
    before = 0
    for _, offset, row in lines(file):
        watch(file, offset - before)
        before = offset
        yield row


def _elements(file: Path, watch: Watch) -> Iterator[Any]:
    """Yield the elements of a JSON array of any length, holding only one of them."""
    decoder, between, number = json.JSONDecoder(), re.compile(r"[\s,]*"), 0
    with file.open(encoding="utf-8-sig", errors="replace") as opened:
        text, place = opened.read(AT_ONCE).lstrip()[1:], 0
        while True:
            place = between.match(text, place).end()  # type: ignore[union-attr]
            if text.startswith("]", place):
                return
            try:
                value, place = decoder.raw_decode(text, place)
            except (ValueError, RecursionError) as problem:
                held = len(text) - place
                more = opened.read(max(AT_ONCE, held)) if held < MOST else ""  # doubled, so linear overall
                if not more:
                    raise DataError(f"{file}, element {number + 1}: not valid JSON ({problem}).") from None
                watch(file, len(more))
                text, place = text[place:] + more, 0
                continue
            number += 1
            yield value


def _below(value: Any, steps: list[str], file: Path) -> Iterator[Row]:
    if steps and steps[0] == "*":
        named = value.items() if isinstance(value, dict) else enumerate(_listed(value))
        for key, inner in named:
            yield from _below({"key": key, **inner} if isinstance(inner, dict) else inner, steps[1:], file)
    elif steps and isinstance(value, dict) and steps[0] in value:
        yield from _below(value[steps[0]], steps[1:], file)
    elif steps:
        raise DataError(f"{file}: `records` names {steps[0]!r}, which does not exist.")
    else:
        for row in _listed(value):
            if not isinstance(row, dict):
                raise DataError(
                    f"{file}: a row is {type(row).__name__}, not an object; set `records` to the path of the rows."
                )
            yield row


def _records(file: Path, separator: str, fields: dict[str, Between], watch: Watch) -> Iterator[Row]:
    """Yield the records of a text log as dicts of the fields they have; text without any field is not a record."""
    record: list[str] = []
    held = 0
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            for line in opened:
                if line.strip() != separator.strip():
                    record.append(line)
                    held += len(line)
                    if held > MOST:
                        raise DataError(f"{file}: no line {separator!r} in {MOST >> 20} MB; check `separator`.")
                    continue
                yield from _cut("".join(record), fields)
                watch(file, held)
                record, held = [], 0
    except OSError as error:
        raise DataError(f"{file} cannot be read: {os_reason(error)}.") from None
    yield from _cut("".join(record), fields)


def _cut(text: str, fields: dict[str, Between]) -> Iterator[Row]:
    row = {}
    for name, marks in fields.items():
        _, there, rest = text.rpartition(marks.after) if marks.last else text.partition(marks.after)
        if there:
            row[name] = rest.partition(marks.before)[0].strip()
    if row:
        yield row


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _each(value: Any, count: int) -> list[Any]:
    values = value if isinstance(value, list) else [value] * count
    if len(values) != count:
        raise ValueError(f"there are {count} samples and {len(values)} verdicts, answers or scores")
    return values


def _close(one: str, other: str) -> bool:
    """Compare like ToRA's grader and its copies: numbers to four digits, also as percent; anything else as mathematics."""
    try:
        a, b = (float(each.replace(",", "")) for each in (one, other))
    except ValueError:
        return equal(one, other)
    return any(math.isclose(a, b * factor, rel_tol=1e-4) for factor in (1, 100, 0.01))


# The comparison of two expressions, by the words between them.
COMPARED: dict[str, Callable[[str, str], bool]] = {
    " is close to ": _close,
    " is ": lambda one, other: one.strip() == other.strip(),
    " equals ": equal,
}


def _truth(value: Any) -> bool:
    word = str(value).strip().lower()
    if word not in RIGHT | NOT_RIGHT:
        raise ValueError(f"the stored verdict {value!r} is neither right nor wrong")
    return word in RIGHT
