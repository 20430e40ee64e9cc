"""Opens only plain files inside the folder: links that lead out of it, pipes and devices are refused.

It also names the files of marks.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO


class RefusedError(OSError):
    """The file is there, but is none that a run folder should hold."""


def state_inside(file: Path, root: Path | None) -> os.stat_result:
    """What `stat` says of a plain file of a run below `root`; raises OSError for everything else.

    `root` is a resolved path and runs are found without following links, so only the last two names can be links.
    Without a root links are not looked at: the file was found by one who did.
    """
    about = file.stat()
    linked = root is not None and (file.is_symlink() or file.parent.is_symlink())
    if not stat.S_ISREG(about.st_mode) or (linked and root is not None and not file.resolve().is_relative_to(root)):
        raise RefusedError(0, "a link that leads out of the folder, or not a plain file", str(file))
    return about


def refuse_links(file: Path) -> None:
    """Refuse to write through a link in a run folder: what it leads to is not ours. The folder itself may be one."""
    folder = file.parent
    inside = folder.is_symlink() and (folder.parent / "manifest.json").exists()  # `marks`, `adjudications`
    if linked := folder if inside else file if file.is_symlink() else None:
        raise RefusedError(
            0, f"{linked.name} is a link, and nothing is written through one; put what it leads to there"
        )


def open_plain(file: Path) -> BinaryIO:
    """A plain file to read; refuses a pipe, for which others would wait for ever, and a device."""
    stream = os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise RefusedError(0, "it is not a plain file", str(file))
    return stream


def read_inside(file: Path, root: Path | None, most: int) -> bytes:
    """The first `most` bytes of such a file."""
    state_inside(file, root)
    with open_plain(file) as stream:
        return stream.read(most)


def marks_file(folder: Path, protocol: str) -> Path:
    """The file of a protocol's marks: `math.jsonl`, or `judge.NAME.jsonl` for `judge:NAME`: not every system allows a colon."""
    return folder / "marks" / f"{protocol.partition('@')[0].replace(':', '.', 1)}.jsonl"


def marked_by(file: Path) -> str:
    """The protocol of a file of marks, by its bare name."""
    return file.stem.replace("judge.", "judge:", 1) if file.stem.startswith("judge.") else file.stem


def file_sizes(folder: Path, protocol: str) -> dict[str, int]:
    """Bytes of each file that the figures under a protocol are made from, by its name in the folder."""
    files = [folder / "problems.jsonl", folder / "rounds.json", *sorted(folder.glob("responses*.jsonl"))]
    sizes = {}
    for file in (*files, marks_file(folder, protocol)):
        with suppress(OSError):  # not there; or the disk does not say, and a report without it is taken for an old one
            sizes[file.relative_to(folder).as_posix()] = state_inside(file, None).st_size
    return sizes
