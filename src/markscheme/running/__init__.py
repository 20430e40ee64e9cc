"""Asks every (problem, sample) exactly once and keeps what comes back."""

from markscheme.running.execute import execute, resume, run

__all__ = ["execute", "resume", "run"]
