"""Asks every (problem, sample) exactly once and keeps what comes back."""

from markscheme.running.api import new_folder, run
from markscheme.running.execute import Display, execute, resume
from markscheme.running.prepare import Prepared, prepare

__all__ = ["Display", "Prepared", "execute", "new_folder", "prepare", "resume", "run"]
