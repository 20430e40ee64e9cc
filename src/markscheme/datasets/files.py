"""Reads data files (JSON lines, a JSON array, CSV, TSV or Parquet, also compressed) and says exactly what was read.

A bad line is an error with file and line number: a benchmark with a row missing is another benchmark.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar, overload

import msgspec

from markscheme.datasets.small_texts import read_plain
from markscheme.errors import DataError, MarkschemeError, needed, os_reason

Row = dict[str, Any]

LARGEST = 4 << 30  # bytes of a data file, which is read into memory
T = TypeVar("T")

# How well the rows of a file are known to be the official ones; `REMARKS` has the words.
Check = Literal["content", "answers", "recorded", "differs", "none"]

REMARKS: dict[Check, str] = {
    "content": "every row as pinned",
    "answers": "count, numbers and answers as pinned",
    "recorded": "as first fetched",
    "differs": "not the official rows",
    "none": "nothing to compare with",
}

TABLES = {".csv": ",", ".tsv": "\t"}  # suffix → delimiter

PACKED = (".gz", ".zst")
_PLAIN = (".jsonl", ".json", *TABLES)
SUFFIXES = (*_PLAIN, ".parquet", *(plain + packed for plain in _PLAIN for packed in PACKED))

MOST_UNPACKED = 2**31  # bytes that a compressed file may contain

_BOM = b"\xef\xbb\xbf"
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)  # the latter for deep nesting
_Line = tuple[int, bytes]  # number from 1, content


class DataFile(msgspec.Struct, frozen=True, kw_only=True):
    """A data file as listed in a run's manifest.

    `sha256` covers the bytes and `content_sha256` the rows (see `content_hash`), so the latter does not depend on the
    container or on spacing.
    """

    name: str
    path: str
    sha256: str
    rows: int
    content_sha256: str
    source: str
    check: Check = "none"


def content_hash(rows: Iterable[Row]) -> str:
    """Return the sha256 of the rows, each as compact UTF-8 JSON with sorted keys and a newline.

    `markscheme data prepare` writes files in exactly this form, so `sha256sum FILE` gives the same.
    """
    digest = hashlib.sha256()
    for line in encode_lines(rows):
        digest.update(line)
    return digest.hexdigest()


def encode_lines(rows: Iterable[Row]) -> Iterator[bytes]:
    """Yield the canonical lines that `content_hash` covers."""
    encoder = msgspec.json.Encoder(order="sorted")
    return (encoder.encode(row) + b"\n" for row in rows)


def read_rows(path: Path, label: str | None = None, header: Sequence[str] = ()) -> Rows:
    """Return the rows of a file, decoded on demand. Errors name `label` or else the path."""
    name = label or str(path)
    if re.search(r"[*?\[]", path.name) and not path.exists():
        return _all_matching(path, header)
    try:
        content = read_plain(path, LARGEST, "too much for a benchmark; split it")
    except OSError as problem:
        raise DataError(f"{name} cannot be read: {os_reason(problem)}.") from problem
    packed = path.suffix in PACKED
    suffix = Path(path.stem).suffix if packed else path.suffix
    text = (_unpacked(content, path.suffix, name) if packed else content).removeprefix(_BOM)
    rows: Sequence[_Line | Row]
    if suffix == ".parquet":
        rows = _parquet(path, name)
    elif suffix in TABLES:
        rows = _table(text, TABLES[suffix], name, header)
    elif suffix == ".json" and not _is_object(text.lstrip().partition(b"\n")[0]):
        rows = _document(text, name)
    else:
        rows = [(number, line) for number, line in enumerate(text.split(b"\n"), start=1) if line.strip()]
    return Rows(name, hashlib.sha256(content).hexdigest(), rows)


def _all_matching(pattern: Path, header: Sequence[str]) -> Rows:
    """Return the rows of all files that match a pattern, sorted by name. The hash covers their hashes."""
    parts = [read_rows(file, header=header) for file in sorted(pattern.parent.glob(pattern.name))]
    if not parts:
        raise DataError(f"no file matches {pattern}.")
    hashes = "".join(part.sha256 for part in parts)
    return Rows(str(pattern), hashlib.sha256(hashes.encode()).hexdigest(), [row for part in parts for row in part])


def _unpacked(content: bytes, suffix: str, name: str) -> bytes:
    import zlib

    try:
        stream: Any = gzip.GzipFile(fileobj=io.BytesIO(content))
        if suffix == ".zst":
            pyarrow = needed("pyarrow", "data", DataError)
            stream = pyarrow.CompressedInputStream(pyarrow.BufferReader(content), "zstd")
        text: bytes = stream.read(MOST_UNPACKED + 1)
    except (OSError, EOFError, ValueError, zlib.error) as problem:
        raise DataError(f"{name} cannot be decompressed ({problem}).") from None
    if len(text) > MOST_UNPACKED:
        raise DataError(
            f"{name} contains more than {MOST_UNPACKED:,} bytes; decompress it and split it into several files."
        )
    return text


class LazySequence(Sequence[T]):
    """A sequence that makes its items on demand: `_item` takes an index of 0 or more."""

    def _item(self, index: int) -> T:
        raise NotImplementedError

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        places = range(len(self))[index]
        return self._item(places) if isinstance(places, int) else [self._item(each) for each in places]


class Rows(LazySequence[Row]):
    """The rows of one file. JSON lines are decoded on demand, since a run needs ten rows of a large few-shot pool."""

    def __init__(self, name: str, sha256: str, rows: Sequence[_Line | Row]) -> None:
        self.name, self.sha256, self._rows = name, sha256, rows

    def __len__(self) -> int:
        return len(self._rows)

    def _item(self, index: int) -> Row:
        row = self._rows[index]
        return row if isinstance(row, dict) else decode_row(row[1], f"{self.name}, line {row[0]}")


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(msgspec.json.decode(line), dict)
    except _UNREADABLE:
        return False


def _document(content: bytes, name: str) -> list[Row]:
    """Return the rows of a JSON array, or of the only list of objects in an object such as `{"examples": [{…}, …]}`."""
    try:
        whole = msgspec.json.decode(content)
        if isinstance(whole, dict):
            lists = [
                key for key, value in whole.items() if isinstance(value, list) and isinstance((*value, 0)[0], dict)
            ]
            if len(lists) != 1:
                raise DataError(
                    f"{name} is a JSON object with {len(lists)} lists of objects{': ' * bool(lists)}{', '.join(lists)[:80]}; "
                    "write the rows to a file of their own, as a list or one per line."
                )
            whole = whole[lists[0]]
        return msgspec.convert(whole, list[Row])
    except _UNREADABLE as problem:
        raise DataError(f"{name} is not a JSON array of objects ({problem}).") from problem


def decode_row(line: bytes, where: str, failure: type[MarkschemeError] = DataError) -> Row:
    """Decode a JSON object; errors begin with `where`."""
    try:
        row = msgspec.json.decode(line.removeprefix(_BOM))
    except _UNREADABLE as problem:
        raise failure(f"{where}: not valid JSON ({problem}).") from problem
    if not isinstance(row, dict):
        raise failure(f"{where}: expected a JSON object, found {type(row).__name__}.")
    return row


def _table(content: bytes, delimiter: str, name: str, header: Sequence[str]) -> list[Row]:
    import csv

    try:
        text = content.decode()
    except UnicodeDecodeError as problem:
        raise DataError(f"{name} is not UTF-8 text ({problem}); save it as UTF-8.") from None
    # A TSV has no quoting; a CSV needs it around commas.
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if delimiter == "," else csv.QUOTE_NONE
    reader = csv.reader(text.splitlines(keepends=True), delimiter=delimiter, quoting=quoting, strict=True)
    rows: list[Row] = []
    names = list(header)
    try:
        for cells in reader:
            if not names:
                names = [cell.strip() for cell in cells]
            elif cells:
                if len(cells) != len(names):
                    raise DataError(
                        f"{name}, line {reader.line_num}: {len(cells)} cells where the header has {len(names)}."
                    )
                rows.append(dict(zip(names, cells, strict=True)))
    except csv.Error as problem:
        raise DataError(f"{name}, line {reader.line_num}: {problem}.") from None
    return rows


def _parquet(path: Path, name: str) -> list[Row]:
    parquet = needed("pyarrow.parquet", "data", DataError)
    try:
        rows: list[Row] = parquet.read_table(path).to_pylist()
    except (OSError, ValueError) as problem:  # ArrowInvalid is a ValueError
        raise DataError(f"{name} is not a readable Parquet file ({problem}).") from problem
    return rows
