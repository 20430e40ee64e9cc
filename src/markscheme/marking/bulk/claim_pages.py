"""Write each class of differing samples as a run folder, so that the viewer has a page for it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from markscheme.config import make_config
from markscheme.errors import JournalError, option, os_reason
from markscheme.marking.bulk.reproducing import OURS, Kept
from markscheme.marking.protocol import get_protocol
from markscheme.runs.folder import IMPORTED, Manifest, Run
from markscheme.runs.journal import Journal
from markscheme.types import Message, Problem, Prompt, Question


def write_pages(out: Path, name: str, kinds: dict[str, list[Kept]]) -> list[Path]:
    """Make a run folder `NAME/CLASS` for each class, with the stored marks and those of every protocol."""
    made = []
    for kind, kept in kinds.items():
        folder = out / _slug(name) / _slug(kind)
        if folder.exists():
            raise JournalError(f"{folder} is there already; choose another {option('out')}")
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise JournalError(f"cannot make the folder {folder}: {os_reason(error)}") from None
        _write(folder, f"{name}: {kind}", kept)
        made.append(folder)
    return made


def _write(folder: Path, title: str, kept: Sequence[Kept]) -> None:
    questions = {each.problem.key: _question(each.problem) for each in kept}
    seen: Counter[str] = Counter()
    numbers = []  # samples count from 0 within a folder
    for each in kept:
        numbers.append(seen[each.problem.key])
        seen[each.problem.key] += 1
    with Journal(folder / "responses.jsonl") as journal:
        journal.write([replace(each.response, sample=number) for each, number in zip(kept, numbers, strict=True)])
    samples = max(seen.values())
    manifest = Manifest(
        config=make_config(benchmark=title, model=IMPORTED, samples=samples, protocol=OURS),
        benchmark=title,
        model=title.partition(":")[0],
        protocol=get_protocol(OURS).label,
        samples=samples,
        problems=len(questions),
        status="complete" if min(seen.values()) == samples else "incomplete",
    )
    run = Run.create(folder, manifest, questions.values())
    for name in kept[0].marks:
        marks = zip((each.marks[name] for each in kept), numbers, strict=True)
        run.save_marks(name, [replace(mark, sample=number) for mark, number in marks])
    run.seal(run.manifest)


def _question(problem: Problem) -> Question:
    return Question(problem=problem, prompt=Prompt(messages=(Message(role="user", content=problem.statement),)))


def _slug(text: str) -> str:
    return re.sub(r"[^\w.@-]+", "-", text).strip("-.")[:80] or "row"
