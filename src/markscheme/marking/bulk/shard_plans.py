"""The plan beside the parts of a marking: what they are of, so that marks of different things never mix.

Inputs are known by name below the source, size and a sample of their content, so a marking can be gone on with after its
files were copied or moved; golds by the hash of their content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from markscheme.errors import DataError, JournalError, UsageError
from markscheme.marking.bulk.shards import PLAN_FILE, Shard, shards_of
from markscheme.runs.folder import write_atomically

VERSION = 2
BLOCK = 16 << 10
BLOCKS = 16
"""Blocks of a file that are compared, spread from its first byte to its last."""

_COMPARED = {
    "protocol": "version of the protocol",
    "golds": "benchmark or gold answers",
    "think_end": "--think-end",
    "files": "files",
}


class Input(msgspec.Struct, frozen=True):
    """A file of stored outputs, by what it holds rather than by where it lies."""

    name: str
    size: int
    sample: str  # sha256 of some blocks


class MarkingPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What the parts in a folder are of."""

    version: int = VERSION
    protocol: str
    golds: tuple[str, ...]  # sha256 of the benchmark's data files; none where rows bring their own
    think_end: str
    files: tuple[Input, ...]
    cuts: tuple[tuple[int, int, int], ...]  # number of the file, start, end: part 0, part 1 …

    def shards(self, source: Path) -> list[Shard]:
        """The shards of the parts, in order."""
        files = [str(source / one.name) for one in self.files]
        return [Shard(files[number], start, end) for number, start, end in self.cuts]


class _Stored(msgspec.Struct):
    version: int = 1


def make_plan(
    source: Path, files: Sequence[Path], protocol: str, golds: tuple[str, ...], think_end: str
) -> MarkingPlan:
    """The plan for these files of a source."""
    cuts = [(number, shard.start, shard.end) for number, file in enumerate(files) for shard in shards_of(file)]
    inputs = tuple(_input(file, source) for file in files)
    return MarkingPlan(protocol=protocol, golds=golds, think_end=think_end, files=inputs, cuts=tuple(cuts))


def agreed_plan(folder: Path, plan: MarkingPlan) -> MarkingPlan:
    """The plan that the folder has if it is of the same, which may cut otherwise; this one, if it has none yet."""
    file = folder / PLAN_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        raw = file.read_bytes() if file.exists() else None
        if raw is not None and msgspec.json.decode(raw, type=_Stored).version != VERSION:
            raise UsageError(f"{folder} holds marks of another markscheme; choose another --out, or remove it.")
        stored = msgspec.json.decode(raw, type=MarkingPlan) if raw is not None else None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise JournalError(f"{folder} cannot be used for marks: {error}") from None
    if stored is None:
        write_atomically(file, msgspec.json.encode(plan))
        return plan
    differing = [words for name, words in _COMPARED.items() if getattr(plan, name) != getattr(stored, name)]
    if differing:
        other = " and ".join(differing)
        raise UsageError(f"{folder} holds marks of something else (other {other}); choose another --out, or remove it.")
    return stored


def _input(file: Path, source: Path) -> Input:
    digest = hashlib.sha256()
    try:
        size = file.stat().st_size
        with file.open("rb") as content:
            for number in range(BLOCKS):
                content.seek(max(0, size - BLOCK) * number // (BLOCKS - 1))
                digest.update(content.read(BLOCK))
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror}") from None
    return Input(file.relative_to(source).as_posix(), size, digest.hexdigest())
