"""Runs a postfix program in exact arithmetic, with bounds on every step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final

from markscheme.marking.equality.algebra import functions
from markscheme.marking.equality.algebra.arithmetic import add, div, int_power, mul, neg, sub
from markscheme.marking.equality.algebra.exact import EULER, IMAGINARY, PI, Value, generator
from markscheme.marking.equality.algebra.powers import power

Program = list[tuple[str, Any]]
SIGNS: Final = ("±", "∓", "sign ±", "sign ∓")
"""Operations that need a sign to be chosen."""
_CONSTANTS: Final = {"π": PI, "e": EULER, "i": IMAGINARY}
_RADIANS: Final = mul(PI, Fraction(1, 180))
_BINARY: Final[dict[str, Callable[[Value, Value], Value]]] = {
    "+": add,
    "-": sub,
    "*": mul,
    "/": div,
    "^": power,
    "choose": functions.binomial,
    "log of base": functions.log_base,
    "root": lambda index, radicand: power(radicand, div(1, index)),
}


def run(program: Program, signs: Sequence[int] = ()) -> Value:
    """The value of a program; `signs` gives each ± and ∓ in turn its sign."""
    stack: list[Value] = []
    push, pop = stack.append, stack.pop
    chosen = iter(signs)
    for op, argument in program:
        if op == "n":
            push(argument)
        elif op == "v":
            push(_CONSTANTS[argument] if argument in _CONSTANTS else generator(argument))
        elif op in _BINARY:
            right = pop()
            push(_BINARY[op](pop(), right))
        elif op == "negate":
            push(neg(pop()))
        elif op == "f":
            push(functions.FUNCTIONS[argument](pop()))
        elif op in ("±", "∓"):
            right = pop()
            push(add(pop(), right if next(chosen) > 0 else neg(right)))
        elif op in SIGNS:
            push(pop() if next(chosen) > 0 else neg(pop()))
        elif op == "power of":
            push(int_power(pop(), argument))
        elif op == "of several":
            name, count = argument
            arguments = stack[-count:]
            del stack[-count:]
            push(functions.of_several(name, arguments))
        elif op == "!":
            push(functions.factorial(pop()))
        elif op == "%":
            push(div(pop(), 100))
        elif argument:  # degrees in an angle
            push(mul(pop(), _RADIANS))
    (value,) = stack
    return value
