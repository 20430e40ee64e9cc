"""Infer which columns of a file are the question, the choices, the gold and the id, and in which format.

This is decided once over all rows, and only if exactly one reading fits every row. Otherwise the file is refused, with
the ambiguous rows and the line to add. Fields stated by a benchmark are never inferred.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, NoReturn

import msgspec

from markscheme.benchmarks.choices import AmbiguousError, Column, decoded_list, settle
from markscheme.benchmarks.fields import Expression, Fields, ProblemMaker, several
from markscheme.datasets.files import Row


def _names(text: str) -> tuple[str, ...]:
    """Split names, which are without case, spaces, hyphens and underscores; `a.b` is a field in another."""
    return tuple(text.split())


STATEMENTS = _names(
    "question problem prompt query statement questionstem question.stem questiontext problemtext instruction input ctx "
    "sentence goal"
)
# What a question may be about. Only the user knows whether it is part of the question.
CONTEXTS = _names("body context passage article support paragraph premise story table figure image images decodedimage")
CHOICES = _names("choices options endings answerchoices question.choices")
GOLDS = _names(
    "answer finalanswer groundtruth rewardmodel.groundtruth gold goldanswer target expectedanswer correctanswer "
    "answernumber numericanswer golden"
)
# Columns that name a choice; without choices they are not golds.
CHOSEN = _names(
    "answerkey answerindex answeridx answerletter label correct cop correctoption correctchoice correctindex"
)
SOLUTIONS = _names("solution")
IDS = _names("id uniqueid questionid problemidx problemid uuid")

_NESTED = {name for name in (*STATEMENTS, *CHOICES, *GOLDS) if "." in name}

# Characters and words: if half of a column is longer, it has worked solutions instead of answers.
LONG, SENTENCE = 200, 8
_CHOICE_COLUMN = re.compile(r"(op|opt|option|choice|answer|ending|sol)([a-z]|\d)")
_WRONG_CHOICE = re.compile(r"(?:distractor|incorrectanswer|wronganswer)\d")


class Inferred(NamedTuple):
    """The complete fields, the common system message of chats (None without chats), and what to tell the user."""

    fields: Fields
    system: str | None
    told: str


def needs_inferring(fields: Fields) -> bool:
    """True if the rows must decide something."""
    return not fields.statement or not fields.gold or bool(_unsettled(fields))


def infer(fields: Fields, rows: Iterable[Row]) -> Inferred:
    """Fill in what is not stated. `ValueError` if no single reading fits; `AmbiguousError` has the lines to choose from."""
    table = _Table(rows)
    system, given = None, fields
    if not fields.statement:
        statement, system = _statement(table)
        fields = msgspec.structs.replace(fields, statement=statement)
    if fields.id == Fields().id:
        fields = msgspec.structs.replace(fields, id=(*filter(table.distinct, table.found(IDS)), "position"))
    if fields.choices is None and all(each.startswith("letter ") for each in several(fields.gold)):
        fields = _with_choices(fields, table)
    if fields.choices is not None and (not fields.gold or (_unsettled(fields) and not fields.shuffled)):
        found = table.found((*GOLDS, *CHOSEN))
        names = _unsettled(fields) or [
            f"item 1 of {path}" if _lists_of_one(table.values(path)) else path for path in found
        ]
        gold = settle(_columns(fields, table, names)) if names else _no_column("gold", GOLDS[:3], table)
        fields = msgspec.structs.replace(fields, gold=gold)
    elif not fields.gold:
        fields = msgspec.structs.replace(fields, gold=_gold(table))
    parts = {name: getattr(fields, name) for name in ("statement", "choices", "gold", "id")}
    inferred = {name: value for name, value in parts.items() if value is not None and value != getattr(given, name)}
    told = "; ".join(f"{name} = {' or '.join(several(value))}" for name, value in inferred.items())
    return Inferred(fields, system, told + ("; choices shuffled" * fields.shuffled))


class _Table:
    """All rows, and their columns by squashed name."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = list(rows)
        self.columns = list(dict.fromkeys(path for row in self.rows for path in _paths(row)))
        self._named: dict[str, list[str]] = {}
        for path in self.columns:
            self._named.setdefault(_squashed(path), []).append(path)

    def values(self, path: str) -> list[Any]:
        read = ProblemMaker(Fields(), "math").read((path, "''"))
        return [read(row) for row in self.rows]

    def found(self, names: Sequence[str]) -> list[str]:
        """Return the nonempty columns of these names, in the order of the names."""
        return [path for name in names for path in self._named.get(name, ())]

    def distinct(self, path: str) -> bool:
        values = [value for value in self.values(path) if not _empty(value)]
        return all(isinstance(value, str | int) for value in values) and len(set(map(str, values))) == len(values)


def _statement(table: _Table) -> tuple[Expression, str | None]:
    """Return the expression, and for chats their common system message."""
    found = [
        path for path in table.found(STATEMENTS) if _all(table.values(path), lambda value: not isinstance(value, dict))
    ]
    if not found:
        _no_column("statement", STATEMENTS[:3], table)
    # A list must be a chat. Any other list would reach the model as Python prints it.
    read = [f"user message of {path}" if _all(table.values(path), _is_list) else path for path in found]
    _agree(table, "statement", read)
    if about := table.found(CONTEXTS):
        whole = "{" + about[0] + "}\\n\\n{" + found[0] + "}"
        raise AmbiguousError(f"`{about[0]}` may be part of the question", (whole, found[0]), "statement")
    system = None
    if read[0] != found[0]:
        told = ProblemMaker(Fields(), "math").read((f"system message of {found[0]}", "''"))
        said = {told(row) for row in table.rows}
        if len(said) > 1:
            raise AmbiguousError(
                f"`{found[0]}` has {len(said)} different system messages; choose whether to send them",
                read,
                "statement",
            )
        system = said.pop()
    return tuple(read) if len(read) > 1 else read[0], system


def _with_choices(fields: Fields, table: _Table) -> Fields:
    if listed := table.found(CHOICES):
        return msgspec.structs.replace(fields, choices=listed[0])
    right, wrong = (
        table.found(("correctanswer",)),
        [each for each in table.columns if _WRONG_CHOICE.fullmatch(_squashed(each))],
    )
    if right and wrong and not fields.gold:
        choices, gold = (right[0], *sorted(wrong)), f"letter by text of {right[0]}"
        return msgspec.structs.replace(fields, choices=choices, gold=gold, shuffled=True)
    groups: dict[str, list[str]] = {"": sorted(path for path in table.columns if re.fullmatch("[A-Z]", path))}
    for path in table.columns:
        if match := _CHOICE_COLUMN.fullmatch(_squashed(path)):
            groups.setdefault(match[1], []).append(path)
    for paths in groups.values():
        ends = sorted((_squashed(path)[-1], path) for path in paths)
        order = "".join(end for end, _ in ends)
        if len(ends) > 1 and any(
            each.startswith(order) for each in (string.ascii_lowercase, "0123456789", "123456789")
        ):
            return msgspec.structs.replace(fields, choices=tuple(path for _, path in ends))
    return fields


def _columns(fields: Fields, table: _Table, names: Sequence[str]) -> list[Column]:
    make = ProblemMaker(fields, "math")
    columns = [(Column(name, []), make.read((name, "''"))) for name in names]
    for number, row in enumerate(table.rows, start=1):
        try:
            choices = make.choices(row)
        except (KeyError, TypeError, ValueError) as problem:
            raise ValueError(f"row {number}: {problem}") from None
        for column, read in columns:
            column.rows.append((str(read(row)).strip(), choices))
    return [column for column, _ in columns]


def _gold(table: _Table) -> Expression:
    found = table.found(GOLDS)
    short = [path for path in found if not _worked(table.values(path))]
    read = [_form(table.values(path), path) for path in short or found or table.found(SOLUTIONS)[:1]]
    if not read:
        _no_column("gold", GOLDS[:3], table)
    if not found and read[0] in table.columns:
        raise AmbiguousError(f"`{read[0]}` is the only possible gold, and no row marks its answer", read)
    _agree(table, "gold", read)
    return tuple(read) if len(read) > 1 else read[0]


def _form(values: Sequence[Any], path: str) -> str:
    """Return the form of the gold: plain, in a list of one, after `####` or in a box."""
    if _lists_of_one(values):
        return f"item 1 of {path}"
    if objects := [value for value in values if isinstance(value, dict)]:
        row = [*values].index(objects[0]) + 1
        raise AmbiguousError(
            f"`{path}` is an object in row {row}; name the field in it", [f"{path}.{name}" for name in objects[0]]
        )
    if any(isinstance(value, bool) for value in values):
        row = next(number for number, value in enumerate(values, 1) if isinstance(value, bool))
        rest = () if all(isinstance(value, bool) for value in values) else (path,)
        ways = [(f"{words} of {path}", *rest) if rest else f"{words} of {path}" for words in ("yes/no", "true/false")]
        raise AmbiguousError(f"`{path}` is true or false in row {row}; choose the words of the answer", ways)
    if "" in values and len(set(map(str, values))) > 1:
        row = [*values].index("") + 1
        raise AmbiguousError(f"`{path}` is empty in row {row}; a problem without a gold is unmarkable", ((path, "''"),))
    lists = {number: len(items) for number, value in enumerate(values, 1) if (items := _items(value)) is not None}
    if lists:
        row = max(lists, key=lambda number: lists[number])
        raise AmbiguousError(
            f"`{path}` is a list, with {lists[row]} items in row {row}", ("{" + path + "}", f"item 1 of {path}")
        )
    for mark, form in (("####", f"text after #### of {path}"), ("\\boxed", f"last box of {path}")):
        having = [mark in str(value) for value in values]
        if all(having) and having:
            for row, value in enumerate(values, 1):
                if len(set(_marked(str(value), mark))) > 1:
                    raise AmbiguousError(
                        f"row {row} has `{mark}` several times in `{path}`; if the last one counts, say so", (form,)
                    )
            return form
        if any(having):
            where = f"row {having.index(True) + 1} has `{mark}` in `{path}` and row {having.index(False) + 1} does not"
            raise AmbiguousError(where, ((form, path), path))
    if _worked(values):
        raise AmbiguousError(f"`{path}` has worked solutions instead of answers; if it is the gold, say so", (path,))
    return path


def _marked(text: str, mark: str) -> list[str]:
    """Return the text after each mark, shortened for comparison."""
    return [" ".join(part.split())[:LONG].partition("}")[0].strip(" .$") for part in text.split(mark)[1:]]


def _lists_of_one(values: Sequence[Any]) -> bool:
    return all(len(_items(value) or ()) == 1 for value in values)


def _worked(values: Sequence[Any]) -> bool:
    long = [
        isinstance(value, str)
        and (len(value) > LONG or len(re.findall(r"(?<![\\\w])[^\W\d_]{2,}", value)) >= SENTENCE)
        and "####" not in value
        and "\\boxed" not in value
        for value in values
    ]
    return sum(long) * 2 >= len(long) > 0


def _agree(table: _Table, what: str, read: Sequence[str]) -> None:
    maker = ProblemMaker(Fields(), "math")
    readers = [maker.read((each, "''")) for each in read] if len(read) > 1 else []
    for number, row in enumerate(table.rows, start=1):
        said = {re.sub(r"\.0\Z", "", " ".join(str(each(row)).split())) for each in readers} - {""}
        if len(said) > 1:
            names = " and ".join(f"`{each}`" for each in read)
            both = (
                ["{" + "}\\n\\n{".join(read) + "}"]
                if what == "statement" and not any(" of " in each for each in read)
                else []
            )
            raise AmbiguousError(f"{names} differ in row {number}", [*read, *both], what)


def _no_column(what: str, names: Sequence[str], table: _Table) -> NoReturn:
    there = ", ".join(each[:30] for each in table.columns[:12]) or "none"
    raise AmbiguousError(
        f"no column is known to be the {what} ({', '.join(names)} …); the columns are {there}; a table without a header "
        'needs data.test.header = ["question", "answer"]',
        ("NAME-OF-A-COLUMN",),
        what,
    )


def _unsettled(fields: Fields) -> list[str]:
    return [each.removeprefix("letter of ") for each in several(fields.gold) if each.startswith("letter of ")]


def _paths(row: Row) -> Iterable[str]:
    """Yield the nonempty columns of a row, and the known fields inside them."""
    for name, value in row.items():
        if not _empty(value):
            yield name
        for inner in value if isinstance(value, dict) else ():
            if _squashed(f"{name}.{inner}") in _NESTED and not _empty(value[inner]):
                yield f"{name}.{inner}"


def _squashed(path: str) -> str:
    return re.sub(r"[\s_-]", "", path).lower()


def _empty(value: Any) -> bool:
    return value is None or value in ("", [], {}) or value != value  # NaN


def _all(values: Sequence[Any], test: Callable[[Any], bool]) -> bool:
    return all(test(value) for value in values if not _empty(value))


def _is_list(value: Any) -> bool:
    made = decoded_list(value)  # a chat in a table is a text
    return isinstance(made, list) and (made is value or (bool(made) and all(isinstance(each, dict) for each in made)))


def _items(value: Any) -> list[Any] | None:
    """Return a list, or decode the text of a list of texts. The text `[1, 2]` may be an interval."""
    if isinstance(value, str) and value.startswith('["'):
        try:
            value = msgspec.json.decode(value, type=list[str])
        except msgspec.MsgspecError:
            return None
    return value if isinstance(value, list) else None
