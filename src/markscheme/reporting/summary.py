"""The numbers of a run: counts by verdict, accuracy, pass@k, each with its interval. Sees marks, never text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from markscheme.runs import Run
from markscheme.types import Mark, Verdict


class Estimate(msgspec.Struct, frozen=True):
    """A figure with its 95 % interval; `None` where it is undefined."""

    value: float | None
    low: float | None = None
    high: float | None = None


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What `report.json` holds."""

    run: str
    benchmark: str
    model: str
    protocol: str
    problems: int
    samples: int
    responses: int
    missing: int
    verdicts: dict[str, int]
    accuracy: Estimate
    pass_at_k: dict[str, Estimate]
    status: str
    data_sha256: list[str]


def summarize(run: Run, protocol: str | None = None, pass_k: Sequence[int] | None = None) -> Summary:
    """Summarise a run under one protocol (default: the one it was marked with)."""
    manifest = run.manifest
    name = protocol or manifest.protocol
    marks = list(run.marks(name))
    verdicts = Counter(str(mark.verdict) for mark in marks)
    scored = len(marks) - verdicts[Verdict.ERROR]
    returned, correct = counts_per_problem(marks)
    ks = tuple(pass_k if pass_k is not None else manifest.config.pass_k)
    return Summary(
        run=str(run.path),
        benchmark=manifest.benchmark,
        model=manifest.model,
        protocol=name,
        problems=manifest.problems,
        samples=manifest.samples,
        responses=scored,
        missing=manifest.problems * manifest.samples - scored,
        verdicts={str(verdict): verdicts[verdict] for verdict in Verdict if verdicts[verdict]},
        accuracy=_estimate("accuracy", returned, correct),
        pass_at_k={str(k): _estimate("pass@k", returned, correct, k) for k in ks},
        status=manifest.status,
        data_sha256=[file.sha256 for file in manifest.data],
    )


def counts_per_problem(marks: Iterable[Mark]) -> tuple[list[int], list[int]]:
    """Scored and correct samples of each problem; errors are missing data, not wrong answers."""
    returned: Counter[str] = Counter()
    correct: Counter[str] = Counter()
    for mark in marks:
        if mark.verdict is not Verdict.ERROR:
            returned[mark.key] += 1
            correct[mark.key] += mark.correct
    return [returned[key] for key in returned], [correct[key] for key in returned]
