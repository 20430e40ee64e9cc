"""How a row becomes a problem: the small expressions of a benchmark's `[fields]`.

    answer                                      a field
    ["question", "problem"]                     the first of these that is there
    {Body} {Question}                           text with fields in it
    last box of solution                        what stands in the last \\boxed{}
    text after #### of answer                   likewise `text before`; the last mark counts
    without <<…>> of text before #### of answer
    number of answer                            27.0 becomes 27
    letter of answer                            the letter of a choice that is given by its text, letter or place (from 0)
    item 1 of final_answer, count of nums       of a list
    puzzle of nums, target                      a Countdown gold
    'none'                                      the text itself; '' as a gold says that a row may have none

`part`, `position` (0000, 0001 …) and `choices` are fields of every row.
"""

from __future__ import annotations

import re
import string
import sys
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from markscheme.datasets.files import Row
from markscheme.types import CountdownGold, Gold, Problem

Expression = str | tuple[str, ...]
Value = Callable[[Row], Any]

_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_CHOICE_LABEL = re.compile(r"\s*\(?([A-Z])[).:]\s*")
_GIVEN_LETTER = re.compile(r"\(?([A-Za-z])(?:[).:].*)?", re.DOTALL)
_JSON_NAMES = {bool: "true or false", list: "a list", dict: "an object", type(None): "null"}


class MissingFieldError(KeyError):
    """A row does not have what an expression asks for; an alternative may."""

    def __str__(self) -> str:
        return str(self.args[0])


class Fields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which parts of a row are what."""

    statement: Expression = ("question", "problem")
    gold: Expression = ("text after #### of answer", "answer")
    id: Expression = ("id", "unique_id", "question_id", "problem_idx", "position")
    solution: Expression | None = None
    choices: Expression | None = None
    """A field that holds a list, or the fields that hold one choice each."""
    metadata: Expression | dict[str, Expression] = ()
    """Fields to keep (`rest` keeps whatever is not used otherwise), or names with their expressions."""
    cluster: Expression | None = None
    """What problems that are not independent of each other share: their contest, the template they were made from."""


class ProblemMaker:
    """Makes problems out of rows; `ValueError` says in a clause why a row is none."""

    def __init__(self, fields: Fields, protocol: str) -> None:
        # Interned, so that JSON leaves the default out: msgspec compares it by identity.
        self._protocol, self._used = sys.intern(protocol), set[str]()
        read = self._reader
        self._statement, self._gold, self._id = read(fields.statement), read(fields.gold), read(fields.id)
        self._solution = read(fields.solution) if fields.solution is not None else None
        self._cluster = read(fields.cluster) if fields.cluster is not None else None
        self._choices = [read(each) for each in _several(fields.choices)]
        self._shows_choices = any("{choices}" in each for each in _several(fields.statement))
        self._open_gold = "''" in _several(fields.gold)
        kept = fields.metadata
        self._rest = kept == "rest"
        named = {} if self._rest else kept if isinstance(kept, dict) else {each: each for each in _several(kept)}
        self._metadata = {name: read(each) for name, each in named.items()}

    def __call__(self, index: int, row: Row, part: str = "", language: str | None = None) -> Problem:
        """The problem of the row at this index of its file."""
        own = row
        row = {"part": part, "position": f"{index:04d}", **row}
        if self._choices:
            row["choices"] = _choices([each(row) for each in self._choices])
        statement = _text(self._statement(row), "the statement")
        if self._choices and not self._shows_choices:
            statement = f"{statement}\n\n{_lettered(row['choices'])}"
        gold = self._gold_of(row)
        metadata = {name: value for name, each in self._metadata.items() if (value := _or_none(each, row)) is not None}
        if self._rest:
            metadata = {name: value for name, value in own.items() if name not in self._used}
        if language is not None:
            metadata["language"] = language
        solution = _or_none(self._solution, row)
        cluster = _or_none(self._cluster, row)
        return Problem(
            id=_text(self._id(row), "the id"),
            statement=statement,
            gold=gold,
            protocol=self._protocol,
            solution=solution if isinstance(solution, str) else None,
            metadata=metadata,
            cluster=None if cluster is None else str(cluster),
            choices=tuple(row["choices"]) if self._choices else (),
        )

    def _gold_of(self, row: Row) -> Gold:
        gold = self._gold(row)
        if isinstance(gold, CountdownGold):
            return gold
        text = _text(gold, "the answer").strip()
        if not text and not self._open_gold:
            raise ValueError("the answer is empty")
        return text

    def _reader(self, expression: Expression) -> Value:
        """The reader of an expression, or of the first of several that a row has."""
        tried = [self._one(each) for each in _several(expression)]

        def first(row: Row) -> Any:
            missing = []
            for each in tried:
                try:
                    value = each(row)
                except MissingFieldError as reason:
                    missing.append(str(reason))
                    continue
                if value is not None and (value != "" or each is tried[-1]):
                    return value
            raise MissingFieldError(" or ".join(dict.fromkeys(missing)) or f"no field {'/'.join(_several(expression))}")

        return first

    def _one(self, text: str) -> Value:
        if names := _PLACEHOLDER.findall(text):
            readers = {name: self._field(name) for name in names}
            return lambda row: _PLACEHOLDER.sub(lambda match: _inline(readers[match[1]](row), match[1]), text)
        for pattern, operation in OPERATIONS.items():
            if match := re.fullmatch(f"{pattern} of (.+)", text):
                *arguments, inner = match.groups()
                if operation is _puzzle:
                    return self._puzzle_reader(inner)
                if operation is _letter:
                    given, choices = self._one(inner), self._field("choices")
                    return lambda row: _letter(given(row), choices(row), inner)
                return _applied(operation, self._one(inner), arguments, inner)
        if len(text) > 1 and text[0] == text[-1] == "'":
            return lambda _: text[1:-1]
        return self._field(text)

    def _puzzle_reader(self, inner: str) -> Value:
        nums, target = (self._field(name.strip()) for name in inner.split(",", 1))
        return lambda row: _puzzle(nums(row), target(row))

    def _field(self, name: str) -> Value:
        self._used.add(name)

        def value(row: Row) -> Any:
            if name in row:
                return row[name]
            inside: Any = row
            for step in name.split("."):
                if not isinstance(inside, dict) or step not in inside:
                    raise MissingFieldError(f"no field {name}")
                inside = inside[step]
            return inside

        return value


def _applied(operation: Callable[..., Any], inner: Value, arguments: list[str], name: str) -> Value:
    def value(row: Row) -> Any:
        value = inner(row)
        if value is None:
            raise MissingFieldError(f"no field {name}")
        return operation(value, name, *arguments)

    return value


def _last_box(value: Any, name: str) -> str:
    text = _text(value, name)
    start = max(text.rfind("\\boxed{"), text.rfind("\\fbox{"))
    depth, begin = 0, text.find("{", start) + 1
    for place in range(begin - 1, len(text)) if start >= 0 else ():
        depth += (text[place] == "{") - (text[place] == "}")
        if depth == 0:
            return text[begin:place]
    if bare := re.search(r"\\boxed\s+([^\s${}\\]+)\$?[^$]*\Z", text):  # `\boxed 2`, as a few of MATH have it
        return bare[1].rstrip(".")
    raise MissingFieldError(f"no \\boxed{{}} in {name}")


def _after(value: Any, name: str, mark: str) -> str:
    _, there, after = _text(value, name).rpartition(mark)
    if not there or not after.strip():
        raise MissingFieldError(f"{name} has no text after `{mark}`")
    return after.strip()


def _before(value: Any, name: str, mark: str) -> str:
    before, there, _ = _text(value, name).rpartition(mark)
    if not there:
        raise MissingFieldError(f"{name} has no `{mark}`")
    return before.strip()


def _without(value: Any, name: str, begin: str, end: str) -> str:
    inside = re.escape(begin[0] + end[-1])
    return re.sub(f"{re.escape(begin)}[^{inside}]*{re.escape(end)}", "", _text(value, name)).strip()


def _number(value: Any, name: str) -> str:
    text = _text(value, name).strip()
    return text.rstrip("0").rstrip(".") if re.fullmatch(r"-?\d+\.\d*", text) else text


def _letter(value: Any, choices: list[str], name: str) -> str:
    text = _text(value, name).strip()
    place = choices.index(text) if text in choices else int(text) if text.isdecimal() else -1
    if place < 0 and (label := _GIVEN_LETTER.fullmatch(text)):
        place = string.ascii_uppercase.find(label[1].upper())
    if not 0 <= place < len(choices):
        raise ValueError(f"{name}, {text!r}, is none of the {len(choices)} choices")
    return string.ascii_uppercase[place]


def _item(value: Any, name: str, place: str) -> Any:
    if not isinstance(value, list) or not 1 <= int(place) <= len(value):
        raise MissingFieldError(f"{name} has no item {place}")
    return value[int(place) - 1]


def _count(value: Any, name: str) -> int:
    if not isinstance(value, list):
        raise TypeError(f"{name} is no list")
    return len(value)


def _puzzle(nums: Any, target: Any) -> CountdownGold:
    if not isinstance(nums, list) or not nums or not all(type(number) is int for number in (*nums, target)):
        raise ValueError("nums must be a list of whole numbers, and target one")
    return CountdownGold(nums=tuple(nums), target=target)


OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "last box": _last_box,
    r"text after (\S+)": _after,
    r"text before (\S+)": _before,
    r"without (\S+?)…(\S+?)": _without,
    "number": _number,
    "letter": _letter,
    r"item (\d+)": _item,
    "count": _count,
    "puzzle": _puzzle,
}
"""What may stand before `of FIELD`, as the pattern that it is read by."""


def _several(expression: Expression | None) -> tuple[str, ...]:
    if expression is None:
        return ()
    return (expression,) if isinstance(expression, str) else expression


def _or_none(reader: Value | None, row: Row) -> Any:
    try:
        return reader(row) if reader is not None else None
    except MissingFieldError:
        return None


def _text(value: Any, name: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError(f"{name} is {_JSON_NAMES.get(type(value), 'null')}, where text or a number belongs")
    return str(value)


def _inline(value: Any, name: str) -> str:
    if value is None or value == "":
        raise MissingFieldError(f"no field {name}")
    if name == "choices" and isinstance(value, list):
        return _lettered(value)
    return ", ".join(map(str, value)) if isinstance(value, list) else _text(value, name)


def _choices(values: list[Any]) -> list[str]:
    """The texts of the choices, without the letters that some data sets write before them."""
    given = values[0] if len(values) == 1 else values
    if isinstance(given, str) and given.startswith("["):  # a cell of a table that holds a list
        try:
            given = msgspec.json.decode(given)
        except msgspec.DecodeError:
            raise ValueError('the choices are no list such as ["21", "23"]') from None
    given = given if isinstance(given, list) else values
    texts = [_text(each, "a choice").strip() for each in given]
    labels = [_CHOICE_LABEL.match(text) for text in texts]
    if all(label is not None and label[1] == string.ascii_uppercase[place] for place, label in enumerate(labels)):
        texts = [text[label.end() :] for text, label in zip(texts, labels, strict=True) if label]
    if not 2 <= len(texts) <= 26:
        raise ValueError(f"{len(texts)} choices, where 2 to 26 belong")
    return texts


def _lettered(choices: list[str]) -> str:
    return "\n".join(f"({letter}) {text}" for letter, text in zip(string.ascii_uppercase, choices, strict=False))
