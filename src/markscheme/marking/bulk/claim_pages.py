"""Each class of differing samples as a run folder, so that the viewer has a page for it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from markscheme.config import make_config
from markscheme.errors import JournalError
from markscheme.marking.bulk.reproducing import OURS, STORED, Kept, stored_mark
from markscheme.marking.protocol import get_protocol
from markscheme.runs.folder import IMPORTED, Manifest, Run
from markscheme.runs.journal import Journal
from markscheme.types import Message, Prompt, Question


def write_pages(out: Path, name: str, kinds: dict[str, list[Kept]]) -> list[Path]:
    """A run folder `NAME/CLASS` for each class; marked as stored and by every protocol that judged."""
    made = []
    for kind, kept in kinds.items():
        folder = out / _slug(name) / _slug(kind)
        if folder.exists():
            raise JournalError(f"{folder} is there already; choose another --out")
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise JournalError(f"cannot make the folder {folder}: {error.strerror}") from None
        _write(folder, f"{name}: {kind}", kept)
        made.append(folder)
    return made


def _write(folder: Path, title: str, kept: Sequence[Kept]) -> None:
    questions = {each.stored.problem.key: _question(each) for each in kept}
    numbers: dict[str, int] = {}
    again = []  # samples count from 0 within a folder
    for each in kept:
        number = numbers.get(each.stored.problem.key, 0)
        numbers[each.stored.problem.key] = number + 1
        again.append((each, number))
    with Journal(folder / "responses.jsonl") as journal:
        journal.write([msgspec.structs.replace(each.stored.response, sample=number) for each, number in again])
    label, samples = get_protocol(OURS).label, max(numbers.values())
    manifest = Manifest(
        config=make_config(benchmark=title, model=IMPORTED, samples=samples, protocol=OURS),
        benchmark=title,
        model=title.partition(":")[0],
        protocol=label,
        samples=samples,
        problems=len(questions),
        status="complete" if min(numbers.values()) == samples else "incomplete",
    )
    run = Run.create(folder, manifest, questions.values())
    for name in (STORED, *kept[0].marks):
        marks = [(stored_mark(each.stored) if name == STORED else each.marks[name], number) for each, number in again]
        run.save_marks(
            name, (msgspec.structs.replace(mark, sample=number) for mark, number in marks if mark is not None)
        )
    run.seal(run.manifest)


def _question(kept: Kept) -> Question:
    problem = kept.stored.problem
    return Question(problem=problem, prompt=Prompt(messages=(Message(role="user", content=problem.statement),)))


def _slug(text: str) -> str:
    return re.sub(r"[^\w.@-]+", "-", text).strip("-.")[:80] or "row"
