"""Tasks and scorers for Inspect: `inspect eval markscheme/gsm8k`, `inspect score LOG --scorer markscheme/gsm8k_strict`.

A sample's input is the messages that `markscheme run` would send, and a score is our mark: its verdict and reason are
in the explanation. Inspect finds this module through the entry point `markscheme` of the group `inspect_ai`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import anyio
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    NOANSWER,
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    accuracy,
    metric,
    scorer,
)
from inspect_ai.scorer import stderr as plain_stderr
from inspect_ai.solver import TaskState, generate

from markscheme.errors import UsageError
from markscheme.marking import get_protocol, mark, protocol_names
from markscheme.plugins.data import ready
from markscheme.plugins.inspect_types import chat_messages, response_of
from markscheme.plugins.one_sentence import speak_plainly
from markscheme.plugins.records import gold_text, record
from markscheme.types import Verdict

speak_plainly()  # Inspect shows exceptions of a task with a traceback

_UNANSWERED = (Verdict.NO_ANSWER, Verdict.TRUNCATED)


@metric
def stderr() -> Metric:
    """Return the standard error clustered by problem, even if epochs are not reduced to one score per problem."""

    def of(scores: list[SampleScore]) -> float:
        clustered = [
            one.model_copy(
                update={"sample_metadata": {"problem": (one.sample_metadata or {}).get("key", one.sample_id)}}
            )
            for one in scores
        ]
        return plain_stderr(cluster="problem")(clustered)  # type: ignore[arg-type, call-arg, return-value]

    return of


def _scorer(protocol: str) -> Callable[..., Scorer]:
    @scorer(metrics=[accuracy(), stderr()], name=protocol.replace("-", "_"))
    def marked(unanswered: str = NOANSWER) -> Scorer:
        """Return a scorer for a protocol. `unanswered` is the value of a response without an answer: `N`, or `I`."""

        async def score(state: TaskState, target: Target) -> Score:
            gold = state.metadata.get("gold", target.text)
            response = response_of(state.output, state.epoch - 1)
            # In a thread: a symbolic comparison may take seconds and must not block other samples.
            opinion = await anyio.to_thread.run_sync(partial(mark, response, gold=gold, protocol=protocol))
            value = CORRECT if opinion.correct else unanswered if opinion.verdict in _UNANSWERED else INCORRECT
            return Score(
                value=value,
                answer=opinion.answer,
                explanation=f"{opinion.verdict}: {opinion.why}",
                metadata={"verdict": str(opinion.verdict), "protocol": opinion.protocol, "flags": list(opinion.flags)},
            )

        return score

    return marked


# One per protocol: `gsm8k-strict` as `markscheme/gsm8k_strict`.
SCORERS = {name: _scorer(name) for name in protocol_names()}


@metric
def differing() -> Metric:
    """Count the samples on which the two rules disagree."""

    def of(scores: list[SampleScore]) -> float:
        return float(sum(bool((one.score.metadata or {}).get("differs")) for one in scores))

    return of


def beside(decides: Scorer, other: Scorer, name: str) -> Scorer:
    """Return the scorer `other`, which also reports where it differs from the deciding one."""

    @scorer(metrics=[accuracy(), stderr(), differing()], name=f"beside_{name.replace('-', '_')}")
    def marked() -> Scorer:
        async def score(state: TaskState, target: Target) -> Score | None:
            first, second = await decides(state, target), await other(state, target)
            if first is not None and second is not None:
                differs = (first.value == CORRECT) != (second.value == CORRECT)
                second.metadata = {**(second.metadata or {}), "differs": differs}
            return second

        return score

    return marked()


def number_of_examples(fewshot: int | bool) -> int:
    """Return the number in `-T fewshot=…`; `false` means none."""
    if fewshot is False:
        return 0
    if type(fewshot) is not int or fewshot < 0:
        raise UsageError(f"-T fewshot={fewshot}: the number of worked examples is a whole number, 0 or more, or false")
    return fewshot


def make_task(
    name: str,
    *,
    prompt: str | None = None,
    fewshot: int | None = None,
    fewshot_seed: int = 42,
    protocol: str | None = None,
    data_dir: str | None = None,
    sample: bool = False,
) -> Task:
    """Return the Inspect task of a benchmark; `sample` uses the packaged problems of the same kind."""
    rule = get_protocol(protocol) if protocol else None
    fewshot = fewshot if fewshot is None else number_of_examples(fewshot)
    bench = ready(name, data_dir, sample=sample)
    samples = [
        Sample(
            id=question.problem.key,
            input=chat_messages(question.prompt),
            target=gold_text(question.problem.gold),
            metadata=record(question.problem, bench.name, bench.protocol),
        )
        for question in bench.questions(variant=prompt, fewshot=fewshot, fewshot_seed=fewshot_seed)
    ]
    return Task(
        dataset=MemoryDataset(samples, name=bench.name),
        solver=generate(),
        scorer=SCORERS[rule.name if rule else bench.protocol](),
    )


def _add(name: str) -> Callable[..., Task]:
    made: Any = partial(make_task, name)
    made.__module__ = __name__  # marks the task as part of this package for Inspect
    return cast(Callable[..., Task], task(name=name.replace("-", "_"))(made))


# Ten worked examples from the train split in the system message, `ANSWER: N`, numeric comparison.
gsm8k = _add("gsm8k")
countdown = _add("countdown")
math500 = _add("math500")
aime_2024 = _add("aime-2024")
aime_2024_I = _add("aime-2024-I")  # noqa: N816 - the contests' own names
aime_2024_II = _add("aime-2024-II")  # noqa: N816
aime_2025 = _add("aime-2025")
aime_2025_I = _add("aime-2025-I")  # noqa: N816
aime_2025_II = _add("aime-2025-II")  # noqa: N816
