"""Functions called by the task files in `lm_eval_tasks/`: documents from our benchmarks, scores from our marking.

Pass the folder to lm-evaluation-harness with `--include_path $(markscheme plugins path lm_eval)`, run `markscheme
lm-eval …`, which does that, or add the files to lm_eval's own with `markscheme plugins link lm_eval`. `--metadata
'{"sample": true}'` uses the packaged problems, `"data_dir"` another folder.
"""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markscheme.benchmarks import Benchmark
from markscheme.countdown import generate
from markscheme.countdown.solver import solve
from markscheme.errors import DataError, UsageError, needed, os_reason
from markscheme.marking import mark, protocol_names
from markscheme.plugins.data import ready
from markscheme.plugins.one_sentence import speak_plainly
from markscheme.plugins.records import record
from markscheme.prompts import build_prompt
from markscheme.types import CountdownGold, Problem

if TYPE_CHECKING:
    from datasets import Dataset

speak_plainly()  # lm_eval does not catch exceptions of a task

TASKS = Path(__file__).parent / "lm_eval_tasks"  # the folder for `--include_path`


# TinyZero's wording, used by the newer code of the published task; its documentation keeps that of `countdown_prompt`.
CONVERSATION = (
    "A conversation between User and Assistant. The user asks a question, and the Assistant solves it. The assistant first "
    "thinks about the reasoning process in the mind and then provides the user with the answer.\nUser: Using the numbers "
    "{numbers}, create an equation that equals {target}. You can use basic arithmetic operations (+, -, *, /) and each number "
    "can only be used once. Show your work in <think> </think> tags. And return the final answer in <answer> </answer> tags, "
    "for example <answer> (1 + 2) / 3 </answer>.\nAssistant: Let me solve this step by step.\n<think>"
)


# The documented rule of `countdown`, and the rule in the newest code of the published task: the last `<answer>` only.
COUNTDOWN, TAGS = "countdown", "answer-tags"


def load(
    benchmark: str,
    data_dir: str | None = None,
    sample: bool = False,
    prompt: str = "documented",
    protocol: str | None = None,
    **_: Any,
) -> dict[str, Dataset]:
    """Return the splits of a task: `test`, and `train` for the worked examples, which lm_eval draws and formats itself.

    lm_eval passes a task's whole metadata and the model's arguments; unknown ones are ignored.
    """
    from datasets import Dataset

    if prompt not in ("documented", "conversation"):
        raise UsageError(f"--metadata prompt is documented or conversation, not {prompt!r}")
    known = (
        (COUNTDOWN, TAGS) if benchmark == COUNTDOWN else tuple(name for name in protocol_names() if name != COUNTDOWN)
    )
    if protocol is not None and protocol not in known:
        raise UsageError(f"--metadata protocol is one of {', '.join(known)}, not {protocol!r}")
    bench = ready(benchmark, data_dir, sample=sample)
    documents = {"test": [_document(problem, bench) for problem in bench.problems]}
    if benchmark == COUNTDOWN:
        documents["train"] = _train_puzzles(bench)
        for row in (*documents["test"], *documents["train"]):
            row["wording"] = prompt
        for row in documents["test"]:
            row["prompt"] = countdown_prompt(row)  # the real prompt, for the log of samples
    elif bench.pool is not None and bench.fewshot:  # an optional pool may be missing
        documents["train"] = [_document(problem, bench) for problem in bench.pool]
    if protocol is not None:
        for row in documents["test"]:
            row["protocol"] = protocol
    return {name: Dataset.from_list(rows) for name, rows in documents.items()}


def _train_puzzles(bench: Benchmark) -> list[dict[str, Any]]:
    """Return puzzles for worked examples: the published train split if available, else generated ones, excluding the
    test.
    """
    with contextlib.suppress(DataError):
        if rows := [{"nums": row["nums"], "target": row["target"]} for row in bench.pool_rows()]:
            return rows
    asked = [problem.gold for problem in bench.problems if isinstance(problem.gold, CountdownGold)]
    return [{"nums": list(gold.nums), "target": gold.target} for gold in generate(1000, seed=1, exclude=asked)]


def countdown_prompt(doc: Mapping[str, Any]) -> str:
    """Return the published task's prompt verbatim, including line breaks, which a base model continues."""
    numbers, target = ", ".join(map(str, doc["nums"])), doc["target"]
    if doc.get("wording") == "conversation":
        return CONVERSATION.format(numbers=numbers, target=target)
    return (
        f"Given the numbers {numbers}, how can you use each number exactly once with basic "
        f"arithmetic operations (+, -, *, /) to reach the target {target}?\n\nAnswer:"
    )


def _document(problem: Problem, bench: Benchmark) -> dict[str, Any]:
    """Return a problem with the prompt that `markscheme run` would send, and its answer as a worked example."""
    prompt = build_prompt(bench.template(None), problem, [], None)
    worked = f"{problem.solution}\n\nANSWER: {problem.gold}" if problem.solution else ""
    return {**record(problem, bench.name, bench.protocol), "prompt": prompt.messages[-1].content, "worked": worked}


def worked_equation(doc: Mapping[str, Any]) -> str:
    """Return the solution of a puzzle in a worked example, solved on demand because a train split has half a million."""
    solution = solve(doc["nums"], doc["target"])
    return "" if solution is None else f" {solution.expression} = {doc['target']}"


def process_results(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, float]:
    """Return `score` for a document: 1.0 or 0.0, or the share of correct responses if the task repeats."""
    return _mean([float(mark(text, gold=doc["gold"], protocol=doc["protocol"]).correct) for text in _texts(results)])


def countdown_results(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, float]:
    """Return the same for `countdown`, from its data set's fields, and also under the published task's name.

    `beside` is the verdict of the other rule, `differing` the share of responses on which the two disagree.
    """
    texts = _texts(results)
    wide, tags = (
        [compute_score(text, doc["nums"], doc["target"]) for text in read] for read in (texts, map(_in_tags, texts))
    )
    decides, other = (tags, wide) if doc.get("protocol") == TAGS else (wide, tags)
    score = _mean(decides)["score"]
    differing = sum(one != two for one, two in zip(wide, tags, strict=True)) / len(texts)
    return {"countdown_score": score, "score": score, "beside": _mean(other)["score"], "differing": differing}


def _in_tags(text: str) -> str:
    """Score like the published code: the last `<answer>…</answer>` on one line, in plain arithmetic."""
    inside = text.rpartition("</answer>")[0].rpartition("<answer>")[2] if "</answer>" in text else ""
    return f"<answer>{inside}</answer>" if re.fullmatch(r"[\d+\-*/(). \t]+", inside) else ""


def compute_score(response: str, nums: Sequence[int], target: int) -> float:
    """Return 1.0 for a Countdown equation that uses every number exactly once and equals the target, else 0.0."""
    gold = CountdownGold(nums=tuple(nums), target=target)
    return float(mark(response, gold=gold, protocol="countdown").correct)


def link_tasks() -> Path:
    """Copy the task files into lm_eval's own folder, so that it finds them without a flag, and return the folder."""
    folder = Path(needed("lm_eval.tasks", "lm-eval").__file__).parent / "markscheme"
    try:
        shutil.copytree(TASKS, folder, dirs_exist_ok=True)
    except OSError as error:
        raise DataError(
            f"cannot write to {folder}: {os_reason(error)}; `--include_path {TASKS}` needs no writing"
        ) from None
    return folder


def _texts(results: Sequence[Any]) -> list[str]:
    return [results[0]] if isinstance(results[0], str) else list(results[0])


def _mean(scores: list[float]) -> dict[str, float]:
    return {"score": sum(scores) / len(scores)}
