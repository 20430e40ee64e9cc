r"""Reads the LaTeX golds of math-sample into exact sympy objects, by their `kind`, and compares two of the same kind.

Only for the spellings that occur in the sample set, and on purpose not the package's own marker: the golds are to be
confirmed without it. A gold in an unknown spelling raises.
"""

import re
from collections.abc import Callable
from typing import Any

import sympy
from sympy.parsing.sympy_parser import (
    convert_xor,
    implicit_multiplication_application,
    parse_expr,
    standard_transformations,
)

TRANSFORMATIONS = (*standard_transformations, convert_xor, implicit_multiplication_application)
PART = r"(\{[^{}]*\}|\d)"


def expression(text: str) -> sympy.Expr:
    r"""An expression with `\frac`, `\sqrt` and `\pi`; the letter i is an ordinary variable here."""
    text = text.replace(r"\left", "").replace(r"\right", "").replace(r"\dfrac", r"\frac")
    before = None
    while before != text:  # each round takes the innermost commands, whose arguments have no braces in them
        before = text
        text = re.sub(rf"\\sqrt{PART}", lambda root: f"(sqrt({root[1].strip('{}')}))", text)
        text = re.sub(rf"\\frac *{PART}{PART}", lambda f: f"(({f[1].strip('{}')})/({f[2].strip('{}')}))", text)
    text = text.replace(r"\pi", "pi")
    if re.search(r"[\\{}]", text):
        raise ValueError(f"cannot read {text!r}")
    return parse_expr(text, transformations=TRANSFORMATIONS)


def thousands(text: str) -> sympy.Expr:
    if not re.fullmatch(r"\d{1,3}(,(\\! ?)?\d{3})+", text):
        raise ValueError(f"no thousands separator in {text!r}")
    return sympy.Integer(re.sub(r"\D", "", text))


def decimal(text: str) -> sympy.Expr:
    if not re.fullmatch(r"\d*\.\d+", text):
        raise ValueError(f"not a decimal: {text!r}")
    return sympy.Rational(text)


def mixed(text: str) -> sympy.Expr:
    whole, part = text.split(r"\frac")
    return sympy.Integer(whole) + expression(r"\frac" + part)


def degrees(text: str) -> sympy.Expr:
    return expression(re.fullmatch(r"(.+?)(?:\^\\circ|\\text\{ degrees\})", text)[1])


def money(text: str) -> tuple[sympy.Expr, str]:
    if cents := re.fullmatch(r"(\d+)\\text\{ cents\}", text):
        return sympy.Integer(cents[1]), "cents"
    return sympy.Rational(re.fullmatch(r"\\\$(\d+\.\d\d)", text)[1]), "dollars"


def unit(text: str) -> tuple[sympy.Expr, str]:
    value, name, power = re.fullmatch(r"(\d+)\\(?:text|mbox)\{ ([^{}]+)\}(\^\d)?", text).groups()
    return sympy.Integer(value), name + (power or "")


def base(text: str) -> tuple[sympy.Expr, sympy.Expr]:
    digits, radix = re.fullmatch(r"(\d+)_\{?(\d+)\}?", text).groups()
    return sympy.Integer(int(digits, int(radix))), sympy.Integer(radix)


def interval(text: str) -> sympy.Set:
    text = text.removeprefix(r"x \in ").replace(r"\left", "").replace(r"\right", "")
    opening, low, high, closing = re.fullmatch(r"([\[(])(.+),(.+)([\])])", text).groups()
    ends = [sympy.oo * (-1 if "-" in end else 1) if r"\infty" in end else expression(end) for end in (low, high)]
    return sympy.Interval(*ends, left_open=opening == "(", right_open=closing == ")")


def union(text: str) -> sympy.Set:
    return sympy.Union(*(interval(part) for part in text.split(r"\cup")))


def values(text: str) -> list[sympy.Expr]:
    r"""Comma-separated expressions, of which each `\pm` makes two."""
    both = [[part.replace(r"\pm", sign) for sign in "+-"] if r"\pm" in part else [part] for part in text.split(",")]
    return [expression(part) for parts in both for part in parts]


def collection(text: str) -> sympy.Set:
    found = values(text.removeprefix(r"\{").removesuffix(r"\}"))
    if len(set(found)) != len(found):
        raise ValueError(f"{text!r} names a value twice")
    return sympy.FiniteSet(*found)


def tuple_(text: str) -> tuple[sympy.Expr, ...]:
    return tuple(values(re.fullmatch(r"(?:\\left)?\((.+?)(?:\\right)?\)", text)[1]))


def matrix(text: str) -> sympy.Matrix:
    body = re.fullmatch(r"\\begin\{pmatrix\}(.+)\\end\{pmatrix\}", text)[1]
    return sympy.Matrix([[expression(cell) for cell in line.split("&")] for line in body.split(r"\\")])


def equation(text: str) -> sympy.Eq:
    left, right = text.split("=")
    return sympy.Eq(expression(left), expression(right))


def word(text: str) -> str:
    return re.fullmatch(r"\\text\{([A-Za-z]+)\}", text)[1]


def choice(text: str) -> str:
    return re.fullmatch(r"\\text\{\(([A-E])\)\}", text)[1]


# Every kind of answer, with the function that reads it.
READERS: dict[str, Callable[[str], Any]] = {
    "integer": lambda text: sympy.Integer(int(text)),
    "fraction": expression,
    "root": expression,
    "pi": expression,
    "expression": expression,
    "complex": lambda text: expression(text).subs(sympy.Symbol("i"), sympy.I),
    "degrees": degrees,
    "interval": interval,
    "union": union,
    "tuple": tuple_,
    "decimal": decimal,
    "matrix": matrix,
    "vector": matrix,
    "base": base,
    "money": money,
    "unit": unit,
    "word": word,
    "equation": equation,
    "list": collection,
    "thousands": thousands,
    "choice": choice,
    "plus-minus": collection,
    "mixed": mixed,
    "set": collection,
}


def same(a: Any, b: Any) -> bool:
    """Whether two answers of the same kind are equal, exactly."""
    if isinstance(a, tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, sympy.Eq):
        # Two equations are the same when they differ by a factor other than zero.
        ratio = sympy.simplify((a.lhs - a.rhs) / (b.lhs - b.rhs))
        return ratio.is_number and ratio != 0
    if isinstance(a, sympy.Expr) and isinstance(b, sympy.Expr | int):
        return sympy.simplify(a - b) == 0
    return a == b
