"""Every case of cases/*.jsonl: {response, gold, protocol, verdict, source}, and where they matter {statement, choices,
finish_reason}.

A new report is one more line.
"""

import json
from pathlib import Path

import pytest

from markscheme.marking import mark
from markscheme.types import Problem, Response

CASES = [
    (f"{path.stem}:{number}", json.loads(line))
    for path in sorted((Path(__file__).parent / "cases").glob("*.jsonl"))
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
]


@pytest.mark.parametrize("case", [case for _, case in CASES], ids=[name for name, _ in CASES])
def test_mark_on_a_recorded_case_gives_the_recorded_verdict(case):
    asked = {key: case[key] for key in ("statement", "choices") if key in case}
    problem = Problem(id="1", **{"statement": "", **asked}, gold=case["gold"]) if asked else None
    response = case["response"]
    if "finish_reason" in case:
        response = Response(key="1", sample=0, text=response, finish_reason=case["finish_reason"])
    found = mark(response, problem, gold=case["gold"], protocol=case["protocol"])
    assert found.verdict == case["verdict"], (case["response"], case["gold"], found)
    if found.span is not None:
        assert 0 <= found.span[0] <= found.span[1] <= len(case["response"])
