"""`from benchmarks.gsm8k.gsm8k_benchmark import GSM8KBenchmark`."""

from pathlib import Path

from markscheme.plugins.doors.gsm8k import EvaluationResult, Task
from markscheme.plugins.doors.gsm8k import GSM8KBenchmark as _GSM8KBenchmark
from markscheme.plugins.one_sentence import speak_plainly

__all__ = ["EvaluationResult", "GSM8KBenchmark", "Task"]

speak_plainly()


class GSM8KBenchmark(_GSM8KBenchmark):
    """Tasks from `data/test.jsonl` beside this file, else the official data, else the placeholders beside this file."""

    beside = Path(__file__).parent / "data"
