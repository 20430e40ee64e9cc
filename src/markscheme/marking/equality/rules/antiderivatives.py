"""Antiderivatives: two answers that both end in a constant of integration may differ by a constant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from markscheme.marking.equality.algebra.arithmetic import sub
from markscheme.marking.equality.algebra.exact import Value, generator, variables
from markscheme.marking.equality.algebra.numeric import varies

if TYPE_CHECKING:
    from markscheme.marking.equality.rules.rulebook import Comparator

_CONSTANTS: Final = ("C", "c")
_INTEGRATED: Final = frozenset("rstuvwxyz")


def antiderivatives(comparator: Comparator, a: Value, b: Value) -> bool | None:
    """True if both values are f(x) + C and their functions differ by a constant."""
    one, two = _function(a), _function(b)
    if one is None or two is None:
        return False
    difference = sub(one, two)
    if "c" in variables(a) | variables(b) and difference != 0:
        return False  # a small c may be any name
    if (names := variables(difference)) and varies(difference, names) is not False:
        return False
    comparator.flag("constant of integration")
    return comparator.is_constant(difference) if names else True


def _function(value: Value) -> Value | None:
    """Return the function before `+ C`, or None. In A + B + C and a + b + c the last letter is a variable like the others."""
    names = variables(value)
    for name in _CONSTANTS:
        if name in names and not _INTEGRATED.isdisjoint(names) and not any(x.isupper() for x in names - {name}):
            function = sub(value, generator(name))
            return None if name in variables(function) else function
    return None
