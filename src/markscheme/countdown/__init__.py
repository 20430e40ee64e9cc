"""Countdown: exact expressions, exact solutions, fresh puzzles."""
