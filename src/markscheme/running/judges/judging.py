"""`markscheme judge`: ask a model about responses of a run; its verdicts become one more protocol of that run.

The asking is a run in `RUN/judges/NAME`: a problem is a question about one response, a sample is a vote. It is resumed,
budgeted, priced and viewed like any other run. The marks under `judge:NAME` are made from it by content, so a response that
has changed since gets none. A file of labelled responses is judged in `FILE.judges/NAME`, to measure the judge.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from markscheme.benchmarks import Benchmark
from markscheme.config import make_config
from markscheme.errors import UsageError, option
from markscheme.marking import get_protocol
from markscheme.marking import mark as mark_response
from markscheme.marking.bulk.graders import OPINIONS, content_key, labelled_file, opinions_folder
from markscheme.models.secrets import hide_spec
from markscheme.prompts import Template, prompts_sha256
from markscheme.running.asking import Display
from markscheme.running.execute import execute, resume
from markscheme.running.judges.templates import JudgeTemplate, find_template
from markscheme.running.prepare import Prepared
from markscheme.running.requests import derive_seed
from markscheme.runs.columns import UNMARKED, VERDICTS, Mask
from markscheme.runs.folder import Run, write_atomically
from markscheme.runs.lock import RunLock
from markscheme.runs.settling import OPEN, differing
from markscheme.runs.snapshot import Snapshot
from markscheme.types import Mark, Problem, Question, Response, Verdict


class JudgeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Which responses a judge is asked about, and how. The model is in a `RunConfig`."""

    name: str = ""
    template: str = ""  # its name or path (default: the judge's previous template, else `strict`)
    which: str = "open"  # `all`, or `open`: only open or disputed responses
    share: float | None = None  # a random share of all responses, by the config's seed
    swap: bool = False  # ask in both orders; a verdict counts only if both agree

    def __post_init__(self) -> None:
        if self.which not in ("open", "all"):
            raise UsageError(f"a judge is asked about what is open or about all, not {self.which!r}")
        if self.share is not None and not 0 < self.share <= 1:
            raise UsageError(f"{option('share')} takes a share above 0 and up to 1, not {self.share:g}")
        if self.share is not None and self.which == "all":
            raise UsageError(f"use either {option('share')} or {option('which', 'all')}, not both")


class Judged(NamedTuple):
    """The result of asking a judge."""

    run: Run  # the judge's own run
    label: str
    asked: int  # responses that the judge was asked about so far
    verdicts: Counter[Verdict]  # `unmarkable` is undecided
    nothing_to_show: int  # chosen responses without anything to show a judge
    template: JudgeTemplate

    def with_opinions(self, marks: list[Mark]) -> Judged:
        """Return a copy with the counts of these verdicts."""
        return self._replace(asked=len(marks), verdicts=Counter(mark.verdict for mark in marks))


class Case(NamedTuple):
    """A response that a judge may be asked about."""

    problem: Problem
    response: Response
    answer: str | None  # as the protocol extracted it
    kind: str  # what the protocol said


def judge_run(run: Run, options: JudgeOptions, config: Mapping[str, object], display: Display | None = None) -> Judged:
    """Ask what is not asked yet, and save the verdicts as marks of `judge:NAME`. `config` is as for a run; samples are votes."""
    snapshot = run.snapshot()
    seed = make_config(**{**config, "benchmark": "judge"}).seed
    chosen = (case for _, case in _cases(snapshot, _chosen(snapshot, options, seed)))
    asked = _ask(run.path / "judges", chosen, options, config, display)
    if asked is None:
        raise UsageError(
            f"there is nothing to ask about {run.path}: its protocol left no response open, and no two protocols that it "
            f"is marked with differ on one; {option('which', 'all')} or {option('share', 0.1)} asks about others"
        )
    snapshot = run.snapshot()
    marks = []
    for row, mark in _opinions(asked, _cases(snapshot, snapshot.arrived & ~snapshot.failed)):
        key, sample = snapshot.keys[snapshot.problem[row]], int(snapshot.sample[row])
        marks.append(msgspec.structs.replace(mark, key=key, sample=sample))
    run.mark_again(asked.label, marks)
    return asked.with_opinions(marks)


def judge_file(
    file: Path, options: JudgeOptions, config: Mapping[str, object], display: Display | None = None
) -> Judged:
    """Ask about every labelled response of a file, and save the verdicts next to it."""
    cases = []
    for each in filter(None, labelled_file(file)):
        mark = mark_response(each.response, each.problem)
        cases.append(Case(each.problem, each.response, mark.answer, str(mark.verdict)))
    asked = _ask(opinions_folder(file), cases, options, config, display)
    if asked is None:
        raise UsageError(f"{file} holds no labelled response that this template could show a judge")
    marks = [
        msgspec.structs.replace(mark, key=content_key(cases[at].problem, cases[at].response.text))
        for at, mark in _opinions(asked, enumerate(cases))
    ]
    write_atomically(asked.run.path / OPINIONS, (msgspec.json.encode(mark) + b"\n" for mark in marks))
    return asked.with_opinions(marks)


def _ask(
    judges: Path, cases: Iterable[Case], options: JudgeOptions, config: Mapping[str, object], display: Display | None
) -> Judged | None:
    """Ask a judge what it has not been asked yet; return None if there never was anything to ask."""
    model = str(config.get("model", ""))
    name = options.name or re.sub(r"[^A-Za-z0-9.-]+", "-", hide_spec(model).rpartition("/")[2]).strip("-.")
    if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,60}", name):
        raise UsageError(
            f"a judge's name is of letters, digits, dots and dashes, not {name!r}; give one with {option('name')}"
        )
    before = Run.open(judges / name) if (judges / name / "manifest.json").exists() else None
    chosen = options.template or (before.manifest.config.prompt if before else None) or "strict"
    template = find_template(chosen)
    if options.swap and "{first}" not in template.user:
        raise UsageError(
            f"{option('swap')} needs a template with {{first}} and {{second}} in it, and {template.name} has none"
        )
    config = {**config, "benchmark": "judge", "prompt": chosen, "protocol": "judge-reply"}
    full = make_config(**config)
    questions: dict[str, Question] = {}
    empty = 0
    for case in cases:
        made = _questions_about(case, template, swap=options.swap)
        questions |= {each.problem.key: each for each in made}
        empty += not made
    if before is not None:
        run = _go_on(before, questions, config, display)
    elif questions:
        wrapped = Template(user="{statement}", summary=template.summary)
        problems = [each.problem for each in questions.values()]
        bench = Benchmark("judge", problems, {chosen: wrapped}, protocol="judge-reply")
        prepared = Prepared(bench, list(questions.values()), get_protocol("judge-reply"))
        run = execute(full, judges / name, display, prepared)
    else:
        return None
    return Judged(run, f"judge:{name}@{template.name}-{template.version}", 0, Counter(), empty, template)


def _chosen(snapshot: Snapshot, options: JudgeOptions, seed: int) -> Mask:
    """Return the rows to ask about: open or disputed responses, all, or a random share."""
    answered = snapshot.arrived & ~snapshot.failed
    if options.share is not None:
        rows = zip(snapshot.problem.tolist(), snapshot.sample.tolist(), strict=True)
        drawn = [
            derive_seed(seed, f"judge {snapshot.keys[key]}", sample) < options.share * 2**31 for key, sample in rows
        ]
        return np.asarray(answered & np.array(drawn, bool))
    if options.which == "all":
        return answered
    assert snapshot.manifest is not None
    verdicts = [codes for name, codes in snapshot.verdicts.items() if not name.startswith("judge:")]
    undecided = np.isin(snapshot.verdict(snapshot.manifest.protocol.partition("@")[0]), OPEN)
    return np.asarray(answered & (undecided | differing(verdicts, len(snapshot))))


def _cases(snapshot: Snapshot, rows: Mask) -> Iterator[tuple[int, Case]]:
    """Return the responses of these rows with the run's own verdict."""
    assert snapshot.manifest is not None
    protocol = snapshot.manifest.protocol.partition("@")[0]
    problems = [each.problem for each in snapshot.questions()]
    for row in np.flatnonzero(rows).tolist():
        if (response := snapshot.response(row)) is not None:
            mark = snapshot.mark(protocol, row)
            verdict = int(snapshot.verdict(protocol)[row])
            kind = str(VERDICTS[verdict]) if verdict != UNMARKED else "unmarked"
            yield row, Case(problems[snapshot.problem[row]], response, mark.answer if mark else None, kind)


def _questions_about(case: Case, template: JudgeTemplate, *, swap: bool) -> list[Question]:
    """Return the question about a response, in one order or in both; nothing if there is nothing to show."""
    orders = (False, True) if swap else (False,)
    made = (template.question(case.problem, case.response, case.answer, swap=order, kind=case.kind) for order in orders)
    return [one for one in made if one is not None]


def _go_on(judge: Run, questions: Mapping[str, Question], config: Mapping[str, object], display: Display | None) -> Run:
    """Add new questions to the judge's run and ask them. If it is killed in between, the next call repairs it."""
    with RunLock(judge.path):
        there = {each.problem.key: each for each in judge.questions()}
        every = [*there.values(), *(each for key, each in questions.items() if key not in there)]
        changed = msgspec.structs.replace(
            judge.manifest, problems=len(every), prompt_sha256=prompts_sha256(each.prompt for each in every)
        )
        if changed != judge.manifest:
            judge.save_questions(every)
            judge.save_manifest(changed)
    return resume(judge, config, display)


def _opinions(asked: Judged, cases: Iterable[tuple[int, Case]]) -> Iterator[tuple[int, Mark]]:
    """Yield a mark for every response that has all its votes."""
    votes: dict[str, Counter[Verdict]] = {}
    for mark in asked.run.marks("judge-reply"):
        votes.setdefault(mark.key, Counter())[mark.verdict] += 1
    samples = asked.run.manifest.samples
    for at, case in cases:
        made = _questions_about(case, asked.template, swap="{first}" in asked.template.user)
        counted = [votes[each.problem.key] for each in made if each.problem.key in votes]
        if not counted or any(count.total() - count[Verdict.ERROR] < samples for count in counted):
            continue
        verdicts = {_majority(count, samples) for count in counted}
        verdict = verdicts.pop() if len(verdicts) == 1 else Verdict.UNMARKABLE
        yield at, Mark(verdict=verdict, protocol=asked.label, why=_why(counted))


def _majority(votes: Counter[Verdict], of: int) -> Verdict:
    """Return the verdict of more than half of all votes, else undecided."""
    agreed = (verdict for verdict in (Verdict.CORRECT, Verdict.WRONG) if 2 * votes[verdict] > of)
    return next(agreed, Verdict.UNMARKABLE)


def _why(asked: list[Counter[Verdict]]) -> str:
    """Return the votes in words: `2 of 3 votes for right, 1 for wrong; swapped 3 …`."""
    counts = [
        f"{votes.total()} votes: {votes[Verdict.CORRECT]} right, {votes[Verdict.WRONG]} wrong, "
        f"{votes[Verdict.NO_ANSWER] + votes[Verdict.TRUNCATED]} undecided"
        for votes in asked
    ]
    return "; in the other order ".join(counts)
