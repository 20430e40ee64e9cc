"""Tokens of one expression to a postfix program, a level of brackets at a time: nesting of any depth costs no recursion.

A program is a list of (operation, argument); `algebra/programs.py` runs it. What is not an expression is `Unreadable`.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from fractions import Fraction
from typing import Any, Final

from markscheme.marking.equality.algebra.exact import Unreadable
from markscheme.marking.equality.algebra.functions import TRIGONOMETRIC
from markscheme.marking.equality.algebra.programs import Program
from markscheme.marking.equality.read.tokens import Token
from markscheme.marking.equality.read.vocabulary import INVERSE, OF_SEVERAL

# Binding strength. A function without brackets takes the product written after it (sin 2x), hence IMPLICIT_ARGUMENT
# between it and everything else; otherwise a product by juxtaposition binds like any product: 1/2x is x/2.
_ADD, _NEGATE, _MULTIPLY, _FUNCTION, _IMPLICIT_ARGUMENT, _POWER, _TIGHT = 10, 15, 20, 25, 30, 40, 50
_BINARY: Final = {"+": _ADD, "-": _ADD, "±": _ADD, "∓": _ADD, "*": _MULTIPLY, "/": _MULTIPLY, "choose": 5, "^": _POWER}
_PREFIX: Final = {"-": "negate", "±": "sign ±", "∓": "sign ∓"}
_BRACKETS: Final = {
    "(": (")", None),
    "[": ("]", None),
    "{": ("}", None),
    "⌊": ("⌋", "floor"),
    "⌈": ("⌉", "ceil"),
    "|": ("|", "abs"),
}
"""What closes a bracket, and the function that it stands for."""
MAX_DIGITS: Final = 4000
Steps = Generator["_Level", None, None]


class _Level:
    """One level of brackets. `compiled` yields the levels inside it, which must be compiled before it goes on."""

    def __init__(self, tokens: Sequence[Token], match: dict[int, int], low: int, high: int) -> None:
        self.tokens, self.match = tokens, match
        self.at, self.high = low, high
        self.in_bars = False  # whether a bar ends it
        self.in_call = False  # whether it is in the brackets of a function of several arguments
        self.in_angle = False  # whether it is in the argument of a trigonometric function
        self.program: Program = []
        self.operators: list[tuple[int, str, Any]] = []
        self.operand_next = True
        self.values = 0  # how many have ended, where commas part them: gcd(a, b)

    def compiled(self) -> Steps:
        while self.at < self.high:
            token = self.tokens[self.at]
            if self.operand_next:
                self.at += 1
                yield from self.operand(token)
            elif token.kind == "|" and self.in_bars:
                break
            elif token.kind == "," and self.in_call:
                self.reduce(0)
                self.values += 1
                self.at += 1
                self.operand_next = True
            else:
                self.operator(token)
        if self.operand_next or (self.in_bars and self.at >= self.high):
            raise Unreadable("ends where a value should stand")
        self.reduce(0)

    def reduce(self, strength: int, *, right: bool = False) -> None:
        """Emit waiting operators that bind at least as strongly (more strongly for a right-associative one)."""
        while self.operators and self.operators[-1][0] >= strength + right:
            self.program.append(self.operators.pop()[1:])

    def emit(self, operation: str, argument: Any = None) -> None:
        self.program.append((operation, argument))
        self.operand_next = False

    def operand(self, token: Token) -> Steps:
        kind, text, _ = token
        if kind == "n":
            self.number(text)
        elif kind in ("v", "inf"):
            self.emit("v", text)
        elif kind == "f":
            yield from self.function(text)
        elif kind == "c":
            yield from self.command(text)
        elif kind in "({|" and text in _BRACKETS:
            self.at -= 1
            yield from self.group()
        elif kind == "o" and text in "+-±∓":
            self.sign(text)
        else:
            raise Unreadable(f"{text!r} where a value should stand")

    def group(self, *, in_angle: bool = False, several: str = "") -> Steps:
        """What stands in the brackets that open here; `several` is the function that takes it apart."""
        kind, text, _ = self.tokens[self.at] if self.at < self.high else Token("", "")
        end = self.match.get(self.at, self.high)
        if text not in _BRACKETS:
            raise Unreadable("an argument is missing")
        if kind != "|" and (end == self.high or self.tokens[end].text != _BRACKETS[text][0]):
            raise Unreadable("brackets do not match")
        inner = _Level(self.tokens, self.match, self.at + 1, end)
        inner.in_bars, inner.in_call, inner.in_angle = kind == "|", bool(several), in_angle or self.in_angle
        yield inner
        self.program += inner.program
        self.at = inner.at + 1
        self.operand_next = False
        if several:
            self.emit("of several", (several, inner.values + 1))
        if (function := _BRACKETS[text][1]) is not None:
            self.emit("f", function)

    def operator(self, token: Token) -> None:
        kind, text, _ = token
        if kind == "o" and text in _BINARY:
            self.at += 1
            self.reduce(_BINARY[text], right=text == "^")
            self.operators.append((_BINARY[text], text, None))
            self.operand_next = True
        elif kind == "o" and text in "!%°":
            self.at += 1
            if text != "!":
                self.reduce(_POWER)
            calls = (argument for _, operation, argument in self.operators if operation == "f")
            self.emit(text, text == "°" and (self.in_angle or any(name in TRIGONOMETRIC for name in calls)))
        elif kind in ("n", "v", "inf", "f", "c", "{", "(", "|"):
            self.juxtapose(token)
        else:
            raise Unreadable(f"{text!r} after a value")

    def juxtapose(self, token: Token) -> None:
        """Two values side by side: a product."""
        if token.kind == "n" and self.tokens[self.at - 1].kind == "n":
            raise Unreadable("two numbers side by side")
        # Whether a function without brackets is still taking its argument.
        taking = next((top[0] for top in reversed(self.operators) if top[0] <= _FUNCTION), 0) == _FUNCTION
        strength = _IMPLICIT_ARGUMENT if taking and token.kind not in ("f", "(") else _MULTIPLY
        self.reduce(strength)
        self.operators.append((strength, "*", None))
        self.operand_next = True

    def number(self, text: str) -> None:
        value, width = self.mixed(text) or (read_number(text), 1)
        self.at += width - 1
        self.emit("n", value)

    def mixed(self, text: str) -> tuple[Fraction, int] | None:
        r"""`1\frac{4}{5}` or `1 4/5`: a whole number and a proper fraction beside it, and its width in tokens."""
        tokens = self.tokens[self.at : min(self.at + 7, self.high)]
        shape = "".join(t.kind for t in tokens)
        if shape == "c{n}{n}" and tokens[0].text == "frac":
            top, below, width = tokens[2].text, tokens[5].text, 8
        elif shape.startswith("non") and tokens[0].spaced and tokens[1].text == "/":
            top, below, width = tokens[0].text, tokens[2].text, 4
        else:
            return None
        if (
            not (text.isdigit() and top.isdigit() and below.isdigit())
            or len(text + below) > 18
            or int(top) >= int(below)
        ):
            return None
        after = self.at + width - 1
        if after < self.high and self.tokens[after][:2] == ("o", "^"):
            return None
        return int(text) + Fraction(int(top), int(below)), width

    def function(self, name: str) -> Steps:
        """A function with its power or base, then either brackets or the product that follows."""
        if name in OF_SEVERAL:
            yield from self.group(several=name)
            return
        exponent: int | None = None
        following = self.tokens[self.at][:2] if self.at < self.high else ("", "")
        if name == "log" and following == ("o", "_"):
            self.at += 1
            yield from self.group()
            name = "log of base"
        elif following == ("o", "^"):
            exponent = self.function_power()
            if exponent == -1 and name in INVERSE:
                name, exponent = INVERSE[name], None
        calls: Program = [(name, None) if name == "log of base" else ("f", name)]
        if exponent is not None:
            calls.append(("power of", exponent))
        opening = self.tokens[self.at] if self.at < self.high else Token("", "")
        if opening.kind == "{" or opening[:2] == ("(", "("):
            yield from self.group(in_angle=name in TRIGONOMETRIC)
            self.program += calls
        else:
            self.operators += [(_FUNCTION, *call) for call in reversed(calls)]
            self.operand_next = True

    def function_power(self) -> int:
        r"""The n of `\sin^n`, in braces that may be doubled."""
        end = self.match[self.at + 1]
        text = "".join(t.text for t in self.tokens[self.at + 2 : end] if t.kind not in "{}")
        if text != "-1" and not (text.isdigit() and len(text) < 4):
            raise Unreadable("a function with a power that is no number")
        self.at = end + 1
        return int(text)

    def command(self, text: str) -> Steps:
        if text == "bar":
            raise Unreadable("a bar over an expression")
        indexed = text == "sqrt" and self.at < self.high and self.tokens[self.at][:2] == ("(", "[")
        yield from self.group()
        if text != "sqrt" or indexed:
            yield from self.group()
        self.emit(
            *{"frac": ("/", None), "binom": ("choose", None), "sqrt": ("root", None) if indexed else ("f", "sqrt")}[
                text
            ]
        )

    def sign(self, text: str) -> None:
        if text != "+":
            above = self.operators[-1][0] if self.operators else 0
            strength = max(_NEGATE, _TIGHT if above >= _POWER else above + 1)
            self.operators.append((strength, _PREFIX[text], None))


def parse(tokens: Sequence[Token], match: dict[int, int], low: int, high: int) -> Program:
    """The program of tokens[low:high], in which brackets match."""
    whole = _Level(tokens, match, low, high)
    waiting = [whole.compiled()]
    while waiting:
        inner = next(waiting[-1], None)
        if inner is None:
            waiting.pop()
        else:
            waiting.append(inner.compiled())
    return whole.program


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
