"""Stored outputs: which line answers which problem, and what happens to a line that answers none."""

import json

import pytest

from markscheme.benchmarks import benchmark
from markscheme.errors import DataError, UsageError
from markscheme.marking import mark
from markscheme.marking.bulk.outputs import Outputs
from markscheme.types import CountdownGold


def stored(folder, *rows):
    file = folder / "outputs.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def test_outputs_with_their_own_golds_need_no_benchmark(tmp_path):
    rows = [
        {"response": "a", "gold": "1"},
        {"response": "b", "answer": 2},
        {"text": "c", "nums": [1, 2], "target": 3},
        {"output": "d", "ground_truth": {"nums": [1, 2], "target": 3}},
    ]
    pairs = list(Outputs(stored(tmp_path, *rows)))
    puzzle = CountdownGold((1, 2), 3)
    assert [(response.text, problem.gold) for response, problem in pairs] == [
        ("a", "1"), ("b", "2"), ("c", puzzle), ("d", puzzle),
    ]  # fmt: skip


def test_outputs_with_their_own_choices_are_marked_by_them(tmp_path):
    """A text is the answer if the gold is its letter; a list of anything but texts is not used."""
    row = {"question": "Which is blue?", "choices": ["sun", "sky"], "gold": "B", "response": "It is the sky."}
    (response, problem), (_, other) = Outputs(stored(tmp_path, row, {**row, "choices": [{"text": "sun"}]}))
    assert problem.choices == ("sun", "sky")
    assert mark(response, problem).correct
    assert other.choices == ()


def test_outputs_without_gold_or_benchmark_say_what_is_missing(tmp_path):
    with pytest.raises(UsageError, match="-b"):
        list(Outputs(stored(tmp_path, {"response": "a"})))


def test_outputs_of_a_benchmark_are_matched_by_text_key_id_or_position(tmp_path):
    problems = benchmark("gsm8k-sample").problems
    rows = [
        {"question": "  ".join(problems[0].statement.split(" ")), "response": "by text"},
        {"key": problems[1].key, "response": "by key"},
        {"id": problems[2].id, "response": "by id"},
        {"doc_id": 3, "doc": {"question": "unknown"}, "resps": [["by position"]]},
        {"doc_id": 0, "doc": {"question": problems[4].statement}, "resps": [["by inner text"]]},
        {"question": "What else?", "response": "unmatched"},
    ]
    outputs = Outputs(stored(tmp_path, *rows), "gsm8k-sample")
    found = [(response.text, problem.id) for response, problem in outputs]
    names = ["by text", "by key", "by id", "by position", "by inner text"]
    assert found == list(zip(names, [problem.id for problem in problems[:5]], strict=True))
    assert outputs.unmatched == 1


def test_outputs_of_choice_questions_are_matched_by_the_question_alone_unless_two_share_it(tmp_path):
    choices = {"A": "21", "B": "23", "answer": "B"}
    asked = [{"question": "Which is prime?", **choices}] + [
        {"question": "Which?", **choices, "A": each} for each in "46"
    ]
    file = tmp_path / "quiz.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in asked))
    rows = [{"question": row["question"], "response": "B"} for row in asked[:2]]
    outputs = Outputs(stored(tmp_path, *rows), str(file))
    assert [problem.id for _, problem in outputs] == ["0000"]
    assert outputs.unmatched == 1


def test_outputs_with_several_texts_for_one_problem_number_the_samples(tmp_path):
    first = benchmark("gsm8k-sample").problems[0]
    rows = [
        {"key": first.key, "responses": ["a", "b"]},
        {"key": first.key, "response": "c"},
        {"key": first.key, "response": "d", "sample": 9},
    ]
    outputs = Outputs(stored(tmp_path, *rows), "gsm8k-sample")
    assert [(response.text, response.sample) for response, _ in outputs] == [("a", 0), ("b", 1), ("c", 2), ("d", 9)]


def test_outputs_with_an_error_or_a_cut_keep_it(tmp_path):
    rows = [
        {"error": "timed out", "gold": "1"},
        {"response": "so", "finish_reason": "length", "gold": "1"},
        {"response": "so", "finish_reason": "weird", "gold": "1"},
    ]
    responses = [response for response, _ in Outputs(stored(tmp_path, *rows))]
    assert [(each.error, each.finish_reason) for each in responses] == [
        ("timed out", None), (None, "length"), (None, "other"),
    ]  # fmt: skip


@pytest.mark.parametrize("line", ["not json", "[1]", '{"gold": "1"}'])
def test_outputs_with_a_bad_line_name_the_line(tmp_path, line):
    file = tmp_path / "bad.jsonl"
    file.write_text('{"response": "a", "gold": "1"}\n' + line + "\n")
    with pytest.raises(DataError, match="line 2"):
        list(Outputs(file))


def test_outputs_from_nowhere_say_so(tmp_path):
    with pytest.raises(DataError, match=r"nothing\.jsonl does not exist"):
        Outputs(tmp_path / "nothing.jsonl")


def test_outputs_as_conversations_lists_and_nulls_are_read_and_a_null_is_missing_data(tmp_path):
    rows = [
        {"gold": "4", "messages": [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}]},
        {"gold": "4", "response": ["4", "5", None]},
        {"gold": "4", "output": None},
    ]
    responses = [response for response, _ in Outputs(stored(tmp_path, *rows))]
    assert [each.text for each in responses] == ["4", "4", "5", "", ""]
    assert [bool(each.error) for each in responses] == [False, False, False, True, True]


@pytest.mark.parametrize("row", [{"gold": {"foo": 1}}, {"nums": ["a", 2], "target": 3}])
def test_outputs_with_a_gold_that_is_no_gold_name_the_line(tmp_path, row):
    with pytest.raises(DataError, match="line 1, has a gold"):
        list(Outputs(stored(tmp_path, {"response": "4", **row})))


def test_outputs_when_no_line_answers_a_problem_then_how_a_line_names_one(tmp_path):
    file = stored(tmp_path, {"id": 70, "response": "a"}, {"id": 71, "response": "b"})
    with pytest.raises(
        DataError, match=r"answers a problem of gsm8k-sample: a row names its problem by .*doc_id, from 0"
    ):
        list(Outputs(file, "gsm8k-sample"))
    assert len(list(Outputs(stored(tmp_path, {"doc_id": 0, "response": "a"}), "gsm8k-sample"))) == 1
