"""The reader does not know the gold: the extracted answer is the same for every gold of the same kind."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markscheme.marking import get_protocol, mark

GOLDS = {
    "values": ("5", "-3", "1000", "\\frac{1}{2}", "x^2+1", "(1,2)", "12\\text{ cm}", "\\sqrt{53}", "0.5", "\\{1, 3\\}"),
    "letters": ("A", "B", "C", "D", "(E)", "AC"),
    "small letters": ("a", "b", "e"),
    "yes or no": ("yes", "no"),
    "true or false": ("True", "False"),
    "days": ("Monday", "Tuesday", "Friday"),
    "words": ("moss", "the empty set", "a wall of stone"),
}
CASES = Path(__file__).parent.parent / "cases"
RESPONSES = sorted(
    {
        row["response"]
        for name in ("conclusions", "endings", "forms", "prose", "reading", "disagreements")
        for row in map(json.loads, (CASES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines())
        if isinstance(row.get("response"), str) and row["protocol"] != "countdown"
    }
)
BEGINNINGS = ("We add 3 and 4. ", "<think>It may be 5.</think>", "A is wrong. ", "If x is 2, then y is 9, but ", "")
FRAMES = (
    "The answer is {}.", "It is not {}.", "\\boxed{{{}}}", "**{}**", "#### {}", "{} is wrong.", "Perhaps it is {}.",
    "At least {}.", "<answer>{}</answer>", "Is it {}?", "Wait, it is {}.", "Die Antwort ist {}.", "答案是{}。", "{}",
)  # fmt: skip
SAID = (
    "5",
    "B",
    "yes",
    "$x^2+1$",
    "3 or 4",
    "Monday",
    "moss",
    "\\frac{1}{2}",
    "twice 7",
    "seven",
    "(A) and (C)",
    "False",
)


def answers(response, golds, protocol="math"):
    """What is extracted from a response, beside each gold."""
    marks = [mark(response, gold=gold, protocol=protocol) for gold in golds]
    return {(each.answer, each.span) for each in marks}


@pytest.mark.parametrize("kind", GOLDS)
def test_golds_of_a_kind_when_asked_for_then_the_reader_is_told_the_same(kind):
    asks = get_protocol("math").asks
    assert asks is not None
    assert len({asks(gold) for gold in GOLDS[kind]}) == 1


@pytest.mark.parametrize("kind", GOLDS)
def test_recorded_response_when_marked_beside_golds_of_a_kind_then_gives_one_answer(kind):
    for response in random.Random(5).sample(RESPONSES, 100):
        assert len(answers(response, GOLDS[kind][:3])) == 1, response


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(st.sampled_from(BEGINNINGS), st.sampled_from(FRAMES), st.sampled_from(SAID)), min_size=1, max_size=3
    ),
    st.sampled_from(sorted(GOLDS)),
)
def test_response_of_many_statements_when_marked_beside_golds_of_a_kind_then_gives_one_answer(parts, kind):
    response = "\n".join(beginning + frame.format(said) for beginning, frame, said in parts)
    assert len(answers(response, GOLDS[kind])) == 1


@pytest.mark.parametrize("protocol", ["aime", "gsm8k-numeric"])
def test_recorded_response_when_marked_by_number_then_gives_one_answer_beside_any_gold(protocol):
    for response in random.Random(7).sample(RESPONSES, 100):
        assert len(answers(response, ("5", "18", "999", "42"), protocol)) == 1, response
