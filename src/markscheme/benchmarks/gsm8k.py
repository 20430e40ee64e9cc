"""GSM8K: grade-school word problems with an integer answer.

The data's `answer` is a worked solution whose last line is `#### N`; calculator notes such as `<<3*4=12>>` are for
a tool no model has, so they are taken out of the solutions that are shown as examples.
"""

from __future__ import annotations

import re

from markscheme.benchmarks.base import Benchmark, Part, Row, text_field
from markscheme.prompts import Template
from markscheme.types import Problem

_CALCULATOR_NOTE = re.compile(r"<<[^<>]*>>")

TEMPLATES = {
    "answer-line": Template(
        summary="step by step, last line `ANSWER: N`; examples as a system message",
        user=(
            "Solve this word problem step by step. The last line of your response must be `ANSWER: N`, without the "
            "backticks, where N is the answer as a plain number.\n\n"
            "{statement}\n\n"
            "Remember to end with `ANSWER: N`, and do not use \\boxed.\n\nReasoning:"
        ),
        example="{statement}\n\nReasoning:\n{solution}\n\nANSWER: {gold}",
    ),
    "hashes": Template(
        summary="step by step, last line `#### N`, as the data set itself ends",
        user=(
            "Solve this word problem step by step. End with a line `#### N`, without the backticks, where N is the "
            "answer as a plain number.\n\nQuestion: {statement}\nAnswer:"
        ),
        example="Question: {statement}\nAnswer: {solution}\n#### {gold}",
    ),
    "bare": Template(summary="the question and nothing else; for models trained on this data", user="{statement}"),
}


def to_problem(index: int, row: Row) -> Problem:
    """A row `{"question": …, "answer": "worked solution … #### N"}`."""
    solution, mark, gold = text_field(row, "answer").rpartition("####")
    if not mark or not gold.strip():
        raise ValueError("the answer has no final line `#### N`")
    return Problem(
        id=str(row.get("id", f"{index:04d}")),
        statement=text_field(row, "question"),
        gold=gold.strip(),
        protocol="gsm8k-numeric",
        solution=_CALCULATOR_NOTE.sub("", solution).strip(),
    )


GSM8K = Benchmark(
    name="gsm8k",
    summary="1,319 grade-school word problems; examples from the 7,473 of the train split",
    parts=(Part("gsm8k/test.jsonl", to_problem),),
    pool=(Part("gsm8k/train.jsonl", to_problem),),
    fewshot=10,
    templates=TEMPLATES,
    protocol="gsm8k-numeric",
)

GSM8K_SAMPLE = Benchmark(
    name="gsm8k-sample",
    summary="original word problems of the same kind, offline",
    parts=(Part("gsm8k-sample", to_problem, packaged=True),),
    pool=(Part("gsm8k-sample-fewshot", to_problem, packaged=True),),
    fewshot=10,
    templates=TEMPLATES,
    protocol="gsm8k-numeric",
)
