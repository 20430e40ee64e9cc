"""Asks every (problem, sample) exactly once and keeps what comes back."""

from markscheme.running.api import new_folder, run
from markscheme.running.execute import Display, execute, resume

__all__ = ["Display", "execute", "new_folder", "resume", "run"]
