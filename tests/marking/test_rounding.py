"""A decimal equals an exact value only as far as the problem asks for rounding, and then the mark says so."""

import pytest

from markscheme.marking import mark
from markscheme.marking.reading.statement import places_asked
from markscheme.types import Problem


@pytest.mark.parametrize(
    ("statement", "places"),
    [
        ("Express your answer as a decimal to the nearest hundredth.", 2),
        ("Round to the nearest whole number.", 0),
        ("Give $x$ to the nearest tenth of an inch.", 1),
        ("Find the area, correct to two decimal places.", 2),
        ("Answer to 3 decimal places.", 3),
        ("Round your answer to the nearest $0.01$.", 2),
        ("Find the area.", None),
        ("Round to the nearest tenth of a percent.", None),
        ("Round to the nearest hundred.", None),
        ("In how many ways can 8 people sit around a round table?", None),
        ("Give it to the nearest tenth, then to two decimal places.", None),
    ],
)
def test_places_asked_on_a_statement_then_what_it_says_outright(statement, places):
    assert places_asked(statement) == places


@pytest.mark.parametrize(
    ("answer", "gold", "right"),
    [
        ("3.14", r"\pi", True),
        (r"x \approx 3.14", r"\pi", True),
        ("3.14 \\text{ cm}", r"\pi \text{ cm}", True),
        ("(3.14, 1.41)", r"(\pi, \sqrt{2})", True),
        ("3.1", r"\pi", False),
        ("3.15", r"\pi", False),
        ("3.1416", r"\pi", False),
        ("0.33", r"\frac{1}{3}", True),
        ("0.34", r"\frac{1}{3}", False),
        ("1.254", "1.25", False),
        (r"\frac{5}{4}", "1.25", True),
    ],
)
def test_a_rounded_answer_when_the_problem_asks_for_hundredths_then_right_to_the_hundredth(answer, gold, right):
    problem = Problem(id="1", statement="Find it to the nearest hundredth.", gold=gold)
    found = mark(f"\\boxed{{{answer}}}", problem)
    assert found.correct is right
    assert ("rounded" in found.flags) is (right and answer != r"\frac{5}{4}")


def test_a_rounded_answer_when_the_problem_does_not_ask_then_wrong():
    assert not mark("\\boxed{3.14}", Problem(id="1", statement="Find it.", gold=r"\pi")).correct
    assert not mark("\\boxed{3.14}", gold=r"\pi").correct
