"""Runs a postfix program in exact arithmetic, with bounds on every step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import lcm
from typing import Any, Final

from markscheme.marking.equality.algebra import functions, trigonometry
from markscheme.marking.equality.algebra.arithmetic import add, div, int_power, mul, neg, settle, sub
from markscheme.marking.equality.algebra.exact import (
    EULER,
    IMAGINARY,
    PI,
    Atom,
    Expr,
    Terms,
    Value,
    generators,
    variable,
    variables,
)
from markscheme.marking.equality.algebra.powers import power

Program = list[tuple[str, Any]]
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


_REBUILT: Final[dict[str, Callable[..., Value]]] = {
    "sin": trigonometry.sine,
    "cos": trigonometry.cosine,
    "arcsin": trigonometry.arcsine,
    "arctan": trigonometry.arctangent,
    "ln": functions.logarithm,
    "abs": functions.absolute,
    "floor": functions.floor,
    "factorial": functions.factorial,
    "binomial": functions.binomial,
    "pow": power,
    "power": power,
    "root": lambda a: a,
}
"""How an atom of each kind is made again from its arguments; a root's exponent stays outside the atom."""


def substitute(value: Value, name: str, by: Value) -> Value:
    """The value with a variable replaced."""
    if not isinstance(value, Expr) or name not in generators(value):
        return value
    top = _terms(value, value.terms, name, by)
    return top if value.den is None else div(top, _terms(value, value.den, name, by))


def _terms(whole: Expr, terms: Terms, name: str, by: Value) -> Value:
    atoms = {key: made for key, inner in (whole.atoms or {}).items() if (made := _atom(inner, name, by)) is not None}
    result: Value = 0
    for mono, c in terms.items():
        kept = {g: e for g, e in mono if g != name and g not in atoms}
        product = settle({tuple(sorted(kept.items())): c}, None, whole.atoms)
        for g, e in mono:
            if g == name or g in atoms:
                product = mul(product, power(by if g == name else atoms[g], e))
        result = add(result, product)
    return result


def _atom(inner: Atom, name: str, by: Value) -> Value | None:
    """The atom made again, or None when the variable is not in it."""
    if not any(name in generators(a) for a in inner.args):
        return None
    return _REBUILT[inner.kind](*(substitute(a, name, by) for a in inner.args))


def whole_angles(a: Value, b: Value) -> tuple[Value, Value] | None:
    """Both values with x replaced by a multiple of x, such that all angles are whole multiples: x/2 and x share x/2.

    Equality is not changed by that, and identities between an angle and its half then show in the canonical form.
    """
    denominators: dict[str, int] = {}
    for value in (a, b):
        for inner in (value.atoms or {}).values() if isinstance(value, Expr) else ():
            angle = inner.args[0]
            if inner.kind in ("sin", "cos") and isinstance(angle, Expr) and angle.den is None:
                for mono, c in angle.terms.items():
                    for g, e in mono:
                        if g in variables(angle) and e == 1:
                            denominators[g] = lcm(denominators.get(g, 1), c.denominator)
    scales = {g: n for g, n in denominators.items() if 1 < n <= 12}
    if not scales:
        return None
    for g, n in scales.items():
        by = mul(variable(g), Fraction(n))
        a, b = substitute(a, g, by), substitute(b, g, by)
    return a, b
