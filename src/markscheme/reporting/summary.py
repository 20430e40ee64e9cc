"""The figures of a run: counts by verdict, accuracy and pass@k, each with its interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from markscheme.benchmarks.errata import Erratum
from markscheme.errors import JournalError, UsageError, command
from markscheme.marking.marker import FAILED
from markscheme.marking.reading.absences import ABSENCES
from markscheme.objects import is_object_spec
from markscheme.reporting.drawing import clustered, dependence, folder_notes, looked_at, part_of_whole
from markscheme.reporting.estimates import Estimate, as_estimate, estimate, rate
from markscheme.reporting.loops import Loops, find_loops, loops_line
from markscheme.reporting.talks import Doubted, Tools, doubted_of, tools_of
from markscheme.runs.answers import flag_counts
from markscheme.runs.archive import origin
from markscheme.runs.files import file_sizes
from markscheme.runs.folder import Failure, Manifest, Run, write_atomically
from markscheme.runs.snapshot import Snapshot
from markscheme.runs.usage import Usage
from markscheme.statistics import Counts, Population, VarianceTable, interval, sequential, variance_table
from markscheme.statistics.looking import Looked
from markscheme.types import Verdict

# Problem metadata that results are broken down by.
GROUPED_BY = ("subject", "level", "part", "kind", "numbers")
# Truncation first: a token limit that is too low looks like a bad model.
RATES = (Verdict.TRUNCATED, *(verdict for verdict in Verdict if verdict is not Verdict.TRUNCATED))


class Corrected(msgspec.Struct, frozen=True, kw_only=True):
    """The marker's error rates and the accuracy, according to people who judged a random sample."""

    accuracy: Estimate  # corrected, with the uncertainty of problems, samples and labels
    false_positive: Estimate  # share of responses marked correct that people call wrong
    false_negative: Estimate  # share of the others that people call right
    correction: float  # corrected minus marked accuracy
    pass_at_k: dict[str, Estimate] = {}  # the middle of its range, with an interval that holds for the whole range
    # pass@k if the errors of a problem all come together, and if they are spread at random.
    pass_ranges: dict[str, tuple[float, float]] = {}
    judged: int
    unsure: int  # responses on which people were unsure or divided: intervals hold either way
    skipped: int = 0  # responses that people skipped; intervals hold either way
    picked: int = 0  # labels not given in the random order; they do not count
    people: int
    agreement: float | None = None  # share of pairs of people who agree on a response that both judged


class Errata(msgspec.Struct, frozen=True, kw_only=True):
    """The score with known wrong golds corrected, and without problems that have no right answer."""

    accuracy: Estimate
    corrected: int  # problems whose responses were marked again with the right gold
    left_out: int
    golds: dict[str, str]  # the right gold or `ambiguous`, by the problem's id
    sources: tuple[str, ...]
    sha256: str  # of the errata known when the report was made


class Until(msgspec.Struct, frozen=True, kw_only=True):
    """How `--until` ended."""

    points: float  # the half-width that was asked for
    rounds: int
    fewest: int  # fewest and most samples of a problem; `samples` of the summary is the average
    most: int
    score: Estimate  # accuracy on these exact problems
    reached: bool
    stopped: str  # why there was no further round


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The content of `report.json`."""

    run: str
    benchmark: str
    model: str
    protocol: str
    status: str
    problems: int
    samples: int
    responses: int  # responses that came back; `missing` is the rest
    missing: int
    verdicts: dict[str, int]
    # Responses with something other than an answer: a refusal, nothing, a tool call …
    absences: dict[str, int] = {}
    failed_marks: int = 0  # responses on which the protocol itself failed; they count as unmarkable
    loops: Loops | None = None  # responses that repeat themselves up to the token limit
    accuracy: Estimate
    truncation: Estimate  # share of responses cut off before an answer: the first suspect if a score is low
    # Share of each verdict that occurred, truncation first; that of `error` is of all requested responses.
    rates: dict[str, Estimate] = {}
    pass_at_k: dict[str, Estimate]
    groups: dict[str, dict[str, Estimate]]  # accuracy by subject, level, contest part …
    metrics: dict[str, Estimate] = {}  # further metrics by name: `maj@4`, `pass^4` …
    corrected: Corrected | None = None  # set if people judged a sample of the responses
    errata: Errata | None = None  # set if golds of these problems are known to be wrong
    until: Until | None = None  # set for `--until`; `samples` is then an average
    looked: Looked | None = None  # set for `--until-better`
    population: Population = "problems drawn"  # what the intervals are about
    cluster: str | None = None  # the sampling unit of the intervals if it is not the problem: `contest`, `template` …
    variance: VarianceTable | None = None  # sources of uncertainty, and what more samples would buy
    data: dict[str, str]  # sha256 of each data file, by name
    prompt_sha256: str
    warnings: tuple[str, ...] = ()  # what a reader must know before quoting a figure
    tools: Tools | None = None  # how tools were used, if the model had any
    doubted: Doubted | None = None  # how answers changed when the user asked again
    usage: Usage | None = None
    failures: dict[str, Failure] = {}  # why responses are missing; the rest was never requested
    sampling: dict[str, Any] = {}  # sampling options as sent
    settings: dict[str, Any] = {}  # options that differ from their default
    fewshot: int = 0  # worked examples in each prompt
    # Bytes of each file that `report.json` was made from; if one has changed, the report is out of date.
    files: dict[str, int] = {}
    seconds: float | None = None  # from the start of the run to its end, including any pause before a resume


def summarize(
    run: Run | Snapshot,
    protocol: str | None = None,
    pass_k: Sequence[int] | None = None,
    metrics: Sequence[str] = (),
    population: Population = "problems drawn",
    cluster: str | None = None,
    errata: Sequence[Erratum] = (),
) -> Summary:
    """Summarise a run under one protocol (default: its own), with further `metrics` by name.

    `cluster` names a metadata field; problems with the same value are not independent.
    """
    snapshot = run.snapshot() if isinstance(run, Run) else run
    manifest = snapshot.manifest
    assert manifest is not None
    label = marked_label(snapshot, protocol)
    counts, cluster, notes = _counted(snapshot, label, population, cluster, metrics)
    verdicts, flags = counts.totals(), flag_counts(snapshot, label, (*ABSENCES, FAILED))
    from markscheme.reporting.adjudicated import corrected_figures
    from markscheme.reporting.errata import errata_or_note
    from markscheme.reporting.figures import caveats

    passes = pass_k or usual_k(manifest)
    known, unread = errata_or_note(snapshot, label, counts, population, errata)
    looked, looks = looked_at(snapshot, counts)
    summary = Summary(
        run=str(origin(snapshot.folder)),
        protocol=label,
        responses=snapshot.answered,
        missing=snapshot.missing,
        verdicts=verdicts,
        absences={name: count for name, count in flags.items() if name != FAILED},
        failed_marks=flags.get(FAILED, 0),
        loops=find_loops(snapshot, label),
        accuracy=estimate("accuracy", counts, population),
        truncation=rate(counts, Verdict.TRUNCATED, population),
        rates={str(verdict): rate(counts, verdict, population) for verdict in RATES if verdict in verdicts},
        pass_at_k={str(k): estimate(f"pass@{k}", counts, population) for k in passes},
        groups=_groups(snapshot, counts, population),
        metrics={name: estimate(name, counts, population) for name in metrics},
        corrected=corrected_figures(snapshot, label, counts, population, passes),
        errata=known,
        until=_until(snapshot, counts),
        looked=looked,
        population=population,
        cluster=cluster,
        variance=variance_table(counts),
        tools=tools_of(snapshot, counts, population),
        doubted=doubted_of(snapshot, label, counts, population),
        failures=snapshot.failures(),
        **_how_it_was_made(manifest),
    )
    notes = (*notes, *looks, *dependence(snapshot, counts, [*(f"pass@{k}" for k in passes), *metrics]))
    warnings = (*folder_notes(snapshot, label), *_absences(summary), *notes, *unread, *caveats(summary))
    return msgspec.structs.replace(summary, warnings=warnings)


def _counted(
    snapshot: Snapshot, label: str, population: Population, cluster: str | None, metrics: Sequence[str]
) -> tuple[Counts, str | None, tuple[str, ...]]:
    """Return the counts, what they are clustered by, and notes about them."""
    counts, cluster, notes = clustered(snapshot.counts(label), snapshot, cluster)
    if population == "the whole benchmark":
        assert snapshot.manifest is not None
        counts, drawn = part_of_whole(counts, snapshot.manifest)
        notes = (*notes, drawn)
    if metrics:
        from markscheme.reporting.picks import with_picks

        counts = with_picks(snapshot, label, counts, metrics)
    return counts, cluster, notes


def _absences(summary: Summary) -> list[str]:
    absent = [f"{count:,} × {name}" for name, count in summary.absences.items()]
    notes = [f"responses without an answer: {', '.join(absent)}"] if absent else []
    return [*notes, loops_line(summary.loops)] if summary.loops else notes


def _how_it_was_made(manifest: Manifest) -> dict[str, Any]:
    same = ["benchmark", "model", "status", "problems", "samples", "prompt_sha256", "usage"]
    same += ["sampling", "settings", "fewshot"]
    return {
        **{name: getattr(manifest, name) for name in same},
        "data": {file.name: file.sha256 for file in manifest.data},
        "seconds": _seconds(manifest),
    }


def usual_k(manifest: Manifest) -> tuple[int, ...]:
    """Return the values of k for pass@k: those asked for, else 1 and the number of samples if there are several."""
    if manifest.config.pass_k or manifest.config.until is not None:
        return manifest.config.pass_k
    return (1, manifest.samples) if manifest.samples > 1 else ()


def _seconds(manifest: Manifest) -> float | None:
    try:
        took = (datetime.fromisoformat(manifest.ended or "") - datetime.fromisoformat(manifest.started)).total_seconds()
    except (ValueError, TypeError):
        return None
    return took if took >= 0 else None  # the clock was set back


def finish(run: Run, not_kept: Callable[[JournalError], None] | None = None) -> Summary:
    """Summarise a finished run and write its `report.json`.

    If it cannot be written (full disk), call `not_kept` so that the figures can still be shown, or raise without it.
    """
    summary = msgspec.structs.replace(summarize(run), files=file_sizes(run.path, run.manifest.protocol))
    try:
        write_atomically(run.path / "report.json", msgspec.json.format(msgspec.json.encode(summary), indent=2) + b"\n")
        run.seal_file(run.path / "report.json")
    except JournalError as failure:
        if not_kept is None:
            raise
        not_kept(failure)
    return summary


def marked_label(snapshot: Snapshot, protocol: str | None = None) -> str:
    """Return the label whose marks are counted (default: the run's own protocol); refuse one without marks."""
    manifest = snapshot.manifest
    assert manifest is not None
    if protocol is not None and is_object_spec(protocol):  # its marks are stored under its name
        protocol = protocol.rpartition(":")[2]
    label = snapshot.label_of(protocol or manifest.protocol.partition("@")[0])
    # A run that has just begun, or was stopped before its first answer, has no marks yet; that is not an error.
    begun = label == manifest.protocol and (manifest.status == "running" or not len(snapshot))
    name = next((part for part in protocol_parts(label) if part not in snapshot.protocols), None)
    if not begun and name is not None:
        marked = ", ".join(snapshot.protocols) or "nothing yet"
        judge = name.removeprefix("judge:")
        how = (
            command("mark", snapshot.folder, protocol=name)
            if judge == name
            else command("judge", snapshot.folder, name=judge)
        )
        raise UsageError(f"{snapshot.folder} is not marked with {label} (it has {marked}); {how} does it")
    return label


def protocol_parts(label: str) -> list[str]:
    """Return the bare names of the protocols in a label: two in `math@6+judge:NAME@1`."""
    return [part.partition("@")[0] for part in label.split("+")]


def _until(snapshot: Snapshot, counts: Counts) -> Until | None:
    manifest, planned = snapshot.manifest, snapshot.planned
    if manifest is None or manifest.config.until is None or not planned or not counts.n.any():
        return None
    config, points = manifest.config, manifest.config.until
    score = interval("accuracy", counts, population="these problems")
    asked = [sum(rounds) for rounds in zip(*(each.asked for each in planned), strict=True)]
    reached = 100 * score.half_width <= points
    if reached:
        why = "it is known"  # stored in reports, which `verify` compares
    elif manifest.status not in ("complete", "incomplete"):
        why = f"the run is {manifest.status}"
    elif not sequential.next_size(sum(each.size for each in planned), config.max_samples):
        why = f"--max-samples is {config.max_samples}"
    else:
        why = "no response came back in the last round"
    return Until(
        points=points,
        rounds=len(planned),
        fewest=min(asked),
        most=max(asked),
        score=as_estimate(score),
        reached=reached,
        stopped=why,
    )


def _groups(snapshot: Snapshot, counts: Counts, population: Population) -> dict[str, dict[str, Estimate]]:
    groups = {}
    for field in (name for name in GROUPED_BY if name in snapshot.groups):
        labels = {key: label for key, label in zip(snapshot.keys, snapshot.groups[field], strict=True) if label}
        if len(set(labels.values())) > 1:
            groups[field] = {label: estimate("accuracy", part, population) for label, part in counts.by(labels).items()}
    return groups
