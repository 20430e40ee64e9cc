"""Evaluate one expression by operator precedence, one level of brackets at a time.

Values are computed while reading, in exact arithmetic with bounds on every step. Inner levels are yielded to `evaluate`, so
nesting of any depth costs no recursion. Anything that is not an expression raises `Unreadable`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from fractions import Fraction
from functools import partial
from typing import Any, Final, NamedTuple

from markscheme.marking.equality.algebra import functions
from markscheme.marking.equality.algebra.arithmetic import add, div, mul, neg, sub
from markscheme.marking.equality.algebra.exact import EULER, IMAGINARY, PI, Unreadable, Value, generator
from markscheme.marking.equality.algebra.infinity import WITH_INFINITY
from markscheme.marking.equality.algebra.powers import power, sqrt
from markscheme.marking.equality.read.tree import Group, Node, Nodes, cut
from markscheme.marking.equality.read.vocabulary import INVERSE, OF_SEVERAL

# Binding strength. A function without brackets takes the product after it (sin 2x), hence IMPLICIT_ARGUMENT; otherwise a
# product by juxtaposition binds like any product: 1/2x is x/2.
_ADD, _NEGATE, _MULTIPLY, _FUNCTION, _IMPLICIT_ARGUMENT, _POWER, _TIGHT = 10, 15, 20, 25, 30, 40, 50
_BINARY: Final[dict[str, tuple[int, Callable[[Value, Value], Value]]]] = {
    "+": (_ADD, add),
    "-": (_ADD, sub),
    "*": (_MULTIPLY, mul),
    "/": (_MULTIPLY, div),
    "^": (_POWER, power),
    "choose": (5, functions.binomial),
}
_COMMANDS: Final[dict[str, Callable[..., Value]]] = {
    "frac": div,
    "binom": functions.binomial,
    "sqrt": lambda first, *radicand: power(radicand[0], div(1, first)) if radicand else sqrt(first),
}
# The closing bracket and the function of the pair.
_BRACKETS: Final = {
    "(": (")", None),
    "[": ("]", None),
    "{": ("}", None),
    "⌊": ("⌋", functions.floor),
    "⌈": ("⌉", functions.FUNCTIONS["ceil"]),
    "|": ("|", functions.absolute),
}
_CONSTANTS: Final = {"π": PI, "e": EULER, "i": IMAGINARY}
_RADIANS: Final = mul(PI, Fraction(1, 180))
_VALUES: Final = frozenset({"n", "v", "inf", "f", "c", "{", "(", "|"})
MAX_DIGITS: Final = 4000
Steps = Generator["_Level", Value, None]


class _Expression:
    """State shared by the levels of one expression."""

    def __init__(self, signs: Iterable[int]) -> None:
        self.signs = iter(signs)
        self.in_degrees = False
        self.infinite = False  # True once infinity was read


def evaluate(nodes: Nodes, signs: Iterable[int] = ()) -> tuple[Value, bool]:
    """Return the value of an expression and whether it is in degrees. `signs` are the signs of each ± and ∓ in order."""
    whole = _Expression(signs)
    waiting = [_Level(nodes, whole).worked_out()]
    value: Any = None
    while waiting:
        try:
            inner = waiting[-1].send(value)
        except StopIteration as ended:
            waiting.pop()
            value = ended.value
        else:
            waiting.append(inner.worked_out())
            value = None
    return value, whole.in_degrees


class _Level:
    """One level of brackets. `worked_out` yields the levels inside it and receives their values."""

    def __init__(self, nodes: Nodes, whole: _Expression, at: int = 0, *, in_angle: bool = False) -> None:
        self.nodes, self.whole, self.at = nodes, whole, at
        self.in_bars = at > 0  # a bar ends it
        self.in_angle = in_angle  # it is in the argument of a trigonometric function
        self.values: list[Value] = []
        self.operators: list[_Operator] = []
        self.operand_next = True

    def worked_out(self) -> Generator[_Level, Value, Value]:
        nodes = self.nodes
        while self.at < len(nodes):
            node = nodes[self.at]
            if node.kind == "|" and self.in_bars and not self.operand_next:
                break
            if not self.operand_next:
                self.operator(node)
                continue
            self.at += 1
            if node.kind == "n":
                self.push(self.number(node.text))
            elif node.kind == "v" or node.kind == "inf":
                self.whole.infinite |= node.kind == "inf"
                self.push(_CONSTANTS.get(node.text) or generator(node.text))
            elif node.kind == "o" and node.text in "+-±∓":
                self.sign(node.text)
            else:
                yield from self.operand(node)
        if self.operand_next or (self.in_bars and self.at >= len(nodes)):
            raise Unreadable("ends where a value should be")
        self.reduce(0)
        (value,) = self.values
        return value

    def push(self, value: Value) -> None:
        self.values.append(value)
        self.operand_next = False

    def reduce(self, strength: int) -> None:
        values = self.values
        while self.operators and self.operators[-1].strength >= strength:
            _, function, arity, _ = self.operators.pop()
            values[-arity:] = [self.applied(function, *values[-arity:])]

    def applied(self, function: Callable[..., Value], *values: Value) -> Value:
        return (WITH_INFINITY.get(function, function) if self.whole.infinite else function)(*values)

    def operand(self, node: Node) -> Steps:
        if node.kind == "f":
            yield from self.function(node.text)
        elif node.kind == "|" and node.text == "|":
            inner = _Level(self.nodes, self.whole, self.at, in_angle=self.in_angle)
            value = yield inner
            self.at = inner.at + 1
            self.push(functions.absolute(value))
        elif isinstance(node, Group) and node.kind == "c":
            if node.text not in _COMMANDS:
                raise Unreadable("a bar over an expression")
            arguments = []
            for argument in node.items:
                arguments.append((yield self.inside(argument)))
            self.push(self.applied(_COMMANDS[node.text], *arguments))
        else:
            value = yield self.inside(node)
            function = _BRACKETS[node.text][1]
            self.push(value if function is None else function(value))

    def inside(self, node: Node | None, *, in_angle: bool = False) -> _Level:
        if not isinstance(node, Group) or node.text not in _BRACKETS:
            raise Unreadable(f"{node.text!r} where a value should be" if node else "an argument is missing")
        if node.close != _BRACKETS[node.text][0]:
            raise Unreadable("brackets do not match")
        return _Level(node.items, self.whole, in_angle=in_angle or self.in_angle)

    def operator(self, node: Node) -> None:
        kind, text = node.kind, node.text
        if kind == "o" and text in "±∓":
            text = "+" if self.positive() else "-"
        if kind == "o" and text in _BINARY:
            self.at += 1
            strength, function = _BINARY[text]
            self.reduce(strength + (text == "^"))  # powers are taken from the right
            self.operators.append(_Operator(strength, function, 2))
            self.operand_next = True
        elif kind == "o" and text in "!%°":
            self.at += 1
            self.postfix(text)
        elif kind in _VALUES:
            self.juxtapose(node)
        else:
            raise Unreadable(f"{text!r} after a value")

    def postfix(self, text: str) -> None:
        if text != "!":
            self.reduce(_POWER)
        value = self.values.pop()
        if text == "!":
            value = functions.factorial(value)
        elif text == "%":
            value = div(value, 100)
        elif self.in_angle or any(one.of_angle for one in self.operators):
            value = mul(value, _RADIANS)
        else:
            self.whole.in_degrees = True
        self.push(value)

    def juxtapose(self, node: Node) -> None:
        """Multiply two values that are side by side."""
        before = self.nodes[self.at - 1]
        if node.kind == "n" and before.kind == "n":
            raise Unreadable("two numbers side by side")
        if isinstance(node, Group) and node.text == "(" and before.kind == "v" and _is_zero(node.items):
            self.at += 1
            self.values[-1] = generator(f"{before.text}(0)")  # an initial value: as a product it would be nothing
            return
        # Whether a function without brackets is still taking its argument.
        taking = next((one.strength for one in reversed(self.operators) if one.strength <= _FUNCTION), 0) == _FUNCTION
        strength = _IMPLICIT_ARGUMENT if taking and node.kind not in ("f", "(") else _MULTIPLY
        self.reduce(strength)
        self.operators.append(_Operator(strength, mul, 2))
        self.operand_next = True

    def number(self, text: str) -> int | Fraction:
        r"""Read a number, or a mixed number: `1\frac{4}{5}`, `1 4/5`."""
        after = self.nodes[self.at : self.at + 3]
        top = below = ""
        width = 0
        if after and isinstance(after[0], Group) and after[0].text == "frac":
            parts = [argument.items for argument in after[0].items if isinstance(argument, Group)]
            if all(len(part) == 1 and part[0].kind == "n" for part in parts):
                top, below, width = parts[0][0].text, parts[1][0].text, 1
        elif len(after) == 3 and after[0].kind == after[2].kind == "n" and after[0].spaced and after[1].text == "/":
            top, below, width = after[0].text, after[2].text, 3
        proper = text.isdigit() and top.isdigit() and below.isdigit() and len(text + below) <= 18
        end = self.at + width
        if not proper or int(top) >= int(below) or (end < len(self.nodes) and self.nodes[end].text == "^"):
            return read_number(text)
        self.at = end
        return int(text) + Fraction(int(top), int(below))

    def function(self, name: str) -> Steps:
        """Read a function with its power or base, then brackets or the product that follows."""
        if name in OF_SEVERAL:
            inside = self.inside(self.following())
            self.at += 1
            arguments = []
            for part in cut(inside.nodes, [k for k, node in enumerate(inside.nodes) if node.kind == ","]):
                arguments.append((yield _Level(part, self.whole, in_angle=self.in_angle)))
            self.push(functions.of_several(name, arguments))
            return
        call: Callable[[Value], Value] = functions.FUNCTIONS[name]
        script = getattr(self.following(), "text", "")
        if name == "log" and script == "_":
            self.at += 1
            call = partial(functions.log_base, (yield self.inside(self.following())))
            self.at += 1
        elif script == "^":
            self.at += 1
            call = _with_power(name, (yield self.inside(self.following())))
            self.at += 1
        opening = self.following()
        of_angle = name in functions.TRIGONOMETRIC
        if opening is not None and (opening.kind == "{" or opening.text == "("):
            self.at += 1
            self.push(call((yield self.inside(opening, in_angle=of_angle))))
        else:
            self.operators.append(_Operator(_FUNCTION, call, 1, of_angle))

    def following(self) -> Node | None:
        return self.nodes[self.at] if self.at < len(self.nodes) else None

    def sign(self, text: str) -> None:
        if text == "-" or (text != "+" and not self.positive()):
            above = self.operators[-1].strength if self.operators else 0
            strength = max(_NEGATE, _TIGHT if above >= _POWER else above + 1)
            self.operators.append(_Operator(strength, neg, 1))

    def positive(self) -> bool:
        sign = next(self.whole.signs, None)
        if sign is None:
            raise Unreadable("a sign that is not chosen")
        return sign > 0


def _with_power(name: str, exponent: Value) -> Callable[[Value], Value]:
    r"""Return the function `\sin^n` or, with -1, its inverse."""
    if exponent == -1 and name in INVERSE:
        return functions.FUNCTIONS[INVERSE[name]]
    return lambda value: power(functions.FUNCTIONS[name](value), exponent)


def _is_zero(nodes: Nodes) -> bool:
    return len(nodes) == 1 and nodes[0].kind == "n" and not nodes[0].text.strip("0")


class _Operator(NamedTuple):
    strength: int
    function: Callable[..., Value]
    arity: int
    of_angle: bool = False


def read_number(text: str) -> int | Fraction:
    if len(text) > MAX_DIGITS:
        raise Unreadable("a number of thousands of digits")
    if text.isdigit():
        return int(text)
    mantissa, _, exponent = text.lower().partition("e")
    if exponent and len(exponent) > 4:
        raise Unreadable("an exponent beyond all bounds")
    value = Fraction(mantissa) * Fraction(10) ** int(exponent or 0)
    return value.numerator if value.denominator == 1 else value
