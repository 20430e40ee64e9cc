"""What a reader must know of a run's files before quoting a figure: what could not be marked, is damaged, or stands in."""

from __future__ import annotations

import numpy as np

from markscheme.runs.columns import FINISH, VERDICTS
from markscheme.runs.settling import settlement
from markscheme.runs.snapshot import Snapshot
from markscheme.types import Verdict


def run_warnings(snapshot: Snapshot, label: str) -> list[str]:
    """A sentence for each thing."""
    manifest, warnings = snapshot.manifest, []
    assert manifest is not None
    if "+" in label:
        warnings.append(settlement(snapshot, label))
    running = manifest.status == "running"
    if len(rows := np.flatnonzero(snapshot.verdict(label) == VERDICTS.index(Verdict.UNMARKABLE))):
        first = int(rows[0])
        place = f"{snapshot.ids[snapshot.problem[first]]} sample {snapshot.sample[first]}"
        why = mark.why if (mark := snapshot.mark(label, first)) else ""
        warnings.append(f"{len(rows)} responses could not be marked; the first, {place}: {why}")
    unmarked = int((snapshot.unmarked(label) & ~snapshot.failed).sum())
    if unmarked > 0 and not running:
        warnings.append(f"{unmarked} responses have no mark; `markscheme resume {snapshot.folder}` makes it")
    if damaged := snapshot.damaged + (0 if running else len(snapshot.torn)):
        where = ", ".join(sorted({*snapshot.damage, *snapshot.torn}))
        warnings.append(f"{damaged} damaged lines were left out ({where}); `markscheme resume` asks for what they held")
    if snapshot.unasked:
        warnings.append(f"{snapshot.unasked} responses to what this run does not ask were left out")
    if filtered := int((snapshot.rows["finish"] == FINISH.index("content_filter")).sum()):
        warnings.append(
            f"{filtered} responses were stopped by a content filter; what it let through is marked, so most count as not right"
        )
    for file in manifest.data:
        if file.check == "differs":
            warnings.append(f"{file.name} is not the official data: its content differs from the pinned one")
        elif file.source.startswith("stand-in"):
            warnings.append(f"{file.name} stands in for the official file, which is not here")
    return warnings
