"""Read numbers and expressions with the list, sum, equation or unit they belong to."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from markscheme.marking.reading import kinds
from markscheme.marking.reading.lexer import Lexed
from markscheme.marking.reading.number_words import total
from markscheme.marking.reading.words import FUNCTIONS, listed

LETTERS_IN_WORDS: Final = frozenset(listed("letters_in_words"))
_CONSTANTS: Final = ("pi", "infinity", "inf")
_OPERAND: Final = kinds.NUMBER | kinds.OPEN | kinds.SYMBOL | kinds.LETTER | kinds.OTHER
_EDGE_FORMS: Final = kinds.EMPHASIS | kinds.COLON | kinds.COMMA
EDGES: Final = ("#### ", "####", "|", "~", "•", '"', "“", "”", "'", "‘", "’", "`", "「", "」", "『", "』", "【", "】")
_NOTE: Final = re.compile(r"<<[^<>\n]{0,200}>>")  # GSM8K's calculator annotations
_SPACED: Final = re.compile(r"\d[ \u00a0\u202f]\d")
_GROUPED: Final = re.compile(r"(\D*)(\d{1,3}(?:[. \u00a0\u202f]\d{3})+|\d+)(?:,(\d+))?(\D*)")
_COMMAND: Final = re.compile(r"\\(?:text|mathrm|mbox|textbf|textrm|operatorname|mathbf)\s?\{")
_TEMPLATE: Final = re.compile(r"<\s*(\d+)\s*>")
_COMPOUND: Final = re.compile(r"-[^\W\d_]{2}")  # t-shirt, x-axis
_JOINS: Final = kinds.AND | kinds.OR
_COUNTED: Final = kinds.NUMBER | kinds.FORMULA
_GREEK_END: Final = "\u0400"  # preceded by Latin and Greek letters


class Value(Struct, frozen=True, gc=False):
    """A value: its tokens, its text, and the values offered together."""

    first: int
    last: int
    content: str
    parts: tuple[str, ...] = ()


def quantity_in(lexed: Lexed, first: int, last: int) -> Value | None:
    """Return the first number or expression, and any alternative offered with it."""
    value = number_or_formula(lexed, first, last)
    return _with_other(lexed, value, last) if value is not None else None


def number_or_formula(lexed: Lexed, first: int, last: int) -> Value | None:
    """Return the first formula or number with the list, sum, equation or unit it belongs to."""
    tokens = lexed.tokens
    if (whole := _mathematics(lexed, first, last)) is not None:
        return whole
    for at in range(first, last + 1):
        here = tokens[at].kinds
        if here & (kinds.FORMULA | kinds.BOX):
            return _formulas(lexed, at, last)
        if here & kinds.FORMULA and _COMPOUND.match(lexed.text, tokens[at].end):
            continue  # $x$-axis
        if here & kinds.NUMBER and at > first and _ends_in_words(lexed, at, last):
            continue
        if here & kinds.NUMBER or (here & (kinds.WORD | kinds.LETTER) and _opens_expression(lexed, at, last)):
            rooted = at > first and lexed.said(at - 1, at - 1) == "√"
            value = _plain(lexed, at - rooted, last)
        elif here & kinds.NUMERAL:
            value = _spelled(lexed, at, last)
        else:
            continue
        signed = "minus " if value.content[0].isalpha() and here & kinds.NUMERAL else "-"
        negative = at > first and tokens[at - 1].kinds & kinds.MINUS
        return replace(value, content=f"{signed}{value.content}") if negative else value
    return None


def _ends_in_words(lexed: Lexed, at: int, last: int) -> bool:
    """True for the last number of a sum in words: the 8 of "21 red hats - green hats 8 = 13"."""
    before = lexed.tokens[at - 1].kinds
    following = [token.kinds for token in lexed.tokens[at + 1 : min(at + 2, last) + 1]]
    equated = len(following) > 1 and following[0] & kinds.EQUALS and following[1] & kinds.NUMBER
    return bool(equated and before & kinds.WORD) and not before & ~(kinds.WORD | kinds.UNIT | kinds.FILLER)


def _mathematics(lexed: Lexed, first: int, last: int) -> Value | None:
    """Return the whole slot if it has no prose words."""
    tokens = lexed.tokens
    while first <= last and (
        tokens[first].kinds & (_EDGE_FORMS | kinds.EQUALS | kinds.HASHES | _JOINS)
        or lexed.said(first, first) in (*EDGES, ")")
    ):
        first += 1
    while last >= first and (
        tokens[last].kinds & _EDGE_FORMS or lexed.said(last, last) in EDGES or _unmatched(lexed, first, last)
    ):
        last -= 1
    if last == first + 2 and _TEMPLATE.fullmatch(lexed.said(first, last)):
        first = last = first + 1  # a template taken literally: <16>
    telling = 0
    for token in tokens[first : last + 1]:
        if token.kinds & kinds.WORD and not token.kinds & (kinds.SYMBOL | _JOINS):
            return None
        telling |= token.kinds & (_COUNTED | kinds.BOX | kinds.LETTER | kinds.WORD)
    if not telling:
        return None
    if first == last:
        return Value(first, last, _one(lexed, first))
    if tokens[first].kinds & kinds.NUMBER and tokens[first + 1].start > tokens[first].end:
        emphasised = tokens[first + 1].kinds & kinds.EMPHASIS and tokens[min(first + 2, last)].kinds & kinds.NUMBER
        if tokens[first + 1].kinds & kinds.OPEN or emphasised:
            return Value(first, first, _one(lexed, first))  # 56 (20 + 36)
    return Value(first, last, _said(lexed, first, last))


def _said(lexed: Lexed, first: int, last: int) -> str:
    """Return tokens as mathematics: without emphasis, with numbers in the convention of the language."""
    if first == last:
        return _one(lexed, first)
    pieces, at = [], lexed.tokens[first].start
    for place in range(first, last + 1):
        token = lexed.tokens[place]
        if token.kinds & kinds.EMPHASIS or (token.kinds & kinds.NUMBER and lexed.words.decimal == ","):
            pieces += [lexed.text[at : token.start], _one(lexed, place) if token.kinds & kinds.NUMBER else ""]
            at = token.end
    said = _NOTE.sub("", "".join(pieces) + lexed.text[at : lexed.tokens[last].end]).strip(" *_`")
    return said if said.count("{") == said.count("}") else _COMMAND.sub("", said).strip("{} ")


def _unmatched(lexed: Lexed, first: int, last: int) -> bool:
    """True if the last sign closes a bracket that was opened before the slot."""
    if lexed.said(last, last) not in (")", "]", "}", ">"):
        return False
    said = lexed.said(first, last)
    return sum(map(said.count, "([{<")) < sum(map(said.count, ")]}>"))


def _one(lexed: Lexed, at: int) -> str:
    """Return a formula without its delimiters, or a number with a decimal point instead of the local mark."""
    said = lexed.said(at, at)
    if lexed.tokens[at].kinds & kinds.FORMULA:
        return inside(said)
    if lexed.tokens[at].kinds & kinds.NUMBER and (lexed.words.decimal == "," or _SPACED.search(said)):
        grouped = _GROUPED.fullmatch(said)
        if grouped is not None and (grouped[3] or len(grouped[2]) > 4 or "." in grouped[2]):
            whole = re.sub(r"\D", "", grouped[2])
            return f"{grouped[1]}{whole}{'.' + grouped[3] if grouped[3] else ''}{grouped[4]}".strip()
    return said


def _opens_expression(lexed: Lexed, at: int, last: int) -> bool:
    if not lexed.tokens[at].kinds & (kinds.SYMBOL | kinds.LETTER):
        return False
    said = lexed.said(at, at)
    if len(said) == 1:
        if _COMPOUND.match(lexed.text, lexed.tokens[at].end):
            return False
        return at < last and bool(lexed.tokens[at + 1].kinds & (kinds.EQUALS | kinds.OTHER))
    if said.lower() in _CONSTANTS:
        return True
    applied = at < last and bool(lexed.tokens[at + 1].kinds & _OPERAND)  # "can tan for 80 minutes" has no operand
    return applied and said.lower() in FUNCTIONS and said.lower() != "times"


def _formulas(lexed: Lexed, at: int, last: int) -> Value:
    """Return a formula and those listed with it."""
    tokens, end = lexed.tokens, at
    for place in range(at + 1, last + 1):
        if tokens[place].kinds & (_COUNTED | kinds.BOX):
            end = place
        elif not tokens[place].kinds & (kinds.COMMA | kinds.EQUALS | kinds.OTHER | kinds.EMPHASIS | _JOINS):
            break
    if end == at:
        return Value(at, at, inside(lexed.said(at, at)))
    return Value(at, end, _said(lexed, at, end))


def inside(formula: str) -> str:
    """Return a formula without its delimiters."""
    for opened, closed in (("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)"), ("$", "$")):
        if formula.startswith(opened) and formula.endswith(closed) and len(formula) > len(opened) + len(closed):
            return formula[len(opened) : -len(closed)].strip(" .,\n")
    return formula


def _plain(lexed: Lexed, at: int, last: int) -> Value:
    """Return an expression in plain characters, up to the first prose word."""
    tokens, end, place, measured = lexed.tokens, at, at + 1, False
    while place <= last:
        token, here, before = tokens[place], tokens[place].kinds, tokens[place - 1]
        following = tokens[place + 1].kinds if place < last else 0
        said = lexed.said(place, place)
        if here & kinds.NUMBER and before.kinds & kinds.NUMBER and "/" not in said:
            break  # 3 7 dollar books
        if here & kinds.NUMBER and measured and before.kinds & kinds.WORD and not before.kinds & _JOINS:
            units = (lexed.said(place - 1, place - 1), lexed.said(place + 1, place + 1)) if place < last else ("",)
            if not all(map(is_measure, units)):  # 1 hour 15 minutes, but 3 Tagen 12 Äpfel
                break
            measured = False
        if here & _COUNTED or (here & (kinds.WORD | kinds.LETTER) and _is_symbol(said, token.start - before.end)):
            end = place
            if here & kinds.LETTER and before.kinds & kinds.NUMBER and lexed.text[token.end : token.end + 1] == "/":
                end = place = min(place + 2, last)  # J/mol
        elif here & (kinds.SCALE | kinds.UNIT) and end == place - 1:
            if here & kinds.WITHIN and following & (kinds.WORD | kinds.NUMBER):
                break  # "8 in the bag" are not inches
            end, measured = place, True
            if place + 2 <= last and lexed.said(place + 1, place + 1) == "/" and tokens[place + 2].kinds & kinds.WORD:
                end = place = place + 2  # J/mol
        elif here & _JOINS and following & kinds.NUMBER:
            if measured and not (place + 1 < last and tokens[place + 2].kinds & kinds.UNIT):
                break  # 5 coins and 4 dice
        elif here & kinds.CLOSE:
            counted = lexed.said(at, place)
            if counted.count("(") < counted.count(")"):
                break  # f(3) = 7
            end = place if said in ")]}" else end
        elif not here & (kinds.OTHER | kinds.EQUALS | kinds.OPEN | _EDGE_FORMS) or (
            measured and here & (kinds.COMMA | kinds.EQUALS)
        ):
            break
        elif here & kinds.OPEN and token.start > before.end and before.kinds & (kinds.NUMBER | kinds.WORD):
            break  # 127 (58 + 23 + 46)
        elif here & kinds.EMPHASIS and following & (kinds.NUMBER | kinds.WORD):
            break  # **14** 5 more
        elif here & kinds.COLON and following & (kinds.LETTER | kinds.WORD):
            break  # divide by 2: F = 3
        place += 1
    return Value(at, end, _said(lexed, at, end))


def is_measure(unit: str) -> bool:
    """True if equality knows a unit, and so can add 15 minutes to an hour or tell them from 15 seconds."""
    from markscheme.marking.equality.units import read_unit

    measure = read_unit(unit)
    return measure is not None and not measure.word


def _is_symbol(said: str, gap: int) -> bool:
    return (
        (len(said) > 1 and said.lower() in FUNCTIONS)
        or (len(said) == 1 and said < _GREEK_END and said not in LETTERS_IN_WORDS)
        or (len(said) == 2 and gap == 0 and said < _GREEK_END)
    )


def _spelled(lexed: Lexed, at: int, last: int) -> Value:
    """Return a number in words ("two hundred and five", "zwölf"), in digits unless English, which equality understands."""
    end = at
    for place in range(at + 1, last + 1):
        if lexed.tokens[place].kinds & (kinds.NUMERAL | kinds.SCALE):
            end = place
        elif lexed.said(place, place) != "-" and not lexed.tokens[place].kinds & kinds.AND:
            break
    said = lexed.said(at, end)
    if lexed.language == "english":
        return Value(at, end, said)
    numerals = [place for place in range(at, end + 1) if lexed.tokens[place].kinds & (kinds.NUMERAL | kinds.SCALE)]
    values = [lexed.words.values.get(lexed.said(place, place).lower()) for place in numerals]
    worth = total([value for value in values if value is not None])
    return Value(at, end, said if None in values else str(worth))


def _with_other(lexed: Lexed, value: Value, last: int) -> Value:
    """Return a value with the alternative offered with it: "34 (or possibly 35)" gives two."""
    for at in range(value.last + 1, min(last, value.last + 7)):
        here = lexed.tokens[at].kinds
        if here & kinds.OR:
            for other in range(at + 1, min(last, at + 3) + 1):
                if lexed.tokens[other].kinds & _COUNTED:
                    second = number_or_formula(lexed, other, last) or value
                    parts = (value.content, second.content)
                    return Value(value.first, second.last, " or ".join(parts), parts)
        if here & (kinds.OR | _COUNTED | kinds.COMMA):
            return value
    return value
