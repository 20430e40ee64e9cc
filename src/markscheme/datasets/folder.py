"""The data folder: where it is, and reading an official file out of it.

It never fetches anything: a missing file is one sentence that says what fetches it.
"""

from __future__ import annotations

import os
from pathlib import Path

from markscheme.datasets.files import DataFile, Row, content_hash, read_rows_and_hash
from markscheme.errors import DataError

ENVIRONMENT_VARIABLE = "MARKSCHEME_DATA"


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
    """The rows of a file of the data folder, such as `gsm8k/test.jsonl`, and what was read.

    `benchmark` is the name that the user typed, for the sentence about a missing file.
    """
    path = locate(data_dir) / relative_name
    if not path.is_file():
        dataset = relative_name.partition("/")[0]
        raise DataError(
            f"{benchmark} needs {path}, which is not there: `markscheme data prepare {dataset}` fetches it."
        )
    rows, sha256 = read_rows_and_hash(path)
    return rows, DataFile(
        name=relative_name,
        path=str(path.absolute()),
        sha256=sha256,
        rows=len(rows),
        content_sha256=content_hash(rows),
        source="data folder",
    )
