"""Reading one JSONL file and saying exactly what was read.

A bad line stops the reading, with file and line number: a benchmark with a row missing is another benchmark.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from markscheme.errors import DataError

Row = dict[str, Any]

Check = Literal["content", "answers", "recorded", "differs", "none"]
"""How far the rows of a file are known to be the official ones; `REMARKS` says it in words."""

REMARKS: dict[Check, str] = {
    "content": "every row as pinned",
    "answers": "count, numbers and answers as pinned",
    "recorded": "as first fetched",
    "differs": "not the official rows",
    "none": "nothing to compare with",
}

_BOM = b"\xef\xbb\xbf"


class DataFile(msgspec.Struct, frozen=True, kw_only=True):
    """A data file that was used, as a run's manifest names it.

    `sha256` is of the bytes, `content_sha256` of the rows (see `content_hash`), so the same problems in another
    container or with other spacing keep the second one.
    """

    name: str
    path: str
    sha256: str
    rows: int
    content_sha256: str
    source: str
    check: Check = "none"


def describe(name: str, path: Path, rows: list[Row], sha256: str, source: str, check: Check = "none") -> DataFile:
    """The `DataFile` of rows that were read from `path`, whose bytes have `sha256`."""
    return DataFile(
        name=name,
        path=str(path.absolute()),
        sha256=sha256,
        rows=len(rows),
        content_sha256=content_hash(rows),
        source=source,
        check=check,
    )


def content_hash(rows: Iterable[Row]) -> str:
    """The sha256 of the rows themselves: each as compact UTF-8 JSON with sorted keys, followed by a newline.

    The files that `markscheme data prepare` writes are in exactly this form, so `sha256sum FILE` gives the same.
    """
    digest = hashlib.sha256()
    for line in encode_lines(rows):
        digest.update(line)
    return digest.hexdigest()


def encode_lines(rows: Iterable[Row]) -> Iterator[bytes]:
    """The canonical lines that `content_hash` is taken over."""
    encoder = msgspec.json.Encoder(order="sorted")
    return (encoder.encode(row) + b"\n" for row in rows)


def read_rows(path: Path) -> list[Row]:
    """The objects of a JSONL file, in order; blank lines are skipped."""
    return read_rows_and_hash(path)[0]


def read_rows_and_hash(path: Path, label: str | None = None) -> tuple[list[Row], str]:
    """The rows of a JSONL file and the sha256 of its bytes, in one pass; errors name `label` or else the path."""
    name = label or str(path)
    digest = hashlib.sha256()
    rows: list[Row] = []
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                digest.update(line)
                text = line.removeprefix(_BOM) if number == 1 else line
                if text.strip():
                    rows.append(_decode(text, name, number))
    except OSError as problem:
        raise DataError(f"{name} cannot be read: {problem.strerror or problem}.") from problem
    return rows, digest.hexdigest()


def _decode(line: bytes, name: str, number: int) -> Row:
    try:
        row = msgspec.json.decode(line)
    # Invalid UTF-8 and deep nesting come out of msgspec as these two, not as a DecodeError.
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise DataError(f"{name}, line {number}: not valid JSON ({problem}).") from problem
    if not isinstance(row, dict):
        raise DataError(f"{name}, line {number}: expected a JSON object, found {type(row).__name__}.")
    return row
