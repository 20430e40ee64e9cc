"""The data folder: where it is, and reading an official file out of it.

It never fetches anything: a missing file is one sentence that says what fetches it. Another file than the official
one is read too, but the record of it says so.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from markscheme.datasets.catalogue import DATASETS, FILES, OfficialFile
from markscheme.datasets.files import Check, DataFile, Row, content_hash, describe, read_rows_and_hash
from markscheme.datasets.rows import canonical
from markscheme.errors import DataError

ENVIRONMENT_VARIABLE = "MARKSCHEME_DATA"


class SourceRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Where a file of the data folder was fetched from; lies beside it as `test.source.json`."""

    source: str
    revision: str
    commit: str
    container_sha256: str
    rows: int
    content_sha256: str
    fetched: str


def locate(data_dir: Path | None = None) -> Path:
    """The data folder: `data_dir` if given, else `$MARKSCHEME_DATA`, else `markscheme/data` in the user cache."""
    if data_dir is not None:
        return Path(data_dir).expanduser()
    if chosen := os.environ.get(ENVIRONMENT_VARIABLE):
        return Path(chosen).expanduser()
    return _user_cache() / "markscheme" / "data"


def _user_cache() -> Path:
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG specification: a relative path there is invalid and must be ignored.
    return named if named.is_absolute() else Path.home() / ".cache"


def read_data_file(relative_name: str, data_dir: Path | None, benchmark: str) -> tuple[list[Row], DataFile]:
    """The rows of a data file and what was read: an official one by its name, such as `gsm8k/test.jsonl`, or any path.

    Official rows come in their canonical form. Where only a stand-in for the official file is there
    (`countdown/sample.jsonl`), that is read, and the record carries its name, not the official one. `benchmark` is the
    name that the user typed, for the sentence about a missing file.
    """
    folder = locate(data_dir)
    official = FILES.get(relative_name)
    if official is None:
        path = folder / relative_name
        rows, sha256 = read_rows_and_hash(path)
        return rows, describe(relative_name, path, rows, sha256, "the user's own file")
    if (folder / relative_name).is_file():
        return read_official(official, folder)
    if official.stand_in and (folder / official.stand_in).is_file():
        path = folder / official.stand_in
        rows, sha256 = _read_canonical(official, path)
        return rows, describe(official.stand_in, path, rows, sha256, f"stand-in: not the official {official.name}")
    raise DataError(_missing(official, folder, benchmark))


def read_official(official: OfficialFile, folder: Path) -> tuple[list[Row], DataFile]:
    """The file that is there under the official name, compared with what it should be."""
    path = folder / official.name
    rows, sha256 = _read_canonical(official, path)
    record = read_record(official, folder)
    source = "found in the data folder"
    if record is not None and record.content_sha256 == content_hash(rows):
        source = record.source
    return rows, describe(official.name, path, rows, sha256, source, _check(official, rows, record))


def _read_canonical(official: OfficialFile, path: Path) -> tuple[list[Row], str]:
    raw, sha256 = read_rows_and_hash(path)
    return canonical(raw, official.form, str(path)), sha256


def _check(official: OfficialFile, rows: list[Row], record: SourceRecord | None) -> Check:
    if len(rows) != official.rows:
        return "differs"
    if official.sha256 is not None and official.hash_of(rows) != official.sha256:
        return "differs"
    if official.sha256 is not None and not official.hashed:
        return "content"
    if record is not None and record.content_sha256 != content_hash(rows):
        return "differs"
    if official.sha256 is not None:
        return "answers"
    return "recorded" if record is not None else "none"


def record_path(official: OfficialFile, folder: Path) -> Path:
    """Where the source record of a file lies, whether or not there is one."""
    return (folder / official.name).with_suffix(".source.json")


def read_record(official: OfficialFile, folder: Path) -> SourceRecord | None:
    """The record of the first fetch, or nothing if the file was not fetched."""
    path = record_path(official, folder)
    try:
        return msgspec.json.decode(path.read_bytes(), type=SourceRecord)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise DataError(
            f"{path} is not a readable source record ({problem}); delete it to have it made again."
        ) from None


def _missing(official: OfficialFile, folder: Path, benchmark: str) -> str:
    dataset = DATASETS[official.name.partition("/")[0]]
    return (
        f"{benchmark} needs {official.name}, which is not in {folder}: "
        f"`markscheme data prepare {dataset.name}` fetches it, and `{dataset.sample}` runs now without it."
    )
