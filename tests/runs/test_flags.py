"""Flags are found wherever they stand in the file of marks, also across two pieces of it."""

import pytest

from markscheme.runs import answers


@pytest.mark.parametrize("before", range(12))
def test_word_when_it_stands_across_two_pieces_then_it_is_found(tmp_path, monkeypatch, before):
    monkeypatch.setattr(answers, "PIECE", 10)
    file = tmp_path / "marks.jsonl"
    file.write_text("x" * before + '"refusal"' + "y" * 30)
    assert answers._mentions(file, ("refusal", "empty reply"))
    assert not answers._mentions(file, ("tool call only",))
    assert not answers._mentions(tmp_path / "nowhere.jsonl", ("refusal",))
