"""GSM8K as a benchmark class, with a script that asks a model."""

from benchmarks.gsm8k.gsm8k_benchmark import GSM8KBenchmark

__all__ = ["GSM8KBenchmark"]
