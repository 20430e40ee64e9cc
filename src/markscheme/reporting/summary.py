"""The numbers of a run: counts by verdict, accuracy, pass@k, each with its interval. Sees marks, never text."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from markscheme.accounting import Usage
from markscheme.errors import UsageError
from markscheme.runs import Failure, Run, write_atomically
from markscheme.statistics import Counts, Interval, interval, mean_interval, tally
from markscheme.types import Problem, Verdict

GROUPED_BY = ("subject", "level", "part", "kind", "numbers")
"""Problem metadata that results are broken down by, where a benchmark has it."""


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
    truncation: Estimate
    """Share of responses cut off before an answer: the first suspect when a score is low."""
    pass_at_k: dict[str, Estimate]
    groups: dict[str, dict[str, Estimate]]
    """Accuracy by subject, level, contest part … where the benchmark has them."""
    data: dict[str, str]
    """The data files by name, with the sha256 of each."""
    prompt_sha256: str
    warnings: tuple[str, ...] = ()
    """What a reader must know before quoting a figure."""
    usage: Usage | None = None
    failures: dict[str, Failure] = {}
    """Why responses are missing, by kind of failure. What is missing beyond these was never asked."""


def summarize(run: Run, protocol: str | None = None, pass_k: Sequence[int] | None = None) -> Summary:
    """Summarise a run under one protocol (default: the one it was marked with)."""
    manifest = run.manifest
    label = protocol or manifest.protocol
    # A run that has just begun has no marks yet; that is no mistake.
    begun = manifest.status == "running" and label == manifest.protocol
    if not begun and label.partition("@")[0] not in run.marked_protocols():
        marked = ", ".join(run.marked_protocols()) or "nothing yet"
        raise UsageError(
            f"{run.path} is not marked with {label} (it has {marked}); `markscheme mark {run.path} --protocol "
            f"{label.partition('@')[0]}` does it"
        )
    problems = [question.problem for question in run.questions()]
    counts = tally_run(run, label, [problem.key for problem in problems])
    verdicts = counts.totals()
    responses = run.standing().answered(counts.keys, manifest.samples)
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
        accuracy=estimate("accuracy", counts),
        truncation=_estimate(mean_interval(counts.rates(Verdict.TRUNCATED))),
        pass_at_k={str(k): estimate(f"pass@{k}", counts) for k in (pass_k or manifest.config.pass_k)},
        groups=_groups(problems, counts),
        data={file.name: file.sha256 for file in manifest.data},
        prompt_sha256=manifest.prompt_sha256,
        warnings=tuple(_warnings(run, responses - int(counts.n.sum()))),
        usage=manifest.usage,
        failures=run.standing().failures(),
    )


def tally_run(run: Run, protocol: str, keys: Sequence[str]) -> Counts:
    """Counts of a run's marks; a mark of a problem that the run does not have is none of ours."""
    known = set(keys)
    samples = run.manifest.samples
    heads = (mark for mark in run.mark_heads(protocol) if mark.key in known and mark.sample < samples)
    return tally(((mark.key, mark.verdict) for mark in heads), keys)


def save_report(run: Run, summary: Summary) -> None:
    """Keep the summary as the run's `report.json`."""
    write_atomically(run.path / "report.json", msgspec.json.format(msgspec.json.encode(summary), indent=2) + b"\n")


def estimate(metric: str, counts: Counts) -> Estimate:
    """A metric by name (`accuracy`, `pass@4` …) with its interval."""
    return _estimate(interval(metric, counts))


def _estimate(found: Interval) -> Estimate:
    if math.isnan(found.estimate):
        return Estimate(value=None)
    return Estimate(found.estimate, found.low, found.high, found.level, found.problems)


def _groups(problems: Sequence[Problem], counts: Counts) -> dict[str, dict[str, Estimate]]:
    groups = {}
    for field in GROUPED_BY:
        labels = {problem.key: str(problem.metadata[field]) for problem in problems if field in problem.metadata}
        if len(set(labels.values())) > 1:
            groups[field] = {label: estimate("accuracy", part) for label, part in counts.by(labels).items()}
    return groups


def _warnings(run: Run, unmarked: int) -> list[str]:
    found = []
    if unmarked > 0 and run.manifest.status != "running":
        found.append(f"{unmarked} responses have no mark; `markscheme resume {run.path}` makes it")
    if run.damaged_lines:
        found.append(f"{run.damaged_lines} damaged lines were left out; `markscheme resume` asks for what they held")
    for file in run.manifest.data:
        if file.check == "differs":
            found.append(f"{file.name} is not the official data: its content differs from the pinned one")
        elif file.source.startswith("stand-in"):
            found.append(f"{file.name} stands in for the official file, which is not here")
    return found
