"""The end of a run: the marks still owed (or owed no more), the accounts, and a manifest that says how it ended."""

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

LAST_SECONDS = 5.0  # for the marks that are missing when a run was told to end


def forget_stale_marks(run: Run) -> None:
    """Drop marks that do not count, before anything is asked again: they must not pass for marks of a new answer."""
    snapshot = run.snapshot()
    for name, (lines, _) in snapshot.mark_lines.items():
        label = run.manifest.protocol if run.manifest.protocol.partition("@")[0] == name else name
        if (counted := snapshot.mark_count(label)) < len(lines):
            run.save_marks(name, snapshot.marks(label) if counted else ())


async def mark_the_rest(run: Run, problems: Mapping[str, Problem], interrupts: Interrupts | None = None) -> None:
    """Marks that are missing: of an earlier process that was killed, or that fell behind the answers.

    Whoever was told to end has only seconds for it, and a signal ends it; what is missing then, resuming makes.
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
    """Write the manifest and `usage.json`. `status` is how the asking ended; missing responses make it `incomplete`."""
    from markscheme.runs.ledger import ledger  # with numpy, which a run needs only now

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
            counts={
                str(name): times for name, times in snapshot.counts(run.manifest.protocol).totals().items() if times
            },
            server_model=server or run.manifest.server_model,
            usage=accounts.total,
        )
    )


def now() -> str:
    """UTC, as manifests have it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
