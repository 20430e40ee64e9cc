"""The marker's errors, measured by people: rates, the accuracy corrected for them, and what more labels would buy."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import NamedTuple

import msgspec

from markscheme.reporting.summary import Corrected, as_estimate
from markscheme.runs.adjudications import Drawn, Place, Said, consensus, read_labels, read_order
from markscheme.runs.columns import CORRECT, UNMARKED
from markscheme.runs.snapshot import Snapshot
from markscheme.statistics import Counts, Interval, Population, interval
from markscheme.statistics.marker_errors import JudgedStratum, corrected


class Adjudicated(NamedTuple):
    """What people said so far, beside what the marker says."""

    strata: list[JudgedStratum]
    unsure: int
    people: int
    agreement: float | None


def adjudicated(snapshot: Snapshot, protocol: str) -> Adjudicated | None:
    """The strata of a run under one protocol, which need not be the one they were drawn by; None without a label.

    Within a stratum as drawn, what has been judged is a random sample, and so it is of those that a protocol calls correct.
    """
    order, labels = read_order(snapshot.folder), read_labels(snapshot)
    if not order or not labels:
        return None
    decided = {place: consensus(people) for place, people in labels.items() if consensus(people) != "unsure"}
    sizes, judged, overturned = (Counter[tuple[str, bool]]() for _ in range(3))
    for drawn, called in _called(snapshot, order, protocol):
        cell = (drawn.stratum, called)
        sizes[cell] += 1
        if (place := (drawn.key, drawn.sample)) in decided:
            judged[cell] += 1
            overturned[cell] += (decided[place] == "right") is not called
    strata = [
        JudgedStratum(marked_correct=cell[1], marks=sizes[cell], judged=judged[cell], overturned=overturned[cell])
        for cell in sorted(sizes)
    ]
    people = {who for said in labels.values() for who in said}
    return Adjudicated(strata, len(labels) - len(decided), len(people), _agreement(labels))


def _called(snapshot: Snapshot, order: list[Drawn], protocol: str) -> list[tuple[Drawn, bool]]:
    """The drawn responses that have a mark, and whether it is `correct`."""
    verdict = snapshot.verdict(protocol)
    problems = {key: number for number, key in enumerate(snapshot.keys)}
    rows = ((each, snapshot.row(problems[each.key], each.sample)) for each in order if each.key in problems)
    return [
        (each, bool(verdict[row] == CORRECT))
        for each, row in rows
        if row is not None and verdict[row] != UNMARKED and not snapshot.failed[row]
    ]


def _agreement(labels: dict[Place, dict[str, Said]]) -> float | None:
    """The share of pairs of people who say the same of the same response, where both are sure."""
    pairs = [
        one == other
        for people in labels.values()
        for one, other in combinations([said for said in people.values() if said != "unsure"], 2)
    ]
    return sum(pairs) / len(pairs) if pairs else None


def corrected_accuracy(
    snapshot: Snapshot, protocol: str, counts: Counts, population: Population = "problems drawn"
) -> Corrected | None:
    """The accuracy that people would find, with the marker's error rates; None where nobody has judged."""
    found = adjudicated(snapshot, protocol)
    marked = interval("accuracy", counts, population=population)
    if found is None or marked.estimate != marked.estimate:
        return None
    errors = corrected(marked, found.strata)
    return Corrected(
        accuracy=as_estimate(errors.accuracy),
        false_positive=as_estimate(errors.false_positive),
        false_negative=as_estimate(errors.false_negative),
        correction=errors.correction,
        judged=errors.judged,
        unsure=found.unsure,
        people=found.people,
        agreement=found.agreement,
    )


def worth(snapshot: Snapshot, protocol: str, more: int = 40) -> str:
    """One sentence: what the labels so far are worth, and what more of them would make of it."""
    found = adjudicated(snapshot, protocol)
    if found is None:
        return "nothing has been judged yet"
    marked = interval("accuracy", snapshot.counts(protocol))
    now = corrected(marked, found.strata)
    drawn = read_order(snapshot.folder)
    labels = read_labels(snapshot)
    coming = [each for each in _called(snapshot, drawn, protocol) if (each[0].key, each[0].sample) not in labels][:more]
    cells = sorted({(each.stratum, called) for each, called in _called(snapshot, drawn, protocol)})
    added = Counter((each.stratum, called) for each, called in coming)
    later = [_with_more(stratum, added[cell]) for stratum, cell in zip(found.strata, cells, strict=True)]
    then = corrected(marked, later)
    said = (
        f"{now.judged} judged: of those marked correct {_percent(now.false_positive)} are wrong, of the others "
        f"{_percent(now.false_negative)} are right; accuracy {_percent(now.accuracy)}, as marked {_percent(marked)}"
    )
    if found.agreement is not None:
        said += f"; {found.people} people say the same in {100 * found.agreement:.0f} % of pairs"
    if not coming:
        return f"{said}; all are judged"
    widths = f"±{100 * now.accuracy.half_width:.1f} to ±{100 * then.accuracy.half_width:.1f}"
    return f"{said}; with {len(coming)} more labels the interval goes from {widths} or so"


def _with_more(stratum: JudgedStratum, more: int) -> JudgedStratum:
    """The stratum after further labels, if people go on overturning as often as before."""
    judged = min(stratum.marks, stratum.judged + more)
    share = stratum.overturned / stratum.judged if stratum.judged else 0.0
    return msgspec.structs.replace(stratum, judged=judged, overturned=min(judged, round(share * judged)))


def _percent(found: Interval) -> str:
    return f"{100 * found.estimate:.1f} % [{100 * found.low:.1f}, {100 * found.high:.1f}]"
