"""Opens only plain files inside a run folder: links out of it, pipes and devices are refused. Names the mark files."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO


class RefusedError(OSError):
    """The file exists, but a run folder should not hold such a file."""


def state_inside(file: Path, root: Path | None) -> os.stat_result:
    """Return `stat` of a plain file below the resolved path `root`; raise OSError for anything else.

    Without a root, links are not checked: the caller has already checked the path.
    """
    about = file.stat()
    # Runs are found without following links, so only the last two names can be links.
    linked = root is not None and (file.is_symlink() or file.parent.is_symlink())
    if not stat.S_ISREG(about.st_mode) or (linked and root is not None and not file.resolve().is_relative_to(root)):
        raise RefusedError(0, "a link that leads out of the folder, or not a plain file", str(file))
    return about


def refuse_links(file: Path) -> None:
    """Refuse to write through a link inside a run folder. The folder itself may be a link."""
    folder = file.parent
    inside = folder.is_symlink() and (folder.parent / "manifest.json").exists()  # `marks`, `adjudications`
    if linked := folder if inside else file if file.is_symlink() else None:
        raise RefusedError(
            0, f"{linked.name} is a link, and nothing is written through a link; replace it by what it points to"
        )


def open_plain(file: Path) -> BinaryIO:
    """Open a plain file to read; refuses pipes, which would block, and devices."""
    stream = os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise RefusedError(0, "it is not a plain file", str(file))
    return stream


def read_inside(file: Path, root: Path | None, most: int) -> bytes:
    """Return the first `most` bytes of a plain file below `root`."""
    state_inside(file, root)
    with open_plain(file) as stream:
        return stream.read(most)


def marks_file(folder: Path, protocol: str) -> Path:
    """Return the file of a protocol's marks: `math.jsonl`, or `judge.NAME.jsonl` for `judge:NAME`."""
    # Not every file system allows a colon.
    return folder / "marks" / f"{protocol.partition('@')[0].replace(':', '.', 1)}.jsonl"


def marked_by(file: Path) -> str:
    """Return the bare name of the protocol of a mark file."""
    return file.stem.replace("judge.", "judge:", 1) if file.stem.startswith("judge.") else file.stem


def file_sizes(folder: Path, protocol: str) -> dict[str, int]:
    """Return the size in bytes of each file that a protocol's figures are made from."""
    files = [folder / "problems.jsonl", folder / "rounds.json", *sorted(folder.glob("responses*.jsonl"))]
    sizes = {}
    for file in (*files, marks_file(folder, protocol)):
        with suppress(OSError):  # a missing size makes a stored report look old, which is harmless
            sizes[file.relative_to(folder).as_posix()] = state_inside(file, None).st_size
    return sizes
