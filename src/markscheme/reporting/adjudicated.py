"""The marker's error rates according to people, the corrected accuracy, and what more labels would buy."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from markscheme.reporting.estimates import as_estimate
from markscheme.reporting.figures import error_rates
from markscheme.reporting.summary import Corrected
from markscheme.runs.adjudications import Drawn, Opinion, Place, consensus, read_labels, read_order
from markscheme.runs.columns import CORRECT, UNMARKED
from markscheme.runs.snapshot import Snapshot
from markscheme.statistics import Counts, Interval, Population, interval
from markscheme.statistics.marker_errors import JudgedMarks, corrected


class Adjudicated(NamedTuple):
    """Labels of people next to the marks."""

    marks: JudgedMarks
    places: list[Place]  # the places of the marks, in the same order
    unsure: int
    skipped: int  # passed over in the random order, so nothing is known about these either
    picked: int  # labels of responses that were not next in the random order, so they do not represent others
    people: int
    agreement: float | None


# The share of a stretch of the random order that must have labels for it to count as a random sample.
DRAWN = 0.9


def adjudicated(snapshot: Snapshot, protocol: str) -> Adjudicated | None:
    """Return the judged marks of a run under any protocol, or None without labels.

    Labels are a random sample within each stratum of the draw, under any protocol.
    """
    order, labels = read_order(snapshot.folder), read_labels(snapshot)
    if not order or not labels:
        return None
    decided = {place: consensus(people) for place, people in labels.items() if consensus(people) != "unsure"}
    shown = _shown(order, labels)
    rows = _called(snapshot, order, protocol)
    if not rows:
        return None
    names = sorted({each.stratum for each in order})
    verdicts = [decided.get((each.key, each.sample)) if (each.key, each.sample) in shown else None for each, _ in rows]
    called = np.array([correct for _, correct in rows], bool)
    judged = np.array([each is not None for each in verdicts], bool)
    marks = JudgedMarks(
        problem=np.array([snapshot.numbers[each.key] for each, _ in rows], np.int64),
        stratum=np.array([names.index(each.stratum) for each, _ in rows], np.int64),
        correct=called,
        judged=judged,
        overturned=judged & (np.array([each == "right" for each in verdicts], bool) != called),
        unsure=np.array([(each.key, each.sample) in shown for each, _ in rows], bool) & ~judged,
    )
    people = {who for each in labels.values() for who in each}
    places = [(each.key, each.sample) for each, _ in rows]
    picked = sum(place not in shown for place in labels)
    unsure = sum(place in shown and place not in decided for place in labels)
    skipped = sum(place not in labels for place in shown)
    return Adjudicated(marks, places, unsure, skipped, picked, len(people), _agreement(labels))


def _shown(order: list[Drawn], labels: Container[Place]) -> set[Place]:
    """Return the start of each stratum that people went through, including responses that they skipped."""
    strata: dict[str, list[Place]] = {}
    for each in order:
        strata.setdefault(each.stratum, []).append((each.key, each.sample))
    shown: set[Place] = set()
    for places in strata.values():
        has = np.array([place in labels for place in places], bool)
        share = np.cumsum(has) / np.arange(1, len(has) + 1)
        ends = np.flatnonzero(has & (share >= DRAWN))
        shown.update(places[: ends[-1] + 1] if ends.size else ())
    return shown


def _called(snapshot: Snapshot, order: list[Drawn], protocol: str) -> list[tuple[Drawn, bool]]:
    """Return the drawn responses with a mark, and whether it is `correct`."""
    verdict = snapshot.verdict(protocol)
    rows = ((each, snapshot.row(each.key, each.sample)) for each in order)
    return [
        (each, bool(verdict[row] == CORRECT))
        for each, row in rows
        if row is not None and verdict[row] != UNMARKED and not snapshot.failed[row]
    ]


def _agreement(labels: dict[Place, dict[str, Opinion]]) -> float | None:
    """Return the share of pairs of people who agree on a response, both being sure."""
    pairs = [
        one == other
        for people in labels.values()
        for one, other in combinations([opinion for opinion in people.values() if opinion != "unsure"], 2)
    ]
    return sum(pairs) / len(pairs) if pairs else None


def corrected_figures(
    snapshot: Snapshot,
    protocol: str,
    counts: Counts,
    population: Population = "problems drawn",
    pass_k: Sequence[int] = (),
) -> Corrected | None:
    """Return accuracy and pass@k corrected for marker errors, with the error rates; None without labels."""
    judged = adjudicated(snapshot, protocol)
    marked = interval("accuracy", counts, population=population)
    if judged is None or not judged.marks.judged.any() or marked.estimate != marked.estimate:
        return None
    shift = judged.marks.shift(1, marked.level)
    passes = {k: interval(f"pass@{k}", counts, population=population) for k in pass_k if k > 1}
    passes = {k: each for k, each in passes.items() if each.estimate == each.estimate}
    shifts = {k: judged.marks.shift(k, each.level) for k, each in passes.items()}
    return Corrected(
        accuracy=as_estimate(corrected(marked, shift, spread=judged.marks.spread())),
        false_positive=as_estimate(judged.marks.rate(True, marked.level)),
        false_negative=as_estimate(judged.marks.rate(False, marked.level)),
        correction=(shift.low + shift.high) / 2,
        pass_at_k={str(k): as_estimate(corrected(each, shifts[k])) for k, each in passes.items()},
        pass_ranges={
            str(k): (each.estimate + shifts[k].low, each.estimate + shifts[k].high) for k, each in passes.items()
        },
        judged=int(judged.marks.judged.sum()),
        unsure=judged.unsure,
        skipped=judged.skipped,
        picked=judged.picked,
        people=judged.people,
        agreement=judged.agreement,
    )


def worth(snapshot: Snapshot, protocol: str, more: int = 40) -> str:
    """Return what the labels show so far and what more would add, in one sentence."""
    judged = adjudicated(snapshot, protocol)
    if judged is None:
        return "no labels yet"
    marks, marked = judged.marks, interval("accuracy", snapshot.counts(protocol))
    if not marks.judged.any():
        return f"{judged.unsure} labels, all of them unsure: they say nothing about the marker"
    if math.isnan(marked.estimate):
        return f"{int(marks.judged.sum())} judged, but no response of this run counts towards a score"
    now = corrected(marked, marks.shift(1, marked.level), spread=marks.spread())
    wrong, right = (marks.rate(correct, marked.level) for correct in (True, False))
    so_far = (
        f"{int(marks.judged.sum())} judged: {error_rates(as_estimate(wrong), as_estimate(right))}; "
        f"accuracy {_percent(now)}, {_percent(marked)} as marked"
    )
    if judged.agreement is not None:
        so_far += f"; pairs of the {judged.people} people agree on {100 * judged.agreement:.0f} %"
    labels = read_labels(snapshot)
    coming = [row for row, place in enumerate(judged.places) if place not in labels][:more]
    if not coming:
        return f"{so_far}; all are judged"
    later = _with_more(marks, coming, wrong.estimate, right.estimate)
    then = corrected(marked, later.shift(1, marked.level), spread=marks.spread())
    widths = f"±{100 * now.half_width:.1f} to ±{100 * then.half_width:.1f}"
    return f"{so_far}; with {len(coming)} more labels the interval goes from {widths} or so"


def _with_more(marks: JudgedMarks, rows: list[int], wrong: float, right: float) -> JudgedMarks:
    """Return the marks after further labels, if people overturn as often as before."""
    judged, overturned = marks.judged.copy(), marks.overturned.copy()
    judged[rows] = True
    for correct, rate in ((True, wrong), (False, right)):
        these = [row for row in rows if marks.correct[row] == correct]
        for row in these[: round(rate * len(these)) if rate == rate else 0]:
            overturned[row] = True
    return replace(marks, judged=judged, overturned=overturned)


def _percent(figure: Interval) -> str:
    return f"{100 * figure.estimate:.1f} % [{100 * figure.low:.1f}, {100 * figure.high:.1f}]"
