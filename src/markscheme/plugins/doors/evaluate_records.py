r"""What `evaluate.py` makes of a run: marks by the script's own `normalize_answer`, and one record a problem."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

from markscheme.marking.extraction.boxes import last_box
from markscheme.marking.extraction.sections import read
from markscheme.marking.protocols.normalized import normalize
from markscheme.runs.folder import Run
from markscheme.types import Mark, Response, Verdict

SCRIPT_PROTOCOL = "evaluate-py"
"""Marks by the script's own `normalize_answer`; the version is a hash of what that function does."""

Normalize = Callable[[object], str]


def normalize_answer(answer: object) -> str:
    r"""The last box if there is one, LaTeX markers and white space removed, lower-cased."""
    text = "" if answer is None else str(answer)
    box = last_box(text, 0, len(text))
    return normalize(text if box is None else box.content)


def mark_with(run: Run, normalized: Normalize) -> str:
    """Keep the script's opinion on every response beside ours; returns its label. Thinking is set apart first."""
    golds = {question.problem.key: normalized(question.problem.gold) for question in run.questions()}
    label = f"{SCRIPT_PROTOCOL}@{_version(normalized)}"
    run.save_marks(
        SCRIPT_PROTOCOL,
        [_opinion(response, golds[response.key], label, normalized) for response in run.responses()],
    )
    return label


def _opinion(response: Response, gold: str, label: str, normalized: Normalize) -> Mark:
    if response.error is not None:
        verdict, answer, why = Verdict.ERROR, None, response.error
    else:
        answer = normalized(read(response.text).final)[:10_000]
        same = answer == gold
        cut_off = response.finish_reason == "length"
        verdict = Verdict.CORRECT if same else Verdict.TRUNCATED if cut_off else Verdict.WRONG
        why = f"{answer[:60]} is{'' if same else ' not'} {gold[:60]}"
    return Mark(
        verdict=verdict, protocol=label, answer=answer, why=why, span=None, flags=(), key=response.key,
        sample=response.sample,
    )  # fmt: skip


def _version(function: Normalize) -> str:
    """A short hash of what a function does: of its code, not of its name or its comments."""
    code = getattr(function, "__code__", None)
    return hashlib.sha256(repr(_instructions(code)).encode()).hexdigest()[:8] if code else "1"


def _instructions(code: CodeType) -> tuple[object, ...]:
    constants = [_instructions(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts]
    return (code.co_code, code.co_names, constants)


def problem_records(
    run: Run, rows: Sequence[dict[str, Any]], ks: Sequence[int], normalized: Normalize
) -> list[dict[str, Any]]:
    """One record a row, in the form that `evaluate.py` writes: hits are those of the first k samples."""
    answers: dict[str, dict[int, str]] = defaultdict(dict)
    for response in run.responses():
        if response.error is None:
            answers[response.key][response.sample] = response.text
    marks: dict[str, dict[int, Mark]] = defaultdict(dict)
    for mark in run.marks(SCRIPT_PROTOCOL):
        marks[mark.key][mark.sample] = mark
    records = []
    for index, (question, row) in enumerate(zip(run.questions(), rows, strict=True), start=1):
        problem, of_problem = question.problem, marks[question.problem.key]
        name = row.get("unique_id") or row.get("id")
        right = [sample in of_problem and of_problem[sample].correct for sample in range(run.manifest.samples)]
        records.append(
            {
                "index": index,
                "problem_id": None if name is None else str(name),
                "input": problem.statement,
                "outputs": [answers[problem.key].get(sample) for sample in range(run.manifest.samples)],
                "normalized_outputs": [
                    of_problem[sample].answer if sample in of_problem else None for sample in range(len(right))
                ],
                "gold_answer": row["answer"],
                "normalized_gold": normalized(problem.gold),
                "top1_correct": right[0],
                "pass_hits": {str(k): int(any(right[:k])) for k in sorted(set(ks))},
            }
        )
    return records


def first_sample_figures(records: Sequence[dict[str, Any]], ks: Sequence[int]) -> dict[str, float]:
    """The original's figures: each problem's first sample, and whether one of its first k is right."""
    hits = {f"pass@{k}": [record["pass_hits"][str(k)] for record in records] for k in ks}
    return {
        name: sum(values) / len(values)
        for name, values in {"accuracy": [record["top1_correct"] for record in records], **hits}.items()
    }
