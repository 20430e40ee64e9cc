"""An environment for verifiers: `verifiers.load_environment("markscheme", benchmark="gsm8k")`.

verifiers imports a module by the environment's name and calls its `load_environment`; `markscheme` itself has one, so
no further installation is needed.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from markscheme.benchmarks import Benchmark
from markscheme.benchmarks import benchmark as find_benchmark
from markscheme.errors import needed
from markscheme.marking.reading.reader import final_answer
from markscheme.marking.reading.sections import read
from markscheme.marking.reading.values import VALUE
from markscheme.rewards.scoring import Outcome, outcomes, text_of, usable
from markscheme.rewards.strict import level_of
from markscheme.types import CountdownGold

_KEPT = "markscheme"  # key of a rollout's state with its outcome, so that it is judged once


def load_environment(
    benchmark: str | Benchmark = "gsm8k-sample",
    *,
    protocol: Any = None,
    strict: str | bool | None = None,
    format_score: float = 0.0,
    limit: int | None = None,
    prompt: str | None = None,
    data_dir: str | None = None,
    **options: Any,
) -> Any:
    """Return a verifiers `SingleTurnEnv` of a benchmark: its prompts, a parser for final answers, and a rubric that marks.

    `truncated`, `format` and `refused` are metrics beside the reward; `verdict` and `answer` are in the rollout's state.
    """
    verifiers = needed("verifiers", "verifiers")
    datasets = needed("datasets", "trl")
    usable(protocol)
    level_of(strict)
    bench = benchmark if isinstance(benchmark, Benchmark) else find_benchmark(benchmark, data_dir)
    rows = []
    for question in bench.questions(variant=prompt, limit=limit):
        gold = question.problem.gold
        answer = json.dumps({"nums": gold.nums, "target": gold.target}) if isinstance(gold, CountdownGold) else gold
        messages = [{"role": each.role, "content": each.content} for each in question.prompt.messages]
        about = {
            "statement": question.problem.statement,
            "protocol": question.problem.protocol,
            "id": question.problem.id,
        }
        rows.append({"prompt": messages, "answer": answer, "info": json.dumps(about)})
    parser = verifiers.Parser(extract_fn=stated_answer)
    marking = {"protocol": protocol, "strict": strict, "format_score": format_score}
    functions = [_reward(marking), *map(_metric, ("truncated", "format", "refused"))]
    rubric = verifiers.Rubric(funcs=functions, weights=[1.0, 0.0, 0.0, 0.0], parser=parser)
    dataset = datasets.Dataset.from_list(rows)
    return verifiers.SingleTurnEnv(dataset=dataset, eval_dataset=dataset, parser=parser, rubric=rubric, **options)


def stated_answer(text: str) -> str:
    """Return the final answer of a response as it is written, or an empty text."""
    reading = final_answer(read(text), VALUE)
    return "" if reading is None else reading.answer


def _reward(marking: dict[str, Any]) -> Any:
    async def correct(completion: Any, answer: Any, info: Any, state: Any) -> float:
        outcome = await asyncio.to_thread(_judged, completion, answer, info, state, marking)
        state[_KEPT] = outcome.extras()
        state["verdict"], state["answer_read"] = outcome.verdict, outcome.answer
        return outcome.score or 0.0

    return correct


def _judged(completion: Any, answer: Any, info: Any, state: Any, marking: dict[str, Any]) -> Outcome:
    about = json.loads(info) if isinstance(info, str) else dict(info or {})
    options = {**marking, "protocol": marking["protocol"] or about.get("protocol")}
    cut_off = bool(state.get("is_truncated")) if hasattr(state, "get") else False
    return outcomes(
        [text_of(completion)],
        [answer],
        statements=[about.get("statement", "")],
        finish=["length" if cut_off else None],
        workers=1,
        **options,
    )[0]


def _metric(name: str) -> Any:
    """Return a metric of weight 0. verifiers calls the functions of a rubric in order, so the outcome exists by then."""

    async def metric(state: Any) -> float:
        value = (state.get(_KEPT) or {}).get(name, 0.0)
        return float(bool(value)) if isinstance(value, str) else float(value)

    metric.__name__ = name
    return metric
