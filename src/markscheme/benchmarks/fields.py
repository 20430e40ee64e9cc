"""Makes a problem of a row by the small expressions in a benchmark's `[fields]`.

    answer                                      a field
    ["question", "problem"]                     the first of these that the row has
    {Body} {Question}                           text with fields in it
    last box of solution                        the content of the last \\boxed{}
    text after #### of answer                   or `text before`; the last #### counts
    without <<…>> of text before #### of answer
    number of answer                            27.0 becomes 27
    first number of answer                      1200 from "$1,200 in all"; or `last number`
    field answer of reply                       the last such JSON field in a text; or `first field`
    letter by text of answer                    the letter of the choice with that text; see `choices.WAYS`
    letter of answer                            the same, in the one way that fits every row
    user message of prompt                      the question of a chat; or `system message`
    yes/no of answer                            the first word for true, the second for false
    item 1 of final_answer, count of nums       from a list
    puzzle of nums, target                      a Countdown gold
    'none'                                      the text itself; '' as a gold allows rows without one

Every row has the fields `part`, `position` (0000, 0001 …) and `choices`. Dots lead into objects and lists: `turns.0.text`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from markscheme.benchmarks.choices import Choices, choices_of, decoded_list, letter_named, lettered, shuffled
from markscheme.datasets.files import Row
from markscheme.types import CountdownGold, Gold, Problem

Expression = str | tuple[str, ...]
Value = Callable[[Row], Any]

_PLACEHOLDER = re.compile(r"\{(\w[\w. -]*)\}")
_JSON_NAMES = {bool: "true or false", list: "a list", dict: "an object", type(None): "null"}


class MissingFieldError(KeyError):
    """The row lacks what an expression asks for; an alternative may exist."""

    def __str__(self) -> str:
        return str(self.args[0])


class Fields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The role of each field of a row. A missing statement or gold is inferred from all rows (`inferring`)."""

    statement: Expression = ()
    gold: Expression = ()
    id: Expression = ("id", "unique_id", "question_id", "problem_idx", "position")
    solution: Expression | None = None
    choices: Expression | None = None  # a field with a list, or one field per choice
    shuffled: bool = False  # the data gives the right choice first, so shuffle
    # Fields to keep (`rest` keeps all that are not used otherwise), or names with their expressions.
    metadata: Expression | dict[str, Expression] = ()
    # What dependent problems share, such as their contest or template.
    cluster: Expression | None = None


class ProblemMaker:
    """Makes problems of rows. `ValueError` says in a clause what is wrong with a row."""

    def __init__(self, fields: Fields, protocol: str) -> None:
        # Interned, so that JSON leaves the default out: msgspec compares it by identity.
        self._protocol, self._used = sys.intern(protocol), set[str]()
        read = self.read
        self._statement, self._gold, self._id = read(fields.statement), read(fields.gold), read(fields.id)
        self._solution = read(fields.solution) if fields.solution is not None else None
        self._cluster = read(fields.cluster) if fields.cluster is not None else None
        self._choices = [read(each) for each in several(fields.choices)]
        self._shuffled = fields.shuffled
        self._shows_choices = any("{choices}" in each for each in several(fields.statement))
        self._open_gold = "''" in several(fields.gold)
        kept = fields.metadata
        self._rest = kept == "rest"
        named = {} if self._rest else kept if isinstance(kept, dict) else {each: each for each in several(kept)}
        self._metadata = {name: read(each) for name, each in named.items()}

    def __call__(self, index: int, row: Row, part: str = "", language: str | None = None) -> Problem:
        """Return the problem of the row at this index of its file."""
        own = row
        row = {"part": part, "position": f"{index:04d}", **row}
        if self._choices:
            row["choices"] = self.choices(row)
        statement = _text(self._statement(row), "the statement")
        if not statement.strip():
            raise ValueError("the statement is empty")
        if self._choices and not self._shows_choices:
            statement = f"{statement}\n\n{lettered(row['choices'])}"
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

    def choices(self, row: Row) -> Choices:
        """Return the choices of a row in the order in which they are asked."""
        single = len(self._choices) == 1
        made = choices_of([each(row) if single else _or_none(each, row) for each in self._choices])
        return shuffled(made, _text(self._statement(row), "the statement")) if self._shuffled else made

    def _gold_of(self, row: Row) -> Gold:
        gold = self._gold(row)
        if isinstance(gold, CountdownGold):
            return gold
        text = _text(gold, "the answer").strip()
        if not text and not self._open_gold:
            raise ValueError("the answer is empty")
        return text

    def read(self, expression: Expression) -> Value:
        """Return the reader of an expression, or of the first of several that a row has."""
        tried = [self._one(each) for each in several(expression)]

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
            raise MissingFieldError(" or ".join(dict.fromkeys(missing)) or f"no field {'/'.join(several(expression))}")

        return first

    def _one(self, text: str) -> Value:
        if names := _PLACEHOLDER.findall(text):
            readers = {name: self._field(name) for name in names}
            return lambda row: _PLACEHOLDER.sub(lambda match: _inline(readers[match[1]](row), match[1]), text)
        for pattern, operation in OPERATIONS.items() if " of " in text else ():
            if match := re.fullmatch(f"{pattern} of (.+)", text):
                *arguments, inner = match.groups()
                if operation is _puzzle:
                    return self._puzzle_reader(inner)
                if operation is _letter:
                    given, choices = self._one(inner), self._field("choices")
                    way = arguments[0] if arguments else "letter"
                    return lambda row: letter_named(way, _text(given(row), inner).strip(), choices(row), inner)
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
                if isinstance(inside, list) and step.isdecimal() and int(step) < len(inside):
                    inside = inside[int(step)]
                elif isinstance(inside, dict) and step in inside:
                    inside = inside[step]
                else:
                    raise MissingFieldError(f"no field {name}")
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


def _number_in(value: Any, name: str, which: str) -> str:
    text = re.sub(r"[$,]", "", _text(value, name)).strip()
    if part := re.fullmatch(r"(-?\d{1,18})/(\d{1,18})", text):
        found = [str(int(part[1]) / int(part[2]))] if int(part[2]) else []
    else:
        found = re.findall(r"-?\d+(?:\.\d+)?", text)
    if not found:
        raise MissingFieldError(f"no number in {name}")
    number: str = found[0 if which == "first" else -1]
    return _number(number, name) if len(number) > 15 else f"{float(number):.12g}"


def _json_field(value: Any, name: str, which: str | None, field: str) -> str:
    """Return the value of the last or first such field. Models forget quotation marks, so they are optional."""
    pattern = rf'"{re.escape(field)}"\s*:\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,{{}}"][^,\n{{}}]*))'
    said = re.findall(pattern, _text(value, name))
    if not said:
        raise MissingFieldError(f"no field {field} in {name}")
    quoted, bare = said[0 if which else -1]
    return str(quoted or bare).strip()


def _letter(value: Any, name: str) -> str:
    raise NotImplementedError("it needs the choices beside the value")


def _message(value: Any, name: str, role: str) -> str:
    """Return the text of the only message of this role in a chat."""
    value = decoded_list(value)
    said = [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
    if not said or len(said) < len(value) or not all("role" in each and "content" in each for each in said):
        raise TypeError(f"{name} is not a list of messages with `role` and `content`")
    spoken = [each["content"] for each in said if each["role"] == role]
    if not spoken:
        raise MissingFieldError(f"{name} has no {role} message")
    if len(spoken) > 1 or any(each["role"] not in ("user", "system") for each in said):
        raise ValueError(f"{name} is a conversation of several turns instead of one question")
    parts = spoken[0] if isinstance(spoken[0], list) else [{"type": "text", "text": spoken[0]}]
    if not all(isinstance(part, dict) and isinstance(part.get("text"), str) for part in parts):
        raise TypeError(f"the {role} message of {name} contains something that is not text")
    return "".join(part["text"] for part in parts)


def _word_of_truth(value: Any, name: str, true: str, false: str) -> str:
    if not isinstance(value, bool):
        raise MissingFieldError(f"{name} is not true or false")
    return true if value else false


def _item(value: Any, name: str, place: str) -> Any:
    if isinstance(value, str) and value.startswith("["):
        value = msgspec.json.decode(value)
    if not isinstance(value, list) or not 1 <= int(place) <= len(value):
        raise MissingFieldError(f"{name} has no item {place}")
    return value[int(place) - 1]


def _count(value: Any, name: str) -> int:
    if not isinstance(value, list):
        raise TypeError(f"{name} is not a list")
    return len(value)


def _puzzle(nums: Any, target: Any) -> CountdownGold:
    if not isinstance(nums, list) or not nums or not all(type(number) is int for number in (*nums, target)):
        raise ValueError("nums must be a list of whole numbers, and target one")
    return CountdownGold(nums=tuple(nums), target=target)


# The operations before `of FIELD`, as patterns.
OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "last box": _last_box,
    r"text after (\S+)": _after,
    r"text before (\S+)": _before,
    r"without (\S+?)…(\S+?)": _without,
    "number": _number,
    "(first|last) number": _number_in,
    r"(first )?field (\S+)": _json_field,
    "letter": _letter,
    r"letter by (letter|text|place from [01])": _letter,
    "(user|system) message": _message,
    r"(\w+)/(\w+)": _word_of_truth,
    r"item (\d+)": _item,
    "count": _count,
    "puzzle": _puzzle,
}


def several(expression: Expression | None) -> tuple[str, ...]:
    if expression is None:
        return ()
    return (expression,) if isinstance(expression, str) else expression


def _or_none(reader: Value | None, row: Row) -> Any:
    try:
        return reader(row) if reader is not None else None
    except MissingFieldError:
        return None


def _text(value: Any, name: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value != value:  # NaN is not itself
        kind = _JSON_NAMES.get(type(value), "not a number" if isinstance(value, float) else type(value).__name__)
        raise TypeError(f"{name} is {kind} instead of text or a number")
    return str(value)


def _inline(value: Any, name: str) -> str:
    if value is None or value == "":
        raise MissingFieldError(f"no field {name}")
    if name == "choices" and isinstance(value, list):
        return lettered(value)
    return (
        ", ".join(_text(each, f"an item of {name}") for each in value)
        if isinstance(value, list)
        else _text(value, name)
    )
