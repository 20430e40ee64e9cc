"""Digests of what a run folder holds, written into its manifest when the run ends: later alterations are seen.

They show that a folder is as it was when it was closed. They cannot show that it was not made up from the start.
People's labels (`adjudications/`) and logs of servers come later or beside, and are not covered.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from markscheme.runs.files import open_plain, state_inside
from markscheme.runs.lines import LONGEST_LINE, UNREADABLE

COVERED = (
    *("problems.jsonl", "rounds.json", "usage.json", "report.json", "responses*.jsonl", "turns.jsonl", "batches.jsonl"),
    "marks/*.jsonl",
)
LINES = "lines.json"  # a short digest of each line of each file, by which `verify` names the lines that differ
SETTINGS = "settings_sha256"
SHORT = 8  # hexadecimal digits of a line's digest
MOST_NAMED = 5

# Digests by path, inode, size and time of change: the viewer asks again and again.
_seen: dict[tuple[str, int, int, int], str] = {}


class FileDigest(msgspec.Struct, frozen=True):
    """A file as it was when the run was closed."""

    sha256: str
    bytes: int


def covered(folder: Path) -> dict[str, Path]:
    """The files that a digest is kept of, by their names in the folder."""
    files = [*(file for pattern in COVERED for file in sorted(folder.glob(pattern))), *folder.glob(LINES)]
    return {file.relative_to(folder).as_posix(): file for file in files}


def uncovered(folder: Path) -> list[str]:
    """What lies in a run folder and no run has put there: no digest covers it, and nothing reads it."""
    ours = {"manifest.json", "manifest.json.sig", "manifest.json.minisig", "lock", "adjudications", "judges", "servers"}
    files = (*folder.iterdir(), *(folder / "marks").glob("*"))
    names = (file.relative_to(folder).as_posix() for file in files if not file.name.startswith("."))
    return sorted({*names} - ours - {"marks"} - covered(folder).keys())


def digest(file: Path, most: int | None = None) -> FileDigest:
    """Of a whole file, or of its first bytes."""
    made, left = hashlib.sha256(), most if most is not None else state_inside(file, None).st_size
    taken = 0
    with open_plain(file) as stream:
        while left > 0 and (piece := stream.read(min(left, 1 << 20))):
            made.update(piece)
            left, taken = left - len(piece), taken + len(piece)
    return FileDigest(made.hexdigest(), taken)


def sealed(folder: Path, before: Mapping[str, FileDigest], only: str | None = None) -> dict[str, FileDigest]:
    """The digests of a folder that was just written; writes `lines.json`. With `only`, those of that file alone are new.

    Responses are facts: where those that a digest was kept of are no longer there as they were, that digest stays, and
    the folder never matches it again.
    """
    from markscheme.runs.folder import write_atomically

    files = {name: file for name, file in covered(folder).items() if name != LINES}
    lines = _stored_lines(folder) if only else {}
    lines |= {name: _line_digests(file) for name, file in files.items() if only in (None, name) and ".jsonl" in name}
    write_atomically(folder / LINES, msgspec.json.encode(lines) + b"\n")
    made = dict(before) if only else {name: one for name, one in before.items() if name not in files and _fact(name)}
    for name, file in files.items():
        if only in (None, name):
            old = before.get(name)
            try:
                kept = old is None or not _fact(name) or digest(file, old.bytes) == old
                made[name] = digest(file) if kept or old is None else old
            except OSError:  # a folder in its place, say: closing a run must not fail for it, and `altered` names it
                made |= {name: old} if old else {}
    return made | {LINES: digest(folder / LINES)}


def _fact(name: str) -> bool:
    return name.startswith(("responses", "turns", "batches"))


def settings_digest(manifest: bytes) -> str:
    """Of everything else that a manifest says, the digests of files included."""
    values = msgspec.json.decode(manifest)
    values.pop(SETTINGS, None)
    return hashlib.sha256(msgspec.json.encode(values, order="sorted")).hexdigest()


def _as_written(manifest: bytes) -> bool:
    """Whether it is laid out as we lay it out: a name that is there twice, say, would be read as its last value."""
    return manifest == msgspec.json.format(msgspec.json.encode(msgspec.json.decode(manifest)), indent=2)


def altered(folder: Path, manifest: Any) -> list[str]:
    """What no longer matches the digests of a run that has ended, by name; nothing where none were recorded."""
    if manifest.status == "running" or not (manifest.digests or manifest.settings_sha256):
        return []
    files, kept = covered(folder), manifest.digests
    differing = [name for name, one in kept.items() if name not in files or _now(files[name]) != one.sha256]
    differing += [name for name in files if name not in kept]
    try:
        raw = (folder / "manifest.json").read_bytes()
        holds = settings_digest(raw) == manifest.settings_sha256 and _as_written(raw)
    except (OSError, *UNREADABLE):
        holds = False
    return sorted(differing) + ["manifest.json"] * (not holds)


def alteration_line(folder: Path, manifest: Any) -> str | None:
    """One line for a report, where a folder no longer matches its own digests."""
    from markscheme.runs.archive import origin

    if not (names := altered(folder, manifest)):
        return None
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    shown = origin(folder)
    return f"{shown} no longer matches its digests ({names[0]}{more}): `markscheme verify {shown}` says where"


def _now(file: Path) -> str:
    try:
        state = state_inside(file, None)
        key = (str(file.absolute()), state.st_ino, state.st_size, state.st_mtime_ns)
        return _seen.get(key) or _seen.setdefault(key, digest(file).sha256)
    except OSError:
        return ""


def differences(folder: Path, manifest: Any) -> list[str]:
    """The same with the lines that differ, as far as they can be named."""
    recorded, files, said = _stored_lines(folder), covered(folder), []
    for name in altered(folder, manifest):
        if name not in files and name != "manifest.json":
            said.append(f"{name}: removed")
        elif name != "manifest.json" and name not in manifest.digests:
            said.append(f"{name}: added")
        elif name in recorded:
            said.append(f"{name}: {_lines_that_differ(recorded[name], _line_digests(files[name]))}")
        else:
            said.append(f"{name}: other content")
    return said


def _lines_that_differ(recorded: str, found: str) -> str:
    old, new = _cut(recorded), _cut(found)
    left, other = Counter(old), []
    for number, one in enumerate(new, start=1):
        if left[one] > 0:
            left[one] -= 1
        else:
            other.append(number)
    gone = +left
    lost = [number for number, one in enumerate(old, start=1) if one in gone]
    parts = [
        f"{what} {_named(numbers)}" for what, numbers in (("altered or added:", other), ("gone:", lost)) if numbers
    ]
    if not parts and old != new:
        parts = [f"moved: line {next(at for at, (a, b) in enumerate(zip(old, new, strict=True), start=1) if a != b)}"]
    return "; ".join(parts) or "other line ends or blank lines"


def _named(numbers: list[int]) -> str:
    more = f" and {len(numbers) - MOST_NAMED} more" if len(numbers) > MOST_NAMED else ""
    return f"line {', '.join(map(str, numbers[:MOST_NAMED]))}{more}"


def _cut(digests: str) -> list[str]:
    return [digests[at : at + SHORT] for at in range(0, len(digests), SHORT)]


def _line_digests(file: Path) -> str:
    return "".join(hashlib.sha256(line).hexdigest()[:SHORT] for line in _lines(file))


def _lines(file: Path) -> Iterator[bytes]:
    try:
        with open_plain(file) as stream:
            yield from iter(lambda: stream.readline(LONGEST_LINE), b"")
    except OSError:
        return


def _stored_lines(folder: Path) -> dict[str, str]:
    raw: Iterable[bytes] = _lines(folder / LINES)
    try:
        return msgspec.json.decode(b"".join(raw), type=dict[str, str])
    except UNREADABLE:
        return {}
