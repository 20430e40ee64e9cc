"""Tokens of one expression to a postfix program, with explicit stacks: nesting of any depth costs no recursion.

A program is a list of (operation, argument); `evaluation` runs it. What is not an expression raises `Unreadable`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from markscheme.marking.equality.algebra.exact import Unreadable
from markscheme.marking.equality.algebra.functions import TRIGONOMETRIC
from markscheme.marking.equality.algebra.programs import Program
from markscheme.marking.equality.read.tokens import Token
from markscheme.marking.equality.read.vocabulary import INVERSE

# Binding strength. A function without brackets takes the product written after it (sin 2x), hence IMPLICIT_ARGUMENT
# between it and everything else; otherwise a product by juxtaposition binds like any product: 1/2x is x/2.
_ADD, _NEGATE, _MULTIPLY, _FUNCTION, _IMPLICIT_ARGUMENT, _POWER, _TIGHT = 10, 15, 20, 25, 30, 40, 50
_BINARY: Final = {"+": _ADD, "-": _ADD, "±": _ADD, "∓": _ADD, "*": _MULTIPLY, "/": _MULTIPLY, "choose": 5}
_CLOSES: Final = {"(": ")", "[": "]", "⌊": "⌋", "⌈": "⌉", "<": ">", "{": "}"}
_EMITTED: Final = {
    "denominator": ("/", None), "lower": ("choose", None), "root": ("f", "sqrt"), "radicand": ("root", None)
}  # fmt: skip
MAX_DIGITS: Final = 4000


@dataclass(frozen=True, slots=True)
class _Frame:
    """An open bracket or argument on the operator stack: what closes it and what to do then."""

    closer: str
    action: str
    arguments: Any


class _ExpressionParser:
    def __init__(self, tokens: Sequence[Token], low: int, high: int) -> None:
        self.tokens = tokens
        self.at = low
        self.high = high
        self.program: Program = []
        self.operators: list[tuple[int, str, Any] | _Frame] = []
        self.operand_next = True

    def parse(self) -> Program:
        while self.at < self.high:
            token = self.tokens[self.at]
            if self.operand_next:
                self.operand(token)
            else:
                self.operator(token)
        if self.operand_next:
            raise Unreadable("ends where a value should stand")
        self.reduce(0)
        if self.operators:
            raise Unreadable("a bracket is not closed")
        return self.program

    def reduce(self, strength: int, *, right: bool = False) -> None:
        """Emit waiting operators that bind at least as strongly (more strongly for a right-associative one)."""
        while self.operators:
            top = self.operators[-1]
            if isinstance(top, _Frame) or top[0] < strength or (right and top[0] == strength):
                return
            self.operators.pop()
            self.program.append((top[1], top[2]))

    def operand(self, token: Token) -> None:
        kind, text, _ = token
        if kind == "n":
            self.number(text)
        elif kind in ("v", "inf"):
            self.at += 1
            self.program.append(("v", text))
            self.operand_next = False
        elif kind == "f":
            self.function(text)
        elif kind == "c":
            self.command(text)
        elif kind == "{":
            self.open("}", "group")
        elif kind == "(" and text in "([":
            self.open(_CLOSES[text], "group")
        elif kind == "(" and text in "⌊⌈":
            self.open(_CLOSES[text], "apply", "floor" if text == "⌊" else "ceil")
        elif kind == "|" or (kind == "(" and text == "|"):
            self.open("|", "apply", "abs")
        elif kind == "o" and text in "+-±∓":
            self.sign(text)
        else:
            raise Unreadable(f"{text!r} where a value should stand")

    def operator(self, token: Token) -> None:
        kind, text, _ = token
        if kind == "o":
            if text in _BINARY:
                self.at += 1
                strength = _BINARY[text]
                self.reduce(strength)
                self.operators.append((strength, text, None))
                self.operand_next = True
            elif text == "^":
                self.at += 1
                self.reduce(_POWER, right=True)
                self.operators.append((_POWER, "^", None))
                self.operand_next = True
            elif text in "!%°":
                self.at += 1
                if text != "!":
                    self.reduce(_POWER)
                self.program.append((text, text == "°" and self.in_angle()))
            else:
                raise Unreadable(f"{text!r} after a value")
        elif kind in "})" or (kind == "|" and self.inside("|")):
            self.close("}" if kind == "}" else text)
        elif kind in ("n", "v", "inf", "f", "c", "{", "(", "|"):
            self.juxtapose(token)
        else:
            raise Unreadable(f"{text!r} after a value")

    def juxtapose(self, token: Token) -> None:
        """Two values side by side: a product."""
        if token.kind == "n" and self.program[-1][0] == "n" and self.tokens[self.at - 1].kind == "n":
            raise Unreadable("two numbers side by side")
        if token.kind not in ("f", "(") and self.in_argument():
            self.reduce(_IMPLICIT_ARGUMENT)
            self.operators.append((_IMPLICIT_ARGUMENT, "*", None))
        else:
            self.reduce(_MULTIPLY)
            self.operators.append((_MULTIPLY, "*", None))
        self.operand_next = True

    def in_argument(self) -> bool:
        """Whether a function without brackets is still taking its argument."""
        for top in reversed(self.operators):
            if isinstance(top, _Frame) or top[0] <= _MULTIPLY:
                return False
            if top[0] == _FUNCTION:
                return True
        return False

    def in_angle(self) -> bool:
        """Whether a trigonometric function is taking its argument."""
        calls = (top.arguments[0] if isinstance(top, _Frame) else top[2] for top in self.operators if _is_call(top))
        return any(name in TRIGONOMETRIC for name in calls)

    def number(self, text: str) -> None:
        mixed = self.mixed(text)
        if mixed is not None:
            value: int | Fraction = mixed[0]
            self.at += mixed[1]
        else:
            value = read_number(text)
            self.at += 1
        self.program.append(("n", value))
        self.operand_next = False

    def mixed(self, text: str) -> tuple[Fraction, int] | None:
        r"""`1\frac{4}{5}` or `1 4/5`: a whole number and a proper fraction beside it."""
        if not text.isdigit() or len(text) > 9:
            return None
        t, at = self.tokens, self.at
        if at + 7 <= self.high and t[at + 1][:2] == ("c", "frac"):
            if [x.kind for x in t[at + 2 : at + 8]] != ["{", "n", "}", "{", "n", "}"]:
                return None
            top, below, width = t[at + 3].text, t[at + 6].text, 8
        elif at + 3 < self.high and t[at + 1].kind == "n" and t[at + 1].spaced and t[at + 2][:2] == ("o", "/"):
            if t[at + 3].kind != "n":
                return None
            top, below, width = t[at + 1].text, t[at + 3].text, 4
        else:
            return None
        if not (top.isdigit() and below.isdigit()) or len(below) > 9 or int(top) >= int(below):
            return None
        after = t[at + width] if at + width < self.high else None
        if after is not None and after[:2] == ("o", "^"):
            return None
        if self.operators and not isinstance(self.operators[-1], _Frame) and self.operators[-1][0] >= _POWER:
            return None
        return int(text) + Fraction(int(top), int(below)), width

    def function(self, name: str) -> None:
        """A function with its power or base, then either brackets or the product that follows."""
        self.at += 1
        exponent: int | None = None
        if name == "log" and self.at < self.high and self.tokens[self.at][:2] == ("o", "_"):
            self.at += 1
            self.open("}", "log base")
            return
        if self.at < self.high and self.tokens[self.at][:2] == ("o", "^"):
            exponent = self.function_power()
            if exponent == -1 and name in INVERSE:
                name, exponent = INVERSE[name], None
        self.argument(name, exponent)

    def function_power(self) -> int:
        t, at = self.tokens, self.at
        shape = [x.kind for x in t[at + 1 : at + 4]]
        if shape == ["{", "n", "}"] and t[at + 2].text.isdigit() and len(t[at + 2].text) < 4:
            self.at += 4
            return int(t[at + 2].text)
        if shape == ["{", "o", "n"] and t[at + 2].text == "-" and t[at + 4].kind == "}" and t[at + 3].text == "1":
            self.at += 5
            return -1
        if shape == ["{", "o", "{"] and t[at + 2].text == "-" and t[at + 4].text == "1":
            self.at += 7
            return -1
        raise Unreadable("a function with a power that is no number")

    def argument(self, name: str, exponent: int | None) -> None:
        if self.at < self.high and (self.tokens[self.at].kind == "{" or self.tokens[self.at][:2] == ("(", "(")):
            closer = "}" if self.tokens[self.at].kind == "{" else ")"
            self.open(closer, "function", (name, exponent))
        elif name == "log of base" or self.at < self.high:
            if exponent is not None:
                self.operators.append((_FUNCTION, "power of", exponent))
            self.operators.append((_FUNCTION, *_call(name)))
            self.operand_next = True
        else:
            raise Unreadable("a function without an argument")

    def command(self, text: str) -> None:
        self.at += 1
        if text == "bar":
            raise Unreadable("a bar over an expression")
        if text == "sqrt" and self.at < self.high and self.tokens[self.at][:2] == ("(", "["):
            self.open("]", "index")
            return
        self.open("}", {"frac": "numerator", "binom": "upper", "sqrt": "root"}[text])

    def sign(self, text: str) -> None:
        self.at += 1
        if text == "+":
            return
        top = self.operators[-1] if self.operators else None
        strength = _NEGATE
        if top is not None and not isinstance(top, _Frame):
            strength = max(_NEGATE, _TIGHT if top[0] >= _POWER else top[0] + 1)
        name = {"-": "negate", "±": "sign ±", "∓": "sign ∓"}[text]
        self.operators.append((strength, name, None))

    def open(self, closer: str, action: str, arguments: Any = None) -> None:
        if self.at >= self.high:
            raise Unreadable("an argument is missing")
        self.at += 1
        self.operators.append(_Frame(closer, action, arguments))
        self.operand_next = True

    def inside(self, closer: str) -> bool:
        for top in reversed(self.operators):
            if isinstance(top, _Frame):
                return top.closer == closer
        return False

    def close(self, text: str) -> None:
        self.reduce(0)
        frame = self.operators.pop() if self.operators else None
        if not isinstance(frame, _Frame) or frame.closer != text:
            raise Unreadable("brackets do not match")
        self.at += 1
        action = frame.action
        if action == "function":
            name, exponent = frame.arguments
            self.program.append(_call(name))
            if exponent is not None:
                self.program.append(("power of", exponent))
        elif action == "apply":
            self.program.append(("f", frame.arguments))
        elif action in ("numerator", "upper"):
            self.open("}", "denominator" if action == "numerator" else "lower")
        elif action in _EMITTED:
            self.program.append(_EMITTED[action])
        elif action == "index":
            self.open("}", "radicand")
        elif action == "log base":
            self.operand_next = True
            self.argument("log of base", None)


def _call(name: str) -> tuple[str, Any]:
    return (name, None) if name == "log of base" else ("f", name)


def _is_call(operator: tuple[int, str, Any] | _Frame) -> bool:
    return operator.action == "function" if isinstance(operator, _Frame) else operator[1] == "f"


def read_number(text: str) -> int | Fraction:
    """The value of a number token."""
    if len(text) > MAX_DIGITS:
        raise Unreadable("a number of thousands of digits")
    if text.isdigit():
        return int(text)
    mantissa, _, exponent = text.lower().partition("e")
    if exponent and len(exponent) > 4:
        raise Unreadable("an exponent beyond all bounds")
    value = Fraction(mantissa) * Fraction(10) ** int(exponent or 0)
    return value.numerator if value.denominator == 1 else value


def parse(tokens: Sequence[Token], low: int, high: int) -> Program:
    """The program of tokens[low:high]."""
    return _ExpressionParser(tokens, low, high).parse()
