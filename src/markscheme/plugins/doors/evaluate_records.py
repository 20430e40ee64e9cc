r"""The marks of `evaluate.py` by the script's own `normalize_answer`, and one record per problem."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

from markscheme.runs.folder import Run
from markscheme.types import Mark, Response, Verdict

# The version of this protocol is a hash of the function's code.
SCRIPT_PROTOCOL = "evaluate-py"

Normalize = Callable[[object], str]

_MARKERS = re.compile(r"\$|\\left|\\right|\\[()]|\s")
_BRACES = re.compile(r"\\boxed\s*+\{|[{}]")


def normalize_answer(answer: object) -> str:
    r"""Return the last `\boxed{…}`, or the text without one, lower-case and without LaTeX markers and white space.

    The markers are those of the original's code, which does not find a box with braces in it.
    """
    text = "" if answer is None else str(answer)
    return _MARKERS.sub("", _last_box(text)).lower()


def _last_box(text: str) -> str:
    """Return the content of the closed box that begins last, else the text. One pass, even if boxes never close."""
    opened: list[int | None] = []  # for each open brace, the start of its content if it is a box's
    begin, end = -1, len(text)
    for brace in _BRACES.finditer(text):
        if brace[0] != "}":
            opened.append(brace.end() if len(brace[0]) > 1 else None)
        elif opened and (start := opened.pop()) is not None and begin < start < brace.start():
            begin, end = start, brace.start()
    return text[max(begin, 0) : end]


def mark_with(run: Run, normalized: Normalize) -> str:
    """Save the script's mark of every whole response (including its thinking) and return its label."""
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
        answer = normalized(response.text)[:10_000]
        same = answer == gold
        cut_off = response.finish_reason == "length"
        verdict = Verdict.CORRECT if same else Verdict.TRUNCATED if cut_off else Verdict.WRONG
        why = f"{answer[:60]} is{'' if same else ' not'} {gold[:60]}"
    return Mark(
        verdict=verdict, protocol=label, answer=answer, why=why, span=None, flags=(), key=response.key,
        sample=response.sample,
    )  # fmt: skip


def _version(function: Normalize) -> str:
    """Return a short hash of a function's code, without its name and comments."""
    code = getattr(function, "__code__", None)
    return hashlib.sha256(repr(_instructions(code)).encode()).hexdigest()[:8] if code else "1"


def _instructions(code: CodeType) -> tuple[object, ...]:
    constants = [_instructions(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts]
    return (code.co_code, code.co_names, constants)


def problem_records(
    run: Run, rows: Sequence[dict[str, Any]], ks: Sequence[int], normalized: Normalize, protocol: str = SCRIPT_PROTOCOL
) -> list[dict[str, Any]]:
    """Return one record per row, in the form of `evaluate.py`; hits are of the first k samples."""
    answers: dict[str, dict[int, str]] = defaultdict(dict)
    for response in run.responses():
        if response.error is None:
            answers[response.key][response.sample] = response.text
    marks: dict[str, dict[int, Mark]] = defaultdict(dict)
    for mark in run.marks(protocol):
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
    """Return the original's figures: the accuracy of first samples, and how often one of the first k is right."""
    hits = {f"pass@{k}": [record["pass_hits"][str(k)] for record in records] for k in ks}
    return {
        name: sum(values) / len(values)
        for name, values in {"accuracy": [record["top1_correct"] for record in records], **hits}.items()
    }
