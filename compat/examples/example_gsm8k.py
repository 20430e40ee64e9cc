"""`python examples/example_gsm8k.py [ANSWERS.jsonl]`: the score of a file of answers, with its interval."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.gsm8k.gsm8k_benchmark import GSM8KBenchmark

from markscheme.plugins.doors.gsm8k_answers import score

if __name__ == "__main__":
    raise SystemExit(score(GSM8KBenchmark, Path(__file__).parents[1] / "benchmarks" / "gsm8k" / "data"))
