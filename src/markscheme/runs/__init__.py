"""The run folder: the only code that reads or writes one."""

from markscheme.runs.folder import Manifest, Run, write_atomically

__all__ = ["Manifest", "Run", "write_atomically"]
