"""The shipped benchmarks ask what they asked when they were code: old runs must resume and compare.

`before.json` holds hashes of keys, data and prompts that were computed before benchmarks became files; Countdown's `plain` prompt got its
blank line later.
"""

import ast
import hashlib
import json
from pathlib import Path

import msgspec
import pytest

from markscheme.benchmarks import benchmark
from markscheme.prompts import prompts_sha256

BEFORE = json.loads((Path(__file__).parent / "before.json").read_text())


@pytest.mark.parametrize("name", BEFORE)
def test_benchmark_when_it_became_a_file_then_keys_data_and_prompts_stayed(name, real_data):
    bench, before = benchmark(name, real_data), BEFORE[name]
    assert len(bench.problems) == before["n"]
    assert hashlib.sha256("\n".join(problem.key for problem in bench.problems).encode()).hexdigest() == before["keys"]
    # `cluster` came later, and is no part of what is asked.
    plain = msgspec.json.encode([msgspec.structs.replace(problem, cluster=None) for problem in bench.problems])
    assert hashlib.sha256(plain).hexdigest() == before["problems"]
    assert [file.content_sha256 for file in bench.files] == before["files"]
    for way, sha256 in before["prompts"].items():
        variant, options = way.split(" ", 1)
        sent = bench.questions(variant=variant, **dict(ast.literal_eval(options)))
        assert prompts_sha256(question.prompt for question in sent) == sha256, way
