"""A run as one file to send: `run.msz`, a plain zip of the files that have digests, in a fixed order.

It is unpacked to a temporary folder, which is removed when the process ends. Archives are hostile: only known names, plain
files and a plausible size are accepted.
"""

from __future__ import annotations

import atexit
import re
import shutil
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from markscheme.errors import JournalError, command, option, os_reason
from markscheme.runs.digests import alteration_line, covered
from markscheme.runs.files import open_plain, state_inside
from markscheme.runs.lines import read_all
from markscheme.runs.problems import label
from markscheme.types import Message, Question

SUFFIX = ".msz"
HIDDEN = "[redacted]"
_NAME = re.compile(
    r"manifest\.json(?:\.(?:mini)?sig)?|(?:rounds|usage|report|lines)\.json|(?:problems|turns|batches|responses[\w.-]*|marks/[\w.:-]+)\.jsonl"
)
# Bytes that any archive may unpack to, and for larger ones the factor over its own size. Texts shrink to about 1/20.
_LEAST_ROOM, _MOST_RATIO = 64 << 20, 200

# What `zipfile` raises for a damaged, encrypted or odd archive; names that are not UTF-8 are a ValueError.
_DAMAGED = (
    OSError,
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    RuntimeError,
    EOFError,
    ValueError,
    zlib.error,
    struct.error,
)

_opened: dict[tuple[Path, int, int], Path] = {}
_origins: dict[Path, Path] = {}


def pack(folder: Path, file: Path, redact: bool = False) -> Path:
    """Write the archive of a run folder. The same folder gives the same bytes."""
    from markscheme.runs.folder import write_atomically
    from markscheme.runs.signing import FILES

    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / "packed"
        source = _redacted(folder, Path(scratch) / "redacted") if redact else folder
        signed = {name: source / name for name in FILES.values() if (source / name).exists()}
        files = {"manifest.json": source / "manifest.json", **signed, **covered(source)}
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, each in files.items():
                about = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
                about.compress_type, about.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
                with _opened_inside(each, source) as content, archive.open(about, "w", force_zip64=True) as packed:
                    shutil.copyfileobj(content, packed, 1 << 20)
        with made.open("rb") as content:
            write_atomically(file, iter(lambda: content.read(1 << 20), b""), gate=False)
    return file


def _redacted(folder: Path, copy: Path) -> Path:
    """Copy a run without statements, solutions and prompts. Its manifest keeps the digest of the original problems."""
    from markscheme.runs.folder import Run, write_atomically

    if line := alteration_line(folder, Run.open(folder).manifest):  # new digests would hide it
        raise JournalError(line)
    for name, file in {"manifest.json": folder / "manifest.json", **covered(folder)}.items():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        with _opened_inside(file, folder) as content, (copy / name).open("xb") as out:
            shutil.copyfileobj(content, out, 1 << 20)
    lines = (msgspec.json.encode(each) + b"\n" for each in _hidden(folder / "problems.jsonl"))
    write_atomically(copy / "problems.jsonl", lines)
    run = Run.open(copy)
    if (before := run.manifest.digests.get("problems.jsonl")) is None:
        raise JournalError(
            f"{folder} has no digests, which {option('redact')} needs; {command('resume', folder)} adds them"
        )
    run.seal(msgspec.structs.replace(run.manifest, redacted=before.sha256), "problems.jsonl")
    return copy


def _opened_inside(file: Path, folder: Path) -> BinaryIO:
    """Open a file of the folder. A link to a file elsewhere is not part of the run and must not be sent."""
    try:
        state_inside(file, folder.resolve())
        return open_plain(file)
    except OSError as problem:
        raise JournalError(f"cannot read {file}: {os_reason(problem)}") from None


def _hidden(file: Path) -> Iterator[Question]:
    for question in read_all(file, Question):
        labels = {name: value for name, value in question.problem.metadata.items() if label(value) is not None}
        problem = msgspec.structs.replace(question.problem, statement=HIDDEN, solution=None, metadata=labels)
        messages = tuple(Message(each.role, HIDDEN) for each in question.prompt.messages)
        if any(question.problem.statement in text for text in question.prompt.then):
            raise JournalError(
                f"{file.parent} cannot be redacted: a later user turn repeats the statement, and it is in every response"
            )
        prompt = msgspec.structs.replace(question.prompt, messages=messages)
        yield msgspec.structs.replace(question, problem=problem, prompt=prompt)


def unpacked(file: Path) -> Path:
    """Unpack an archive and return its folder, which is removed when the process ends."""
    try:
        state = file.stat()
        known = (file.absolute(), state.st_size, state.st_mtime_ns)
        if known not in _opened:
            place = Path(tempfile.mkdtemp(prefix="markscheme-"))
            atexit.register(shutil.rmtree, place, ignore_errors=True)
            _unpack(file, place / file.stem, max(_LEAST_ROOM, _MOST_RATIO * state.st_size))
            _opened[known] = place / file.stem
            _origins[place / file.stem] = file
        return _opened[known]
    except _DAMAGED as problem:
        raise JournalError(f"{file} cannot be read as a run: {os_reason(problem)}") from None


def origin(folder: Path) -> Path:
    """Return the archive that a folder was unpacked from, or the folder itself."""
    return _origins.get(folder, folder)


def _unpack(file: Path, folder: Path, most: int) -> None:
    with open_plain(file) as stream, zipfile.ZipFile(stream) as archive:
        items = archive.infolist()
        names = [item.filename for item in items]
        if other := next((name for name in names if not _NAME.fullmatch(name)), None):
            raise JournalError(f"{file} holds {other[:100]!r}, which is not a file of a run")
        if len(set(names)) < len(names) or sum(item.file_size for item in items) > most:
            raise JournalError(
                f"{file} contains a file twice, or more than {most >> 20} MB, so it is not an archive of ours"
            )
        (folder / "marks").mkdir(parents=True)
        for item in items:
            with archive.open(item) as packed, (folder / item.filename).open("xb") as out:
                shutil.copyfileobj(packed, out, 1 << 20)
