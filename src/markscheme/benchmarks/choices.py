"""Choices of a question in the forms that datasets use, and how an answer names one.

This is decided once for a whole file (`settle`), because a single row is ambiguous: with the choices `["2", "3", "12",
"0"]`, the answer `2` is the first by text, the second by position from 1 and the third by position from 0.
"""

from __future__ import annotations

import ast
import hashlib
import re
import string
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

# How an answer may name its choice. If the choices have labels of their own, `letter` means those.
WAYS = ("letter", "text", "place from 0", "place from 1")

MOST = len(string.ascii_uppercase)
_LABEL = re.compile(r"\A\s*+\(?([A-Za-z])\s?[).:]\s*")
_LABEL_WITHIN = re.compile(r"(?:^|(?<=[\s,;]))\(?([A-Za-z])\s?[).:]\s*")
_GIVEN_LETTER = re.compile(r"\(?([A-Za-z])(?:[).:].*)?", re.DOTALL)
_TEXT_KEYS, _LABEL_KEYS = ("text", "content", "value"), ("label", "key", "id")


class Choices(list[str]):
    """The texts, A first, and their labels if the data has any."""

    labels: tuple[str, ...] = ()


def choices_of(values: Sequence[Any]) -> Choices:
    """Make choices of one field with all of them, or of one field each. Letters before the texts are removed."""
    given = _listed(values[0]) if len(values) == 1 else list(values)
    while given and given[-1] in (None, ""):  # a column E that most rows leave empty
        given.pop()
    if given and all(isinstance(each, dict) for each in given):
        labels = [_first_of(each, _LABEL_KEYS) for each in given]
        texts = [_first_of(each, _TEXT_KEYS) for each in given]
    else:
        labels, texts = [], given
    made = Choices(_text(each) for each in texts)
    if all(type(each) in (str, int) for each in labels):
        made.labels = tuple(str(each).strip() for each in labels)
    found = [_LABEL.match(text) for text in made]
    if all(label and label[1].upper() == letter for label, letter in zip(found, string.ascii_uppercase, strict=False)):
        made[:] = [text[label.end() :] for text, label in zip(made, found, strict=True) if label]
    if not 2 <= len(made) <= MOST:
        raise ValueError(
            f"{len(made)} choices, and a question has 2 to {MOST}; if each has a column of its own, name them in [fields] "
            'as in choices = ["A", "B"]'
        )
    return made


def shuffled(choices: Choices, statement: str) -> Choices:
    """Shuffle choices in an order that depends on the question alone, for data that gives the right choice first."""
    return Choices(sorted(choices, key=lambda text: hashlib.sha256(f"{statement}\n{text}".encode()).digest()))


def lettered(choices: Sequence[str]) -> str:
    """Return the choices as they are asked, one per line."""
    return "\n".join(f"({letter}) {text}" for letter, text in zip(string.ascii_uppercase, choices, strict=False))


def place_named(way: str, given: str, choices: Choices) -> int | None:
    """Return the place, from 0, of the choice that an answer names in this way, or None."""
    place = -1
    if way == "text":
        bare = _LABEL.sub("", given, count=1)
        place = next((choices.index(text) for text in (given, bare) if text in choices), -1)
    elif way != "letter":
        number = given.removesuffix(".0")
        place = int(number) - int(way[-1]) if number.isdecimal() and len(number) < 4 else -1
    elif choices.labels:
        place = choices.labels.index(given) if given in choices.labels else -1
    elif match := _GIVEN_LETTER.fullmatch(given):
        place = string.ascii_uppercase.find(match[1].upper())
    return place if 0 <= place < len(choices) else None


def letter_named(way: str, given: str, choices: Choices, name: str) -> str:
    """Return the letter of the choice that an answer names; `ValueError` if it names none."""
    place = place_named(way, given, choices)
    if place is None:
        raise ValueError(f"{name}, {given!r}, is not one of the {len(choices)} choices by {way}")
    return string.ascii_uppercase[place]


class Column(NamedTuple):
    """The answers in one column of a file, each with the choices of its row."""

    name: str
    rows: list[tuple[str, Choices]]

    def places(self, way: str) -> tuple[int | None, ...]:
        """Return the place that each row names in this way."""
        return tuple(place_named(way, given, choices) for given, choices in self.rows)

    def readings(self) -> dict[str, tuple[int | None, ...]]:
        """Return the ways that fit every row, one per outcome. Labels in the data decide."""
        outcomes: dict[tuple[int | None, ...], str] = {}
        for way in WAYS:
            if None not in (places := self.places(way)):
                outcomes.setdefault(places, way)
                if way == "letter" and all(choices.labels for _, choices in self.rows):
                    break
        return {way: places for places, way in outcomes.items()}


class AmbiguousError(ValueError):
    """Rows whose answer is unreadable or ambiguous, with the field and the expressions to choose from."""

    def __init__(self, why: str, ways: Iterable[str | tuple[str, ...]], field: str = "gold") -> None:
        super().__init__(why)
        self.field, self.ways = field, tuple(ways)


def settle(columns: Sequence[Column]) -> str:
    """Return the one expression that gives the gold of every row. Several columns must agree."""
    # A column that names no choice in any row holds something else.
    columns = [each for each in columns if any(set(each.places(way)) != {None} for way in WAYS)] or columns[:1]
    fitting = [column.readings() for column in columns]
    for column, ways in zip(columns, fitting, strict=True):
        if not ways:
            way = min(WAYS, key=lambda each: column.places(each).count(None))
            row = column.places(way).index(None)
            raise ValueError(
                f"row {row + 1}: {column.name}, {column.rows[row][0][:40]!r}, is not one of the choices by {way}, which fits "
                "most rows"
            )
    first = columns[0]
    common = {way: places for way, places in fitting[0].items() if all(places in ways.values() for ways in fitting)}
    if len(common) == 1:
        return f"letter by {next(iter(common))} of {first.name}"
    if not common:
        names = " and ".join(f"`{column.name}`" for column in columns)
        meant = [f"letter by {way} of {each.name}" for each, ways in zip(columns, fitting, strict=True) for way in ways]
        raise AmbiguousError(f"{names} name different choices", meant)
    row = next(row for row, places in enumerate(zip(*common.values(), strict=True)) if len(set(places)) > 1)
    given, choices = first.rows[row]
    meant = [
        f"{letter_named(way, given, choices, '')} ({choices[places[row] or 0][:40]!r}) by {way}"
        for way, places in common.items()
    ]
    raise AmbiguousError(
        f"`{first.name}` names its choice in {len(common)} ways that fit every row, and they differ: in row {row + 1} "
        f"{given!r} is {' or '.join(meant)}",
        [f"letter by {way} of {first.name}" for way in common],
    )


def _listed(value: Any) -> list[Any]:
    """Return the choices in one field: a list, an object by label, lists of texts and labels, or any of these as text."""
    if isinstance(value, str):
        if (made := decoded_list(value)) is not value:
            return _listed(made)
        if value.lstrip().startswith(("[", "{")):
            raise ValueError('the choices are not a list such as ["21", "23"]')
        return _cut(value)
    if isinstance(value, dict):
        texts, labels = _first_of(value, _TEXT_KEYS), _first_of(value, _LABEL_KEYS)
        if isinstance(texts, list) and isinstance(labels, list) and len(texts) == len(labels):
            return [{"label": label, "text": text} for label, text in zip(labels, texts, strict=True)]
        # Parquet gives every row all keys; the unused ones are null.
        return [{"label": label, "text": text} for label, text in value.items() if text is not None]
    return list(value) if isinstance(value, list) else [value]


def decoded_list(value: Any) -> Any:
    """Decode a text that is a list or an object, in JSON or as Python prints it; return anything else unchanged."""
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return value
    try:
        made = msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        try:
            made = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            made = None
    return made if isinstance(made, list | dict) else value


def _cut(text: str) -> list[str]:
    """Split `a ) 24 , b ) 120` at its labels."""
    parts, begin, wanted = list[str](), None, 0
    for match in _LABEL_WITHIN.finditer(text):
        if wanted < MOST and match[1].lower() == string.ascii_lowercase[wanted]:
            if begin is not None:
                parts.append(text[begin : match.start()])
            begin, wanted = match.end(), wanted + 1
    return [part.strip().rstrip(",;").strip() for part in [*parts, text[begin or 0 :]]]


def _first_of(value: dict[str, Any], names: Sequence[str]) -> Any:
    return next((value[name] for name in names if name in value), None)


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError(f"a choice is {type(value).__name__} instead of text or a number")
    return str(value).strip()
