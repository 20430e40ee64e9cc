"""Counting verdicts per problem."""

from dataclasses import replace

import pytest

from markscheme.errors import UsageError
from markscheme.statistics import Round, from_correct, tally
from markscheme.types import Verdict

PAIRS = [
    ("a", Verdict.CORRECT),
    ("b", Verdict.WRONG),
    ("a", Verdict.TRUNCATED),
    ("a", Verdict.CORRECT),
    ("b", Verdict.ERROR),
    ("c", Verdict.ERROR),
]


def test_tally_when_responses_arrive_in_any_order_then_counts_are_the_same():
    forward, backward = tally(PAIRS), tally(reversed(PAIRS))
    assert forward.keys == ("a", "b", "c")
    assert (backward.select(forward.keys).table == forward.table).all()


def test_tally_when_a_response_is_an_error_then_it_is_no_sample():
    counts = tally(PAIRS)
    assert counts.n.tolist() == [3, 1, 0]
    assert counts.c.tolist() == [2, 0, 0]
    assert counts.totals()[Verdict.ERROR] == 2


def test_tally_when_keys_are_named_then_order_holds_and_silent_problems_stay():
    counts = tally(PAIRS, keys=["z", "b"])
    assert counts.keys == ("z", "b", "a", "c")
    assert counts.n.tolist() == [0, 1, 3, 0]


def test_of_when_another_verdict_is_counted_then_errors_are_of_what_was_asked():
    counts = tally(PAIRS)
    truncated = counts.of(Verdict.TRUNCATED)
    assert (truncated.c.tolist(), truncated.n.tolist()) == ([1, 0, 0], [3, 1, 0])
    errors = counts.of(Verdict.ERROR)
    assert (errors.c.tolist(), errors.n.tolist()) == ([0, 1, 1], [3, 2, 1])


def test_missing_when_samples_were_asked_then_what_did_not_come_back():
    counts = replace(from_correct([3, 1, 0], [2, 1, 0], "abc"), asked=(4, 4, 4))
    assert counts.missing.tolist() == [1, 3, 4]
    assert counts.select(["c", "a"]).missing.tolist() == [4, 1]


def test_by_when_problems_have_labels_then_split_and_unlabelled_left_out():
    parts = tally(PAIRS).by({"a": "Algebra", "b": "Geometry"})
    assert list(parts) == ["Algebra", "Geometry"]
    assert parts["Algebra"].keys == ("a",)
    assert parts["Geometry"].n.tolist() == [1]


def test_select_when_a_problem_is_unknown_then_it_is_named():
    with pytest.raises(UsageError, match="'nobody'"):
        tally(PAIRS).select(["a", "nobody"])


def test_from_correct_when_counts_contradict_then_refused():
    assert from_correct([4, 2], [1, 2]).c.tolist() == [1, 2]
    with pytest.raises(UsageError, match="between 0 and"):
        from_correct([4], [5])
    with pytest.raises(UsageError, match="one entry per problem"):
        from_correct([4, 4], [1])


def test_filled_in_when_samples_are_missing_then_wrong_or_right_and_nothing_is_missing():
    rounds = (Round(2, (2, 2), (1, 2)), Round(2, (2, 1), (0, 1)))
    counts = replace(from_correct([4, 3], [1, 3], "ab"), asked=(4, 6), rounds=rounds)
    wrong, right = counts.filled_in(right=False), counts.filled_in(right=True)
    assert (wrong.n.tolist(), wrong.c.tolist(), right.c.tolist()) == ([4, 6], [1, 3], [1, 6])
    assert (wrong.rounds[1], right.rounds[1]) == (Round(2, (2, 4), (0, 1)), Round(2, (2, 4), (0, 4)))
    assert not wrong.missing.any()
