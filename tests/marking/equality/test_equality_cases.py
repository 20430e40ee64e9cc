"""Every labelled pair: `cases.jsonl` (a report of a wrong verdict becomes one more line there) and `rewritings.jsonl`,
which holds ways to write a gold and near misses of it."""

import json
from collections import defaultdict
from pathlib import Path

import pytest

from markscheme.marking.equality import compare, equal

CASES = [json.loads(line) for line in (Path(__file__).parent / "cases.jsonl").read_text("utf-8").splitlines()]
CASES += [
    {"answer": answer, "gold": row["gold"], "equal": label == "right", "source": f"rewritings: {row['kind']}"}
    for row in map(json.loads, (Path(__file__).parent / "rewritings.jsonl").read_text("utf-8").splitlines())
    for label in ("right", "wrong")
    for answer in row[label]
]
BY_SOURCE = defaultdict(list)
for case in CASES:
    BY_SOURCE[case["source"]].append(case)


@pytest.mark.parametrize("source", BY_SOURCE)
def test_labelled_pairs_when_compared_then_get_their_label(source):
    wrong = []
    for case in BY_SOURCE[source]:
        found = compare(case["answer"], case["gold"])
        if (found.equal is True) != case["equal"]:
            wrong.append((case["answer"], case["gold"], found))
    assert not wrong


def test_wrong_answers_when_compared_then_never_equal_in_either_direction():
    accepted = [(c["answer"], c["gold"]) for c in CASES if not c["equal"] and equal(c["answer"], c["gold"])]
    assert not accepted


def test_any_answer_when_compared_with_itself_then_equal():
    unequal = [text for c in CASES for text in (c["answer"], c["gold"]) if not equal(text, f" {text} ")]
    assert not [t for t in unequal if t.strip() and not t.endswith("\\")]
