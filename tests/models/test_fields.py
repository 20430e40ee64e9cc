"""The small parts of bodies: what is missing or odd is taken as not said."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markscheme.errors import UsageError
from markscheme.models.base import Completion
from markscheme.models.fields import api_key, as_text, count, extra_fields, finish_reason, share_tokens, with_path


def test_extra_fields_when_json_then_typed_and_else_text():
    fields = extra_fields(["temperature=0.2", 'chat_template_kwargs={"enable_thinking": false}', "user=bob", "a=b=c"])
    assert fields == {"temperature": 0.2, "chat_template_kwargs": {"enable_thinking": False}, "user": "bob", "a": "b=c"}


@pytest.mark.parametrize("option", ["novalue", "=1", " =1"])
def test_extra_fields_when_not_key_value_then_says_so(option):
    with pytest.raises(UsageError, match="KEY=VALUE"):
        extra_fields([option])


@pytest.mark.parametrize(
    ("base", "path", "whole"),
    [
        ("http://h/v1", "chat/completions", "http://h/v1/chat/completions"),
        ("http://h/v1/", "chat/completions", "http://h/v1/chat/completions"),
        ("http://h/v1/chat/completions", "chat/completions", "http://h/v1/chat/completions"),
        ("http://h/v1?key=1", "completions", "http://h/v1/completions?key=1"),
    ],
)
def test_path_when_added_to_a_base_then_once_and_before_the_query(base, path, whole):
    assert with_path(base, path) == whole


def test_text_when_in_parts_then_joined():
    assert as_text([{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]) == "ab"
    assert as_text(None) == ""
    with pytest.raises(TypeError):
        as_text({"a": 1})


def test_count_when_not_a_token_count_then_none():
    assert [count(value) for value in (3, 0, -1, True, 1.5, "3", None)] == [3, 0, None, None, None, None, None]


def test_finish_reason_when_servers_differ_then_one_of_ours():
    assert [finish_reason(reason) for reason in ("stop", "end_turn", "length", "max_tokens", "abort", None, 3)] == [
        "stop",
        "stop",
        "length",
        "length",
        "other",
        None,
        None,
    ]


def test_key_when_missing_then_says_which_variable(monkeypatch):
    monkeypatch.delenv("SOME_KEY", raising=False)
    with pytest.raises(UsageError, match="SOME_KEY is not set"):
        api_key("SOME_KEY", ["https://h"], required=True, header="A")
    assert api_key("SOME_KEY", ["https://h"], required=False, header="A") == {}


def test_key_when_the_address_has_its_own_password_then_not_sent(monkeypatch):
    monkeypatch.setenv("SOME_KEY", "k")
    assert api_key("SOME_KEY", ["https://u:p@h"], required=True, header="A") == {}
    assert api_key("SOME_KEY", ["https://h"], required=True, header="A", form="Bearer {}") == {"A": "Bearer k"}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=30), min_size=1, max_size=8), st.integers(0, 10_000), st.integers(0, 500))
def test_shared_tokens_when_divided_then_their_sums_are_what_was_reported(texts, completion, prompt):
    completions = [Completion(text=text, prompt_tokens=prompt, completion_tokens=completion) for text in texts]
    shared = share_tokens(completions, {"completion_tokens": completion})
    assert sum(one.completion_tokens or 0 for one in shared) == completion
    assert sum(one.prompt_tokens or 0 for one in shared) == prompt
    assert all((one.completion_tokens or 0) >= 0 for one in shared)
    assert [one.text for one in shared] == texts
