"""aime-sample: integer golds from 0 to 999, each worked out again by brute force or exactly."""

from functools import cache
from typing import Any

import confirm_aime_first
import confirm_aime_second
import pytest
from sample_files import missing_numerals, rows

ROWS = rows("aime-sample")
CONFIRM = confirm_aime_first.CONFIRM | confirm_aime_second.CONFIRM

each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])


@cache
def computed(row_id: str) -> Any:
    return CONFIRM[row_id]()


def test_sample_file_when_read_then_rows_have_aime_fields_and_running_numbers():
    assert len(ROWS) >= 30
    for number, row in enumerate(ROWS, 1):
        assert set(row) == {"id", "problem_idx", "problem", "answer"}
        assert row["problem_idx"] == number
        assert row["id"] == f"aime-sample/{number:02d}"
        assert type(row["answer"]) is int
        assert 0 <= row["answer"] <= 999
        assert row["problem"].count("$") % 2 == 0
    assert len({row["problem"] for row in ROWS}) == len(ROWS)


def test_golds_when_counted_then_have_zero_and_one_two_and_three_digits():
    golds = [row["answer"] for row in ROWS]
    assert golds.count(0) == 1
    for digits, at_least in {1: 3, 2: 8, 3: 15}.items():
        assert sum(len(str(gold)) == digits for gold in golds) >= at_least
    assert len(set(golds)) == len(golds)


def test_confirmations_when_compared_with_rows_then_cover_each_id():
    assert set(CONFIRM) == {row["id"] for row in ROWS}


@each_row
def test_gold_when_worked_out_independently_then_equal(row):
    assert computed(row["id"]) == row["answer"]


@each_row
def test_gold_when_changed_then_no_longer_confirmed(row):
    assert computed(row["id"]) != row["answer"] + 1
    assert computed(row["id"]) != int(f"1{row['answer']}")


@each_row
def test_confirmation_when_statement_is_edited_then_noticed(row):
    """A number that is changed in the statement alone leaves the confirmation without it."""
    assert missing_numerals(row["problem"], CONFIRM[row["id"]]) == set()


def test_missing_numerals_when_one_number_is_edited_then_named():
    statement = ROWS[0]["problem"]
    assert missing_numerals(statement.replace("19", "17"), CONFIRM["aime-sample/01"]) == {"17"}
