"""Evaluate language models on mathematical reasoning, with marks and intervals a researcher can defend.

This module only re-exports the public API. Names load on first use, so that `import markscheme` costs nothing and
`markscheme --help` feels instant.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markscheme import countdown as countdown
    from markscheme import rewards as rewards
    from markscheme.api import Run as Run
    from markscheme.api import audit as audit
    from markscheme.api import benchmark_the_graders as benchmark_the_graders
    from markscheme.api import compare as compare
    from markscheme.api import data as data
    from markscheme.api import experiment as experiment
    from markscheme.api import experiment_async as experiment_async
    from markscheme.api import judge as judge
    from markscheme.api import load as load
    from markscheme.api import plan as plan
    from markscheme.api import report as report
    from markscheme.api import resume as resume
    from markscheme.api import resume_async as resume_async
    from markscheme.api import run as run
    from markscheme.api import run_async as run_async
    from markscheme.benchmarks import Benchmark as Benchmark
    from markscheme.benchmarks import benchmark as benchmark
    from markscheme.errors import MarkschemeError as MarkschemeError
    from markscheme.marking import mark as mark
    from markscheme.marking.equality import equal as equal
    from markscheme.statistics import pass_at_k as pass_at_k
    from markscheme.types import Mark as Mark
    from markscheme.types import Problem as Problem
    from markscheme.types import Prompt as Prompt
    from markscheme.types import Response as Response
    from markscheme.types import Verdict as Verdict

__version__ = "0.1.0"

_COMMANDS = (
    "audit",
    "benchmark_the_graders",
    "compare",
    "experiment",
    "judge",
    "load",
    "plan",
    "report",
    "resume",
    "run",
)
_HOME = {
    **dict.fromkeys(_COMMANDS, "markscheme.api"),
    **dict.fromkeys(("Run", "experiment_async", "resume_async", "run_async"), "markscheme.api"),
    "Benchmark": "markscheme.benchmarks",
    "benchmark": "markscheme.benchmarks",
    "equal": "markscheme.marking.equality",
    "mark": "markscheme.marking",
    "pass_at_k": "markscheme.statistics",
    "MarkschemeError": "markscheme.errors",
    "Mark": "markscheme.types",
    "Problem": "markscheme.types",
    "Prompt": "markscheme.types",
    "Response": "markscheme.types",
    "Verdict": "markscheme.types",
}

_MODULES = {"rewards": "markscheme.rewards", "countdown": "markscheme.countdown", "data": "markscheme.api.data"}

__all__ = ["__version__", *_HOME, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name not in _HOME:
        raise AttributeError(f"module 'markscheme' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
