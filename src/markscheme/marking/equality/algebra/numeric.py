"""Floating-point values of exact expressions: they can show that two values differ, never that they are equal."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Final

from markscheme.marking.equality.algebra.exact import Expr, Terms, Value

_CONSTANTS: Final = {"π": math.pi, "e": math.e, "#i": 1j}


def approximate(value: Value, point: dict[str, complex] | None = None) -> complex | None:
    """Return the value at a point, or None if it is undefined or out of range there."""
    try:
        return _value(value, point or {}, 0)
    except (ArithmeticError, ValueError, KeyError, RecursionError, TypeError):
        return None


def _value(value: Value, point: dict[str, complex], depth: int) -> complex:
    if not isinstance(value, Expr):
        return complex(value.numerator / value.denominator)
    if depth > 30:
        raise RecursionError
    known: dict[str, complex] = {}
    for key, inner in (value.atoms or {}).items():
        known[key] = _FUNCTIONS[inner.kind](*(_value(a, point, depth + 1) for a in inner.args))
    top = _sum(value.terms, point, known)
    return top if value.den is None else top / _sum(value.den, point, known)


def _sum(terms: Terms, point: dict[str, complex], known: dict[str, complex]) -> complex:
    total: complex = 0
    size = 0.0
    for mono, c in terms.items():
        product: complex = c.numerator / c.denominator
        for g, e in mono:
            base = known.get(g)
            if base is None:
                base = _CONSTANTS.get(g)
                if base is None:
                    base = complex(int(g[1:])) if g[0] == "#" else point[g]
            product *= base ** (e if isinstance(e, int) else e.numerator / e.denominator)
        total += product
        size = max(size, abs(product))
    if abs(total) < size * 1e-9:
        # After such cancellation no digit is reliable.
        raise ArithmeticError
    return total


def _real(function: Callable[[float], float]) -> Callable[[complex], complex]:
    def apply(z: complex) -> complex:
        if abs(z.imag) > 1e-12 * max(1.0, abs(z)):
            raise ValueError
        return complex(function(z.real))

    return apply


def _floor(x: float) -> float:
    if abs(x - round(x)) < 1e-9 * max(1.0, abs(x)):
        raise ValueError
    return math.floor(x)


_factorial: Final = _real(lambda x: math.gamma(x + 1))
_FUNCTIONS: Final[dict[str, Callable[..., complex]]] = {
    "sin": cmath.sin,
    "cos": cmath.cos,
    "arcsin": cmath.asin,
    "arctan": cmath.atan,
    "ln": cmath.log,
    "root": lambda z: z,
    "pow": lambda b, e: b**e,
    "power": lambda b, e: b**e,
    "abs": lambda z: complex(abs(z)),
    "floor": _real(_floor),
    "factorial": _factorial,
    **{name: getattr(cmath, name) for name in ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh")},
    "max": lambda *args: max(args, key=lambda z: z.real),
    "min": lambda *args: min(args, key=lambda z: z.real),
    "binomial": lambda n, k: _factorial(n) / (_factorial(k) * _factorial(n - k)),
}


def _points(names: set[str]) -> list[dict[str, complex]]:
    """Return fixed positive points, where roots and logarithms are defined. The last one is small, for large powers."""

    def point(step: float, shift: float, width: float) -> dict[str, complex]:
        places = (math.fmod((k + 2) * 0.7548776662466927 * step + 0.1234567, 1.0) for k in range(len(names)))
        return {name: complex(shift + width * place) for name, place in zip(sorted(names), places, strict=True)}

    return [point(1.0, 1, 2), point(2.6180339887, 1, 2), point(5.1773050119, 1, 2), point(1.0, 0, 0.01)]


def varies(value: Value, names: set[str]) -> bool | None:
    """True if the value differs between points, False if it is constant, None if it has no value."""
    sizes = [size for point in _points(names) if (size := approximate(value, point)) is not None]
    if len(sizes) < 2:
        return None
    return any(abs(size - sizes[0]) > 1e-6 * max(abs(size), abs(sizes[0])) for size in sizes[1:])


def differ(a: Value, b: Value, names: set[str]) -> bool | None:
    """True if the values differ at some point, False if they agree at every point, None if there is no value."""
    seen = False
    for point in _points(names):
        x, y = approximate(a, point), approximate(b, point)
        if x is None or y is None or not (cmath.isfinite(x) and cmath.isfinite(y)):
            continue
        seen = True
        if abs(x - y) > 1e-6 * max(abs(x), abs(y)):
            return True
        if not names:
            break
    return False if seen else None
