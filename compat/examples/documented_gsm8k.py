"""`python examples/documented_gsm8k.py`: the example of the documentation, with the scores that it promises.

The documented task `0000` asks for 30 cups. It is not the first task of the official data, so it has a folder of its own.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.gsm8k import GSM8KBenchmark

if __name__ == "__main__":
    benchmark = GSM8KBenchmark(ROOT / "benchmarks" / "gsm8k" / "data" / "documented")
    for output in ("Ten cups a day, so 10 * 3 = 30.\n#### 30", "The answer is 30", "They need 30 cups.\n#### 30"):
        result = benchmark.evaluate("0000", output)
        print(f"{result.score:.1f}  {result.score_explanation}")
