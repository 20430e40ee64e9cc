"""Countdown: judge an answer, solve a puzzle exactly, generate new puzzles.

The solver and the generator load on first use, since judging answers needs no numpy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from markscheme.countdown.expression import Expression, ExpressionError, parse
from markscheme.countdown.forms import Solution, essentially_same
from markscheme.countdown.judging import Judgement, judge, strip_target_side

if TYPE_CHECKING:
    from markscheme.countdown.generator import Demand, generate
    from markscheme.countdown.solver import iter_solutions, solve, solve_all

__all__ = ["Demand", "Expression", "ExpressionError", "Judgement", "Solution", "essentially_same", "generate",
           "iter_solutions", "judge", "parse", "solve", "solve_all", "strip_target_side"]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'markscheme.countdown' has no attribute {name!r}")
    home = "generator" if name in ("Demand", "generate") else "solver"
    return getattr(import_module(f"markscheme.countdown.{home}"), name)
