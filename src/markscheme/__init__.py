"""Evaluate language models on mathematical reasoning, with marks and intervals a researcher can defend.

This module only re-exports the public API. Names load on first use, so that `import markscheme` and `markscheme --help`
are fast.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # instead of typing's, whose import takes as long as the rest of `markscheme --help`
if TYPE_CHECKING:
    from typing import Any

    from markscheme import countdown as countdown
    from markscheme import rewards as rewards
    from markscheme.api import data as data
    from markscheme.api.asking import Experiment as Experiment
    from markscheme.api.asking import dry_run as dry_run
    from markscheme.api.asking import experiment as experiment
    from markscheme.api.asking import experiment_async as experiment_async
    from markscheme.api.asking import judge as judge
    from markscheme.api.asking import judge_async as judge_async
    from markscheme.api.asking import resume as resume
    from markscheme.api.asking import resume_async as resume_async
    from markscheme.api.asking import run as run
    from markscheme.api.asking import run_async as run_async
    from markscheme.api.exchange import export as export
    from markscheme.api.exchange import import_log as import_log
    from markscheme.api.exchange import list_benchmarks as list_benchmarks
    from markscheme.api.exchange import list_models as list_models
    from markscheme.api.exchange import list_protocols as list_protocols
    from markscheme.api.exchange import push as push
    from markscheme.api.exchange import show as show
    from markscheme.api.opinions import Adjudication as Adjudication
    from markscheme.api.opinions import Opinions as Opinions
    from markscheme.api.reports import adjudicate as adjudicate
    from markscheme.api.reports import audit as audit
    from markscheme.api.reports import benchmark_the_graders as benchmark_the_graders
    from markscheme.api.reports import compare as compare
    from markscheme.api.reports import errata as errata
    from markscheme.api.reports import gate as gate
    from markscheme.api.reports import load as load
    from markscheme.api.reports import plan as plan
    from markscheme.api.reports import report as report
    from markscheme.api.reports import reproduce as reproduce
    from markscheme.api.reports import series as series
    from markscheme.api.reports import suspects as suspects
    from markscheme.api.reports import verify as verify
    from markscheme.api.rewarding import attack as attack
    from markscheme.api.rewarding import audit_rollouts as audit_rollouts
    from markscheme.api.rewarding import select as select
    from markscheme.api.run import Answer as Answer
    from markscheme.api.run import Run as Run
    from markscheme.benchmarks import Benchmark as Benchmark
    from markscheme.benchmarks import benchmark as benchmark
    from markscheme.errors import MarkschemeError as MarkschemeError
    from markscheme.marking import explain as explain
    from markscheme.marking import mark as mark
    from markscheme.marking.bulk.audit import Audit as Audit
    from markscheme.marking.bulk.graders import Graders as Graders
    from markscheme.marking.equality import equal as equal
    from markscheme.pages.frames import Listing as Listing
    from markscheme.reporting.comparison import Comparison as Comparison
    from markscheme.reporting.planning import Plan as Plan
    from markscheme.reporting.report import Report as Report
    from markscheme.rewards.environment import load_environment as load_environment
    from markscheme.statistics import pass_at_k as pass_at_k
    from markscheme.types import Mark as Mark
    from markscheme.types import Problem as Problem
    from markscheme.types import Prompt as Prompt
    from markscheme.types import Response as Response
    from markscheme.types import Verdict as Verdict

__version__ = "0.1.0"

_HOMES = {
    "api.asking": "Experiment dry_run experiment experiment_async judge judge_async resume resume_async run run_async",
    "api.exchange": "export import_log list_benchmarks list_models list_protocols push show",
    "pages.frames": "Listing",
    "api.opinions": "Adjudication Opinions",
    "api.reports": "adjudicate audit benchmark_the_graders compare errata gate load plan report reproduce series suspects verify",
    "api.rewarding": "attack audit_rollouts select",
    "api.run": "Answer Run",
    "benchmarks": "Benchmark benchmark",
    "marking.bulk.audit": "Audit",
    "marking.bulk.graders": "Graders",
    "marking.equality": "equal",
    "marking": "explain mark",
    "statistics": "pass_at_k",
    "errors": "MarkschemeError",
    "reporting.comparison": "Comparison",
    "reporting.planning": "Plan",
    "reporting.report": "Report",
    "rewards.environment": "load_environment",
    "types": "Mark Problem Prompt Response Verdict",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}
_MODULES = {"rewards": "markscheme.rewards", "countdown": "markscheme.countdown", "data": "markscheme.api.data"}

__all__ = ["__version__", *_HOME, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name not in _HOME:
        raise AttributeError(f"module 'markscheme' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"markscheme.{_HOME[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
