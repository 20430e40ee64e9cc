"""Every case of cases/*.jsonl: {response, gold, protocol, verdict, source}, and optionally {statement, choices,
finish_reason}.

A report of a wrong verdict becomes one more line.
"""

import json
from collections import defaultdict
from pathlib import Path

import pytest

from markscheme.marking import mark
from markscheme.types import Problem, Response

CASES = defaultdict(list)
for path in sorted((Path(__file__).parent / "cases").glob("*.jsonl")):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        case = json.loads(line)
        CASES[path.stem, case["protocol"]].append((f"{path.name}:{number}", case))


@pytest.mark.parametrize(("file", "protocol"), CASES)
def test_mark_on_recorded_cases_gives_the_recorded_verdicts(file, protocol):
    wrong = []
    for place, case in CASES[file, protocol]:
        asked = {key: case[key] for key in ("statement", "choices") if key in case}
        problem = Problem(id="1", **{"statement": "", **asked}, gold=case["gold"]) if asked else None
        response = case["response"]
        if "finish_reason" in case:
            response = Response(key="1", sample=0, text=response, finish_reason=case["finish_reason"])
        found = mark(response, problem, gold=case["gold"], protocol=protocol)
        inside = found.span is None or 0 <= found.span[0] <= found.span[1] <= len(case["response"])
        if found.verdict != case["verdict"] or not inside:
            wrong.append((place, case["response"], case["gold"], found))
    assert not wrong
