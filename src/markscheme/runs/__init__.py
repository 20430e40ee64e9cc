"""The run folder: the only code that reads or writes one. Other packages use `Run` and its `Snapshot`."""

from markscheme.runs.folder import Manifest, Run, find_runs, write_atomically

__all__ = ["Manifest", "Run", "find_runs", "write_atomically"]
