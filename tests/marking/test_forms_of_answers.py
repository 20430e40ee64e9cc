"""Forms of answers as properties: whatever the value, its form is found, and another value in that form is wrong."""

import json

from hypothesis import given
from hypothesis import strategies as st

from markscheme.marking import mark
from markscheme.marking.reading.ending import breaks_off
from markscheme.marking.reading.reader import read_answer
from markscheme.marking.reading.sections import read
from markscheme.marking.reading.values import LETTERS, TEXT, VALUE

VALUES = st.integers(-99_999, 99_999)
FRAMES = st.sampled_from(
    (
        "\\boxed{{{}}}", "#### {}", "<answer>{}</answer>", "The answer is {}.", "Die Antwort ist {}.", "La réponse est {}.", "答案是{}。",
        "Ответ: {}", "উত্তর: {}", "คำตอบคือ {}", "答えは{}です。", "The final value is: {}",
    )
)  # fmt: skip


@given(VALUES, FRAMES)
def test_mark_when_a_value_stands_in_a_known_form_then_it_and_no_other_is_right(value, frame):
    assert mark(frame.format(value), gold=str(value), protocol="math").correct
    assert not mark(frame.format(value), gold=str(value + 1), protocol="math").correct


@given(VALUES, st.text(max_size=80), st.booleans())
def test_mark_when_a_json_reply_has_an_answer_field_then_its_reasoning_does_not_count(value, reasoning, first):
    fields = {"answer": str(value), "reasoning": reasoning} if first else {"reasoning": reasoning, "answer": str(value)}
    assert mark(json.dumps(fields), gold=str(value), protocol="math").correct


@given(
    st.sampled_from("ABCDEFGHIJ"),
    st.sampled_from(("({})", "The answer is ({}).", "故选{}。", "Choice_{}", "\\boxed{{{}}}")),
)
def test_mark_when_a_letter_is_chosen_then_it_and_no_other_is_right(letter, frame):
    for gold in "ABCDEFGHIJ":
        assert mark(frame.format(letter), gold=gold, protocol="math").correct == (gold == letter)


@given(st.text(max_size=400))
def test_forms_when_given_any_text_then_they_point_into_it(text):
    breaks_off(text, 0, len(text))
    for kind in (VALUE, LETTERS, TEXT):
        reading = read_answer(read(text), kind)
        if reading is not None:
            assert 0 <= reading.start <= reading.end <= len(text)
