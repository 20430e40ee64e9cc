"""Fetches official data, checks it against the pinned hash, and only then writes it to the data folder.

A wrong file, a broken download and Ctrl-C all leave the folder as it was.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from markscheme.datasets.files import DataFile, Row, content_hash, encode_lines, read_rows
from markscheme.datasets.folder import SourceRecord, SourceRows, read_record, record_path
from markscheme.datasets.sources import Download, NotThereError, RemoteFile, Source
from markscheme.errors import DataError, option, os_reason

TRUSTED = ("content", "answers", "recorded")  # check results of a prepared file

_TRUSTED_FIRST = "No hash of these rows is known, so they were trusted and recorded; a later fetch must equal them."

Examine = Callable[[Source, list[Row]], None]  # raises `ValueError` for rows that cannot be right
Get = Callable[[RemoteFile], list[Download]]  # downloads the files of a place


class Prepared(NamedTuple):
    """A prepared file: it was `there` already or was `fetched`, and a remark if there is one."""

    file: DataFile
    action: Literal["there", "fetched"]
    note: str = ""


class _Fetched(NamedTuple):
    rows: list[Row]
    record: SourceRecord
    note: str = ""


def prepare(sources: Iterable[Source], folder: Path, examine: Examine, *, force: bool = False) -> list[Prepared]:
    """Bring every file into the data folder. Correct files are not fetched again."""
    prepared = []
    with tempfile.TemporaryDirectory(prefix="markscheme-") as scratch:
        downloads: dict[str, list[Download]] = {}

        def get(place: RemoteFile) -> list[Download]:
            """Download each file once: both AIME contests of a year may be in one."""
            if str(place) not in downloads:
                downloads[str(place)] = place.fetch(Path(scratch))
            return downloads[str(place)]

        for source in sources:
            there = _what_is_there(source, folder)
            if source.places and (there is None or there.check not in TRUSTED or force):
                prepared.append(_fetch(source, folder, get, examine))
            elif there is not None:
                prepared.append(Prepared(there, "there"))
    return prepared


def _what_is_there(source: Source, folder: Path) -> DataFile | None:
    try:
        rows = SourceRows(source, folder)
        return rows.describe() if rows.name == source.file else None
    except (FileNotFoundError, DataError):  # an unreadable file will be replaced
        if not source.places:
            raise
        return None


def _fetch(source: Source, folder: Path, get: Get, examine: Examine) -> Prepared:
    fetched = _first_available(source, get, examine)
    first = read_record(source, folder) is None
    _refuse_mismatch(source, fetched, folder)
    _write(folder / source.file, b"".join(encode_lines(fetched.rows)))
    _write(record_path(source, folder), msgspec.json.format(msgspec.json.encode(fetched.record)) + b"\n")
    notes = [fetched.note, _TRUSTED_FIRST if source.sha256 is None and first else ""]
    return Prepared(SourceRows(source, folder).describe(), "fetched", " ".join(filter(None, notes)))


def _first_available(source: Source, get: Get, examine: Examine) -> _Fetched:
    """Fetch from the first place that has it. Other failures are final."""
    first, *others = source.places
    try:
        return _read(source, first, get, examine)
    except NotThereError:
        for place in others:
            with suppress(NotThereError):
                note = f"{first} is not available, so {place} was used."
                return _read(source, place, get, examine)._replace(note=note)
        raise


def _read(source: Source, place: RemoteFile, get: Get, examine: Examine) -> _Fetched:
    got = get(place)
    label = place.at(got[0].commit)
    containers = [read_rows(each.path, label, source.header) for each in got]
    hashes = [each.sha256 for each in containers]
    try:
        rows = source.all_canonical(place.select([row for each in containers for row in each]), label)
        examine(source, rows)
    except ValueError as problem:
        raise DataError(f"{label}: {problem}.") from problem
    record = SourceRecord(
        source=label,
        revision=place.revision,
        commit=got[0].commit,
        container_sha256=hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest(),
        rows=len(rows),
        content_sha256=content_hash(rows),
        fetched=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    return _Fetched(rows, record)


def _refuse_mismatch(source: Source, fetched: _Fetched, folder: Path) -> None:
    """Compare with the pinned hash, and with the record of an earlier fetch."""
    rows, record = fetched.rows, fetched.record
    earlier = read_record(source, folder)
    refused = f"{source.file} was not written: {record.source} has {len(rows)} rows"
    miscounted = source.rows is not None and len(rows) != source.rows
    if source.sha256 is not None and (miscounted or source.hash_of(rows) != source.sha256):
        covered = f"the fields {' and '.join(source.hashed)}" if source.hashed else "its rows"
        raise DataError(
            f"{refused}, and the sha256 of {covered} is {source.hash_of(rows)}, but {source.rows} rows and "
            f"{source.sha256} were expected."
        )
    if miscounted:
        raise DataError(f"{refused}, but {source.rows} were expected.")
    if earlier is not None and earlier.content_sha256 != record.content_sha256:
        raise DataError(
            f"{source.file} was not written: the sha256 of the rows of {record.source} is {record.content_sha256}, but "
            f"{earlier.content_sha256} when first fetched; delete {record_path(source, folder)} to accept the new one."
        )


def _write(path: Path, content: bytes) -> None:
    """Write atomically: a reader or a crash sees either the old file or the new one."""
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
            f"{path} cannot be written ({os_reason(problem)}): choose another folder with {option('data_dir')}."
        ) from problem
