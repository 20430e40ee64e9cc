"""The end of a run: missing marks, stale marks, the usage, and the final manifest."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from datetime import UTC, datetime

import msgspec

from markscheme.running.interrupts import Interrupts
from markscheme.running.marker_process import Marker
from markscheme.runs.folder import Run, write_atomically
from markscheme.runs.usage import Price
from markscheme.types import Problem

LAST_SECONDS = 5.0  # for missing marks after an interrupt


def forget_stale_marks(run: Run) -> None:
    """Remove marks that do not count before anything is asked again, so that they are not taken for marks of new answers."""
    snapshot = run.snapshot()
    for name, (lines, _) in snapshot.mark_lines.items():
        label = run.manifest.protocol if run.manifest.protocol.partition("@")[0] == name else name
        if (counted := snapshot.mark_count(label)) < len(lines):
            run.save_marks(name, snapshot.marks(label) if counted else ())


async def mark_the_rest(run: Run, problems: Mapping[str, Problem], interrupts: Interrupts | None = None) -> None:
    """Make the missing marks of a killed process or a slow marker.

    After an interrupt there are only seconds for it; resuming makes the rest.
    """
    snapshot, protocol = run.snapshot(), run.manifest.protocol
    unmarked = snapshot.unmarked(protocol)
    if not unmarked.any():
        return
    with run.marks_journal(protocol) as journal:
        marker = Marker(protocol.partition("@")[0], journal.write)
        with marker.obeying(interrupts, LAST_SECONDS) if interrupts is not None else nullcontext():
            for response in snapshot.responses(unmarked):
                while not (marker.room or marker.stopped):
                    await marker.some()
                if marker.stopped:
                    break
                marker.add(response, problems[response.key])
            await marker.finish()


def close(
    run: Run, status: str, server: str | None = None, price: Price | None = None, ended: str | None = None
) -> None:
    """Write the manifest and `usage.json`. `status` is the outcome; with responses missing it becomes `incomplete`."""
    from markscheme.runs.ledger import ledger  # imports numpy, which a run needs only now

    snapshot = run.snapshot()
    if status == "complete" and snapshot.missing:
        status = "incomplete"
    elif status == "interrupted" and not snapshot.missing and not snapshot.unmarked(run.manifest.protocol).any():
        status = "complete"
    accounts = ledger(snapshot, price)
    write_atomically(run.path / "usage.json", msgspec.json.format(msgspec.json.encode(accounts), indent=1))
    run.seal(
        msgspec.structs.replace(
            run.manifest,
            ended=ended or now(),
            status=status,
            counts=snapshot.counts(run.manifest.protocol).totals(),
            server_model=server or run.manifest.server_model,
            usage=accounts.total,
        )
    )


def now() -> str:
    """Return the time in UTC as manifests have it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
