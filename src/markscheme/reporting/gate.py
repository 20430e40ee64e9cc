"""`markscheme gate`: each limit of a policy is decided by an interval, with its power and what would decide it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from xml.sax.saxutils import quoteattr

import msgspec
import numpy as np

from markscheme.datasets.small_texts import read_toml
from markscheme.errors import UsageError, command, nearest, option
from markscheme.pages.forms import markdown_table
from markscheme.pages.frames import Columns, Result, Rows
from markscheme.pages.parts import Part
from markscheme.reporting.comparing import compare_runs, terms_of
from markscheme.reporting.drawing import clustered
from markscheme.reporting.figures import about
from markscheme.reporting.picks import with_picks
from markscheme.reporting.summary import marked_label
from markscheme.runs.folder import Run, find_runs
from markscheme.statistics import Counts, Interval, Population, interval
from markscheme.statistics.counts import from_correct
from markscheme.statistics.gate import Decision, RunToRun, caught, decide, needed, run_to_run, widened
from markscheme.types import Verdict

EXIT = {"pass": 0, "fail": 4, "inconclusive": 5}


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The limits for one benchmark, in percent and points."""

    score: float | None = None  # lowest score allowed
    metric: str = "accuracy"
    worse_by: float | None = None  # largest loss against the baseline allowed, in points
    truncation: float | None = None  # largest share of truncated responses allowed
    disagreement: float | None = None  # largest share of responses on which protocols disagree allowed
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
    why: str  # what would decide it if it is open, and the loss that it detects


class Gate(Result, msgspec.Struct, frozen=True, kw_only=True):
    """The decision on a policy, and on each of its limits."""

    _COLUMNS: ClassVar[Columns] = dict.fromkeys(Check.__struct_fields__, str)

    decision: Decision
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 for pass, 4 for fail, 5 for inconclusive."""
        return EXIT[self.decision]

    def rows(self) -> Rows:
        """Return one record per limit."""
        return [msgspec.structs.asdict(each) for each in self.checks]

    def page(self) -> Iterator[Part]:
        """Yield the limits, what would decide each, and the decision."""
        yield Part("table", [{name: row[name] for name in row if name != "why"} for row in self.rows()])
        for each in self.checks:
            yield Part("text", f"{each.benchmark}, {each.check}: {each.why}")
        yield from (Part("text", note) for note in self.notes)
        yield Part("text", f"gate: {self.decision}")


def read_policy(file: Path) -> dict[str, Policy]:
    """Return the limits by benchmark; those at the top of the file apply to all, and `""` to one that is not named."""
    raw = read_toml(file)
    named = raw.pop("benchmarks", {})
    if not isinstance(named, Mapping):
        raise UsageError(f"{file}: `benchmarks` must be a table, such as [benchmarks.gsm8k]")
    policies = {name: _policy(file, {**raw, **own}) for name, own in named.items()} | {"": _policy(file, raw)}
    if not any(getattr(each, limit) is not None for each in policies.values() for limit in LIMITS):
        raise UsageError(f"{file} sets no limit: add one of {', '.join(LIMITS)}, such as `score = 60`")
    return policies


def _policy(file: Path, options: Mapping[str, Any]) -> Policy:
    for name in options:
        if name not in Policy.__struct_fields__:
            raise UsageError(f"{file}: unknown key {name!r}; {nearest(name, Policy.__struct_fields__, '')}")
    try:
        policy = msgspec.convert(options, Policy)
    except msgspec.ValidationError as problem:
        raise UsageError(f"{file}: {problem}") from None
    for name in LIMITS:
        if (limit := getattr(policy, name)) is not None and not 0 <= limit <= 100:
            raise UsageError(f"{file}: {name} must be a percentage from 0 to 100, not {limit:g}")
        if limit is not None and 0 < limit < 1 and name == "score":
            raise UsageError(f"{file}: score is a percentage: write {100 * limit:g}, not {limit:g}")
    return policy


def gate(
    policies: Mapping[str, Policy], runs: Sequence[Run], against: Sequence[Run] = (), repeats: Sequence[Run] = ()
) -> Gate:
    """Decide every limit of the policy for every run; one run per benchmark."""
    names = [run.manifest.benchmark for run in runs]
    if len(set(names)) < len(names):
        raise UsageError(f"a gate takes one run per benchmark, and these are {', '.join(names)}")
    if absent := [name for name in policies if name and name not in names]:
        raise UsageError(f"the policy has limits for {', '.join(absent)}, but there is no run of it")
    checks: list[Check] = []
    notes = []
    for run in runs:
        name = run.manifest.benchmark
        policy = policies.get(name, policies[""])
        baseline = next((each for each in against if each.manifest.benchmark == name), None)
        for each in (run, *([baseline] if baseline and policy.worse_by is not None else [])):
            if missing := _missing(each, policy):
                notes.append(missing)
        mine = [each for each in repeats if each.manifest.benchmark == name]
        noise = run_to_run(policy.metric, [_counts(each, policy) for each in mine]) if mine else RunToRun()
        if noise.runs:
            notes.append(
                f"{name}: {noise.runs} repeated runs vary by a standard deviation of {100 * noise.variance**0.5:.1f} points "
                "beyond sampling noise, which the intervals include"
            )
        checks += _checks(policy, run, baseline, noise)
    worst: Decision = max(
        (each.decision for each in checks), key=("pass", "inconclusive", "fail").index, default="pass"
    )
    if len(checks) > 1:
        notes.append(f"{len(checks)} limits are decided one by one: the levels are not adjusted for their number")
    return Gate(decision=worst, checks=tuple(checks), notes=tuple(notes))


class _Limit(NamedTuple):
    """One limit to decide, in shares."""

    check: str
    metric: str
    runs: Sequence[Counts]  # one run, or baseline and run
    limit: float
    at_least: bool = True

    @property
    def points(self) -> bool:
        """True for a difference."""
        return len(self.runs) > 1

    def shown(self, value: float) -> str:
        """Return a value in percent, or in points with its sign."""
        return f"{100 * value:+.1f}" if self.points else f"{100 * min(1.0, max(0.0, value)):.1f}"


def _checks(policy: Policy, run: Run, baseline: Run | None, noise: RunToRun) -> list[Check]:
    counts, name, checks = _counts(run, policy), run.manifest.benchmark, []
    population: Population = "these problems" if policy.these_problems else "problems drawn"
    shares = []
    if policy.score is not None:
        shares.append((_Limit(policy.metric, policy.metric, [counts], policy.score / 100), noise))
    if policy.truncation is not None:
        cut = counts.of(Verdict.TRUNCATED)
        shares.append((_Limit("truncation", "accuracy", [cut], policy.truncation / 100, False), RunToRun()))
    if policy.disagreement is not None:
        limit = _Limit("disagreement", "accuracy", [_disagreeing(run)], policy.disagreement / 100, False)
        shares.append((limit, RunToRun()))
    for limit, known in shares:
        found = widened(interval(limit.metric, limit.runs[0], policy.level, population), known, 1, (0.0, 1.0))
        if found.estimate != found.estimate:
            raise UsageError(f"{run.path} has no {limit.metric}: too few responses came back")
        checks.append(_check(name, limit, found, known, population))
    if policy.worse_by is not None:
        if baseline is None:
            raise UsageError(f"the policy compares {name} with a baseline: name one with {option('against', 'RUN')}")
        terms = terms_of(
            metric=policy.metric, protocol=policy.protocol, level=policy.level, these_problems=policy.these_problems
        )
        pair = compare_runs([baseline, run], terms).comparison
        assert pair is not None
        check = f"{policy.metric} against {baseline.manifest.model}"
        limit = _Limit(check, policy.metric, [_counts(baseline, policy), counts], -policy.worse_by / 100)
        checks.append(_check(name, limit, widened(pair.difference, noise, 2, (-1.0, 1.0)), noise, population))
    return checks


def _counts(run: Run, policy: Policy) -> Counts:
    snapshot = run.snapshot()
    label = marked_label(snapshot, policy.protocol)
    counts = with_picks(snapshot, label, snapshot.counts(label), [policy.metric])
    return counts if policy.these_problems else clustered(counts, snapshot, None)[0]


def _missing(run: Run, policy: Policy) -> str:
    """Return what missing responses may change, or nothing."""
    counts = _counts(run, policy)
    found = interval(policy.metric, counts, policy.level)
    if found.if_wrong is None or found.if_right is None:
        return ""
    missing = int(counts.missing.sum())
    return (
        f"{run.manifest.benchmark}, {run.manifest.model}: {missing:,} responses are missing and count as like the others of "
        f"the same problem; {policy.metric} would be {100 * found.if_wrong:.1f} % if all of them are wrong, "
        f"{100 * found.if_right:.1f} % if right"
    )


def _disagreeing(run: Run) -> Counts:
    """Count the responses of each problem, and those that protocols mark differently."""
    snapshot = run.snapshot()
    if len(snapshot.protocols) < 2:
        raise UsageError(
            f"{run.path} is marked only by {', '.join(snapshot.protocols) or 'nothing'}, so nothing can disagree; "
            f"{command('mark', run.path, protocol='NAME')} adds another protocol"
        )
    there = snapshot.arrived & ~snapshot.failed
    n, c = (
        np.bincount(snapshot.problem[rows], minlength=snapshot.problems) for rows in (there, there & snapshot.disagree)
    )
    return from_correct(n, c, snapshot.keys)


def _check(benchmark: str, limit: _Limit, found: Interval, noise: RunToRun, population: Population) -> Check:
    decision = decide(found, limit.limit, at_least=limit.at_least)
    unit = "points" if limit.points else "%"
    reached = caught(found, limit.limit, at_least=limit.at_least)
    if limit.points:
        why = f"a loss of {-100 * reached:.1f} points would be detected with 80 % power"
    else:
        kind = "a score below" if limit.at_least else "a share above"
        why = f"{kind} {limit.shown(reached)} % would be detected with 80 % power"
    if decision == "inconclusive":
        rest = needed(limit.metric, limit.runs, found, limit.limit, population, noise)
        enough = "no number of samples would decide it while the estimate is this close to the limit"
        if rest.samples:
            enough = f"about {rest.samples} samples per problem would decide it"
        elif rest.problems:
            enough = f"about {rest.problems:,} problems would decide it"
        why = f"{enough}; {why}"
    span = f"{100 * found.level:.3g} % interval {limit.shown(found.low)} to {limit.shown(found.high)}"
    return Check(
        benchmark=benchmark,
        check=limit.check,
        limit=f"{'≥' if limit.at_least else '≤'} {limit.shown(limit.limit)} {unit}",
        found=f"{limit.shown(found.estimate)} {unit}, {span} for {about(population)}",
        decision=decision,
        why=why,
    )


def gate_markdown(result: Gate) -> str:
    """Return a summary for a pull request."""
    rows = [
        {"": {"pass": "✓", "fail": "✗", "inconclusive": "?"}[each.decision], **msgspec.structs.asdict(each)}
        for each in result.checks
    ]
    lines = [f"**Gate: {result.decision}**", "", *markdown_table(rows), "", *(f"- {note}" for note in result.notes)]
    return "\n".join(lines) + "\n"


def gate_junit(result: Gate) -> str:
    """Return a JUnit report: a failed limit is a failure, an inconclusive one is skipped with its reason."""
    cases = []
    for each in result.checks:
        message = f"{each.found}, must be {each.limit}; {each.why}"
        inner = {
            "pass": "",
            "fail": f"<failure message={quoteattr(message)}/>",
            "inconclusive": f"<skipped message={quoteattr('inconclusive: ' + message)}/>",
        }[each.decision]
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
    """Decide a policy file for run folders; the command, the action, the plug-in and Python call this."""
    return gate(read_policy(Path(policy)), find_runs(runs), *(find_runs(each) for each in (against, repeats)))
