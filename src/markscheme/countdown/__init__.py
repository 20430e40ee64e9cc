"""Countdown: judge an answer, solve a puzzle exactly, generate fresh ones.

Names load on first use: judging answers needs no numpy, and the command line starts at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markscheme.countdown.expression import Expression as Expression
    from markscheme.countdown.expression import ExpressionError as ExpressionError
    from markscheme.countdown.expression import parse as parse
    from markscheme.countdown.forms import Solution as Solution
    from markscheme.countdown.forms import essentially_same as essentially_same
    from markscheme.countdown.generator import Demand as Demand
    from markscheme.countdown.generator import generate as generate
    from markscheme.countdown.judging import Judgement as Judgement
    from markscheme.countdown.judging import judge as judge
    from markscheme.countdown.judging import strip_target_side as strip_target_side
    from markscheme.countdown.solver import iter_solutions as iter_solutions
    from markscheme.countdown.solver import solve as solve
    from markscheme.countdown.solver import solve_all as solve_all

_HOME = {
    "Expression": "expression",
    "ExpressionError": "expression",
    "parse": "expression",
    "Solution": "forms",
    "essentially_same": "forms",
    "Demand": "generator",
    "generate": "generator",
    "Judgement": "judging",
    "judge": "judging",
    "strip_target_side": "judging",
    "iter_solutions": "solver",
    "solve": "solver",
    "solve_all": "solver",
}

__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'markscheme.countdown' has no attribute {name!r}")
    return getattr(import_module(f"markscheme.countdown.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
