"""An answer that restates the problem: which formulas of a statement count, and what boxing them earns on MATH-500."""

import json
import re

import pytest

from markscheme.marking.equality import compare
from markscheme.marking.restating import asks_to_work_out, is_same_writing, restates

FORMULA = re.compile(r"(?<!\\)\$((?:\\.|[^$\\])+)\$")


def earns(answer, problem):
    """The rule for a protocol: restated and not written like the gold is not correct."""
    statement, gold = problem["problem"], problem["answer"]
    restated = restates(answer, statement) and asks_to_work_out(statement) and not is_same_writing(answer, gold)
    return compare(answer, gold).equal is True and not restated


@pytest.fixture(scope="module")
def problems(real_data):
    return [json.loads(line) for line in (real_data / "math500" / "test.jsonl").read_text("utf-8").splitlines()]


def test_last_formula_of_the_question_when_boxed_then_earns_only_where_it_is_the_answer(problems):
    boxed = [(found[-1], problem) for problem in problems if (found := FORMULA.findall(problem["problem"]))]
    assert len(boxed) > 380
    assert {formula for formula, problem in boxed if earns(formula, problem)} == {r"\sqrt{53}", "6"}


def test_every_gold_when_boxed_then_stays_correct(problems):
    assert [p["answer"] for p in problems if not earns(p["answer"], p) or not earns(f"$ {p['answer']} $", p)] == []


@pytest.mark.parametrize(
    ("answer", "statement", "expected"),
    [
        (r"\sqrt{ 242 }", r"Simplify \(\sqrt{242}\).", True),
        (r"$\left(\dfrac12\right)^3$", r"What is $(\frac{1}{2})^3$?", True),
        ("99^2 + 99 + 1", "Compute 99^2+99+1 in your head.", True),
        (r"\frac{x}{2}", r"Find the inverse of $f(x) = \dfrac{x}{2}$.", True),
        ("180 minutes", "Convert 180 minutes to hours.", True),
        ("What is the value of 5 + 3", "What is the value of 5+3?", True),
        ("x+1", "Expand $(x+1)^2$.", False),
        ("3", "There are 30 cats.", False),
        ("", "Find $x$.", False),
        ("8", "What is the value of $5+3$?", False),
    ],
)
def test_restates_when_given_an_answer_and_a_statement_then_finds_whole_formulas(answer, statement, expected):
    assert restates(answer, statement) is expected


@pytest.mark.parametrize(
    ("answer", "gold", "expected"),
    [
        (r"\dfrac12", r"\frac{1}{2}", True),
        ("1/2", r"\frac{1}{2}", True),
        ("x = 5.00", "5", True),
        (r"\$1,000", "1000", True),
        ("Odd", r"odd", True),
        ("0.5", "1/2", False),
        ("100", "1", False),
        ("x^{2+1}", "x^2+1", False),
        ("6+9i", "(1+2i)6-3i", False),
    ],
)
def test_writing_when_only_the_layout_differs_then_is_the_same(answer, gold, expected):
    assert is_same_writing(answer, gold) is expected


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("Factor $ab+a$.", True),
        ("What is 3+4?", True),
        ("Which of $1/2$ and $1/3$ is larger?", False),
        ("Let $x=1$.", False),
    ],
)
def test_statement_when_it_asks_for_work_then_is_known(statement, expected):
    assert asks_to_work_out(statement) is expected
