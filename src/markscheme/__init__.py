"""Evaluate language models on mathematical reasoning, with marks and intervals a researcher can defend.

This module only re-exports the public API. Names load on first use, so that `import markscheme` costs nothing and
`markscheme --help` feels instant.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markscheme import rewards as rewards
    from markscheme.api import experiment as experiment
    from markscheme.api import run as run
    from markscheme.benchmarks import Benchmark as Benchmark
    from markscheme.benchmarks import benchmark as benchmark
    from markscheme.errors import MarkschemeError as MarkschemeError
    from markscheme.marking import mark as mark
    from markscheme.marking.equality import equal as equal
    from markscheme.runs.folder import Run as Run
    from markscheme.statistics import pass_at_k as pass_at_k
    from markscheme.types import Mark as Mark
    from markscheme.types import Problem as Problem
    from markscheme.types import Prompt as Prompt
    from markscheme.types import Response as Response
    from markscheme.types import Verdict as Verdict

__version__ = "0.1.0"

_HOME = {
    "Benchmark": "markscheme.benchmarks",
    "Run": "markscheme.runs.folder",
    "benchmark": "markscheme.benchmarks",
    "equal": "markscheme.marking.equality",
    "experiment": "markscheme.api",
    "mark": "markscheme.marking",
    "pass_at_k": "markscheme.statistics",
    "run": "markscheme.api",
    "MarkschemeError": "markscheme.errors",
    "Mark": "markscheme.types",
    "Problem": "markscheme.types",
    "Prompt": "markscheme.types",
    "Response": "markscheme.types",
    "Verdict": "markscheme.types",
}

_MODULES = ("rewards",)

__all__ = ["__version__", *_HOME, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"markscheme.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'markscheme' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
