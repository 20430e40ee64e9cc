"""The real GSM8K test questions where the data is, else the packaged sample."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from markscheme.benchmarks import benchmark
from markscheme.errors import DataError
from markscheme.types import Question


class Asked(NamedTuple):
    """A benchmark's name, its questions, and the folder its data came from."""

    benchmark: str
    questions: list[Question]
    data_dir: str


def gsm8k() -> Asked:
    """What every harness is asked."""
    data_dir = os.environ.get("MARKSCHEME_DATA", str(Path(__file__).parents[2] / "shared" / "data"))
    try:
        bench = benchmark("gsm8k", data_dir)
        return Asked(bench.name, bench.questions(), data_dir)
    except DataError:
        print("no official GSM8K here: the packaged sample stands in")
        return sample()


def sample() -> Asked:
    """The packaged questions, which are few."""
    bench = benchmark("gsm8k-sample")
    return Asked(bench.name, bench.questions(), "")
