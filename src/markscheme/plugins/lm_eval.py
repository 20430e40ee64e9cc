"""What the task files in `lm_eval_tasks/` call: documents from our benchmarks, scores from our marking.

Give lm-evaluation-harness the folder with `--include_path $(markscheme plugins path lm_eval)`, or say `markscheme
lm-eval …`, which does so. `--metadata '{"sample": true}'` takes the packaged problems, `"data_dir"` another folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markscheme.benchmarks import Benchmark
from markscheme.marking import mark
from markscheme.plugins.data import ready
from markscheme.plugins.records import record
from markscheme.prompts import build_prompt
from markscheme.types import CountdownGold, Problem

if TYPE_CHECKING:
    from datasets import Dataset

TASKS = Path(__file__).parent / "lm_eval_tasks"
"""The folder to give as `--include_path`."""


def load(benchmark: str, data_dir: str | None = None, sample: bool = False, **_: Any) -> dict[str, Dataset]:
    """The splits of a task: `test`, and `train` for the worked examples, which lm_eval draws and formats itself.

    lm_eval passes a task's whole metadata and the model's arguments; what is not ours is left aside.
    """
    from datasets import Dataset

    bench = ready(benchmark, data_dir, sample=sample)
    splits: dict[str, Sequence[Problem]] = {"test": bench.problems} | (
        {"train": bench.pool} if bench.pool is not None else {}
    )
    return {
        name: Dataset.from_list([_document(problem, bench) for problem in problems])
        for name, problems in splits.items()
    }


def _document(problem: Problem, bench: Benchmark) -> dict[str, Any]:
    """A problem with the prompt that `markscheme run` would send, and what stands behind it in a worked example."""
    prompt = build_prompt(bench.template(None), problem, [], None)
    worked = f"{problem.solution}\n\nANSWER: {problem.gold}" if problem.solution else ""
    return {**record(problem, bench), "prompt": prompt.messages[-1].content, "worked": worked}


def process_results(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, float]:
    """`score` of one document: 1.0 or 0.0, or the share of its responses that earn the mark where a task repeats."""
    return _mean([float(mark(text, gold=doc["gold"], protocol=doc["protocol"]).correct) for text in _texts(results)])


def countdown_results(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, float]:
    """The same for `countdown`, from the fields of its data set."""
    return _mean([compute_score(text, doc["nums"], doc["target"]) for text in _texts(results)])


def compute_score(response: str, nums: Sequence[int], target: int) -> float:
    """Countdown: 1.0 for an equation that uses every number exactly once and hits the target, else 0.0."""
    gold = CountdownGold(nums=tuple(nums), target=target)
    return float(mark(response, gold=gold, protocol="countdown").correct)


def _texts(results: Sequence[Any]) -> list[str]:
    return [results[0]] if isinstance(results[0], str) else list(results[0])


def _mean(scores: list[float]) -> dict[str, float]:
    return {"score": sum(scores) / len(scores)}
