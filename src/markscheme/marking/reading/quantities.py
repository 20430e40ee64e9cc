r"""Numbers and expressions in a stretch of tokens, with what belongs to them: a list, a sum, an equation, a unit."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final, NamedTuple

from markscheme.marking.reading.lexer import (
    BOX,
    CLOSE,
    COLON,
    COMMA,
    EMPHASIS,
    EQUALS,
    FORMULA,
    HASHES,
    LETTER,
    NUMBER,
    OPEN,
    OTHER,
    WORD,
    Lexed,
    Token,
)  # fmt: skip
from markscheme.marking.reading.words import BIT

_AND, _OR, _NUMBERS, _SCALE, _UNIT, _WITHIN = (BIT[name] for name in ("AND", "OR", "NUMBER", "SCALE", "UNIT", "WITHIN"))
_FUNCTIONS: Final = frozenset(
    [
        "sqrt",
        "pi",
        "sin",
        "cos",
        "tan",
        "cot",
        "sec",
        "csc",
        "log",
        "ln",
        "exp",
        "infinity",
        "inf",
        "mod",
        "max",
        "min",
        "gcd",
        "lcm",
        "i",
        "e",
        "oo",
        "frac",
        "dfrac",
        "cdot",
        "times",
    ]
)
_SIGNS: Final = (EMPHASIS, COLON, COMMA)
EDGES: Final = ("#### ", "####", "|", "~", "•", '"', "“", "”", "'", "‘", "’", "`", "「", "」", "『", "』", "【", "】")
_PAIRS: Final = {")": "(", "]": "[", "}": "{", ">": "<"}
_NOTE: Final = re.compile(r"<<[^<>\n]{0,200}>>")  # GSM8K's notes for a calculator
_SPACED: Final = re.compile(r"\d[ \u00a0\u202f]\d")
_GROUPED: Final = re.compile(r"(\D*)(\d{1,3}(?:[. \u00a0\u202f]\d{3})+|\d+)(?:,(\d+))?(\D*)")
_COMMAND: Final = re.compile(r"\\(?:text|mathrm|mbox|textbf|textrm|operatorname|mathbf)\s?\{")
_MINUS: Final = BIT["MINUS"]


class Value(NamedTuple):
    """A value: the tokens it is made of, what it says, and the other value that is offered beside it."""

    first: int
    last: int
    content: str
    parts: tuple[str, ...] = ()


def quantity_in(lexed: Lexed, first: int, last: int) -> Value | None:
    """The first number or expression, and the one that is offered beside it."""
    value = number_or_formula(lexed, first, last)
    return _with_other(lexed, value, last) if value is not None else None


def number_or_formula(lexed: Lexed, first: int, last: int) -> Value | None:
    """The first formula or number with what belongs to it: a list of them, a sum, an equation, a unit."""
    tokens = lexed.tokens
    if (whole := _mathematics(lexed, first, last)) is not None:
        return whole
    for at in range(first, last + 1):
        kind = tokens[at].kind
        if kind in (FORMULA, BOX):
            return _formulas(lexed, at, last)
        if kind == NUMBER or (kind in (WORD, LETTER) and _opens_expression(lexed, at, last)):
            rooted = at > first and lexed.said(at - 1, at - 1) == "√"
            value = _plain(lexed, at - rooted, last)
            negative = at > first and tokens[at - 1].kind == WORD and tokens[at - 1].classes & _MINUS
            return value._replace(content=f"-{value.content}") if negative else value
        if kind == WORD and tokens[at].classes & _NUMBERS:
            return _spelled(lexed, at, last)
    return None


def _mathematics(lexed: Lexed, first: int, last: int) -> Value | None:
    """All of a slot, where it holds no word of prose."""
    tokens, telling = lexed.tokens, False
    while first <= last and (
        tokens[first].kind in (*_SIGNS, EQUALS, HASHES)
        or lexed.said(first, first) in EDGES
        or (tokens[first].kind == WORD and tokens[first].classes & (_AND | _OR))
    ):
        first += 1
    while last >= first and (
        tokens[last].kind in _SIGNS or lexed.said(last, last) in EDGES or _unmatched(lexed, first, last)
    ):
        last -= 1
    if (
        last == first + 2
        and lexed.said(first + 1, first + 1).isdecimal()
        and (lexed.said(first, first), lexed.said(last, last)) == ("<", ">")
    ):
        first = last = first + 1  # a template taken literally: <16>
    if last < first:
        return None
    for token in tokens[first : last + 1]:
        if token.kind == WORD and not _is_mathematical(lexed, token):
            return None
        telling = telling or token.kind in (NUMBER, FORMULA, BOX, LETTER, WORD)
    if not telling:
        return None
    if first == last:
        return Value(first, last, _one(lexed, first))
    if tokens[first].kind == NUMBER and tokens[first + 1].start > tokens[first].end:
        if tokens[first + 1].kind == OPEN:
            return Value(first, first, _one(lexed, first))  # 56 (20 + 36)
        if tokens[first + 1].kind == EMPHASIS and first + 2 <= last and tokens[first + 2].kind == NUMBER:
            return Value(first, first, _one(lexed, first))
    return Value(first, last, _said(lexed, first, last))


def _said(lexed: Lexed, first: int, last: int) -> str:
    """What tokens say as mathematics: without emphasis, numbers as the language means them."""
    pieces, at = [], lexed.tokens[first].start
    for place in range(first, last + 1):
        token = lexed.tokens[place]
        if token.kind == EMPHASIS or (token.kind == NUMBER and lexed.words.decimal == ","):
            pieces += [lexed.text[at : token.start], _one(lexed, place) if token.kind == NUMBER else ""]
            at = token.end
    said = _NOTE.sub("", "".join(pieces) + lexed.text[at : lexed.tokens[last].end]).strip(" *_`")
    return said if said.count("{") == said.count("}") else _COMMAND.sub("", said).strip("{} ")


def _unmatched(lexed: Lexed, first: int, last: int) -> bool:
    """Whether the last sign closes a bracket that was opened before the slot."""
    if lexed.said(last, last) not in _PAIRS:
        return False
    said = lexed.said(first, last)
    return sum(map(said.count, "([{<")) < sum(map(said.count, ")]}>"))


def _one(lexed: Lexed, at: int) -> str:
    """One formula without its signs; one number with the decimal mark of its language as a point."""
    token = lexed.tokens[at]
    said = lexed.text[token.start : token.end]
    if token.kind == FORMULA:
        return inside(said)
    if token.kind == NUMBER and (lexed.words.decimal == "," or _SPACED.search(said)):
        grouped = _GROUPED.fullmatch(said)
        if grouped is not None and (grouped[3] or len(grouped[2]) > 4 or "." in grouped[2]):
            whole = re.sub(r"\D", "", grouped[2])
            return f"{grouped[1]}{whole}{'.' + grouped[3] if grouped[3] else ''}{grouped[4]}".strip()
    return said


def _is_mathematical(lexed: Lexed, token: Token) -> bool:
    said = lexed.text[token.start : token.end]
    if lexed.text[token.start - 1 : token.start] == "\\" and token.start:
        return True
    return (
        (len(said) == 1 and said < "\u0400")  # Latin and Greek
        or (len(said) == 2 and said.isascii() and not token.classes & ~(_AND | _OR | _UNIT | _NUMBERS))
        or said.lower() in _FUNCTIONS
        or bool(token.classes & (_AND | _OR))
    )


def _opens_expression(lexed: Lexed, at: int, last: int) -> bool:
    token = lexed.tokens[at]
    said = lexed.text[token.start : token.end].lower()
    if said in _FUNCTIONS and len(said) > 1 and said not in ("max", "min", "times"):
        return True
    return len(said) == 1 and at < last and lexed.tokens[at + 1].kind in (EQUALS, OTHER)


def _formulas(lexed: Lexed, at: int, last: int) -> Value:
    """A formula and those that it is listed with."""
    tokens, end = lexed.tokens, at
    place = at + 1
    while place <= last:
        token = tokens[place]
        if token.kind in (FORMULA, BOX, NUMBER):
            end = place
        elif not (
            token.kind in (COMMA, EQUALS, OTHER, EMPHASIS) or (token.kind == WORD and token.classes & (_AND | _OR))
        ):
            break
        place += 1
    if end != at and tokens[end].kind == FORMULA and _names_another(lexed, at, end):
        at = end
    if end == at:
        return Value(at, at, inside(lexed.text[tokens[at].start : tokens[at].end]))
    return Value(at, end, _said(lexed, at, end))


def _names_another(lexed: Lexed, first: int, last: int) -> bool:
    """Whether the last of several equations gives something else than the first: `$c = 14$ and $a = 2c = 28$`."""
    left, equals, _ = lexed.said(last, last).partition("=")
    return bool(equals) and left.strip(" $\\(") != lexed.said(first, first).partition("=")[0].strip(" $\\(")


def inside(formula: str) -> str:
    """A formula without the signs around it."""
    for opened, closed in (("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)"), ("$", "$")):
        if formula.startswith(opened) and formula.endswith(closed) and len(formula) > len(opened) + len(closed):
            return formula[len(opened) : -len(closed)].strip(" .,\n")
    return formula


def _plain(lexed: Lexed, at: int, last: int) -> Value:
    """An expression in plain characters, up to the first word of prose."""
    tokens, end, place, measured = lexed.tokens, at, at + 1, False
    while place <= last:
        token, before = tokens[place], tokens[place - 1]
        said = lexed.text[token.start : token.end]
        if token.kind == NUMBER and before.kind == NUMBER and "/" not in said:
            break  # 3 7 dollar books
        if token.kind == NUMBER and measured and before.kind == WORD and not before.classes & (_AND | _OR):
            break  # 3 Tagen 12 Äpfel
        if token.kind in (NUMBER, FORMULA) or (
            token.kind in (WORD, LETTER) and _is_symbol(said, token.start - before.end)
        ):
            end = place
        elif token.kind == WORD and token.classes & (_SCALE | _UNIT) and end == place - 1:
            if not _measures(lexed, place, last):
                break
            end, measured = place, True
            if place + 2 <= last and lexed.said(place + 1, place + 1) == "/" and tokens[place + 2].kind == WORD:
                end = place = place + 2  # J/mol
        elif token.kind == WORD and token.classes & (_AND | _OR) and place < last and tokens[place + 1].kind == NUMBER:
            if measured and not _is_measured(lexed, place + 1, last):
                break  # 5 coins and 4 dice
        elif token.kind == CLOSE:
            counted = lexed.said(at, place)
            end = place if said in ")]}" and counted.count("(") >= counted.count(")") else end
        elif token.kind not in (OTHER, EQUALS, OPEN, COMMA, EMPHASIS, COLON) or (
            measured and token.kind in (COMMA, EQUALS)
        ):
            break
        elif token.kind == OPEN and token.start > before.end and before.kind in (NUMBER, WORD):
            break  # 127 (58 + 23 + 46)
        elif token.kind == EMPHASIS and place < last and tokens[place + 1].kind in (NUMBER, WORD):
            break  # **14** 5 more
        place += 1
    return Value(at, end, _one(lexed, at) if at == end else _said(lexed, at, end))


def _measures(lexed: Lexed, at: int, last: int) -> bool:
    """Whether a word after a number is its unit: "8 in" is not, where "the bag" follows."""
    return not lexed.tokens[at].classes & _WITHIN or at == last or lexed.tokens[at + 1].kind not in (WORD, NUMBER)


def _is_measured(lexed: Lexed, at: int, last: int) -> bool:
    return at < last and lexed.tokens[at + 1].kind == WORD and bool(lexed.tokens[at + 1].classes & _UNIT)


def _is_symbol(said: str, gap: int) -> bool:
    return (
        (len(said) > 1 and said.lower() in _FUNCTIONS)
        or (len(said) == 1 and said < "\u0400" and said not in ("a", "A", "I", "à"))
        or (len(said) == 2 and gap == 0)
    )


def _spelled(lexed: Lexed, at: int, last: int) -> Value:
    """A number in words: "two hundred and five", "zwölf"; in digits where the language is not English, which equality knows."""
    end = place = at
    values = [_worth(lexed, at)]
    while place < last:
        place += 1
        token = lexed.tokens[place]
        if token.kind == WORD and token.classes & (_NUMBERS | _SCALE):
            end = place
            values.append(_worth(lexed, place))
        elif lexed.said(place, place) != "-" and not (token.kind == WORD and token.classes & _AND):
            break
    said = lexed.said(at, end)
    if lexed.language == "english" or None in values:
        return Value(at, end, said)
    total = group = Fraction(0)
    for value in values:
        if value is not None and value >= 100 and group:
            group, total = (group * value, total) if value < 1000 else (Fraction(0), total + group * value)
        elif value is not None:
            group += value
    return Value(at, end, str(total + group))


def _worth(lexed: Lexed, at: int) -> Fraction | None:
    return lexed.words.values.get(lexed.said(at, at).lower())


def _with_other(lexed: Lexed, value: Value, last: int) -> Value:
    """A value with the one that is offered beside it: "34 (or possibly 35)" gives two."""
    for at in range(value.last + 1, min(last, value.last + 7)):
        token = lexed.tokens[at]
        if token.kind == WORD and token.classes & _OR:
            for other in range(at + 1, min(last, at + 3) + 1):
                if lexed.tokens[other].kind in (NUMBER, FORMULA):
                    second = number_or_formula(lexed, other, last) or value
                    parts = (value.content, second.content)
                    return Value(value.first, second.last, " or ".join(parts), parts)
            return value
        if token.kind in (NUMBER, FORMULA, COMMA):
            return value
    return value
