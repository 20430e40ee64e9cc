"""Asks, retries, keeps: from questions to a complete run folder."""

from markscheme.running.execute import Display, execute, resume

__all__ = ["Display", "execute", "resume"]
