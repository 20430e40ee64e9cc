"""`math+judge:NAME`: a judge settles what a protocol left open. Nothing is stored, and no other verdict changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from markscheme.runs.columns import CODE, CORRECT, UNMARKED, WRONG, Mask
from markscheme.types import Verdict

if TYPE_CHECKING:
    from markscheme.runs.snapshot import Codes, Snapshot

# Verdicts that say nothing about the answer. A truncated response has none, and a malformed one was judged.
OPEN = (CODE[Verdict.UNMARKABLE], CODE[Verdict.NO_ANSWER])


class Settled(NamedTuple):
    """Verdicts of two or more protocols in turn."""

    codes: Codes
    open: Mask  # rows that the first protocol left open
    by: list[str]  # the protocol that decided each row


def settle(snapshot: Snapshot, protocols: str) -> Settled:
    """Return each row's verdict by the first protocol, or if that left it open, by the next that says right or wrong."""
    first, *judges = protocols.split("+")
    codes = snapshot.verdict(first).copy()
    by = np.full(len(codes), first, object)
    undecided = np.isin(codes, OPEN)
    for judge in judges:
        opinion = snapshot.verdict(judge)
        settled = np.isin(codes, OPEN) & np.isin(opinion, (CORRECT, WRONG))
        codes[settled], by[settled] = opinion[settled], judge
    return Settled(codes, undecided, by.tolist())


def settlement(snapshot: Snapshot, protocols: str) -> str:
    """Say how many responses a judge settled, which way, and how often people overturned it."""
    from markscheme.runs.adjudications import consensus, read_labels

    first, _, judges = protocols.partition("+")
    codes, was_open, _ = snapshot.settled(protocols)
    right, wrong = (was_open & (codes == code) for code in (CORRECT, WRONG))
    number, settled = int(was_open.sum()), int(right.sum() + wrong.sum())
    judged = errors = 0
    for (key, sample), people in read_labels(snapshot).items():
        row, opinion = snapshot.row(key, sample), consensus(people)
        if row is not None and opinion != "unsure" and (right[row] or wrong[row]):
            judged += 1
            errors += bool(right[row]) != (opinion == "right")
    own_errors = f"Of {judged} of these that people judged, the judge was wrong in {errors}"
    return (
        f"{first} left {number} responses open; {judges} settled {settled} of them, {right.sum()} as correct and "
        f"{wrong.sum()} as wrong, and {number - settled} stay open. "
        f"{own_errors if judged else 'How often the judge errs is not known: `markscheme adjudicate` measures it'}"
    )


def differing(verdicts: Iterable[Codes], rows: int) -> Mask:
    """Mark the rows that one protocol calls correct and another does not."""
    some, every = np.zeros(rows, bool), np.ones(rows, bool)
    for verdict in verdicts:
        some |= verdict == CORRECT
        every &= (verdict == CORRECT) | (verdict == UNMARKED)
    return some & ~every
