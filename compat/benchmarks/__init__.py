"""Benchmarks at the paths under which scripts import them."""
