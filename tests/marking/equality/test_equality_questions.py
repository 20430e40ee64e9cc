"""What the problem says decides: the unit it asks for, its choices."""

import pytest

from markscheme.marking import mark
from markscheme.marking.equality import compare
from markscheme.marking.equality.units import unit_asked
from markscheme.types import Problem

CHOICES = {"A": "12", "B": r"\frac12", "C": "no", "D": "cannot be determined"}


@pytest.mark.parametrize(
    ("answer", "gold", "unit", "equal"),
    [
        ("$0.25", "25", "cents", True),
        ("2 hours", "120", "minutes", True),
        ("25 cents", "0.25", "dollars", True),
        ("$0.25", "26", "cents", False),
        ("2 hours", "2.5", "minutes", False),
        ("3 kg", "300", "centimeters", False),
    ],
)
def test_amount_when_another_unit_is_asked_for_then_is_converted(answer, gold, unit, equal):
    result = compare(answer, gold, unit=unit)
    assert result.equal is equal
    assert result.flags == (("unit converted",) if equal else ())


@pytest.mark.parametrize(
    ("statement", "unit"),
    [
        ("How many cents does a stamp cost?", "cents"),
        ("Give the time in minutes.", "minutes"),
        ("How many stamps does she buy?", ""),
        ("A film of 2 hours: how many minutes, and how many seconds?", ""),
    ],
)
def test_unit_when_the_statement_names_one_then_it_is_that_one(statement, unit):
    assert unit_asked(statement) == unit


def test_mark_when_the_problem_asks_for_cents_then_dollars_are_converted():
    problem = Problem(id="stamp", statement="How many cents does a stamp cost?", gold="25")
    assert mark(r"It costs \boxed{\$0.25}.", problem).correct
    assert not mark(r"It costs \boxed{\$0.35}.", problem).correct


@pytest.mark.parametrize(
    ("answer", "gold", "equal"),
    [
        ("B", "0.5", True),
        ("0.5", "B", True),
        ("(B)", "B", True),
        ("b", "B", True),
        ("A) 12", "A", True),
        ("12", "A", True),
        ("not enough information", "D", True),
        ("12", "B", False),
        ("C", "B", False),
        ("C", "12", False),
        ("13", "A", False),
    ],
)
def test_choice_when_the_problem_has_choices_then_letter_text_and_value_agree(answer, gold, equal):
    assert (compare(answer, gold, choices=CHOICES).equal is True) is equal
