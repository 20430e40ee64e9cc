"""The end of a run: the marks still owed (or owed no more), the accounts, and a manifest that says how it ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import msgspec

from markscheme.marking import mark_many
from markscheme.runs.earlier import Earlier
from markscheme.runs.folder import Run, write_atomically
from markscheme.runs.journal import Journal
from markscheme.runs.usage import Accounts
from markscheme.types import Mark, Problem, Question, Response


def forget_old_marks(run: Run) -> None:
    """Drop marks whose response is gone, before it is asked again: they must not pass for marks of the new answer."""
    if run.marks_file(run.manifest.protocol).exists():
        run.save_marks(run.manifest.protocol, run.marks(run.manifest.protocol))


def mark_the_rest(run: Run, problems: Mapping[str, Problem], earlier: Earlier) -> None:
    """Marks that are missing: of an earlier process that was killed, or that fell behind the answers."""
    if len(earlier.marked) >= run.manifest.problems * run.manifest.samples:
        return
    protocol = run.manifest.protocol.partition("@")[0]

    def unmarked() -> Iterable[tuple[Response, Problem]]:
        for response in run.responses():
            if response.key in problems and not earlier.marked.has(response.key, response.sample):
                yield response, problems[response.key]

    with Journal(run.marks_file(protocol)) as opinions:
        batch: list[Mark] = []
        for opinion in mark_many(unmarked(), protocol):
            batch.append(opinion)
            if len(batch) >= 256:
                opinions.write(batch)
                batch.clear()
        opinions.write(batch)


def close(run: Run, questions: Iterable[Question], status: str, server: str | None, accounts: Accounts) -> None:
    """Write the manifest and `usage.json`. `status` is how the asking ended; missing responses make it `incomplete`."""
    counts = Counter(str(head.verdict) for head in run.mark_heads(run.manifest.protocol))
    wanted = run.wanted([question.problem.key for question in questions])
    missing = sum(wanted.values()) - run.standing().answered(wanted)
    ended = status if missing or status == "stopped" else "complete"
    ledger = accounts.ledger()
    run.save_manifest(
        msgspec.structs.replace(
            run.manifest,
            ended=now(),
            status="incomplete" if ended == "complete" and missing else ended,
            counts=dict(counts),
            server_model=server or run.manifest.server_model,
            usage=ledger.total,
        )
    )
    write_atomically(run.path / "usage.json", msgspec.json.format(msgspec.json.encode(ledger), indent=1))


def now() -> str:
    """UTC, as manifests have it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
