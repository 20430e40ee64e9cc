"""Benchmarks: their problems, prompts and defaults. Each is one small file, in `shipped/` or the user's own."""

from markscheme.benchmarks.benchmark import Benchmark
from markscheme.benchmarks.registry import benchmark, benchmarks, expand, with_examples

__all__ = ["Benchmark", "benchmark", "benchmarks", "expand", "with_examples"]
