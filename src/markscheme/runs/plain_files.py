"""Only plain files that lie in the folder that is shown: links that lead out of it, pipes and devices are refused."""

from __future__ import annotations

import os
import stat
from pathlib import Path


class RefusedError(OSError):
    """The file is there, but is none that a run folder should hold."""


def state_inside(file: Path, root: Path) -> os.stat_result:
    """What `stat` says of a plain file of a run below `root`; raises OSError for everything else.

    `root` is a resolved path and runs are found without following links, so only the last two names can be links.
    """
    found = file.stat()
    linked = file.is_symlink() or file.parent.is_symlink()
    if not stat.S_ISREG(found.st_mode) or (linked and not file.resolve().is_relative_to(root)):
        raise RefusedError(0, "a link that leads out of the folder, or not a plain file", str(file))
    return found


def read_inside(file: Path, root: Path, most: int) -> bytes:
    """The first `most` bytes of such a file."""
    state_inside(file, root)
    with file.open("rb") as stream:
        return stream.read(most)
