"""Recompute a published figure from stored outputs: by the stored verdict, by the published rule and by `math`.

Samples are streamed. A limited number of those on which the verdicts differ is kept whole, and a few facts of all others.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import msgspec

from markscheme.datasets.stored import squeezed, without_choices
from markscheme.errors import MarkschemeError, counted
from markscheme.marking.bulk.audit import Difference, judged
from markscheme.marking.bulk.claim_rows import Stored, StoredRows, Watch
from markscheme.marking.bulk.claims import Claim, Entry, target
from markscheme.marking.equality.comparing import equal
from markscheme.marking.protocol import Protocol, get_protocol
from markscheme.marking.reading.sections import THINK_END
from markscheme.pages.frames import Printed
from markscheme.pages.parts import Part
from markscheme.pages.terminal import gold_line
from markscheme.statistics import mean_interval, pass_at_k
from markscheme.types import Mark, Problem, Response, Verdict

STORED, OURS = "stored", "math"
NAMED = 20  # ids listed in a remark
SHOWN = 3  # samples shown of each class
FOR, ABSENT = "math accepts, they do not", "no output is stored"
AGAINST = {
    Verdict.WRONG: "they accept, math reads another answer",
    Verdict.NO_ANSWER: "they accept, math finds no answer",
    Verdict.TRUNCATED: "they accept, math finds it truncated",
    Verdict.MALFORMED: "they accept, math finds it malformed",
    Verdict.UNMARKABLE: "they accept, math cannot decide",
}


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    by: str  # "stored", or "name@version"
    value: float
    right: float  # number of correct samples, or of problems if each has one value
    of: int
    low: float
    high: float
    reproduced: bool


class Differing(msgspec.Struct, frozen=True, kw_only=True):
    """A class of samples on which two verdicts differ."""

    kind: str
    samples: int
    points: float  # percent of all samples
    examples: list[Difference]


class Reproduced(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table, recomputed."""

    name: str
    published: str
    figure: str
    figures: dict[str, Figure]
    reproduced: bool
    samples: int
    problems: int
    differing: list[Differing]
    remarks: list[str]  # oddities of the files, and what would explain the published figure
    note: str = ""

    def row(self) -> dict[str, str]:
        """Return the published figure with the three recounts."""
        rule = next((figure for name, figure in self.figures.items() if name not in (STORED, OURS)), None)
        return {
            "": self.name,
            "published": self.published,
            "by stored verdict": self._cell(self.figures.get(STORED)),
            "by published rule": self._cell(rule) + (f" ({rule.by.partition('@')[0]})" if rule else ""),
            "by math": self._cell(self.figures[OURS], interval=True),
            "reproduced": "yes" if self.reproduced else "no",
        }

    def _cell(self, figure: Figure | None, *, interval: bool = False) -> str:
        """Format a figure with one more digit than the published one, to show rounding."""
        if figure is None:
            return "–"
        digits = max(1, len(self.published.strip("% ").partition(".")[2])) if "/" not in self.published else 1
        text = f"{100 * figure.value:.{min(digits + 1, 6)}f}"
        return f"{text} ({100 * figure.low:.1f} to {100 * figure.high:.1f})" if interval else text

    def account(self) -> list[str]:
        """Return the reasons why the figures differ, one per line."""
        classes = (
            f"{each.kind}: {counted(each.samples, 'sample')}, {each.points:.2f} points" for each in self.differing
        )
        return [*self.remarks, *classes, *([self.note] if self.note else [])]


class Reproduction(Printed, msgspec.Struct, frozen=True, kw_only=True):
    """A claim, checked."""

    title: str
    source: str
    repository: str
    note: str
    rows: list[Reproduced]

    @property
    def reproduced(self) -> bool:
        """True if every published figure is reproduced to its last digit."""
        return all(row.reproduced for row in self.rows)

    @property
    def exit_code(self) -> int:
        """4 if a figure is not reproduced."""
        return 0 if self.reproduced else 4

    def page(self, show: int = 0) -> Iterator[Part]:
        """Yield the table, why figures differ, and up to `show` differing samples of each class."""
        yield Part("title", self.title)
        yield Part("text", f"Source: {self.source}." if self.source else "")
        yield Part("table", [row.row() for row in self.rows])
        yield Part("text", self.note)
        for row in self.rows:
            yield Part("text", f"{row.name} ({counted(row.samples, 'sample')} of {counted(row.problems, 'problem')}):")
            yield Part("items", row.account() or ["no verdict differs"])
            for each in (example for kind in row.differing for example in kind.examples[: max(0, show)]):
                yield Part("heading", f"{each.problem}, gold {gold_line(each.gold)}")
                yield Part("quote", each.ending)
                yield Part("items", [f"{name:18} {mark.verdict:11} {mark.why}" for name, mark in each.marks.items()])
        done = sum(row.reproduced for row in self.rows)
        yield Part("text", f"{done} of {len(self.rows)} published figures are reproduced to their last digit")


class Kept(NamedTuple):
    """A differing sample with every mark."""

    response: Response
    problem: Problem
    marks: dict[str, Mark]


class _Sample(NamedTuple):
    right: dict[str, bool]
    answers: dict[str, str | None]
    score: float | None


def reproduce_entry(
    entry: Entry, root: Path, *, workers: int | None = None, keep: int = 200, watch: Watch = lambda *_: None
) -> tuple[Reproduced, dict[str, list[Kept]]]:
    """Recompute one row. Also return the differing samples by class, at most `keep` of each."""
    rows = StoredRows(entry, root, watch)
    rules = [get_protocol(name) for name in dict.fromkeys([*([entry.rule] if entry.rule else []), OURS])]
    counts = _Counts(entry, rules, keep)
    ours, theirs = itertools.tee(rows)
    pairs = ((stored.response, stored.problem) for stored in theirs)
    for stored, (_, _, marks) in zip(ours, judged(pairs, rules, workers, THINK_END), strict=True):
        counts.add(stored, marks)
    return counts.made(rows), counts.kept


class _Counts:
    def __init__(self, entry: Entry, rules: Sequence[Protocol], keep: int) -> None:
        self.entry, self.keep = entry, keep
        self.judges = {
            **({STORED: STORED} if entry.fields.verdict else {}),
            **{rule.name: rule.label for rule in rules},
        }
        self.theirs = next((name for name in self.judges if name != OURS), None)
        self.voted = entry.figure.startswith("maj")
        self.groups: dict[str, list[_Sample]] = defaultdict(list)
        self.kinds: Counter[str] = Counter()
        self.kept: dict[str, list[Kept]] = defaultdict(list)
        self.problems: dict[str, Problem] = {}
        self.samples = self.unsaid = 0

    def add(self, stored: Stored, marks: dict[str, Mark]) -> None:
        self.samples += 1
        self.unsaid += stored.verdict is None
        marks = {STORED: _stored_mark(stored), **marks} if STORED in self.judges else marks
        right = {name: mark.correct for name, mark in marks.items()}
        answers = {name: stored.answer or mark.answer for name, mark in marks.items()} if self.voted else {}
        self.groups[stored.problem.id].append(_Sample(right, answers, stored.score))
        if self.entry.benchmark is not None:
            self.problems.setdefault(stored.problem.id, stored.problem)
        for kind in self._differing(right, marks[OURS].verdict):
            self.kinds[kind] += 1
            if len(self.kept[kind]) < self.keep:
                self.kept[kind].append(Kept(stored.response, stored.problem, marks))

    def _differing(self, right: dict[str, bool], ours: Verdict) -> Iterator[str]:
        """Yield the classes of a sample: `math` against their verdict, and their rule against the stored verdict."""
        if ours is Verdict.ERROR:
            yield ABSENT
        elif self.theirs is not None and right[self.theirs] != right[OURS]:
            yield FOR if right[OURS] else AGAINST[ours]
        rule = self.entry.rule
        if rule and rule != OURS and self.theirs == STORED and right[STORED] != right[rule]:
            yield (
                f"{rule} accepts, the stored verdict does not"
                if right[rule]
                else f"stored as right, {rule} does not accept"
            )

    def made(self, rows: StoredRows) -> Reproduced:
        figures = {name: self._figure(name) for name in self.judges}
        theirs = [figure for name, figure in figures.items() if name in (STORED, self.entry.rule)]
        reproduced = any(figure.reproduced for figure in theirs)
        return Reproduced(
            name=self.entry.name,
            published=self.entry.published,
            figure=self.entry.figure,
            figures=figures,
            reproduced=reproduced,
            samples=self.samples,
            problems=len(self.groups),
            differing=[
                Differing(
                    kind=kind, samples=count, points=100 * count / self.samples,
                    examples=[Difference.of(*each) for each in self.kept[kind][:SHOWN]],
                )
                for kind, count in self.kinds.most_common()
            ],
            remarks=[*self._odd(rows), *([] if reproduced else self._explained(theirs, figures[OURS], len(rows.unread)))],
            note=self.entry.note,
        )  # fmt: skip

    def _figure(self, name: str) -> Figure:
        values = [_value(self.entry.figure, group, name) for group in self.groups.values()]
        right, of = sum(values, Fraction(0)), len(values)
        if self.entry.figure == "accuracy":
            # Over samples, as tables count when problems have different numbers of them.
            right = Fraction(sum(each.right[name] for group in self.groups.values() for each in group))
            of = self.samples
        interval = mean_interval([float(value) for value in values])
        published, half = target(self.entry)
        return Figure(
            by=self.judges[name],
            value=float(right / of),
            right=float(right),
            of=of,
            low=interval.low,
            high=interval.high,
            reproduced=abs(right / of - published) <= half,
        )

    def _odd(self, rows: StoredRows) -> Iterator[str]:
        """Yield remarks on rows that are missing, duplicated, unreadable or have a different gold."""
        if rows.unread:
            yield f"rows that could not be read: {len(rows.unread)}, the first: {rows.unread[0]}"
        if rows.doubled:
            yield f"rows that occur more than once: {len(rows.doubled)} ({_some(rows.doubled)})"
        if STORED in self.judges and self.unsaid:
            yield f"samples without a stored verdict, which count as not right: {self.unsaid}"
        if self.entry.benchmark is not None:
            yield from _held_against(self.entry.benchmark, self.problems)
        elif self.entry.problems not in (None, len(self.groups)):
            yield f"there are {len(self.groups)} problems instead of {self.entry.problems}"

    def _explained(self, theirs: Sequence[Figure], ours: Figure, unread: int) -> Iterator[str]:
        """Yield other ways to count that give the published figure; without one, how far it is off."""
        published, half = target(self.entry)
        missing = max(0, (self.entry.problems or 0) - len(self.groups))
        absent = self.kinds[ABSENT]
        ways = {
            f"missing problems ({missing}) count as wrong": missing,
            f"rows that could not be read ({unread}) count as wrong": unread,
            f"samples without an output ({absent}) are left out": -absent,
        }
        said = [f"published as counted by {ours.by}"] if ours.reproduced else []
        for figure in theirs or [ours]:
            right = Fraction(figure.right).limit_denominator(10**9)
            for way, more in ways.items():
                if more and figure.of + more > 0 and abs(right / (figure.of + more) - published) <= half:
                    said.append(f"published if {way} (by {figure.by})")
            if 0 < right / figure.of - published < 2 * half:
                said.append(f"published if digits are cut off instead of rounded (by {figure.by})")
        yield from said
        if not said:
            nearest = min(theirs or [ours], key=lambda figure: abs(figure.value - float(published)))
            gap = float(published) * nearest.of - nearest.right
            yield f"the published figure has about {abs(gap):.0f} {'more' if gap > 0 else 'fewer'} right answers than {nearest.by}"


def _value(figure: str, group: Sequence[_Sample], name: str) -> Fraction:
    """Return the figure of one problem: a share of its samples, or 0 or 1."""
    kind, _, k = figure.partition("@")
    first = group[: int(k)] if k else group
    right = [sample.right[name] for sample in first]
    if kind == "accuracy":
        return Fraction(sum(right), len(right))
    if kind == "pass":
        n, c = len(group), sum(sample.right[name] for sample in group)
        return Fraction(float(pass_at_k(n, c, min(int(k), n)))).limit_denominator(10**9)
    chosen = 0
    if kind == "best":
        scores = [-math.inf if sample.score is None else sample.score for sample in first]
        chosen = scores.index(max(scores))
    elif kind == "maj":
        answers = [sample.answers[name] for sample in first]
        most = Counter(answer for answer in answers if answer).most_common(1)
        chosen = answers.index(most[0][0]) if most else 0
    return Fraction(right[chosen])


def _held_against(name: str, stored: dict[str, Problem]) -> Iterator[str]:
    from markscheme.benchmarks import benchmark

    try:
        official = {squeezed(without_choices(each.statement)): each for each in benchmark(name).problems}
    except MarkschemeError as failure:
        yield f"not compared with the official problems: {failure}"
        return
    found = {each.id: (each, official.get(squeezed(without_choices(each.statement)))) for each in stored.values()}
    known = {official.key for _, official in found.values() if official is not None}
    others = [
        f"{each.id} ({each.gold}, officially {right.gold})"
        for each, right in found.values()
        if right is not None and not equal(str(each.gold), str(right.gold))
    ]
    for what, names in {
        f"problems of {name} that are missing": [each.id for each in official.values() if each.key not in known],
        f"problems that are not in {name}": [each for each, (_, right) in found.items() if right is None],
        "golds that differ from the official ones": others,
    }.items():
        if names:
            yield f"{what}: {len(names)} ({_some(names)})"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (" …" if len(names) > NAMED else "")


def _stored_mark(stored: Stored) -> Mark:
    return Mark(
        verdict=Verdict.CORRECT if stored.verdict else Verdict.WRONG,
        protocol=f"{STORED}@1",
        answer=stored.answer,
        why="as stored with the output",
        key=stored.response.key,
        sample=stored.response.sample,
    )


class ClaimOutputs:
    """All samples of a claim as (response, problem) pairs for `audit`. Each row of the table is a separate sample."""

    def __init__(self, claim: Claim, root: Path) -> None:
        self.claim, self.root, self.benchmark = claim, root, claim.title
        self.unmatched = 0

    def __iter__(self) -> Iterator[tuple[Response, Problem]]:
        seen: Counter[str] = Counter()
        for entry in self.claim.rows:
            rows = StoredRows(entry, self.root)
            for stored in rows:
                yield msgspec.structs.replace(stored.response, sample=seen[stored.problem.key]), stored.problem
                seen[stored.problem.key] += 1
            self.unmatched += len(rows.unread)
