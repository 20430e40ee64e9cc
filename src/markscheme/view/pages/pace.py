"""How far a run in progress is: what the terminal shows, for its page in the browser."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from markscheme.running.progress import duration
from markscheme.view.library import OpenRun

RECENT = 100  # responses of a resumed run over which the rate is taken: the earlier ones came before it was resumed


class Pace(NamedTuple):
    """Responses so far, and how fast they come."""

    done: int
    total: int
    line: str  # `3.1 responses/s, 840 tokens/s, about 12 min left`; empty while nothing can be said


def pace(run: OpenRun) -> Pace | None:
    """The progress of a run that is being asked; None for any other."""
    if run.entry.status != "running":
        return None
    snapshot = run.snapshot
    done, total = snapshot.answered, snapshot.answered + snapshot.missing
    rows = np.flatnonzero(snapshot.arrived)
    rows = rows[np.lexsort((snapshot.rows["offset"][rows], snapshot.rows["file"][rows]))]
    manifest = run.entry.manifest
    begun = manifest.started if manifest else ""
    if manifest and manifest.resumed and len(rows):  # only what came lately is of this process
        rows = rows[-RECENT:]
        first = snapshot.response(int(rows[0]))
        begun = (first.created if first else None) or ""
    seconds = 0.0
    with suppress(ValueError, TypeError):
        seconds = (datetime.now(UTC) - datetime.fromisoformat(begun)).total_seconds()
    if seconds <= 0 or not len(rows):
        return Pace(done, total, "")
    rate, tokens = len(rows) / seconds, snapshot.rows["tokens"][rows]
    parts = [f"{rate:.1f} responses/s"]
    if (tokens > 0).any():
        parts.append(f"{tokens[tokens > 0].sum() / seconds:,.0f} tokens/s")
    if done < total:
        parts.append(f"about {duration((total - done) / rate)} left")
    return Pace(done, total, ", ".join(parts))
