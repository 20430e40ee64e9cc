"""Read one value with its currency, unit, percent sign, degree sign or base."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

from markscheme.marking.equality.algebra.arithmetic import add, mul, neg
from markscheme.marking.equality.algebra.exact import Expr, Unreadable
from markscheme.marking.equality.kinds import Based, Collection, ParsedAnswer, Scalar, Text
from markscheme.marking.equality.read.expressions import evaluate, read_number
from markscheme.marking.equality.read.tokens import Token
from markscheme.marking.equality.read.tree import HEDGES, Group, Node, Nodes, flat
from markscheme.marking.equality.read.vocabulary import CONNECTIVES
from markscheme.marking.equality.read.wording import in_words
from markscheme.marking.equality.units import Unit, read_unit
from markscheme.marking.reading.number_words import SCALE_WORDS, number_from_words

_DEGREES: Final = Unit((("deg", 1),), Fraction(1))
_DOLLARS: Final = Unit((("usd", 1),), Fraction(1))
_PUNCTUATION: Final = frozenset({"{", "}", "(", ")", ",", ";", ".", ":", "$", "&"})
_BASE_WORDS: Final = frozenset({"base", "(base"})
_PERCENT: Final = frozenset({"percent", "percentage", "pct", "percents"})
_ORDINALS: Final = frozenset({"th", "st", "nd", "rd"})
_DIGITS: Final = frozenset("0123456789abcdefghijklmnopqrstuvwxyz.,")
_UNIT_ENDS: Final = frozenset({"r", "f", "u", "|"})
_NO_UNITS: Final = frozenset({"squared", "cubed", "remainder"})
_DENYING: Final = frozenset({"is", "isn", "was", "or"})
DENIALS: Final = frozenset(
    {"not", "wrong", "incorrect", "false", "invalid", "rejected", "possibly", "perhaps", "maybe"}
)


def scalar(nodes: Nodes) -> ParsedAnswer:
    unit: Unit | None = None
    kinds = [node.kind for node in nodes]
    if "$" in kinds:
        unit = _DOLLARS
        nodes = _without_dollars(nodes)
    if "b" in kinds:
        if kinds[-1] != "b" or kinds.index("b") != len(kinds) - 1:
            raise Unreadable("something after a base")
        return _in_base(nodes[:-1], nodes[-1].text)
    words = next((k for k, node in enumerate(nodes) if _is_annotation(node, k)), len(nodes))
    if words == 1 and nodes[0].text == "-" and isinstance(debt := _after_words(nodes[1:]), Scalar):
        return replace(debt, value=neg(debt.value))  # -€5
    if words < len(nodes):
        return _annotated(nodes[:words], nodes[words:]) if words else _after_words(nodes)
    percent = False
    if "f" not in kinds:  # sin 30° keeps its sign
        end = len(nodes)
        while end > 1 and (sign := nodes[end - 1].text) in ("%", "°"):
            percent = percent or sign == "%"
            unit = _DEGREES if sign == "°" else unit
            end -= 1
        nodes = nodes[:end]
    if len(nodes) > 2 and nodes[-2].text == "°" and nodes[-1].text in ("C", "F"):
        unit = read_unit("°" + nodes[-1].text)
        nodes = nodes[:-2]
    return _value(nodes, unit, percent)


def _without_dollars(nodes: Nodes) -> Nodes:
    """Remove a dollar sign before the amount (perhaps after a minus) or after it."""
    if nodes[-1].kind == "$":
        nodes = nodes[:-1]
    if nodes and nodes[0].kind == "$":
        return nodes[1:]
    return [nodes[0], *nodes[2:]] if len(nodes) > 1 and nodes[0].text == "-" and nodes[1].kind == "$" else nodes


def _is_annotation(node: Node, place: int) -> bool:
    """True if words start here, perhaps in brackets or in a fraction: cm, (base 8), m over s."""
    if node.kind in ("x", "mod"):
        return True
    if not place or node.text not in ("(", "{", "frac") or not isinstance(node, Group) or not node.items:
        return False
    first = node.items[0]
    if isinstance(first, Group) and node.text == "frac":
        return bool(first.items) and first.items[0].kind == "x"
    return first.kind == "x"


def _value(nodes: Nodes, unit: Unit | None, percent: bool) -> ParsedAnswer:
    if len(nodes) == 1 and nodes[0].kind == "n":
        return Scalar(read_number(nodes[0].text), unit, percent)
    if (code := _code(nodes)) is not None:
        return Text(code.lower())
    signs = [1 if t.text == "±" else -1 for t in flat(nodes) if t.text in ("±", "∓")]
    if len(signs) > 4:
        raise Unreadable("too many signs to choose")
    # With a ∓ all signs change together.
    both = [signs, [-s for s in signs]] if -1 in signs else itertools.product((1, -1), repeat=len(signs))
    values = [evaluate(nodes, chosen) for chosen in both]
    if values[0][1]:
        unit = unit or _DEGREES
    if signs:
        return Collection(tuple(Scalar(value, unit, percent) for value, _ in values), False, "or")
    value = values[0][0]
    letters = isinstance(value, Expr) and all(node.kind == "v" and len(node.text) == 1 for node in nodes)
    return Scalar(value, unit, percent, "".join(node.text for node in nodes) if letters else "")


def _code(nodes: Nodes) -> str | None:
    """Return letters and digits written together with a digit after a letter (`8gf0`, `A0`), which is not a product."""
    if {node.kind for node in nodes} != {"n", "v"} or any(node.spaced for node in nodes[1:]):
        return None
    if not any(a.kind == "v" and b.kind == "n" for a, b in itertools.pairwise(nodes)):
        return None
    code = "".join(node.text for node in nodes if node.kind == "n" or len(node.text) == 1)
    return code if len(code) == sum(len(node.text) for node in nodes) and code.isascii() and code.isalnum() else None


def words(nodes: Nodes) -> ParsedAnswer:
    tokens = [t for t in flat(nodes) if t.kind not in _PUNCTUATION and t.text != "'"]
    return in_words(
        "".join((" " if t.spaced or t.kind in ("x", "mod") else "") + t.text.lower() for t in tokens).strip()
    )


def _after_words(nodes: Nodes) -> ParsedAnswer:
    """Read an answer that starts with words: a label (`Area: 5`), a currency, or only words."""
    start = next((k for k, node in enumerate(nodes) if node.kind not in ("x", ":")), len(nodes))
    said, rest = " ".join(node.text for node in nodes[:start]), nodes[start:]
    if not rest:
        spelled = number_from_words(said)
        return words(nodes) if spelled is None else Scalar(spelled)
    if nodes[start - 1].kind == ":":
        return scalar(rest)
    unit = read_unit(said)
    is_negative = said.lower() in ("negative", "minus")
    if is_negative or (unit is not None and not unit.word and (rest[0].kind == "n" or rest[0].text == "-")):
        number = scalar(rest)  # €77, USD 18.90
        if isinstance(number, Scalar):
            return replace(number, value=neg(number.value)) if is_negative else replace(number, unit=unit)
    return words(nodes)


def _annotated(amount: Nodes, after: Nodes) -> ParsedAnswer:
    only = after[0] if len(after) == 1 else None
    rest = flat(only.items if isinstance(only, Group) and only.kind in "({" else after)
    first = [t.text.lower() for t in rest[:2]]
    if first[0] in _BASE_WORDS or first == ["in", "base"]:
        return _in_base(amount, "".join(t.text for t in rest[1 if first[0] in _BASE_WORDS else 2 :]))
    number = scalar(amount)
    if isinstance(only, Group) and len(only.items) > 1 and CONNECTIVES.get(first[0]) == "or":
        return Collection((number, scalar(only.items[1:])), False, "or")  # 0.75 (or 3/4)
    annotated = None
    if isinstance(number, Scalar) and len(number.letters) <= 2 and number.letters not in ("a", "A"):
        annotated = _with_unit(number, rest, bracketed=isinstance(only, Group))
    return annotated or words([*amount, *after])  # Mrs Hilt; a circle


def _with_unit(number: Scalar, rest: Sequence[Token], *, bracketed: bool = False) -> Scalar | None:
    if any(t.kind in _UNIT_ENDS or (t.kind == "c" and t.text != "frac") for t in rest):
        return None
    if any(t.kind == "o" and t.text in "+-±" and rest[k - 1].kind != "{" for k, t in enumerate(rest)):
        return None  # 12 cm + 1
    if any(t.text in ("*", "x", "X") and after.kind == "n" for t, after in itertools.pairwise(rest)):
        return None  # 4 ft x 12 ft
    said = [t.text.lower() for t in rest]
    word = said[0]
    if word in _NO_UNITS or word in DENIALS or (word in _DENYING and not DENIALS.isdisjoint(said)):
        return None  # 12 is not the answer; 12 (wrong); 12 squared; 5 or possibly 6
    if "than" in said[:-1] and rest[said.index("than") + 1].kind == "n":
        return None  # 12 more than 2
    if number.unit == _DEGREES and word in ("c", "f", "k"):
        return replace(number, unit=read_unit(f"°{word}"))
    if word in _PERCENT:
        return replace(number, percent=True)
    if word == "mod":
        return _modulo(number, rest, reduced=rest[0].kind == "x" and not bracketed)
    if word in SCALE_WORDS:
        number = replace(number, value=mul(number.value, SCALE_WORDS[word]))
    if word in SCALE_WORDS or word in _ORDINALS:
        rest = rest[1:]
    more = _second_amount(rest)
    unit = read_unit(_spelled(rest[:more]))
    if more is not None and unit is not None:
        return _compound(number, unit, rest[more:])
    if word not in HEDGES and any(t.kind == "n" and not _is_exponent(rest, k) for k, t in enumerate(rest)):
        return None  # 7打1只, but √2 (approximately 1.414)
    # The first unit decides: "$5 per hour", "$3 million".
    return number if unit is None or number.unit is not None else replace(number, unit=unit)


def _modulo(number: Scalar, rest: Sequence[Token], *, reduced: bool) -> Scalar:
    """Read `12 mod 7` as the remainder 5, and `12 (mod 7)` as 12 with the unit mod 7."""
    modulus = "".join(t.text for t in rest[1:] if t.kind == "n")
    unit = Unit((), Fraction(1), "mod" + modulus)
    below = int(modulus) if reduced and modulus.isdigit() and len(modulus) < 1000 else 0
    return Scalar(number.value % below, unit) if below and isinstance(number.value, int) else replace(number, unit=unit)


def _is_exponent(tokens: Sequence[Token], k: int) -> bool:
    """True if a number within a unit is a power of the symbol before it: cm2, s^{-1}."""
    return k > 0 and (tokens[k - 1].text in ("^", "{", "-") or (tokens[k - 1].kind == "x" and not tokens[k].spaced))


def _spelled(tokens: Sequence[Token]) -> str:
    text = "".join((" " if t.kind == "x" or t.spaced else "") + ("" if t.kind == "c" else t.text) for t in tokens)
    return text.replace("}{", "/")


def _second_amount(tokens: Sequence[Token]) -> int | None:
    """Return the start of a second number with its own unit: 3 hours 20 minutes."""
    kinds = [t.kind for t in tokens]
    return next((k for k in range(1, len(kinds) - 1) if kinds[k - 1 : k + 2] == ["x", "n", "x"]), None)


def _compound(first: Scalar, unit: Unit, tokens: Sequence[Token]) -> Scalar | None:
    more = read_unit(_spelled(tokens[1:]))
    if more is None or more.word or unit.word or more.dimensions != unit.dimensions:
        return None
    total = add(mul(first.value, unit.factor), mul(read_number(tokens[0].text), more.factor))
    return Scalar(total, Unit(unit.dimensions, Fraction(1)))


def _in_base(nodes: Nodes, base: str) -> Based:
    text = base.strip().strip("()").lower().removeprefix("base").strip().strip("()")
    value = int(text) if text.isdigit() and len(text) < 4 else number_from_words(text)
    if not isinstance(value, int) or not 2 <= value <= 36:
        raise Unreadable("a subscript that is not a base")
    body = "".join(t.text for t in flat(nodes) if t.kind not in "{}()").lower()
    sign = "-" if body.startswith("-") else ""
    digits = body.removeprefix("-")
    if not digits or not _DIGITS.issuperset(digits):
        raise Unreadable("a base after something that is not a number")
    return Based(sign + (digits.replace(",", "").lstrip("0") or "0"), value)
