"""What the task files in `lm_eval_tasks/` call: documents from our benchmarks, scores from our marking.

Give lm-evaluation-harness the folder with `--include_path $(markscheme plugins path lm_eval)`, or say `markscheme
lm-eval …`, which does so. `--metadata '{"sample": true}'` takes the packaged problems, `"data_dir"` another folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from markscheme.benchmarks.base import Benchmark
from markscheme.marking import mark
from markscheme.plugins.data import ready
from markscheme.types import CountdownGold, Problem, Question

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
    splits = {"test": [_document(question, bench) for question in bench.questions(fewshot=0)]}
    if bench.pool:
        splits["train"] = [_example(problem, bench) for problem in bench.fewshot_pool]
    return {name: Dataset.from_list(documents) for name, documents in splits.items()}


def _document(question: Question, bench: Benchmark) -> dict[str, Any]:
    problem = question.problem
    gold = problem.gold
    puzzle = {"nums": list(gold.nums), "target": gold.target} if isinstance(gold, CountdownGold) else {}
    return {
        "benchmark": bench.name,
        "id": problem.id,
        "key": problem.key,
        "statement": problem.statement,
        "prompt": question.prompt.messages[-1].content,
        "gold": gold if isinstance(gold, str) else msgspec.json.encode(gold).decode(),
        "solution": _shown_solution(problem),
        "protocol": bench.protocol,
        **puzzle,
    }


def _example(problem: Problem, bench: Benchmark) -> dict[str, Any]:
    template = bench.template(None)
    prompt = template.user.replace("{statement}", problem.statement)
    return {
        "benchmark": bench.name,
        "id": problem.id,
        "key": problem.key,
        "statement": problem.statement,
        "prompt": prompt,
        "gold": str(problem.gold),
        "solution": _shown_solution(problem),
        "protocol": bench.protocol,
    }


def _shown_solution(problem: Problem) -> str:
    """What stands behind a worked example's prompt."""
    if isinstance(problem.gold, CountdownGold):
        return ""
    return f"{problem.solution}\n\nANSWER: {problem.gold}" if problem.solution else str(problem.gold)


def process_results(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, float]:
    """`score` of one document: the share of its responses that earn the mark (there is one, unless a task repeats)."""
    given = results[0]
    responses = [given] if isinstance(given, str) else list(given)
    marks = [mark(response, gold=doc["gold"], protocol=doc["protocol"]) for response in responses]
    return {"score": sum(each.correct for each in marks) / len(marks)}


def compute_score(response: str, nums: Sequence[int], target: int) -> float:
    """Countdown: 1.0 for an equation that uses every number exactly once and hits the target, else 0.0."""
    gold = CountdownGold(nums=tuple(nums), target=target)
    return float(mark(response, gold=gold, protocol="countdown").correct)


def countdown_results(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, float]:
    """`process_results` of `countdown`, from the fields of its data set."""
    responses = [results[0]] if isinstance(results[0], str) else list(results[0])
    scores = [compute_score(response, doc["nums"], doc["target"]) for response in responses]
    return {"score": sum(scores) / len(scores)}
