"""Judging answers: right, wrong or against the rules, with a reason a person can check."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markscheme.countdown import judge, strip_target_side

NUMS, TARGET = (3, 5, 2), 16


@pytest.mark.parametrize(
    "answer",
    [
        "(3+5)*2",
        "2(3+5)",
        "(3+5)*2 = 16",
        "16 = 2 * (5 + 3)",
        "(3+5)*2 == 16",
        "(3+5)*2＝16",
        "(3+5)*2 =",
        "(3+5)*2 = 8*2 = 16",
        "16 = 8*2 = (3+5)*2",
        r"$(3+5) \times 2 = 16$",
        r"\[ 2 \cdot [3+5] = 16 \]",
        "(3 + 5) × 2.",
        "(3+5)*2 = (16)",
        "(3+5)\n*2",
        "-2*(-3-5)",
    ],
)
def test_judge_when_the_answer_is_right_in_any_notation_then_correct(answer):
    judgement = judge(answer, NUMS, TARGET)
    assert (judgement.ok, judgement.kind, judgement.why) == (True, "correct", "")
    assert judgement.value == 16


@pytest.mark.parametrize(
    ("answer", "kind", "why"),
    [
        ("3+5*2", "wrong", "gives 13, not 16"),
        ("3+5*2 = 16", "wrong", "gives 13, not 16"),
        ("3/5*2", "wrong", "gives 6/5, not 16"),
        ("(3+5)*2 = 15", "wrong", "gives 16, but says 15"),
        ("(3+5)*2 = 9*2 = 16", "wrong", "gives 16, but says 18"),
        ("(3+5)*2+2-2", "malformed", "2 used 3 times"),
        ("(3+5)*5", "malformed", "5 used twice; 2 is not used"),
        ("(3+5)*2*1", "malformed", "1 is not one of the numbers"),
        ("3+5", "malformed", "2 is not used"),
        ("35-2", "malformed", "35 is not one of the numbers; 3 is not used; 5 is not used"),
        (
            "1+1+4+6",
            "malformed",
            "1 is not one of the numbers; 4 is not one of the numbers; 6 is not one of the numbers; …",
        ),
        ("16", "malformed", "16 is not one of the numbers; 3 is not used; 5 is not used; …"),
        ("2**3", "malformed", "'**' is not allowed"),
        ("3.5*2", "malformed", "'3.5' is not a whole number"),
        ("3/(5-5)", "malformed", "division by zero"),
        ("", "malformed", "there is no expression"),
        ("= 16 =", "malformed", "16 is not one of the numbers; 3 is not used; 5 is not used; …"),
        ("===", "malformed", "there is no expression"),
        ("x = (3+5)*2", "malformed", "there is nothing before 'x'"),
        ("1=" * 21 + "1", "malformed", "more than 20 equals signs"),
    ],
)
def test_judge_when_the_answer_fails_then_says_how(answer, kind, why):
    judgement = judge(answer, NUMS, TARGET)
    assert (judgement.kind, judgement.why) == (kind, why)
    assert not judgement.ok


@pytest.mark.parametrize(
    ("answer", "nums", "why"),
    [
        ("18+18+1", [18, 1], "18 used twice"),
        ("7+7+7", [7, 7], "7 used 3 times, given twice"),
        ("7+1", [7, 7, 1], "7 used once, given twice"),
    ],
)
def test_judge_when_numbers_repeat_then_counts_them(answer, nums, why):
    assert judge(answer, nums, 46).why == why


def test_judge_when_a_scorer_elsewhere_was_fooled_then_is_not():
    assert judge("2**3", [3, 2], 8).kind == "malformed"
    assert judge("7//2", [7, 2], 3).kind == "malformed"
    assert judge("1/(1000*1000)", [1, 1000, 1000], 0).kind == "wrong"  # a tolerance of 1e-5 calls it 0
    assert judge("9**9**9", [9, 9, 9], 9).kind == "malformed"


def test_judge_when_target_is_negative_or_among_the_numbers_then_still_judged():
    assert judge("3-5 = -2", [3, 5], -2).ok
    assert judge("46*1 = 46", [46, 1], 46).ok
    assert judge("46 = 46", [46], 46).ok


def test_judge_when_wrong_then_value_and_plain_form_are_kept():
    judgement = judge(r"\frac{3}{5} \times 2 = 16", NUMS, TARGET)
    assert (judgement.value, judgement.expression) == (Fraction(6, 5), "3 / 5 * 2")


@pytest.mark.parametrize("answer", ["1" * 200_000, "(" * 200_000, "=" * 99_000, "3=" * 49_000, "-" * 99_999])
def test_judge_when_hostile_then_malformed(answer):
    assert judge(answer, NUMS, TARGET).kind == "malformed"


@settings(max_examples=200)
@given(st.text(alphabet="352+-*/()= 16\\×", max_size=30) | st.text(max_size=30))
def test_judge_when_any_text_then_a_judgement(answer):
    judgement = judge(answer, NUMS, TARGET)
    assert judgement.ok == (judgement.why == "")
    if judgement.ok:
        assert judgement.value == TARGET
        assert judge(judgement.expression, NUMS, TARGET).ok


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        ("2*(3+5) = 16", "2*(3+5)"),
        ("16 = 2*(3+5)", "2*(3+5)"),
        ("2*(3+5)", "2*(3+5)"),
        ("2*(3+5) = 15", "2*(3+5) = 15"),
        ("16 = 16", "16"),
    ],
)
def test_strip_target_side_when_given_an_equation_then_drops_only_the_target(answer, left):
    assert strip_target_side(answer, 16) == left
