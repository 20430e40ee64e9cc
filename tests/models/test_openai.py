"""`openai/NAME`: what is sent, what is read, what is forgiven."""

import json

import pytest
from loopback import Loopback, Plan

from markscheme.errors import UsageError
from markscheme.models.base import RequestFailed
from markscheme.types import Sampling


@pytest.fixture
def server():
    """A server that keeps what it was asked and answers whatever the test puts into `reply`."""

    class Scripted(Plan):
        reply = None

        def encode(self, text, model):
            return super().encode(text, model) if self.reply is None else json.dumps(self.reply).encode()

    with Loopback(Scripted(answer=lambda _: "ANSWER: 2"), keep=True) as server:
        yield server


def sent(server):
    head, body = server.seen[-1]
    return head, json.loads(body)


def test_request_when_chat_then_every_option_is_sent_under_its_name(ask, server):
    sampling = Sampling(temperature=0.5, top_p=0.9, top_k=20, max_tokens=64, stop=("END",))
    ask("openai/Qwen3-8B", base_url=(server.url,), sampling=sampling, extra_field=("min_p=0.1", "user=bob"))
    head, body = sent(server)
    assert head.startswith(b"post /v1/chat/completions")
    assert body == {
        "model": "Qwen3-8B",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "1+1?"}],
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 20,
        "max_tokens": 64,
        "stop": ["END"],
        "seed": 100,
        "stream": True,
        "stream_options": {"include_usage": True},
        "min_p": 0.1,
        "user": "bob",
    }


def test_request_when_nothing_is_set_then_nothing_is_sent_for_it(ask, server):
    ask("openai/m", base_url=(server.url,), sampling=Sampling())
    assert set(sent(server)[1]) == {"model", "messages", "seed", "stream", "stream_options"}


def test_request_when_an_extra_field_is_null_then_that_field_is_left_out(ask, server):
    ask("openai/m", base_url=(server.url,), extra_field=("temperature=null", "seed=null"))
    assert set(sent(server)[1]) == {"model", "messages", "stream", "stream_options"}


def test_request_when_plain_completions_then_the_prompt_is_text(ask, server):
    [completion] = ask("openai/base", base_url=(server.url,), api="completions")
    head, body = sent(server)
    assert head.startswith(b"post /v1/completions")
    assert body["prompt"] == "Be brief.\n\n1+1?"
    assert completion.text == "ANSWER: 2"


def test_request_when_token_limit_has_another_name_then_that_is_used(ask, server):
    ask("openai/m", base_url=(server.url,), max_tokens_field="max_completion_tokens", sampling=Sampling(max_tokens=9))
    assert sent(server)[1]["max_completion_tokens"] == 9


def test_request_when_a_key_is_set_then_it_goes_into_the_header_only(ask, server, monkeypatch):
    monkeypatch.setenv("OTHER_KEY", "sk-test-42")
    ask("openai/m", base_url=(server.url,), api_key_env="OTHER_KEY")
    head, body = server.seen[-1]
    assert b"authorization: bearer sk-test-42" in head
    assert b"sk-test-42" not in body


def test_model_when_openai_itself_without_a_key_then_says_what_to_set(ask, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UsageError, match="OPENAI_API_KEY is not set"):
        ask("openai/gpt-4.1")


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://h/v1", "http://"])
def test_model_when_the_address_is_none_then_says_how_one_looks(ask, url):
    with pytest.raises(UsageError, match="not the address of a server"):
        ask("openai/m", base_url=(url,))


def test_answer_when_complete_then_everything_is_kept(ask, server):
    server.plan.reply = {
        "model": "served-name",
        "choices": [
            {"message": {"content": "2", "reasoning_content": "one and one"}, "finish_reason": "length"},
        ],
        "usage": {"prompt_tokens": 7, "completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 5}},
    }
    [one] = ask("openai/m", base_url=(server.url,))
    assert (one.text, one.reasoning, one.finish_reason, one.model) == ("2", "one and one", "length", "served-name")
    assert (one.prompt_tokens, one.completion_tokens, one.reasoning_tokens) == (7, 9, 5)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_answer_when_only_thinking_came_then_the_text_is_empty(ask, server, field):
    server.plan.reply = {"choices": [{"message": {"content": None, field: "hm"}, "finish_reason": "length"}]}
    [one] = ask("openai/m", base_url=(server.url,))
    assert (one.text, one.reasoning, one.prompt_tokens) == ("", "hm", None)


def test_answer_when_fields_are_null_or_odd_then_taken_as_not_said(ask, server):
    server.plan.reply = {
        "model": None,
        "usage": None,
        "choices": [
            {"message": {"content": [{"type": "text", "text": "2"}], "reasoning": None}, "finish_reason": None}
        ],
    }
    [one] = ask("openai/m", base_url=(server.url,))
    assert (one.text, one.reasoning, one.finish_reason, one.model) == ("2", None, None, None)


def test_answer_when_several_samples_then_one_each_with_true_sums(ask, server):
    server.plan.reply = {
        "choices": [{"message": {"content": text}, "finish_reason": "stop"} for text in ("a", "bbb")],
        "usage": {"prompt_tokens": 10, "completion_tokens": 8},
    }
    first, second = ask("openai/m", base_url=(server.url,), samples=2)
    assert sent(server)[1]["n"] == 2
    assert (first.prompt_tokens, second.prompt_tokens) == (10, 0)
    assert (first.completion_tokens, second.completion_tokens) == (2, 6)
    assert second.metadata == {"choice": 1, "usage_shared_by": 2}


def test_answer_when_half_a_surrogate_pair_comes_then_the_answer_is_kept(ask, server):
    server.plan.reply = {"choices": [{"message": {"content": "smile \ud83d ANSWER: 2"}}]}
    [one] = ask("openai/m", base_url=(server.url,))
    assert one.text == "smile ? ANSWER: 2"


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ({"choices": []}, "empty"),
        ({"choices": None}, "malformed"),
        ({"choices": [{"text": "no message"}]}, "malformed"),
        ({"choices": [None]}, "malformed"),
        ([1, 2], "malformed"),
        ("hello", "malformed"),
        ({"error": {"message": "queue full", "code": 503}}, "overloaded"),
        ({"error": "boom"}, "server_error"),
    ],
)
def test_answer_when_it_is_none_then_a_retryable_failure(ask, server, reply, kind):
    server.plan.reply = reply
    with pytest.raises(RequestFailed) as caught:
        ask("openai/m", base_url=(server.url,))
    assert caught.value.kind == kind
    assert caught.value.retryable


CALL = {"id": "c1", "type": "function", "function": {"name": "python", "arguments": "{}"}}


def test_answer_when_it_is_a_tool_call_without_text_then_the_call_is_kept(ask, server):
    message = {"role": "assistant", "content": None, "tool_calls": [CALL], "refusal": None, "annotations": []}
    server.plan.reply = {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
    [one] = ask("openai/m", base_url=(server.url,))
    assert one.text == ""
    assert one.metadata == {"tool_calls": [CALL]}


@pytest.mark.parametrize(
    "fields",
    [
        {"refusal": "I can't help with that."},
        {"annotations": [{"type": "url_citation", "url": "https://example.org"}]},
        {"a_field_of_next_year": {"said": [1, 2]}},
    ],
)
def test_answer_when_a_message_holds_other_fields_then_they_are_kept(ask, server, fields):
    server.plan.reply = {"choices": [{"message": {"content": "2", **fields}}]}
    [one] = ask("openai/m", base_url=(server.url,))
    assert (one.text, one.metadata) == ("2", fields)


@pytest.mark.parametrize(
    "message",
    [
        {"content": "2", "reasoning_details": [{"text": "one "}, {"type": "reasoning.summary", "summary": "and one"}]},
        {"content": [{"type": "thinking", "thinking": [{"text": "one and one"}]}, {"type": "text", "text": "2"}]},
        {"content": "2", "thinking": "one and one"},
        {"content": "2", "reasoning": {"odd": 1}, "reasoning_details": [{"text": "one and one"}]},
    ],
)
def test_answer_when_a_server_puts_the_thinking_elsewhere_then_it_is_the_reasoning(ask, server, message):
    server.plan.reply = {"choices": [{"message": message}]}
    [one] = ask("openai/m", base_url=(server.url,))
    assert (one.text, one.reasoning) == ("2", "one and one")


def test_answer_when_a_field_is_huge_or_nested_without_end_then_its_beginning_is_kept(ask, server):
    nested = "[" * 600 + "]" * 600
    message = {"content": "2", "deep": json.loads(nested), "tool_calls": [CALL] * 10_000, "more": "x"}
    server.plan.reply = {"choices": [{"message": message}]}
    [one] = ask("openai/m", base_url=(server.url,))
    assert one.text == "2"
    assert len(json.dumps(one.metadata)) < 600_000
    assert str(one.metadata["tool_calls"]).startswith('[{"id":"c1"')
