"""Runs a postfix program in exact arithmetic, with bounds on every step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final

from markscheme.marking.equality.algebra import functions
from markscheme.marking.equality.algebra.powers import power
from markscheme.marking.equality.algebra.rational_functions import (
    EULER,
    IMAGINARY,
    PI,
    Expr,
    Value,
    add,
    div,
    generators,
    int_power,
    mul,
    neg,
    sub,
    variable,
)
from markscheme.marking.equality.algebra.substitution import substitute
from markscheme.marking.equality.read.expressions import Program

DEGREE: Final = "°"
"""Stands for the degree sign until it is known whether it is the unit of the answer (1) or part of an angle (π/180)."""
COMMON_LOG: Final = "log"
"""Stands for 1/ln of the unknown base of a bare `log`: 10 for some authors, e for others."""

_CONSTANTS: Final = {"π": PI, "e": EULER, "i": IMAGINARY}
_BINARY: Final[dict[str, Callable[[Value, Value], Value]]] = {
    "+": add,
    "-": sub,
    "*": mul,
    "/": div,
    "^": power,
    "choose": functions.binomial,
}


def signs_in(program: Program) -> tuple[int, int]:
    """How many ± and how many ∓ the program has."""
    plus_minus = sum(op in ("±", "sign ±") for op, _ in program)
    return plus_minus, sum(op in ("∓", "sign ∓") for op, _ in program)


def run(program: Program, signs: Sequence[int] = ()) -> Value:
    """The value of a program; `signs` gives each ± and ∓ in turn its sign."""
    stack: list[Value] = []
    push, pop = stack.append, stack.pop
    turn = 0
    for op, argument in program:
        if op == "n":
            push(argument)
        elif op == "v":
            push(_CONSTANTS[argument] if argument in _CONSTANTS else variable(argument))
        elif op in _BINARY:
            right = pop()
            push(_BINARY[op](pop(), right))
        elif op == "negate":
            push(neg(pop()))
        elif op == "f":
            push(_apply(argument, stack))
        elif op in ("±", "∓"):
            right = pop()
            push(add(pop(), right) if signs[turn] > 0 else sub(pop(), right))
            turn += 1
        elif op in ("sign ±", "sign ∓"):
            push(pop() if signs[turn] > 0 else neg(pop()))
            turn += 1
        elif op == "root":
            radicand = pop()
            push(power(radicand, div(1, pop())))
        elif op == "power of":
            push(int_power(pop(), argument))
        elif op == "!":
            push(functions.factorial(pop()))
        elif op == "%":
            push(div(pop(), 100))
        else:
            push(mul(pop(), variable(DEGREE)))
    (value,) = stack
    return value


def _apply(name: str, stack: list[Value]) -> Value:
    argument = stack.pop()
    if name == "log of base":
        return functions.log_base(stack.pop(), argument)
    if name == "lg":
        return functions.log_base(10, argument)
    if name == "log":
        return mul(functions.logarithm(argument), variable(COMMON_LOG))
    if isinstance(argument, Expr) and name in functions.TRIGONOMETRIC and DEGREE in generators(argument):
        argument = substitute(argument, DEGREE, mul(PI, Fraction(1, 180)))
    return functions.FUNCTIONS[name](argument)
