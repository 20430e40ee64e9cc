"""Digests of the files of a run, written into its manifest when the run ends, so that later alterations are found.

They cannot show that a folder was not made up from the start. They do not cover people's labels (`adjudications/`) and
server logs.
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
LINES = "lines.json"  # a short digest of each line, so that `verify` can name the lines that differ
SETTINGS, ORDER = "settings_sha256", "order_sha256"
SHORT = 8  # hexadecimal digits of a line's digest
MOST_NAMED = 5

# Digests by path, inode, size and time of change, because the viewer asks often.
_seen: dict[tuple[str, int, int, int], str] = {}


class FileDigest(msgspec.Struct, frozen=True):
    """A file at the end of the run."""

    sha256: str
    bytes: int


def covered(folder: Path) -> dict[str, Path]:
    """Return the files that have a digest, by their names in the folder."""
    files = [*(file for pattern in COVERED for file in sorted(folder.glob(pattern))), *folder.glob(LINES)]
    return {file.relative_to(folder).as_posix(): file for file in files}


def uncovered(folder: Path) -> list[str]:
    """Return the names of files that no run writes: they have no digest, and nothing reads them."""
    ours = {"manifest.json", "manifest.json.sig", "manifest.json.minisig", "lock", "adjudications", "judges", "servers"}
    files = (*folder.iterdir(), *(folder / "marks").glob("*"))
    names = (file.relative_to(folder).as_posix() for file in files if not file.name.startswith("."))
    return sorted({*names} - ours - {"marks"} - covered(folder).keys())


def digest(file: Path, most: int | None = None) -> FileDigest:
    """Return the digest of a whole file, or of its first `most` bytes."""
    made, left = hashlib.sha256(), most if most is not None else state_inside(file, None).st_size
    taken = 0
    with open_plain(file) as stream:
        while left > 0 and (piece := stream.read(min(left, 1 << 20))):
            made.update(piece)
            left, taken = left - len(piece), taken + len(piece)
    return FileDigest(made.hexdigest(), taken)


def sealed(folder: Path, before: Mapping[str, FileDigest], only: str | None = None) -> dict[str, FileDigest]:
    """Return the digests of a folder, and write `lines.json`. With `only`, just the digest of that file is new.

    Responses are facts. If lines that an earlier digest covers have changed, the earlier digest stays, so that the
    alteration is still found.
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
            except OSError:  # such as a folder of that name: `altered` reports it
                made |= {name: old} if old else {}
    return made | {LINES: digest(folder / LINES)}


def _fact(name: str) -> bool:
    return name.startswith(("responses", "turns", "batches"))


def settings_digest(manifest: bytes) -> str:
    """Return the digest of all other fields of a manifest, including the file digests."""
    values = msgspec.json.decode(manifest)
    values.pop(SETTINGS, None)
    return hashlib.sha256(msgspec.json.encode(values, order="sorted")).hexdigest()


def order_digest(manifest: bytes) -> str:
    """Return the digest of the same fields in their order, which `settings_digest` does not cover."""
    values = msgspec.json.decode(manifest)
    rest = {name: value for name, value in values.items() if name not in (SETTINGS, ORDER)}
    return hashlib.sha256(msgspec.json.encode(rest)).hexdigest()


def _as_written(manifest: bytes) -> bool:
    """True if the bytes are laid out as we write them, so that a field cannot occur twice."""
    return manifest == msgspec.json.format(msgspec.json.encode(msgspec.json.decode(manifest)), indent=2)


def altered(folder: Path, manifest: Any) -> list[str]:
    """Return the names of files that no longer match the digests of a finished run."""
    if manifest.status == "running" or not (manifest.digests or manifest.settings_sha256):
        return []
    files, kept = covered(folder), manifest.digests
    differing = [name for name, one in kept.items() if name not in files or _now(files[name]) != one.sha256]
    differing += [name for name in files if name not in kept]
    try:
        raw = (folder / "manifest.json").read_bytes()
        holds = settings_digest(raw) == manifest.settings_sha256 and _as_written(raw)
        # Earlier versions did not record the order.
        holds = holds and manifest.order_sha256 in ("", order_digest(raw))
    except (OSError, *UNREADABLE):
        holds = False
    return sorted(differing) + ["manifest.json"] * (not holds)


def alteration_line(folder: Path, manifest: Any) -> str | None:
    """Return a line for reports if a folder no longer matches its digests."""
    from markscheme.runs.archive import origin

    if not (names := altered(folder, manifest)):
        return None
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    shown = origin(folder)
    return f"{shown} no longer matches its digests ({names[0]}{more}): `markscheme verify {shown}` names the lines"


def _now(file: Path) -> str:
    try:
        state = state_inside(file, None)
        key = (str(file.absolute()), state.st_ino, state.st_size, state.st_mtime_ns)
        return _seen.get(key) or _seen.setdefault(key, digest(file).sha256)
    except OSError:
        return ""


def differences(folder: Path, manifest: Any) -> list[str]:
    """Return the altered files, with the lines that differ where they are known."""
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
    return "".join(hashlib.sha256(line).hexdigest()[:SHORT] for line in _lines(file) if line != b"\n")


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
