"""`python benchmarks/gsm8k/run_gpt41_on_gsm8k.py`: GPT-4.1, or any model, on GSM8K or a random subset of it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.gsm8k.gsm8k_benchmark import GSM8KBenchmark
from markscheme.plugins.doors.gsm8k_answers import ask

if __name__ == "__main__":
    raise SystemExit(ask(GSM8KBenchmark, Path(__file__).parent / "data"))
