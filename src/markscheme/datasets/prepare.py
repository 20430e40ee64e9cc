"""Official data: fetched, checked against the catalogue, and only then put under its name in the data folder.

Nothing unchecked is ever written: a wrong file, a broken download and Ctrl-C all leave the folder as it was.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from markscheme.datasets.catalogue import HubFile, OfficialDataset, OfficialFile
from markscheme.datasets.files import DataFile, Row, content_hash, encode_lines, read_rows_and_hash
from markscheme.datasets.folder import SourceRecord, read_official, read_record, record_path
from markscheme.datasets.hub import Download, NotOnHubError, download
from markscheme.datasets.rows import canonical
from markscheme.errors import DataError

if TYPE_CHECKING:
    from rich.progress import Progress

TRUSTED = ("content", "answers", "recorded")
"""The outcomes of a check with which a file counts as prepared."""

_TRUSTED_FIRST = "No hash of these rows is known, so they were trusted and recorded; a later fetch must equal them."


class Prepared(NamedTuple):
    """What `prepare` did for one file: it was `there` already or was `fetched`, and a remark if there is one."""

    file: DataFile
    action: Literal["there", "fetched"]
    note: str = ""


class _Fetched(NamedTuple):
    rows: list[Row]
    record: SourceRecord
    note: str


def prepare(dataset: OfficialDataset, folder: Path, progress: Progress, *, force: bool = False) -> list[Prepared]:
    """Bring every file of a data set into the data folder; what is there and right is not fetched again."""
    prepared = []
    with tempfile.TemporaryDirectory(prefix="markscheme-") as scratch:
        downloads = _Downloads(Path(scratch), progress)
        for official in dataset.files:
            there = _what_is_there(official, folder)
            if there is None or there.check not in TRUSTED or force:
                prepared.append(_fetch(official, folder, downloads))
            else:
                prepared.append(Prepared(there, "there"))
    return prepared


class _Downloads:
    """What this call has downloaded: both AIME contests of a year come out of one file."""

    def __init__(self, scratch: Path, progress: Progress) -> None:
        self._scratch = scratch
        self._progress = progress
        self._done: dict[str, Download] = {}

    def get(self, source: HubFile) -> Download:
        if str(source) not in self._done:
            self._done[str(source)] = download(source, self._scratch, self._progress)
        return self._done[str(source)]


def _what_is_there(official: OfficialFile, folder: Path) -> DataFile | None:
    if not (folder / official.name).is_file():
        return None
    try:
        return read_official(official, folder)[1]
    except DataError:  # unreadable is as good as missing: it will be replaced
        return None


def _fetch(official: OfficialFile, folder: Path, downloads: _Downloads) -> Prepared:
    fetched = _first_available(official, downloads)
    first = read_record(official, folder) is None
    _refuse_mismatch(official, fetched, folder)
    _write(folder / official.name, b"".join(encode_lines(fetched.rows)))
    _write(record_path(official, folder), msgspec.json.format(msgspec.json.encode(fetched.record)) + b"\n")
    notes = [fetched.note, _TRUSTED_FIRST if official.sha256 is None and first else ""]
    return Prepared(read_official(official, folder)[1], "fetched", " ".join(filter(None, notes)))


def _first_available(official: OfficialFile, downloads: _Downloads) -> _Fetched:
    """From the first source that the Hub has; any other failure is not a reason to look elsewhere."""
    *preferred, last = official.sources
    for source in preferred:
        try:
            return _read(official, source, downloads.get(source), "")
        except NotOnHubError:
            continue
    note = f"The Hub does not give out {preferred[0].repo}, so {last.repo} was used." if preferred else ""
    return _read(official, last, downloads.get(last), note)


def _read(official: OfficialFile, source: HubFile, got: Download, note: str) -> _Fetched:
    label = source.at(got.commit)
    raw, sha256 = _read_container(got.path, label)
    try:
        rows = canonical(source.select(raw), official.form, label)
        official.examine(rows)
    except ValueError as problem:
        raise DataError(f"{label}: {problem}.") from problem
    return _Fetched(
        rows,
        SourceRecord(
            source=label,
            revision=source.revision,
            commit=got.commit,
            container_sha256=sha256,
            rows=len(rows),
            content_sha256=content_hash(rows),
            fetched=datetime.now(UTC).isoformat(timespec="seconds"),
        ),
        note,
    )


def _read_container(path: Path, label: str) -> tuple[list[Row], str]:
    if path.suffix != ".parquet":
        return read_rows_and_hash(path, label)
    import pyarrow.parquet

    try:
        rows: list[Row] = pyarrow.parquet.read_table(path).to_pylist()
    except (OSError, ValueError) as problem:  # ArrowInvalid is a ValueError
        raise DataError(f"{label} is not a readable Parquet file ({problem}).") from problem
    return rows, hashlib.sha256(path.read_bytes()).hexdigest()


def _refuse_mismatch(official: OfficialFile, fetched: _Fetched, folder: Path) -> None:
    """Compare with the catalogue, and with the record of an earlier fetch where the catalogue leaves something open."""
    rows, record = fetched.rows, fetched.record
    earlier = read_record(official, folder)
    if official.sha256 is not None and (len(rows) != official.rows or official.hash_of(rows) != official.sha256):
        covered = f"the fields {' and '.join(official.hashed)}" if official.hashed else "its rows"
        raise DataError(
            f"{official.name} was not written: {record.source} has {len(rows)} rows, and the sha256 of {covered} is "
            f"{official.hash_of(rows)}, but {official.rows} rows and {official.sha256} were expected."
        )
    if len(rows) != official.rows:
        raise DataError(
            f"{official.name} was not written: {record.source} has {len(rows)} rows, but {official.rows} were expected."
        )
    if earlier is not None and earlier.content_sha256 != record.content_sha256:
        raise DataError(
            f"{official.name} was not written: the sha256 of the rows of {record.source} is {record.content_sha256}, but "
            f"{earlier.content_sha256} when first fetched; delete {record_path(official, folder)} to accept the new one."
        )


def _write(path: Path, content: bytes) -> None:
    """All or nothing: a reader sees the old file or the whole new one, also after a crash."""
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with part.open("xb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as problem:
        raise DataError(
            f"{path} cannot be written ({problem.strerror or problem}): choose another folder with --data-dir."
        ) from problem
