"""gsm8k-sample and its few-shot pool: every gold follows from its statement, every worked solution adds up."""

import ast
import operator
import re
from fractions import Fraction

import confirm_gsm8k_fewshot
import confirm_gsm8k_first
import confirm_gsm8k_second
import pytest
from sample_files import number, numerals, rows

EVALUATION = rows("gsm8k-sample")
POOL = rows("gsm8k-sample-fewshot")
ROWS = EVALUATION + POOL
CONFIRM = confirm_gsm8k_first.CONFIRM | confirm_gsm8k_second.CONFIRM | confirm_gsm8k_fewshot.CONFIRM

NOTE = re.compile(r"<<([^<>=]+)=([^<>=]+)>>(-?[\d,./]*\d)")
OPERATIONS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}

each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])


def gold(answer: str) -> int | Fraction:
    """The number on the last line of a worked solution."""
    last = answer.splitlines()[-1]
    assert re.fullmatch(r"#### -?(\d+|\d{1,3}(,\d{3})+)", last), last
    return number(last.removeprefix("#### "))


def exact(arithmetic: str) -> Fraction:
    """The value of a calculator note's side, in exact fractions."""

    def value(node: ast.expr) -> Fraction:
        if isinstance(node, ast.Constant):
            return Fraction(ast.get_source_segment(arithmetic, node) or "")
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -value(node.operand)
        assert isinstance(node, ast.BinOp), arithmetic
        return OPERATIONS[type(node.op)](value(node.left), value(node.right))

    return value(ast.parse(arithmetic, mode="eval").body)


def computed(row) -> int | Fraction:
    """The answer worked out from the statement's own numbers."""
    return CONFIRM[row["id"]](*numerals(row["question"]))


def test_sample_files_when_read_then_rows_have_gsm8k_fields_and_running_ids():
    assert len(EVALUATION) >= 48
    assert len(POOL) == 12
    assert [row["id"] for row in EVALUATION] == [f"gsm8k-sample/{n:03d}" for n in range(1, len(EVALUATION) + 1)]
    assert [row["id"] for row in POOL] == [f"gsm8k-sample-fewshot/{n:03d}" for n in range(1, len(POOL) + 1)]
    for row in ROWS:
        assert set(row) == {"id", "question", "answer"}
        assert row["question"] == row["question"].strip()
        assert row["answer"].count("####") == 1


def test_confirmations_when_compared_with_rows_then_cover_each_id():
    assert set(CONFIRM) == {row["id"] for row in ROWS}


@each_row
def test_gold_when_worked_out_from_statement_then_equal(row):
    assert computed(row) == gold(row["answer"])


@each_row
def test_gold_when_changed_then_no_longer_confirmed(row):
    body, _, last = row["answer"].rpartition("\n")
    value = gold(last)
    for wrong in (value + 1, value * 10 + 7, -value - 1):
        assert computed(row) != gold(f"{body}\n#### {wrong}")


@each_row
def test_calculator_notes_when_evaluated_then_true_and_repeated_in_the_text(row):
    notes = NOTE.findall(row["answer"])
    assert notes
    assert len(notes) == row["answer"].count("<<") == row["answer"].count(">>")
    for left, right, shown in notes:
        assert exact(left) == exact(right), f"{left} is not {right}"
        assert number(shown) == exact(right), f"<<{left}={right}>> is followed by {shown}"


@each_row
def test_calculator_notes_when_read_with_their_sentence_then_say_the_same(row):
    """`14 * 14 = <<14*14=196>>196`: what stands before a note is the note's own left side, and spells no other sum."""
    for before, left in re.findall(r"([-\d(][-\d.,+*/() ]*) = \$?<<([^<>=]+)=", row["answer"]):
        assert before.replace(" ", "") == left


def test_exact_when_note_is_false_then_sides_differ():
    assert exact("3/4+3/8") == exact("9/8") == Fraction(9, 8)
    assert exact("6-15") == exact("-9") == -9
    assert exact("17*1.5") != exact("25.4")


def test_golds_when_counted_then_cover_large_comma_and_negative_answers():
    last_lines = [row["answer"].splitlines()[-1] for row in EVALUATION]
    values = [gold(line) for line in last_lines]
    assert sum("," in line for line in last_lines) >= 2
    assert sum(value > 1000 for value in values) >= 6
    assert sum(value < 0 for value in values) == 2
    assert len(set(values)) >= 40


def test_pool_when_compared_with_evaluation_then_shares_no_question():
    questions = [row["question"] for row in ROWS]
    assert len(set(questions)) == len(questions)
