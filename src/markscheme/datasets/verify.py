"""Is the data folder what it should be? Looks, reports, changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from markscheme.datasets.files import REMARKS, Check, DataFile
from markscheme.datasets.folder import SourceRows
from markscheme.datasets.sources import Source
from markscheme.errors import DataError

State = Literal["ready", "unrecorded", "stand-in", "missing", "differs", "unreadable"]
"""`unrecorded`: well-formed, but neither the catalogue nor a record of a fetch says what it should be."""

_STATES: dict[Check, State] = {
    "content": "ready",
    "answers": "ready",
    "recorded": "ready",
    "differs": "differs",
    "none": "unrecorded",
}


class FileReport(msgspec.Struct, frozen=True, kw_only=True):
    """What there is of one file."""

    name: str
    state: State
    detail: str
    file: DataFile | None = None


def inspect(source: Source, folder: Path) -> FileReport:
    """The state of one file of the data folder."""
    try:
        rows = SourceRows(source, folder)
        for _ in rows:
            pass  # every row is read: one that does not fit is told
        file = rows.describe()
    except FileNotFoundError:
        return FileReport(name=source.file, state="missing", detail="not fetched yet")
    except DataError as problem:
        return FileReport(name=source.file, state="unreadable", detail=str(problem))
    if file.name != source.file and source.folder is None:
        return FileReport(name=source.file, state="stand-in", detail=f"only {file.name} is there", file=file)
    detail = REMARKS[file.check]
    if source.rows is not None and file.rows != source.rows:
        detail = f"{file.rows} rows instead of {source.rows}"
    return FileReport(name=source.file, state=_STATES[file.check], detail=detail, file=file)
