"""Exact arithmetic: what an expression is, independent of how it was written."""
