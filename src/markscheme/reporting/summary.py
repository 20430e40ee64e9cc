"""The numbers of a run: counts by verdict, accuracy, pass@k, each with its interval. Sees marks, never text."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import msgspec

from markscheme.runs import Run, write_atomically
from markscheme.statistics import Counts, interval, tally_marks
from markscheme.types import Verdict


class Estimate(msgspec.Struct, frozen=True, omit_defaults=True):
    """A figure with its interval; the value is `null` where it is undefined, never 0 in its place."""

    value: float | None
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    problems: int = 0
    """Problems the figure stands on."""


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What `report.json` holds."""

    run: str
    benchmark: str
    model: str
    protocol: str
    status: str
    problems: int
    samples: int
    responses: int
    """Responses that came back; `missing` is the rest."""
    missing: int
    verdicts: dict[str, int]
    accuracy: Estimate
    pass_at_k: dict[str, Estimate]
    data_sha256: dict[str, str]
    prompt_sha256: str


def summarize(run: Run, protocol: str | None = None, pass_k: Sequence[int] | None = None) -> Summary:
    """Summarise a run under one protocol (default: the one it was marked with)."""
    manifest = run.manifest
    label = protocol or manifest.protocol
    marks = list(run.marks(label))
    verdicts = Counter(mark.verdict for mark in marks)
    responses = len(marks) - verdicts[Verdict.ERROR]
    counts = tally_marks(marks)
    return Summary(
        run=str(run.path),
        benchmark=manifest.benchmark,
        model=manifest.model,
        protocol=label,
        status=manifest.status,
        problems=manifest.problems,
        samples=manifest.samples,
        responses=responses,
        missing=manifest.problems * manifest.samples - responses,
        verdicts={str(verdict): verdicts[verdict] for verdict in Verdict if verdicts[verdict]},
        accuracy=_estimate("accuracy", counts),
        pass_at_k={str(k): _estimate(f"pass@{k}", counts) for k in (pass_k or manifest.config.pass_k)},
        data_sha256={file.name: file.sha256 for file in manifest.data},
        prompt_sha256=manifest.prompt_sha256,
    )


def save_report(run: Run, summary: Summary) -> None:
    """Keep the summary as the run's `report.json`."""
    write_atomically(run.path / "report.json", msgspec.json.format(msgspec.json.encode(summary), indent=2) + b"\n")


def _estimate(metric: str, counts: Counts) -> Estimate:
    found = interval(metric, counts)
    if math.isnan(found.estimate):
        return Estimate(value=None)
    return Estimate(found.estimate, found.low, found.high, found.level, found.problems)
