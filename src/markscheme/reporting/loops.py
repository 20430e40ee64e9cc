"""Responses that repeat themselves up to the token limit. Linear in the text."""

from __future__ import annotations

import msgspec
import numpy as np

from markscheme.runs.columns import FINISH, TRUNCATED
from markscheme.runs.snapshot import Snapshot

TAIL = 6_000  # characters at the end of a response in which a loop must show
LEAST, TIMES = 120, 4  # a loop has at least this many characters and repetitions
MOST = 400  # responses inspected; of more, an even selection


class Loops(msgspec.Struct, frozen=True):
    """Responses that were cut off in a loop."""

    cut_off: int  # responses cut off by the token limit
    looked_at: int
    loops: int  # among those looked at
    begins: float  # median position of the start of the loop, as a share of the response
    example: str  # such as `aime-2025/07 sample 3`


def loop_start(text: str) -> int | None:
    """Return where the loop at the end of a text starts, or None: the longest ending that repeats one piece."""
    tail = text[-TAIL:][::-1]
    piece = tail[: LEAST // TIMES]  # a loop repeats its own end, which rules most texts out at once
    if len(tail) < LEAST or tail.find(piece, 1) < 0:
        return None
    borders, longest, period = [0] * len(tail), 0, 0
    k = 0
    for i in range(1, len(tail)):  # Knuth, Morris and Pratt: the longest border of every ending
        while k and tail[i] != tail[k]:
            k = borders[k - 1]
        k += tail[i] == tail[k]
        borders[i] = k
        if i + 1 >= max(LEAST, TIMES * (i + 1 - k)):
            longest, period = i + 1, i + 1 - k
    if not longest:
        return None
    start = len(text) - longest
    while start > 0 and text[start - 1] == text[start - 1 + period]:
        start -= 1
    return start


def find_loops(snapshot: Snapshot, protocol: str) -> Loops | None:
    """Return the loops among the responses that were cut off, or None."""
    cut = snapshot.arrived & ~snapshot.failed
    cut &= (snapshot.rows["finish"] == FINISH.index("length")) | (snapshot.verdict(protocol) == TRUNCATED)
    rows = np.flatnonzero(cut)
    looked = rows[:: max(1, -(-len(rows) // MOST))]
    starts, example = [], ""
    for row in looked.tolist():
        response = snapshot.response(row)
        text = (response.text or response.reasoning or "") if response else ""
        if (start := loop_start(text)) is not None:
            starts.append(start / len(text))
            example = example or f"{snapshot.ids[snapshot.problem[row]]} sample {snapshot.sample[row]}"
    return Loops(len(rows), len(looked), len(starts), float(np.median(starts)), example) if starts else None


def loops_line(loops: Loops) -> str:
    """Return the note about loops."""
    part = f" (of {loops.looked_at} inspected)" if loops.looked_at < loops.cut_off else ""
    repeat = "repeats itself" if loops.loops == 1 else "repeat themselves"
    return (
        f"{loops.loops} of {loops.cut_off} responses that were cut off {repeat} up to the limit{part}, "
        f"starting at {100 * loops.begins:.0f} % of their length (median); such as {loops.example}"
    )
