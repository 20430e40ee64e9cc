"""Counting verdicts per problem."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import markscheme as ms
from markscheme.errors import UsageError
from markscheme.statistics import from_correct, tally, tally_codes, tally_marks
from markscheme.statistics.counts import VERDICTS
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
    assert counts.errors == 2


def test_tally_when_keys_are_named_then_order_holds_and_silent_problems_stay():
    counts = tally(PAIRS, keys=["z", "b"])
    assert counts.keys == ("z", "b", "a", "c")
    assert counts.n.tolist() == [0, 1, 3, 0]


def test_tally_marks_when_given_marks_then_same_as_pairs():
    marks = [ms.Mark(key=key, verdict=verdict) for key, verdict in PAIRS]
    assert (tally_marks(marks).table == tally(PAIRS).table).all()


def test_of_when_another_verdict_is_counted_then_errors_are_of_what_was_asked():
    counts = tally(PAIRS)
    truncated = counts.of(Verdict.TRUNCATED)
    assert (truncated.c.tolist(), truncated.n.tolist()) == ([1, 0, 0], [3, 1, 0])
    errors = counts.of(Verdict.ERROR)
    assert (errors.c.tolist(), errors.n.tolist()) == ([0, 1, 1], [3, 2, 1])


def test_missing_when_samples_were_asked_then_what_did_not_come_back():
    codes = {"a": bytes([1, 1, 0, 2]), "b": bytes([1])}
    counts = tally_codes(codes, ["a", "b", "c"], samples=4)
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


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(VERDICTS)), max_size=40))
@settings(max_examples=60, deadline=None)
def test_tally_codes_when_given_a_byte_per_sample_then_the_counts_of_single_marks(pairs):
    codes = {}
    for key, verdict in pairs:
        codes.setdefault(key, bytearray([0])).append(VERDICTS.index(verdict) + 1)  # sample 0 never came
    found, expected = tally_codes(codes, list("abc")), tally(pairs, "abc")
    assert found.keys == expected.keys
    assert found.table.tolist() == expected.table.tolist()
