"""The runs in a folder: found by their manifests, named by slugs, opened on demand.

A slug is only looked up in the table of runs, never joined to a path, so no address leads out of the folder.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
import time
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from markscheme.errors import first_line, os_reason
from markscheme.runs.files import read_inside, state_inside
from markscheme.runs.folder import FORMAT, Manifest, decode_manifest
from markscheme.runs.lines import UNREADABLE
from markscheme.runs.reader import RunReader
from markscheme.runs.snapshot import Snapshot

DEEPEST = 4  # levels of folders in which runs are searched
MOST_FOLDERS = 20_000  # folders searched; a home directory given by mistake must not hang the page
RESCAN = 2.0  # seconds between two searches; longer if a search takes long
SLICE = 0.1  # seconds that a page may wait for the lock of an index
MOST_OPEN = 12  # readers kept in memory; the least recently used one is dropped

SILENT = 180.0  # seconds without a write after which a running run counts as silent

MANIFEST, REPORT = "manifest.json", "report.json"
LARGEST_MANIFEST = 16 << 20  # bytes; a manifest is some kilobytes

FileStates = dict[str, tuple[int, int]]  # name → nanoseconds since 1970, bytes


@dataclass(frozen=True)
class Entry:
    """A run folder. `manifest` is None if it cannot be read, and `trouble` says why."""

    slug: str
    name: str
    path: Path
    manifest: Manifest | None
    trouble: str = ""

    @property
    def running(self) -> bool:
        """True if the manifest lists the run as running, which it still does after a crash."""
        return self.manifest is not None and self.manifest.status == "running"

    @property
    def status(self) -> str:
        """Return the status in the manifest, but `silent` for a running run without recent writes."""
        if self.manifest is None:
            return ""
        if self.running:
            written = max((when for when, _ in self.file_states().values()), default=0)
            return "silent" if time.time() - written / 1e9 > SILENT else "running"
        return self.manifest.status

    def file_states(self) -> FileStates:
        """Return the time of the last write and the size of each file that figures are computed from."""
        path = self.path
        names = [
            MANIFEST,
            REPORT,
            "problems.jsonl",
            "rounds.json",
            *sorted(file.name for file in path.glob("responses*.jsonl")),
        ]
        names += sorted(f"{file.parent.name}/{file.name}" for file in path.glob("marks/*.jsonl"))
        names += sorted(f"{file.parent.name}/{file.name}" for file in path.glob("adjudications/labels.*.jsonl"))
        states = {}
        for name in names:
            with suppress(OSError):
                state = (path / name).stat()
                states[name] = (state.st_mtime_ns, state.st_size)
        return states

    @property
    def protocol(self) -> str:
        return self.manifest.protocol.partition("@")[0] if self.manifest else ""


@dataclass(frozen=True)
class OpenRun:
    """A run with the current state of its responses."""

    entry: Entry
    snapshot: Snapshot

    @property
    def protocol(self) -> str:
        """Return the protocol of the manifest, or the first one with marks if that has none."""
        named, stored = self.entry.protocol, self.snapshot.mark_lines.keys()
        return named if named in stored or not stored else min(stored)

    @property
    def protocols(self) -> list[str]:
        """Return the protocols with verdicts, the run's own first."""
        return sorted(self.snapshot.verdicts, key=lambda name: (name != self.protocol, name))


class Library:
    """All runs under `root`. Safe to use from several threads."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._lock = threading.Lock()
        self._entries: dict[str, Entry] = {}
        self._scan_again = float("-inf")
        self._manifests: dict[Path, tuple[tuple[int, int], Manifest | None, str]] = {}
        self._open: OrderedDict[Path, RunReader] = OrderedDict()
        self._reading: set[Path] = set()  # runs that are being read in the background

    def entries(self) -> list[Entry]:
        """Return every run, ordered by name."""
        with self._lock:
            start = time.monotonic()
            if start > self._scan_again:
                self._entries = self._scan()
                took = time.monotonic() - start
                self._scan_again = start + took + max(RESCAN, 10 * took)
            return list(self._entries.values())

    def entry(self, slug: str) -> Entry | None:
        self.entries()
        entry = self._entries.get(slug)
        if entry is None:
            return None
        manifest, trouble = self._manifest(entry.path)  # read again, since a running run changes it
        return replace(entry, manifest=manifest, trouble=trouble)

    def open(self, entry: Entry, seconds: float) -> OpenRun:
        """Bring a run up to date as far as the time allows; the rest is read in the background."""
        reader = self.reader(entry)
        if entry.path not in self._reading and not reader.refresh(seconds, entry.manifest):
            self._reading.add(entry.path)
            threading.Thread(target=self._read_on, args=(entry, reader), name="reading", daemon=True).start()
        return OpenRun(entry, reader.snapshot(entry.manifest))

    def _read_on(self, entry: Entry, reader: RunReader) -> None:
        try:
            while not reader.refresh(SLICE, entry.manifest) and self.is_open(entry):
                time.sleep(0.005)  # let a page that waits have the lock
        finally:
            self._reading.discard(entry.path)

    def is_open(self, entry: Entry) -> bool:
        with self._lock:
            return entry.path in self._open

    def reader(self, entry: Entry) -> RunReader:
        """Return the reader of a run, which is kept while it is in use."""
        with self._lock:
            reader = self._open.get(entry.path)
            if reader is None:
                reader = self._open[entry.path] = RunReader(entry.path, self.root)
            self._open.move_to_end(entry.path)
            while len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)
            return reader

    def _scan(self) -> dict[str, Entry]:
        entries: dict[str, Entry] = {}
        for path in sorted(find_run_folders(self.root)):
            name = path.relative_to(self.root).as_posix() if path != self.root else path.name
            slug = _slug(name)
            if slug in entries:
                slug = f"{slug}-{hashlib.sha256(os.fsencode(name)).hexdigest()[:6]}"
            manifest, trouble = self._manifest(path)
            entries[slug] = Entry(slug, name, path, manifest, trouble)
        return entries

    def _manifest(self, path: Path) -> tuple[Manifest | None, str]:
        file = path / MANIFEST
        try:
            state = state_inside(file, self.root)
            stamp = (state.st_mtime_ns, state.st_size)
            kept = self._manifests.get(path)
            if kept is None or kept[0] != stamp:
                kept = self._manifests[path] = (stamp, *_read_manifest(read_inside(file, self.root, LARGEST_MANIFEST)))
        except OSError as error:
            return None, f"the manifest cannot be read: {os_reason(error)}"
        return kept[1], kept[2]


def find_run_folders(root: Path) -> list[Path]:
    """Return the folders with a manifest: `root` itself or folders below it, but none inside a run."""
    runs: list[Path] = []
    looked = 0
    level = [root]
    for _ in range(DEEPEST + 1):
        below: list[Path] = []
        for folder in level:
            looked += 1
            if looked > MOST_FOLDERS:
                return runs
            try:
                with os.scandir(folder) as items:
                    folders = {item.name: item.is_dir(follow_symlinks=False) for item in items}
            except OSError:
                continue
            if folders.get(MANIFEST) is False:
                runs.append(folder)
            else:
                below += [folder / name for name, is_folder in folders.items() if is_folder and name[0] != "."]
        level = below
    return runs


def _read_manifest(raw: bytes) -> tuple[Manifest | None, str]:
    try:
        manifest = decode_manifest(raw)
    except UNREADABLE as error:
        return None, f"the manifest is damaged: {first_line(error)}"
    if manifest.format > FORMAT:
        return manifest, "written by a newer version of markscheme; what that version added is not shown"
    return manifest, ""


def _slug(name: str) -> str:
    """Reduce a name to characters that are safe in addresses and file names."""
    return re.sub(r"[^A-Za-z0-9._-]+", "~", name).strip(".") or "run"
