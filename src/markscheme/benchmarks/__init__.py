"""What is asked: the benchmarks, their problems and prompts."""

from markscheme.benchmarks.base import Benchmark, Part
from markscheme.benchmarks.registry import BENCHMARKS, benchmark, expand

__all__ = ["BENCHMARKS", "Benchmark", "Part", "benchmark", "expand"]
