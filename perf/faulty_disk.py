"""A file system in memory (FUSE) that fails as disks and network file systems do: `python perf/faulty_disk.py MOUNT STATE …`.

Power loss: whatever was not synced is lost. A file's bytes last from its own fsync, its name from that of its folder; what
`sync` allows but does not promise is drawn by `--loss`. Network: a rename leaves a moment without the file, a handle of a
replaced file is stale, and writes may fail with EIO.

A line `cut` on standard input is the loss of power: what is left of the state is written to STATE, and the disk is gone.
"""

from __future__ import annotations

import argparse
import errno
import os
import pickle
import random
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# What becomes of unsynced things: all lost; names arrive before bytes; a part of the bytes arrives; zeros in their
# place.
LOSSES = ("strict", "reordered", "torn", "zeros")


class Disk:
    """Files by number, names by path; and of both what would be left after a loss of power."""

    def __init__(self, state: dict[str, Any], options: argparse.Namespace) -> None:
        self.options, self.luck = options, random.Random(options.seed)
        self.bytes: dict[int, bytearray] = {number: bytearray(content) for number, content in state["bytes"].items()}
        self.names: dict[str, int | None] = dict(state["names"])  # None is a folder
        self.synced, self.lasting = {number: bytes(content) for number, content in self.bytes.items()}, dict(self.names)
        self.next = max(self.bytes, default=0) + 1
        self.lock = threading.RLock()

    def after_the_cut(self) -> dict[str, Any]:
        """What is found when the power is back."""
        loss = self.options.loss
        names = dict(self.lasting) if loss == "strict" else dict(self.names)
        content = {}
        for number in {number for number in names.values() if number is not None}:
            synced, now = self.synced.get(number, b""), bytes(self.bytes.get(number, b""))
            rest = now[len(synced) :] if now.startswith(synced) else b""
            if loss == "torn":
                synced += rest[: self.luck.randint(0, len(rest))]
            elif loss == "zeros":
                synced += bytes(len(rest))
            content[number] = synced
        return {"bytes": content, "names": names}


def serve(mount: Path, state: Path, options: argparse.Namespace) -> None:
    """Mount it, and wait for the cut."""
    from fuse import FUSE, FuseOSError, Operations

    stored = pickle.loads(state.read_bytes()) if state.exists() else {"bytes": {}, "names": {"/": None}}
    disk = Disk(stored, options)

    class Served(Operations):  # type: ignore[misc]
        def _number(self, path: str) -> int | None:
            if path not in disk.names:
                raise FuseOSError(errno.ENOENT)
            return disk.names[path]

        def _fails(self) -> None:
            if disk.luck.random() < options.eio:
                raise FuseOSError(errno.EIO)

        def _handle(self, fh: int) -> bytearray:
            if options.network and fh not in disk.names.values():
                raise FuseOSError(errno.ESTALE)
            return disk.bytes[fh]

        def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:
            with disk.lock:
                number = self._number(path)
                if number is None:
                    return {"st_mode": stat.S_IFDIR | 0o755, "st_nlink": 2}
                size = len(disk.bytes[number])
                return {"st_mode": stat.S_IFREG | 0o644, "st_nlink": 1, "st_size": size, "st_mtime": time.time()}

        def readdir(self, path: str, fh: int) -> list[str]:
            with disk.lock:
                base = path.rstrip("/") + "/"
                below = (name[len(base) :] for name in disk.names if name.startswith(base) and name != "/")
                return [".", "..", *(name for name in below if "/" not in name)]

        def mkdir(self, path: str, mode: int) -> None:
            disk.names[path] = None

        def rmdir(self, path: str) -> None:
            del disk.names[path]

        def create(self, path: str, mode: int, fi: Any = None) -> int:
            with disk.lock:
                number, disk.next = disk.next, disk.next + 1
                disk.names[path], disk.bytes[number] = number, bytearray()
                return number

        def open(self, path: str, flags: int) -> int:
            number = self._number(path)
            assert number is not None
            return number

        def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
            return bytes(self._handle(fh)[offset : offset + size])

        def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
            with disk.lock:
                self._fails()
                content = self._handle(fh)
                content[offset : offset + len(data)] = data
                return len(data)

        def truncate(self, path: str, length: int, fh: int | None = None) -> None:
            with disk.lock:
                number = self._number(path) if fh is None else fh
                assert number is not None
                del disk.bytes[number][length:]
                disk.synced[number] = disk.synced.get(number, b"")[:length]

        def fsync(self, path: str, datasync: int, fh: int) -> None:
            with disk.lock:
                self._fails()
                disk.synced[fh] = bytes(self._handle(fh))
                with state.with_suffix(".synced").open("a") as told:  # for whoever must know what is safe by now
                    told.write(f"{path}\n")

        def fsyncdir(self, path: str, datasync: int, fh: int) -> None:
            with disk.lock:
                mine = {name for name in {*disk.names, *disk.lasting} if os.path.dirname(name) == path}  # noqa: PTH120
                for name in mine - {"/"}:
                    if name in disk.names:
                        disk.lasting[name] = disk.names[name]
                    else:
                        disk.lasting.pop(name, None)

        def rename(self, old: str, new: str) -> None:
            with disk.lock:
                number = disk.names.pop(old)
                if options.network:
                    disk.names.pop(new, None)
            if options.network:
                time.sleep(0.02)
            disk.names[new] = number

        def unlink(self, path: str) -> None:
            with disk.lock:
                self._number(path)
                del disk.names[path]

        def chmod(self, path: str, mode: int) -> None: ...
        def chown(self, path: str, uid: int, gid: int) -> None: ...
        def utimens(self, path: str, times: Any = None) -> None: ...
        def statfs(self, path: str) -> dict[str, int]:
            return {"f_bsize": 4096, "f_blocks": 1 << 20, "f_bavail": 1 << 20, "f_bfree": 1 << 20}

    def wait() -> None:
        for line in sys.stdin:
            if line.strip() == "cut":
                with disk.lock:
                    state.write_bytes(pickle.dumps(disk.after_the_cut()))
                    os._exit(0)

    threading.Thread(target=wait, daemon=True).start()
    fresh = {"attr_timeout": 0, "entry_timeout": 0, "negative_timeout": 0, "direct_io": True}
    FUSE(Served(), str(mount), foreground=True, nothreads=not options.network, allow_other=False, **fresh)


@contextmanager
def mounted(mount: Path, state: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """The disk in a process of its own; write `cut` to its standard input. Raises `OSError` where there is no FUSE."""
    mount.mkdir(exist_ok=True)
    process = subprocess.Popen(
        [sys.executable, __file__, str(mount), str(state), *options],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while not mount.is_mount():
            if process.poll() is not None:
                raise OSError(process.stderr.read() if process.stderr else "")
            time.sleep(0.05)
        yield process
    finally:
        subprocess.run(["umount", "-l", str(mount)], check=False, capture_output=True)
        process.kill()
        process.communicate()


def cut(process: subprocess.Popen[str]) -> None:
    """Pull the plug."""
    assert process.stdin is not None
    process.stdin.write("cut\n")
    process.stdin.flush()
    process.wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mount", type=Path)
    parser.add_argument("state", type=Path)
    parser.add_argument("--loss", choices=LOSSES, default="strict")
    parser.add_argument("--network", action="store_true")
    parser.add_argument("--eio", type=float, default=0.0, help="share of writes and syncs that fail")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    serve(given.mount, given.state, given)
