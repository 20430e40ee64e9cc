"""The nouns: what a run folder's lines are made of."""

import msgspec

import markscheme as ms
from markscheme.types import CountdownGold, Response


def test_problem_key_when_id_changes_then_stays():
    a = ms.Problem(id="1", statement="1+1?", gold="2")
    b = ms.Problem(id="other", statement="1+1?", gold="2", metadata={"level": 5})
    assert a.key == b.key
    assert len(a.key) == 16


def test_problem_key_when_gold_changes_then_changes():
    a = ms.Problem(id="1", statement="s", gold=CountdownGold(nums=(1, 2), target=3))
    b = ms.Problem(id="1", statement="s", gold=CountdownGold(nums=(1, 2), target=4))
    assert a.key != b.key


def test_problem_when_written_and_read_then_equal():
    problem = ms.Problem(id="1", statement="s", gold=CountdownGold(nums=(1, 2), target=3), protocol="countdown")
    line = msgspec.json.encode(problem)
    assert msgspec.json.decode(line, type=ms.Problem) == problem


def test_response_when_line_has_unknown_field_then_still_read():
    line = b'{"key":"k","sample":0,"text":"hi","from_the_future":[1]}'
    assert msgspec.json.decode(line, type=Response).text == "hi"


def test_mark_score_when_error_then_missing_not_zero():
    assert ms.Mark(verdict=ms.Verdict.ERROR).score is None
    assert ms.Mark(verdict=ms.Verdict.WRONG).score == 0.0
    assert ms.Mark(verdict=ms.Verdict.CORRECT).score == 1.0
