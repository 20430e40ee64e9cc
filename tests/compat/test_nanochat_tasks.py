"""nanochat's AIME tasks as classes, for training and evaluation."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nanochat_files import make_contests

from markscheme.errors import UsageError
from markscheme.marking import mark

BOXES = [
    # completion, by the original's letter, by `aime`
    (r"so \boxed{73}", 1, 1),
    (r"\boxed{ 73 }", 1, 1),
    (r"\boxed {73}", 0, 1),
    (r"\boxed{\textbf{73}}", 0, 1),
    (r"\boxed{12}, no: \boxed{73}", 1, 1),
    (r"\boxed{073}", 0, 1),
    (r"\boxed{73", 0, 1),
    (r"<think>\boxed{73}</think> I am not sure.", 1, 0),
    ("73", 0, 1),
    ("", 0, 0),
    ("\\boxed{" * 3000, 0, 0),
    (r"\boxed{}73", 0, 1),
]


@pytest.fixture
def contests(in_compat, tmp_path, monkeypatch):
    monkeypatch.setenv("MARKSCHEME_DATA", str(make_contests(tmp_path / "data")))


def test_tasks_when_nothing_is_preprocessed_then_from_the_data_folder(contests):
    from tasks.aime_2024 import AIME2024, AIME2024I, AIME2024II
    from tasks.aime_2025 import AIME2025

    assert [len(task()) for task in (AIME2024I, AIME2024II, AIME2024, AIME2025)] == [15, 15, 30, 30]
    conversation = AIME2024II()[6]
    assert conversation["question_id"] == "aime_2024_II_7"
    assert conversation["messages"][0]["content"].endswith("put your final answer within \\boxed{}.")
    assert conversation["messages"][1] == {"role": "assistant", "content": conversation["answer"]}
    assert AIME2025(start=14, stop=20, step=3)[1]["question_id"] == "aime_2025_18"
    assert len(AIME2025(start=14, stop=20, step=3)) == 2
    with pytest.raises(UsageError, match="step"):
        AIME2024(step=0)


def test_tasks_when_files_were_preprocessed_then_those(contests, tmp_path, monkeypatch):
    from tasks import aime_2024

    row = {"question_id": "mine_1", "problem": "1 + 1?", "answer": "2"}
    (tmp_path / "aime_2024_I.jsonl").write_text(json.dumps(row) + "\n")
    monkeypatch.setattr(aime_2024.AIME2024I, "folder", tmp_path)
    assert [conversation["answer"] for conversation in (aime_2024.AIME2024I()[0],)] == ["2"]


@pytest.mark.parametrize(("completion", "letter", "ours"), BOXES)
def test_evaluate_when_a_box_is_oddly_written_then_the_originals_letter_unless_ours_is_asked_for(
    contests, completion, letter, ours
):
    from tasks.aime_2024 import AIME2024

    conversation = {"answer": "73"}
    assert AIME2024().evaluate(conversation, completion) == letter
    assert AIME2024(protocol="aime").evaluate(conversation, completion) == ours


@given(
    st.lists(st.sampled_from(["\\boxed{", "}", "{", "73", " ", "\n", "\\boxed", "</think>", "12"]), max_size=12).map(
        "".join
    )
)
def test_letter_when_any_boxes_stand_anywhere_then_what_the_published_pattern_finds(completion):
    contents = re.findall(r"\\boxed\{([^}]+)\}", completion)
    expected = bool(contents) and contents[-1].strip() == "73"
    assert mark(completion, gold="73", protocol="nanochat-aime").correct == expected
