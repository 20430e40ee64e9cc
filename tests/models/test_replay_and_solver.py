"""The two models that need nothing: stored outputs of any tool, and the exact solver."""

import asyncio
import json

import pytest

from markscheme.config import make_config
from markscheme.errors import ModelError
from markscheme.models import load_model
from markscheme.models.base import Request, RequestFailed
from markscheme.types import Message, Prompt, Sampling


def request(statement="What is 1+1?", key="k1", problem_id="7", samples=(0,)):
    return Request(
        benchmark="b",
        problem_id=problem_id,
        key=key,
        statement=statement,
        prompt=Prompt(messages=(Message("user", statement),)),
        samples=samples,
        seeds=tuple(samples),
        sampling=Sampling(),
    )


def replay(tmp_path, *lines, raw=None):
    file = tmp_path / "stored.jsonl"
    file.write_bytes(raw if raw is not None else b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    return load_model(f"replay/{file}", make_config(benchmark="b", model="replay"))


def answers(model, asked):
    return asyncio.run(model.generate(asked))


@pytest.mark.parametrize(
    "line",
    [
        {"key": "k1", "text": "two"},
        {"question_id": "7", "question": "something else", "answer": "two"},
        {"question": "What  is\n1+1?", "answer": "two"},
        {"id": 7, "output": "two"},
    ],
)
def test_replay_when_a_line_names_its_question_in_any_way_then_found(tmp_path, line):
    assert answers(replay(tmp_path, line), request())[0].text == "two"


def test_replay_when_a_line_has_the_question_without_its_choices_then_found_unless_two_problems_share_it(tmp_path):
    model = replay(tmp_path, {"question": "Which is prime?", "text": "B"})
    assert answers(model, request("Which is prime?\n\n(A) 21\n(B) 23"))[0].text == "B"
    with pytest.raises(RequestFailed, match="only in its choices"):
        answers(model, request("Which is prime?\n\n(A) 31\n(B) 33", key="k2"))


def test_replay_when_a_file_tells_of_more_tokens_than_there_can_be_then_they_are_not_counted(tmp_path):
    (answer,) = answers(replay(tmp_path, {"key": "k1", "text": "a", "completion_tokens": 10**20}), request())
    assert (answer.text, answer.completion_tokens) == ("a", None)


def test_replay_when_samples_are_numbered_then_order_does_not_matter(tmp_path):
    model = replay(tmp_path, {"key": "k1", "sample": 1, "text": "b"}, {"key": "k1", "sample": 0, "text": "a"})
    assert [one.text for one in answers(model, request(samples=(0, 1)))] == ["a", "b"]


def test_replay_when_an_output_is_missing_then_an_error_and_not_an_answer(tmp_path):
    model = replay(tmp_path, {"key": "k1", "text": "a"})
    with pytest.raises(RequestFailed, match="sample 1 is not among them") as caught:
        answers(model, request(samples=(0, 1)))
    assert not caught.value.retryable


def test_replay_when_our_own_journal_has_an_error_then_it_is_no_output(tmp_path):
    model = replay(tmp_path, {"key": "k1", "sample": 0, "error": "boom"})
    with pytest.raises(RequestFailed):
        answers(model, request())


@pytest.mark.parametrize(
    "odd", [{"finish_reason": "end_turn"}, {"prompt_tokens": "12"}, {"metadata": [1]}, {"latency": "fast"}]
)
def test_replay_when_another_tool_fills_our_fields_its_own_way_then_still_read(tmp_path, odd):
    assert answers(replay(tmp_path, {"key": "k1", "text": "two", **odd}), request())[0].text == "two"


def test_replay_when_finish_reason_is_foreign_then_kept_as_other(tmp_path):
    model = replay(tmp_path, {"key": "k1", "text": "t", "finish_reason": "end_turn"})
    assert answers(model, request())[0].finish_reason == "other"


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b'{"key": "k1", "text"\n', "line 1: not valid JSON"),
        (b"[1]\n", "line 1: expected a JSON object"),
        (b"[" * 100_000 + b"\n", "line 1: not valid JSON"),
        (b'\n{"key": "k1", "score": 1}\n', "line 2 has no stored output"),
        (b'{"key": "k1", "text": "t", "sample": -1}\n', "line 1: sample -1"),
        (b'{"key": "k1", "text": "t", "sample": true}\n', "line 1: sample True"),
    ],
)
def test_replay_when_a_line_is_bad_then_says_which_and_why(tmp_path, raw, said):
    with pytest.raises(ModelError, match=said):
        replay(tmp_path, raw=raw)


def test_replay_when_the_file_begins_with_a_byte_order_mark_then_read(tmp_path):
    model = replay(tmp_path, raw=b'\xef\xbb\xbf{"key": "k1", "text": "two"}\n')
    assert answers(model, request())[0].text == "two"


def solver():
    return load_model("solver", make_config(benchmark="b", model="solver"))


def test_solver_when_asked_a_puzzle_then_answers_exactly():
    statement = "Given the numbers 41, 70, 18, 35, how can you … reach the target 46?"
    assert answers(solver(), request(statement))[0].text == "<answer>70 + 35 - 41 - 18 = 46</answer>"


def test_solver_when_there_is_no_solution_then_says_so():
    assert "no way" in answers(solver(), request("the numbers 1, 1, reach the target 99"))[0].text


def test_solver_when_the_puzzle_is_too_large_then_fails_that_question_only():
    nine = ", ".join(map(str, range(1, 10)))
    with pytest.raises(RequestFailed, match="2 to 8 numbers"):
        answers(solver(), request(f"Given the numbers {nine}, reach the target 46"))
