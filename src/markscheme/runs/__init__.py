"""The run folder: the only code that reads or writes one. Everybody else takes a `Run` and its `Snapshot`."""

from markscheme.runs.folder import Manifest, Run, find_runs, write_atomically

__all__ = ["Manifest", "Run", "find_runs", "write_atomically"]
