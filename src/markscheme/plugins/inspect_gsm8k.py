"""GSM8K as in Inspect's published task: the same samples, worked examples and wording, with our marks or its own.

The examples are those drawn by the published task: the same permutation of the train split for the same seed, and
worked solutions with their calculator annotations.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import INCORRECT, NOANSWER, Scorer, match
from inspect_ai.solver import Solver, generate, prompt_template, system_message

from markscheme.errors import UsageError
from markscheme.plugins.data import ready
from markscheme.plugins.inspect_tasks import SCORERS, beside, make_task, number_of_examples
from markscheme.plugins.records import record

# Verbatim: scores are comparable with the published task only with the same wording.
WORDING = """
Solve the following math problem step by step. The last line of your response should be of the form "ANSWER: $ANSWER" (without quotes) where $ANSWER is the answer to the problem.

{prompt}

Remember to put your answer on its own line at the end in the form "ANSWER: $ANSWER" (without quotes) where $ANSWER is the answer to the problem, and you do not need to use a \\boxed command.

Reasoning:
""".strip()

# The scorer of the published task, which compares five significant digits, and the scorer shown next to it.
MATCH, OURS = "match", "math"


def published_gsm8k(
    *,
    fewshot: int | bool,
    fewshot_seed: int,
    shuffle_fewshot: bool,
    prompt: str | None,
    protocol: str | None,
    unanswered: str,
    data_dir: str | None,
    sample: bool,
) -> Task:
    """Return the published task, or with a `prompt` of ours `markscheme/gsm8k`, with the wording and draws of
    `markscheme run`.
    """
    count = number_of_examples(fewshot)
    if unanswered not in (INCORRECT, NOANSWER):
        raise UsageError(f"-T unanswered={unanswered}: it is {INCORRECT} (incorrect) or {NOANSWER} (no answer)")
    name = protocol or MATCH
    if name not in (MATCH, *SCORERS):
        raise UsageError(f"-T protocol={name}: there are {', '.join((MATCH, *SCORERS))}")

    def scorer_of(name: str) -> Scorer:
        return match(numeric=True) if name == MATCH else SCORERS[name](unanswered=unanswered)

    other = OURS if name != OURS else MATCH
    rules = [scorer_of(name), beside(scorer_of(name), scorer_of(other), other)]
    if prompt is not None:
        made = make_task(
            "gsm8k", prompt=prompt, fewshot=count, fewshot_seed=fewshot_seed, data_dir=data_dir, sample=sample
        )
        made.scorer = rules
        return made
    bench = ready("gsm8k", data_dir, sample=sample)
    samples = [
        _sample(row, record(problem, bench.name, bench.protocol))
        for row, problem in zip(bench.rows(), bench.problems, strict=True)
    ]
    solvers: list[Solver] = [prompt_template(WORDING), generate()]
    if count:
        train = list(bench.pool_rows())
        drawn = np.random.default_rng(fewshot_seed).permutation(len(train)) if shuffle_fewshot else range(len(train))
        examples = [_sample(train[int(index)], {}) for index in list(drawn)[:count]]
        solvers.insert(0, system_message("\n\n".join(map(_example, examples))))
    return Task(dataset=MemoryDataset(samples, name=bench.name), solver=solvers, scorer=rules)


def _sample(row: dict[str, Any], fields: dict[str, Any]) -> Sample:
    reasoning, _, target = row["answer"].rpartition("####")
    digest = hashlib.md5(row["question"].encode(), usedforsecurity=False).hexdigest()[:8]
    return Sample(
        id=f"gsm8k_{digest}",
        input=row["question"],
        target=target.strip(),
        metadata={"reasoning": reasoning.strip(), **fields},
    )


def _example(sample: Sample) -> str:
    reasoning = (sample.metadata or {})["reasoning"]
    return f"{sample.input}\n\nReasoning:\n{reasoning}\n\nANSWER: {sample.target}"
