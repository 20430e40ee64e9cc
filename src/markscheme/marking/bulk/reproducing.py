"""A published figure made again from stored outputs: by the stored verdict, by the published rule, by `math`.

Streams: of the samples on which the verdicts differ a limited number is kept, of the others a few small facts.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import msgspec

from markscheme.datasets.stored import squeezed, without_choices
from markscheme.errors import MarkschemeError
from markscheme.marking.bulk.audit import TAIL, Difference, judged
from markscheme.marking.bulk.claim_rows import Stored, StoredRows, Watch
from markscheme.marking.bulk.claims import Claim, Entry, target
from markscheme.marking.equality.comparing import equal
from markscheme.marking.extraction.sections import THINK_END
from markscheme.marking.protocol import Protocol, get_protocol
from markscheme.statistics import mean_interval, pass_at_k
from markscheme.types import Mark, Problem, Response, Verdict

STORED, OURS = "stored", "math"
NAMED = 20
"""Ids that are named of missing and doubled rows, and of golds that differ."""
AGAINST = {
    Verdict.WRONG: "they accept, math reads another answer",
    Verdict.NO_ANSWER: "they accept, math finds no answer",
    Verdict.TRUNCATED: "they accept, math says cut off",
    Verdict.MALFORMED: "they accept, math says malformed",
    Verdict.UNMARKABLE: "they accept, math cannot decide",
}
FOR, ABSENT = "math accepts, they do not", "no output is stored"


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """The figure by one verdict."""

    by: str  # "stored", or "name@version"
    value: float
    right: float  # samples, or problems where the figure is one for each problem
    of: int
    low: float
    high: float
    reproduced: bool


class Differing(msgspec.Struct, frozen=True, kw_only=True):
    """A class of samples on which two verdicts differ."""

    kind: str
    samples: int
    points: float  # of the figure, in percent
    examples: list[Difference]


class Reproduced(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table, made again."""

    name: str
    published: str
    figure: str
    figures: dict[str, Figure]
    reproduced: bool
    rows: int
    samples: int
    problems: int
    differing: list[Differing]
    remarks: list[str]  # what is odd about the files, and what would explain the published figure
    note: str = ""


class Reproduction(msgspec.Struct, frozen=True, kw_only=True):
    """A claim, checked."""

    title: str
    source: str
    repository: str
    note: str
    rows: list[Reproduced]

    @property
    def reproduced(self) -> bool:
        return all(row.reproduced for row in self.rows)


class Kept(NamedTuple):
    """A differing sample, whole, for the viewer."""

    stored: Stored
    marks: dict[str, Mark]


def reproduce_entry(
    entry: Entry, root: Path, *, workers: int | None = None, keep: int = 200, watch: Watch = lambda *_: None
) -> tuple[Reproduced, dict[str, list[Kept]]]:
    """Make one row again; beside it the differing samples by class, at most `keep` of each."""
    rows = StoredRows(entry, root, watch)
    rules = [get_protocol(name) for name in dict.fromkeys([*([entry.rule] if entry.rule else []), OURS])]
    counts = _Counts(entry, rules, keep)
    ours, theirs = itertools.tee(rows)
    for stored, (_, _, marks) in zip(
        ours, judged(((each.response, each.problem) for each in theirs), rules, workers, THINK_END), strict=True
    ):
        counts.add(stored, marks)
    return counts.made(rows), counts.kept


class _Counts:
    """What is counted while the samples pass by."""

    def __init__(self, entry: Entry, rules: Sequence[Protocol], keep: int) -> None:
        self.entry, self.keep = entry, keep
        self.labels = {rule.name: rule.label for rule in rules}
        self.groups: dict[str, list[_Sample]] = defaultdict(list)
        self.kinds: Counter[str] = Counter()
        self.kept: dict[str, list[Kept]] = {}
        self.problems: dict[str, Problem] = {}
        self.samples = self.unsaid = 0

    def add(self, stored: Stored, marks: dict[str, Mark]) -> None:
        """Count one sample."""
        self.samples += 1
        self.unsaid += stored.verdict is None
        right = {name: mark.correct for name, mark in marks.items()}
        if self.entry.fields.verdict is not None:
            right[STORED] = stored.verdict or False
        answers = {name: stored.answer or mark.answer for name, mark in marks.items()} | {STORED: stored.answer}
        lean = self.entry.figure in ("accuracy", "first") or self.entry.figure.startswith("pass")
        self.groups[stored.problem.id].append(_Sample(right, {} if lean else answers, stored.score))
        if self.entry.benchmark is not None:
            self.problems.setdefault(stored.problem.id, stored.problem)
        for kind in self._differing(right, marks):
            self.kinds[kind] += 1
            if len(kept := self.kept.setdefault(kind, [])) < self.keep:
                kept.append(Kept(stored, marks))

    def _differing(self, right: dict[str, bool], marks: dict[str, Mark]) -> Iterator[str]:
        """The classes that a sample belongs to: `math` against their verdict, and their rule against what is stored."""
        base = STORED if STORED in right else self.entry.rule
        if marks[OURS].verdict is Verdict.ERROR:
            yield ABSENT
        elif base is not None and right[base] != right[OURS]:
            yield FOR if right[OURS] else AGAINST[marks[OURS].verdict]
        if base == STORED and (rule := self.entry.rule) not in (None, OURS) and right[STORED] != right[rule or ""]:
            yield (
                f"{rule} accepts, the stored verdict does not"
                if right[rule or ""]
                else (f"the stored verdict accepts, {rule} does not")
            )

    def made(self, rows: StoredRows) -> Reproduced:
        """The row of the table."""
        names = [*([STORED] if self.entry.fields.verdict is not None else []), *self.labels]
        figures = {name: self._figure(name) for name in names}
        theirs = [figures[name] for name in (STORED, self.entry.rule) if name is not None and name in figures]
        reproduced = any(figure.reproduced for figure in theirs)
        of = next(iter(figures.values())).of
        remarks = [*_odd(rows, self), *([] if reproduced else self._explained(theirs, figures[OURS], rows))]
        return Reproduced(
            name=self.entry.name,
            published=self.entry.published,
            figure=self.entry.figure,
            figures=figures,
            reproduced=reproduced,
            rows=rows.rows,
            samples=self.samples,
            problems=len(self.groups),
            differing=[
                Differing(
                    kind=kind,
                    samples=count,
                    points=100 * count / max(1, of if self.entry.figure == "accuracy" else self.samples),
                    examples=[_shown(each) for each in self.kept[kind][:3]],
                )
                for kind, count in self.kinds.most_common()
            ],
            remarks=remarks,
            note=self.entry.note,
        )

    def _figure(self, name: str) -> Figure:
        values = [_value(self.entry.figure, group, name) for group in self.groups.values()]
        if self.entry.figure == "accuracy":  # over all samples, as tables count where problems have unequal numbers
            right, of = sum(sample.right[name] for group in self.groups.values() for sample in group), self.samples
            share = Fraction(right, of)
        else:
            right, of = sum(values), len(values)
            share = Fraction(right) / of
        interval = mean_interval([float(value) for value in values])
        published, half = target(self.entry)
        return Figure(
            by=self.labels.get(name, name),
            value=float(share),
            right=float(right),
            of=of,
            low=interval.low,
            high=interval.high,
            reproduced=abs(share - published) <= half,
        )

    def _explained(self, theirs: Sequence[Figure], ours: Figure, rows: StoredRows) -> Iterator[str]:
        """Other ways to count that give the published figure; without one, how far it is off."""
        published, half = target(self.entry)
        missing = max(0, (self.entry.problems or 0) - len(self.groups))
        found = ours.reproduced
        if ours.reproduced:
            yield f"published by {ours.by}"
        figures = theirs or [ours]
        for figure in figures:
            right, of = Fraction(figure.right), figure.of
            ways = {
                f"the {missing} missing rows count as wrong": (right, of + missing),
                f"the {self.kinds[ABSENT]} samples without an output are left out": (right, of - self.kinds[ABSENT]),
                f"the {rows.unread.total()} rows that could not be read count as wrong": (
                    right,
                    of + rows.unread.total(),
                ),
            }
            for way, (top, bottom) in ways.items():
                if (top, bottom) != (right, of) and bottom > 0 and abs(top / bottom - published) <= half:
                    found = True
                    yield f"published if {way} (by {figure.by})"
            if 0 <= right / of - published < 2 * half:
                found = True
                yield f"published if digits are cut off instead of rounded (by {figure.by})"
        if not found:
            figure = min(figures, key=lambda each: abs(Fraction(each.right) / each.of - published))
            gap = published * figure.of - Fraction(figure.right)
            yield (
                f"the published figure is {abs(float(gap)):.1f} correct {'more' if gap > 0 else 'fewer'} than these outputs "
                f"have by {figure.by}: it was not made from them in a way known here"
            )


class _Sample(NamedTuple):
    right: dict[str, bool]
    answers: dict[str, str | None]
    score: float | None


def _value(figure: str, group: Sequence[_Sample], name: str) -> Fraction:
    """The figure of one problem: a share of its samples, or 0 or 1."""
    kind, _, k = figure.partition("@")
    first = group[: int(k)] if k else group
    right = [sample.right[name] for sample in first]
    if kind == "accuracy":
        return Fraction(sum(right), len(right))
    if kind == "pass":
        n, c = len(group), sum(sample.right[name] for sample in group)
        return Fraction(float(pass_at_k(n, c, min(int(k), n)))).limit_denominator(10**9)
    if kind == "best":
        chosen = max(range(len(first)), key=lambda place: (first[place].score is not None, first[place].score or 0))
        return Fraction(right[chosen])
    if kind == "maj":
        answers = [sample.answers[name] for sample in first]
        most = Counter(answer for answer in answers if answer).most_common(1)
        return Fraction(right[answers.index(most[0][0])] if most else 0)
    return Fraction(right[0])


def _odd(rows: StoredRows, counts: _Counts) -> Iterator[str]:
    """What is missing, doubled, unread or has another gold; each with its number and its first names."""
    entry = counts.entry
    if rows.unread:
        yield f"{rows.unread.total()} rows could not be read, the first: {rows.example_unread}"
    if rows.doubled:
        yield f"{len(rows.doubled)} rows are there more than once: {_some(rows.doubled)}"
    if entry.fields.verdict is not None and counts.unsaid:
        yield f"{counts.unsaid} samples have no stored verdict and count as not right"
    if entry.benchmark is not None:
        yield from _held_against(entry.benchmark, counts.problems)
    elif entry.problems is not None and entry.problems != len(counts.groups):
        short = entry.problems - len(counts.groups)
        yield f"{abs(short)} of {entry.problems} problems are {'missing' if short > 0 else 'too many'}"


def _held_against(name: str, stored: dict[str, Problem]) -> Iterator[str]:
    """Problems of the benchmark that no row answers, and golds that are not the official ones."""
    from markscheme.benchmarks import benchmark

    try:
        official = benchmark(name).problems
    except MarkschemeError as failure:
        yield f"not compared with the official problems: {failure}"
        return
    by_text = {squeezed(without_choices(problem.statement)): problem for problem in official}
    met: set[str] = set()
    unknown, other = [], []
    for problem in stored.values():
        text = squeezed(without_choices(problem.statement))
        known = by_text.get(text)
        if known is None:
            unknown.append(problem.id)
            continue
        met.add(known.key)
        if not equal(str(problem.gold), str(known.gold)):
            other.append(f"{problem.id} ({problem.gold}, officially {known.gold})")
    absent = [problem.id for problem in official if problem.key not in met]
    if absent:
        yield f"{len(absent)} problems of {name} are missing: {_some(absent)}"
    if unknown:
        yield f"{len(unknown)} problems are not in {name}: {_some(unknown)}"
    if other:
        yield f"{len(other)} golds differ from the official ones: {_some(other)}"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (" …" if len(names) > NAMED else "")


def _shown(kept: Kept) -> Difference:
    problem, response = kept.stored.problem, kept.stored.response
    marks = dict(kept.marks)
    if (mark := stored_mark(kept.stored)) is not None:
        marks = {STORED: mark, **marks}
    return Difference(
        problem=problem.id, sample=response.sample, gold=problem.gold, ending=response.text[-TAIL:], marks=marks
    )


def stored_mark(stored: Stored) -> Mark | None:
    """The stored verdict as a mark."""
    if stored.verdict is None:
        return None
    return Mark(
        verdict=Verdict.CORRECT if stored.verdict else Verdict.WRONG,
        protocol=f"{STORED}@1",
        answer=stored.answer,
        why="as stored with the output",
        key=stored.response.key,
        sample=stored.response.sample,
    )


class ClaimOutputs:
    """All samples of a claim as (response, problem) pairs, for `audit`; a row of the table is a sample of its own."""

    def __init__(self, claim: Claim, root: Path) -> None:
        self.claim, self.root, self.benchmark = claim, root, claim.title
        self.unmatched = 0

    def __iter__(self) -> Iterator[tuple[Response, Problem]]:
        seen: Counter[str] = Counter()
        for entry in self.claim.rows:
            rows = StoredRows(entry, self.root)
            for stored in rows:
                number = seen[stored.problem.key]
                seen[stored.problem.key] += 1
                yield msgspec.structs.replace(stored.response, sample=number), stored.problem
            self.unmatched += rows.unread.total()
