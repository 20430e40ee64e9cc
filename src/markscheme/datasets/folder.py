"""The data folder: where it is, how a benchmark's file is read from it, and whether that is the official file.

Nothing is fetched here. A file that is not the official one is read too, and its record says so.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import msgspec

from markscheme.datasets.files import REMARKS, Check, DataFile, LazySequence, Row, content_hash, read_rows
from markscheme.datasets.sources import Source
from markscheme.errors import DataError

ENVIRONMENT_VARIABLE = "MARKSCHEME_DATA"

# Original problems in the package, so that everything works offline.
SAMPLES = Path(__file__).parent / "samples"


class SourceRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Where a file of the data folder was fetched from; stored next to it as `test.source.json`."""

    source: str
    revision: str
    commit: str
    container_sha256: str
    rows: int
    content_sha256: str
    fetched: str


def locate(data_dir: str | Path | None = None) -> Path:
    """Return the data folder: `data_dir`, else `$MARKSCHEME_DATA`, else `markscheme/data` in the user cache."""
    if data_dir is not None:
        return Path(data_dir).expanduser()
    if chosen := os.environ.get(ENVIRONMENT_VARIABLE):
        return Path(chosen).expanduser()
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG specification says that a relative path must be ignored.
    return (cache if cache.is_absolute() else Path.home() / ".cache") / "markscheme" / "data"


class SourceRows(LazySequence[Row]):
    """The canonical rows of one source, made on demand, and what is known of the file."""

    def __init__(self, source: Source, folder: Path) -> None:
        """Raise `FileNotFoundError` if neither the file nor its stand-in exists."""
        self._source = source
        self._folder = Path(source.folder) if source.folder is not None else folder
        present = [name for name in (source.file, source.stand_in) if name and (self._folder / name).is_file()]
        if not present and (source.folder is None or source.places):  # else `read_rows` reports the file by name
            raise FileNotFoundError(source.file)
        self.name = present[0] if present else source.file
        self.path = self._folder / self.name
        self._rows = read_rows(self.path, header=source.header)

    def __len__(self) -> int:
        return len(self._rows)

    def _item(self, index: int) -> Row:
        try:
            return self._source.canonical(self._rows[index])
        except ValueError as problem:
            raise DataError(f"{self.path}, row {index + 1}: {problem}.") from None

    def describe(self) -> DataFile:
        """Return the file's record for a manifest. Rows are hashed only if the bytes are not known."""
        source, sha256 = self._source, self._rows.sha256
        record = read_record(source, self._folder) if source.places else None
        known = {sha256 for sha256 in (source.sha256, record and record.content_sha256) if not source.hashed}
        if source.sha256 is not None and sha256 in source.same:
            content = source.sha256
        else:  # what `prepare` wrote is canonical, so its bytes and its rows have the same hash
            content = sha256 if sha256 in known else content_hash(self)
        origin, check = "found in the data folder", self._check(content, record)
        if source.folder is not None:
            own = self._folder != SAMPLES
            origin = "the user's own file" if own else "packaged with markscheme"
        elif self.name != source.file:
            origin, check = f"stand-in: not the official {source.file}", "none"
        elif record is not None and record.content_sha256 == content:
            origin = record.source
        return DataFile(
            name=self.name if origin != "packaged with markscheme" else f"samples/{self.name}",
            path=str(self.path.absolute()),
            sha256=sha256,
            rows=len(self),
            content_sha256=content,
            source=origin,
            check=check,
        )

    def _check(self, content: str, record: SourceRecord | None) -> Check:
        source = self._source
        if source.rows is not None and len(self) != source.rows:
            return "differs"
        if source.sha256 is not None and not source.hashed:
            return "content" if content == source.sha256 else "differs"
        pinned_otherwise = source.sha256 is not None and source.hash_of(self) != source.sha256
        if pinned_otherwise or (record is not None and record.content_sha256 != content):
            return "differs"
        return "answers" if source.sha256 is not None else "recorded" if record is not None else "none"


def record_path(source: Source, folder: Path) -> Path:
    """Return the path of a file's source record, whether or not it exists."""
    return (folder / source.file).with_suffix(".source.json")


def read_record(source: Source, folder: Path) -> SourceRecord | None:
    """Return the record of the first fetch; None if the file was not fetched."""
    path = record_path(source, folder)
    try:
        return msgspec.json.decode(path.read_bytes(), type=SourceRecord)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise DataError(
            f"{path} is not a readable source record ({problem}); delete it to have it created again."
        ) from None


# `unrecorded`: well-formed, but there is no hash to compare it with.
State = Literal["ready", "unrecorded", "stand-in", "missing", "differs", "unreadable"]

_STATES: dict[Check, State] = {
    "content": "ready",
    "answers": "ready",
    "recorded": "ready",
    "differs": "differs",
    "none": "unrecorded",
}


class FileReport(msgspec.Struct, frozen=True, kw_only=True):
    """The state of one file."""

    name: str
    state: State
    detail: str
    file: DataFile | None = None


def inspect(source: Source, folder: Path) -> FileReport:
    """Return the state of one file of the data folder."""
    try:
        rows = SourceRows(source, folder)
        for _ in rows:
            pass  # reading every row reports one that does not fit
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
