"""The score with known wrong golds corrected, and suspects: golds that independent runs contradict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

import msgspec
import numpy as np

from markscheme.benchmarks.errata import AMBIGUOUS, Erratum, applying, errata_sha256
from markscheme.errors import DataError, UsageError
from markscheme.marking import get_protocol, mark_many
from markscheme.pages.frames import Columns, Result, Rows
from markscheme.pages.parts import Part
from markscheme.reporting.estimates import estimate
from markscheme.reporting.summary import Errata
from markscheme.runs.folder import Run
from markscheme.runs.snapshot import Snapshot
from markscheme.statistics import Counts, Population
from markscheme.statistics.counts import tally
from markscheme.types import Verdict

LEAST = 3  # models that must agree on an answer other than the gold


def with_errata(
    snapshot: Snapshot, label: str, counts: Counts, population: Population, more: Sequence[Erratum] = ()
) -> Errata | None:
    """Return the accuracy with right golds and without ambiguous problems; None without known errata."""
    assert snapshot.manifest is not None
    known = applying(snapshot.manifest.config.benchmark, zip(snapshot.keys, snapshot.ids, strict=True), more)
    if not known:
        return None
    again = _marked_again(snapshot, label, known) if not counts.rounds else {}
    kept = counts.select(key for key in counts.keys if key not in known or key in again)
    table = kept.table.copy()
    for place, key in enumerate(kept.keys):
        if key in again:
            table[place] = tally(again[key], (key,)).table[0]
    about: Population = "problems drawn" if population == "the whole benchmark" else population
    return Errata(
        accuracy=estimate("accuracy", replace(kept, table=table, picks=None), about),
        corrected=len(again),
        left_out=len(known) - len(again),
        golds={snapshot.ids[snapshot.numbers[key]]: each.gold for key, each in known.items()},
        sources=tuple(sorted({one for each in known.values() for one in each.source.split("; ")})),
        sha256=errata_sha256(known.values()),
    )


def errata_or_note(
    snapshot: Snapshot, label: str, counts: Counts, population: Population, more: Sequence[Erratum] = ()
) -> tuple[Errata | None, tuple[str, ...]]:
    """Return the errata, or a note if the file next to the benchmark cannot be read, so that the report still works."""
    try:
        return with_errata(snapshot, label, counts, population, more), ()
    except DataError as problem:
        return None, (f"without errata: {problem}",)


def _marked_again(snapshot: Snapshot, label: str, known: dict[str, Erratum]) -> dict[str, list[tuple[str, Verdict]]]:
    """Return the verdicts under the right gold; empty if this version has another version of the protocol."""
    try:
        rule = get_protocol(label.partition("@")[0])
    except UsageError:
        return {}
    right = {key: each.gold for key, each in known.items() if each.gold != AMBIGUOUS}
    if rule.label != label or rule.gold == "countdown":
        return {}
    problems = {
        key: msgspec.structs.replace(question.problem, gold=gold)
        for key, gold in right.items()
        if (question := snapshot.question(snapshot.numbers[key])) is not None
    }
    chosen = np.isin(snapshot.problem, [snapshot.numbers[key] for key in problems])
    pairs = ((response, problems[response.key]) for response in snapshot.responses(chosen))
    verdicts: dict[str, list[tuple[str, Verdict]]] = {key: [] for key in problems}
    for mark in mark_many(pairs, rule.name):
        verdicts[mark.key].append((mark.key, mark.verdict))
    return verdicts


class Suspect(msgspec.Struct, frozen=True, kw_only=True):
    """A problem on which models agree on an answer other than the gold."""

    problem: str
    key: str
    gold: str
    answer: str  # their answer, as the first of them wrote it
    agree: int  # models whose most frequent answer this is
    right: int  # models whose most frequent answer is the gold
    models: int  # models that answered the problem
    known: str = ""  # from the errata: the right gold, or `ambiguous`


def suspects(runs: Sequence[Run], least: int = LEAST) -> list[Suspect]:
    """Return problems where at least `least` models agree on an answer other than the gold, and more than give the gold.

    Runs of one model count once. A model's answer is the one it gave most often.
    """
    from markscheme.marking.equality import canonical_key  # a report of a run does not need it

    said: dict[str, dict[str, Counter[tuple[str, bool]]]] = {}
    shown: dict[tuple[str, str], str] = {}
    about: dict[str, tuple[str, str]] = {}
    known: dict[str, Erratum] = {}
    for run in runs:
        snapshot = run.snapshot()
        known |= applying(run.manifest.config.benchmark, zip(snapshot.keys, snapshot.ids, strict=True))
        for question in snapshot.questions():
            about[question.problem.key] = question.problem.id, str(question.problem.gold)
        for mark in snapshot.marks(run.manifest.protocol):
            if mark.answer and mark.verdict in (Verdict.CORRECT, Verdict.WRONG):
                same = str(canonical_key(mark.answer) or " ".join(mark.answer.split()))
                shown.setdefault((mark.key, same), mark.answer)
                votes = said.setdefault(mark.key, {}).setdefault(run.manifest.model, Counter())
                votes["" if mark.correct else same, mark.correct] += 1
    found = [_suspect(key, votes, shown, about, known.get(key)) for key, votes in said.items() if key in about]
    return sorted(
        (each for each in found if each and each.agree >= least and each.agree > each.right),
        key=lambda each: (-each.agree / each.models, -each.agree, each.problem),
    )


def _suspect(
    key: str,
    votes: dict[str, Counter[tuple[str, bool]]],
    shown: dict[tuple[str, str], str],
    about: dict[str, tuple[str, str]],
    known: Erratum | None,
) -> Suspect | None:
    opinions = Counter(each.most_common(1)[0][0] for each in votes.values())
    wrong: Iterable[tuple[tuple[str, bool], int]] = (each for each in opinions.most_common() if not each[0][1])
    first = next(iter(wrong), None)
    if first is None:
        return None
    ((answer, _), agree), (name, gold) = first, about[key]
    return Suspect(
        problem=name,
        key=key,
        gold=gold,
        answer=shown[key, answer],
        agree=agree,
        right=opinions["", True],
        models=len(votes),
        known=known.gold if known else "",
    )


class Suspects(Result, list[Suspect]):
    """Problems on which models agree on an answer other than the gold."""

    _COLUMNS: ClassVar[Columns] = {
        **dict.fromkeys(("problem", "gold", "answer"), str),
        **dict.fromkeys(("agree", "right", "models"), int),
        "known": str,
    }

    def __init__(self, found: Iterable[Suspect], least: int) -> None:
        super().__init__(found)
        self._least = least

    def rows(self) -> Rows:
        """Return one record per problem."""
        return [{name: getattr(each, name) for name in self._COLUMNS} for each in self]

    def content(self) -> list[Suspect]:
        """Return what `errata suspects --json` prints."""
        return [*self]

    def page(self) -> Iterator[Part]:
        """Yield how many there are, and which."""
        what = f"problems on which at least {self._least} models agree on an answer other than the gold"
        yield Part("text", f"{what}: {len(self)}")
        yield Part("table", self.rows())
