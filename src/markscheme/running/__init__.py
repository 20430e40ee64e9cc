"""Ask every (problem, sample) exactly once and save the answers."""

from markscheme.running.asking import Display
from markscheme.running.execute import execute, holds_run, new_folder, resume
from markscheme.running.prepare import Prepared, prepare

__all__ = ["Display", "Prepared", "execute", "holds_run", "new_folder", "prepare", "resume"]
