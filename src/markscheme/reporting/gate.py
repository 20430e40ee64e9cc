"""`markscheme gate`: a policy's limits, each decided by an interval, with what it would take to decide and to catch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import msgspec
import numpy as np

from markscheme.datasets.small_texts import read_toml
from markscheme.errors import UsageError, command, nearest
from markscheme.reporting.comparing import compare_runs, terms_of
from markscheme.reporting.drawing import clustered
from markscheme.reporting.picks import with_picks
from markscheme.reporting.summary import marked_label
from markscheme.reporting.table import about, markdown_table
from markscheme.runs.folder import Run, find_runs
from markscheme.statistics import Counts, Interval, Population, interval
from markscheme.statistics.counts import from_correct
from markscheme.statistics.gate import Decision, Needed, RunToRun, caught, decide, needed, run_to_run, widened
from markscheme.types import Verdict

EXIT = {"pass": 0, "fail": 4, "inconclusive": 5}


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The limits for one benchmark, in percent and points."""

    score: float | None = None  # the figure must be no lower
    metric: str = "accuracy"
    worse_by: float | None = None  # worse than the baseline by no more points
    truncation: float | None = None  # at most so many percent of the responses cut off before an answer
    disagreement: float | None = None  # at most so many percent of the responses that protocols mark differently
    level: float = 0.95
    these_problems: bool = True
    protocol: str | None = None


LIMITS = ("score", "worse_by", "truncation", "disagreement")


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One limit of one benchmark."""

    benchmark: str
    check: str
    limit: str
    found: str
    decision: Decision
    why: str  # what would decide it where it is open, and what it catches


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """What `markscheme gate --json` prints."""

    decision: Decision
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0, 4 or 5."""
        return EXIT[self.decision]


def read_policy(file: Path) -> dict[str, Policy]:
    """The limits by benchmark; those at the top of the file hold for each, and `""` for one that is not named."""
    raw = read_toml(file)
    named = raw.pop("benchmarks", {})
    if not isinstance(named, Mapping):
        raise UsageError(f"{file}: limits of a benchmark are a table, such as [benchmarks.gsm8k]")
    policies = {name: _policy(file, {**raw, **own}) for name, own in named.items()} | {"": _policy(file, raw)}
    if not any(getattr(each, limit) is not None for each in policies.values() for limit in LIMITS):
        raise UsageError(f"{file} sets no limit: add one of {', '.join(LIMITS)}, such as `score = 60`")
    return policies


def _policy(file: Path, options: Mapping[str, Any]) -> Policy:
    for name in options:
        if name not in Policy.__struct_fields__:
            raise UsageError(f"{file}: there is no {name!r}; {nearest(name, Policy.__struct_fields__, '')}")
    try:
        policy = msgspec.convert(options, Policy)
    except msgspec.ValidationError as problem:
        raise UsageError(f"{file}: {problem}") from None
    for name in LIMITS:
        if (limit := getattr(policy, name)) is not None and not 0 <= limit <= 100:
            raise UsageError(f"{file}: {name} is in percent, from 0 to 100, not {limit:g}")
        if limit is not None and 0 < limit < 1 and name == "score":
            raise UsageError(f"{file}: score is in percent: write {100 * limit:g}, not {limit:g}")
    return policy


def gate(
    policies: Mapping[str, Policy], runs: Sequence[Run], against: Sequence[Run] = (), repeats: Sequence[Run] = ()
) -> Gate:
    """Every limit that the policy sets, of every run; each benchmark once."""
    names = [run.manifest.benchmark for run in runs]
    if len(set(names)) < len(names):
        raise UsageError(f"a gate takes one run of each benchmark, and these are {', '.join(names)}")
    if absent := [name for name in policies if name and name not in names]:
        raise UsageError(f"the policy has limits for {', '.join(absent)}, of which there is no run")
    checks: list[Check] = []
    notes = []
    for run in runs:
        name = run.manifest.benchmark
        policy = policies.get(name, policies[""])
        baseline = next((each for each in against if each.manifest.benchmark == name), None)
        mine = [each for each in repeats if each.manifest.benchmark == name]
        noise = run_to_run(policy.metric, [_counts(each, policy) for each in mine]) if mine else RunToRun()
        if noise.runs:
            notes.append(
                f"{name}: {noise.runs} repeated runs differ by a standard deviation of {100 * noise.variance**0.5:.1f} points "
                "beyond the luck of sampling, which is in the intervals"
            )
        checks += _checks(policy, run, baseline, noise)
    worst: Decision = max(
        (each.decision for each in checks), key=("pass", "inconclusive", "fail").index, default="pass"
    )
    return Gate(decision=worst, checks=tuple(checks), notes=tuple(notes))


def _checks(policy: Policy, run: Run, baseline: Run | None, noise: RunToRun) -> list[Check]:
    counts = _counts(run, policy)
    population: Population = "these problems" if policy.these_problems else "problems drawn"
    name, checks = run.manifest.benchmark, []

    def share(check: str, metric: str, part: Counts, limit: float, at_least: bool, noise: RunToRun) -> None:
        found = widened(interval(metric, part, policy.level, population), noise, 1, (0.0, 1.0))
        if found.estimate != found.estimate:
            raise UsageError(f"{run.path} has no {metric}: too few responses came back")
        rest = needed(metric, [part], found, limit, population, noise)
        said = "a score below" if at_least else "a share above"
        power = f"{said} {_percent(caught(found, limit, at_least=at_least))} % would be caught with 80 % power"
        checks.append(_check(name, check, found, limit, at_least, rest, power, population))

    if policy.score is not None:
        share(policy.metric, policy.metric, counts, policy.score / 100, True, noise)
    if policy.truncation is not None:
        share("truncation", "accuracy", counts.of(Verdict.TRUNCATED), policy.truncation / 100, False, RunToRun())
    if policy.disagreement is not None:
        share("disagreement", "accuracy", _disagreeing(run), policy.disagreement / 100, False, RunToRun())
    if policy.worse_by is not None:
        if baseline is None:
            raise UsageError(f"the policy compares {name} with a baseline: name one with --against RUN")
        terms = terms_of(
            metric=policy.metric, protocol=policy.protocol, level=policy.level, these_problems=policy.these_problems
        )
        pair = compare_runs([baseline, run], terms).comparison
        assert pair is not None
        found = widened(pair.difference, noise, 2, (-1.0, 1.0))
        both = [_counts(each, policy) for each in (baseline, run)]
        limit = -policy.worse_by / 100
        rest = needed(policy.metric, both, found, limit, population, noise)
        power = f"a loss of {-100 * caught(found, limit, at_least=True):.1f} points would be caught with 80 % power"
        check = f"{policy.metric} against {baseline.manifest.model}"
        checks.append(_check(name, check, found, limit, True, rest, power, population, points=True))
    return checks


def _counts(run: Run, policy: Policy) -> Counts:
    snapshot = run.snapshot()
    label = marked_label(snapshot, policy.protocol)
    counts = with_picks(snapshot, label, snapshot.counts(label), [policy.metric])
    return counts if policy.these_problems else clustered(counts, snapshot, None)[0]


def _disagreeing(run: Run) -> Counts:
    """The responses of each problem, and those of them that protocols mark differently."""
    snapshot = run.snapshot()
    if len(snapshot.protocols) < 2:
        raise UsageError(
            f"{run.path} is marked by {', '.join(snapshot.protocols) or 'nothing'} alone, so nothing can disagree; "
            f"{command('mark', run.path, protocol='NAME')} adds another opinion"
        )
    there = snapshot.arrived & ~snapshot.failed
    n, c = (
        np.bincount(snapshot.problem[rows], minlength=snapshot.problems) for rows in (there, there & snapshot.disagree)
    )
    return from_correct(n, c, snapshot.keys)


def _check(
    benchmark: str,
    check: str,
    found: Interval,
    limit: float,
    at_least: bool,
    rest: Needed,
    power: str,
    population: Population,
    points: bool = False,
) -> Check:
    decision = decide(found, limit, at_least=at_least)
    show = _points if points else _percent
    unit = "points" if points else "%"
    why = power
    if decision == "inconclusive":
        enough = (
            f"about {rest.samples} samples per problem"
            if rest.samples
            else f"about {rest.problems:,} problems"
            if rest.problems
            else "no number of samples while the estimate is so near"
        )
        why = f"{enough} would decide it; {power}"
    return Check(
        benchmark=benchmark,
        check=check,
        limit=f"{'≥' if at_least else '≤'} {show(limit)} {unit}",
        found=f"{show(found.estimate)} {unit}, {100 * found.level:.3g} % interval {show(found.low)} to {show(found.high)} "
        f"for {about(population)}",
        decision=decision,
        why=why,
    )


def _percent(share: float) -> str:
    return f"{100 * min(1.0, max(0.0, share)):.1f}"


def _points(share: float) -> str:
    return f"{100 * share:+.1f}"


def gate_markdown(result: Gate) -> str:
    """A summary for a pull request."""
    rows = [
        {"": {"pass": "✓", "fail": "✗", "inconclusive": "?"}[each.decision], **msgspec.structs.asdict(each)}
        for each in result.checks
    ]
    lines = [f"**Gate: {result.decision}**", "", *markdown_table(rows), "", *(f"- {note}" for note in result.notes)]
    return "\n".join(lines) + "\n"


def gate_junit(result: Gate) -> str:
    """The same as a test report: a failed limit is a failure, an open one is skipped with its reason."""
    cases = []
    for each in result.checks:
        said = f"{each.found}, must be {each.limit}; {each.why}"
        inner = {"pass": "", "fail": f"<failure message={quoteattr(said)}/>"}.get(
            each.decision, f"<skipped message={quoteattr('inconclusive: ' + said)}/>"
        )
        name = f"{each.check} {each.limit}"
        cases.append(f"<testcase classname={quoteattr(each.benchmark)} name={quoteattr(name)}>{inner}</testcase>")
    count = {name: sum(each.decision == name for each in result.checks) for name in EXIT}
    head = f'<testsuite name="markscheme gate" tests="{len(cases)}" failures="{count["fail"]}" skipped="{count["inconclusive"]}">'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *cases, "</testsuite>"]) + "\n"


def gate_from(
    policy: str | Path,
    runs: Sequence[str | Path],
    against: Sequence[str | Path] = (),
    repeats: Sequence[str | Path] = (),
) -> Gate:
    """The same from a policy's file and folders: what the command, the action, the plug-in and Python call."""
    return gate(read_policy(Path(policy)), find_runs(runs), *(find_runs(each) for each in (against, repeats)))
