"""Streams: the same answer as without one, or a failed attempt."""

import json
import time

import pytest
from loopback import BREAK, Loopback, Plan

from markscheme.models.base import RequestFailed
from markscheme.models.fields import LARGEST_REST
from markscheme.models.streams import ChatFold

DONE = "data: [DONE]\n\n"


def delta(finish=None, index=0, **said):
    return {"model": "served", "choices": [{"index": index, "delta": said, "finish_reason": finish}]}


def call(index, **said):
    return delta(tool_calls=[{"index": index, **said}])


USAGE = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 9}}
WHOLE = [
    delta(role="assistant", content=""),
    delta(reasoning_content="one "),
    delta(reasoning_content="and one"),
    delta(content="ANSW"),
    ": a comment that keeps the line open\n\n",
    delta(content="ER: 2"),
    delta("stop"),
    USAGE,
    DONE,
]


def streaming(*events, **options):
    return Loopback(Plan(events=lambda _: events, **options), keep=True)


def test_stream_when_whole_then_it_is_the_answer_with_its_usage_and_first_token(ask):
    with streaming(*WHOLE, event_delay=0.02) as server:
        [one] = ask("openai/m", base_url=(server.url,))
    assert (one.text, one.reasoning, one.finish_reason, one.model) == ("ANSWER: 2", "one and one", "stop", "served")
    assert (one.prompt_tokens, one.completion_tokens) == (7, 9)
    assert 0.01 < one.first_token < 0.15


def test_stream_when_tools_are_called_in_parallel_then_every_call_is_put_together(ask):
    events = [
        call(0, id="a", type="function", function={"name": "python", "arguments": ""}),
        call(0, function={"arguments": '{"code": '}),
        call(1, id="b", type="function", function={"name": "python", "arguments": "{}"}),
        call(0, function={"arguments": '"1"}'}),
        delta("tool_calls"),
        DONE,
    ]
    with streaming(*events) as server:
        [one] = ask("openai/m", base_url=(server.url,))
    assert [(each.id, each.name, each.arguments) for each in one.tool_calls] == [
        ("a", "python", '{"code": "1"}'),
        ("b", "python", "{}"),
    ]
    assert [each["id"] for each in one.metadata["tool_calls"]] == ["a", "b"]


def test_stream_when_several_samples_are_asked_for_then_they_stay_apart(ask):
    events = [delta(content="a", index=1), delta(content="b"), delta("stop", index=1), delta("length"), USAGE]
    with streaming(*events) as server:
        texts = [(one.text, one.finish_reason) for one in ask("openai/m", samples=2, base_url=(server.url,))]
    assert texts == [("b", "length"), ("a", "stop")]


def test_stream_when_plain_completions_with_log_probabilities_then_both_are_put_together(ask):
    events = [
        {"choices": [{"index": 0, "text": word, "logprobs": {"token_logprobs": [-0.5]}, "finish_reason": end}]}
        for word, end in [("ANSWER", None), (": 2", "stop")]
    ]
    with streaming(*events, DONE) as server:
        [one] = ask("openai/m", api="completions", base_url=(server.url,))
    assert (one.text, one.metadata["logprobs"]) == ("ANSWER: 2", [-0.5, -0.5])


@pytest.mark.parametrize("cut", range(1, 6))
@pytest.mark.parametrize("end", [[], [BREAK]], ids=["in good order", "by hanging up"])
def test_stream_when_it_breaks_off_then_the_attempt_has_failed(ask, cut, end):
    with streaming(*WHOLE[:cut], *end) as server, pytest.raises(RequestFailed) as caught:
        ask("openai/m", base_url=(server.url,))
    assert (caught.value.kind, caught.value.retryable) == ("connection", True)


@pytest.mark.parametrize(
    ("events", "kind"),
    [
        ([WHOLE[0], {"error": {"message": "engine died", "code": 500}}], "server_error"),
        ([{"error": {"message": "slow down", "code": 429}}], "rate_limit"),
        (["data: {not json\n\n", DONE], "malformed"),
        ([{"choices": [[1]]}, DONE], "malformed"),
        ([{"choices": [{"delta": {"tool_calls": "x"}}, {"delta": {"tool_calls": [{}]}}]}, DONE], "malformed"),
        ([DONE], "empty"),
    ],
)
def test_stream_when_it_holds_an_error_or_nonsense_then_the_failure_says_which(ask, events, kind):
    with streaming(*events) as server, pytest.raises(RequestFailed) as caught:
        ask("openai/m", base_url=(server.url,))
    assert caught.value.kind == kind


def test_stream_when_it_is_long_then_it_is_folded_on_the_way_and_whole(ask):
    words = [f"w{number} " for number in range(3000)]
    with streaming(*(delta(content=word) for word in words), delta("stop"), DONE) as server:
        [one] = ask("openai/m", base_url=(server.url,))
    assert one.text == "".join(words)


@pytest.mark.parametrize("gap", ["\n\n", "\r\n\r\n", "\n\nevent: piece\n"])
def test_events_when_runs_of_them_are_put_together_then_they_say_what_they_said_one_by_one(gap):
    words = ["a", 'b"c', "\\", '\\"', "\n", "é", "😀", "", '","content":"x', "data:"] * 3
    kinds = [*({"content": word} for word in words), *({"reasoning_content": word} for word in words)]
    kinds += [{"content": "x", "reasoning_content": word} for word in words]  # two texts in one event
    kinds += [piece for word in words for piece in ({"reasoning_content": word}, {"content": word})]
    kinds += [{"content": word, "tool_calls": [{"index": 0, "function": {"arguments": "{"}}]} for word in words]
    events = [delta(**kind) for kind in kinds]
    events += [
        {"choices": [{"index": 0, "text": word, "logprobs": {"tokens": ["t"]}, "delta": {"content": word}}]}
        for word in words
    ]
    events += [{**delta(content=word), "extra": [1]} for word in words]
    events += [{"choices": [{"index": 0, "delta": {"content": word}}], "id": "x", "model": "m"} for word in words]
    events += [{"choices": [{"index": 0, "delta": {"content": word, "refusal": "no"}}]} for word in words]
    events += [{"choices": [{"index": 0, "delta": {"content": word}, "text": "t"}]} for word in words]
    events += [{"choices": [{"index": 0, "delta": {"role": "assistant", "content": word}}]} for word in words]
    events += [{"choices": [{"index": 0, "delta": {"refusal": "no", "content": word}}]} for word in words]
    written = [json.dumps(event, ensure_ascii=number % 2 == 0) for number, event in enumerate(events)]
    together, one_by_one = ChatFold(), ChatFold()
    together.take([f"data: {line}{gap}".encode() for line in written])
    for line in written:
        one_by_one.take([f"data: {line}\n".encode()])
    together.ended = one_by_one.ended = True
    assert together.answer() == one_by_one.answer()


@pytest.mark.parametrize(("tokens", "kept"), [(63, True), (62, True), (70, False)])
def test_stream_when_each_event_is_a_token_then_the_lengths_of_their_texts_are_kept(ask, tokens, kept):
    thought, said = ["So ", "é", "\n"] * 4, [" 12", '"', "\\frac", "😀", "a"] * 10
    events = [delta(role="assistant"), *(delta(reasoning_content=each) for each in thought)]
    events += [*(delta(content=each) for each in said), delta("stop")]
    usage = {"choices": [], "usage": {"completion_tokens": tokens}}
    with streaming(*events, usage, DONE) as server:
        [one] = ask("openai/m", base_url=(server.url,))
    assert one.text == "".join(said)
    lengths = [int(digit, 36) for digit in one.metadata.get("event_lengths", "")]
    assert lengths == ([len(each) for each in (*thought, *said)] if kept else [])


def test_stream_when_a_line_never_ends_then_it_is_not_held(ask, monkeypatch):
    monkeypatch.setattr("markscheme.models.streams.LARGEST_TEXT", LARGEST_REST)
    with streaming("data: ", *["x" * 50_000] * 40) as server, pytest.raises(RequestFailed) as caught:
        ask("openai/m", base_url=(server.url,))
    assert caught.value.kind == "malformed"


def test_stream_when_it_falls_silent_then_the_attempt_fails_and_a_slow_one_does_not(ask):
    with streaming(*WHOLE, event_delay=0.15) as server:
        [one] = ask("openai/m", base_url=(server.url,), request_timeout=0.7)  # in all it takes longer
        assert one.text == "ANSWER: 2"
        server.plan.event_delay = 30
        begun = time.monotonic()
        with pytest.raises(RequestFailed, match=r"sent nothing for 0\.7 s") as caught:
            ask("openai/m", base_url=(server.url,), request_timeout=0.7)
    assert caught.value.kind == "timeout"
    assert time.monotonic() - begun < 29


def test_stream_when_the_server_refuses_it_then_it_is_asked_without(ask):
    def status(asked):
        return (400, {"error": {"message": "stream_options is not supported"}}) if "stream" in asked else None

    with Loopback(Plan(status=status, answer=lambda _: "ANSWER: 2"), keep=True) as server:
        [one] = ask("openai/m", times=2, base_url=(server.url,))
        streamed = ["stream" in json.loads(body) for _, body in server.seen]
    assert one.text == "ANSWER: 2"
    assert streamed == [True, False, False]


@pytest.mark.parametrize("options", [{"no_stream": True}, {"extra_field": ("stream=false",)}])
def test_stream_when_it_is_not_wanted_then_none_is_asked_for(ask, options):
    with Loopback(Plan(answer=lambda _: "ANSWER: 2"), keep=True) as server:
        [one] = ask("openai/m", base_url=(server.url,), **options)
        body = json.loads(server.seen[-1][1])
    assert not body.get("stream")
    assert one.first_token is None


def message_events(*, last=True):
    def block(index, kind, *deltas):
        yield {"type": "content_block_start", "index": index, "content_block": kind}
        yield from ({"type": "content_block_delta", "index": index, "delta": each} for each in deltas)
        yield {"type": "content_block_stop", "index": index}

    start = {"model": "claude-x", "content": [], "usage": {"input_tokens": 5, "output_tokens": 1}}
    return [
        {"type": "message_start", "message": start},
        {"type": "ping"},
        *block(
            0,
            {"type": "thinking", "thinking": ""},
            {"type": "thinking_delta", "thinking": "h"},
            {"type": "thinking_delta", "thinking": "m"},
            {"type": "signature_delta", "signature": "sig"},
        ),
        *block(
            1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "AN"}, {"type": "text_delta", "text": "S"}
        ),
        *block(
            2,
            {"type": "tool_use", "id": "t", "name": "python", "input": {}},
            {"type": "input_json_delta", "partial_json": '{"code"'},
            {"type": "input_json_delta", "partial_json": ': "1"}'},
        ),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}},
        *([{"type": "message_stop"}] if last else []),
    ]


def test_stream_when_anthropic_sends_it_then_blocks_usage_and_calls_are_put_together(ask):
    with streaming(*message_events()) as server:
        [one] = ask("anthropic/claude-x", base_url=(server.url,))
    assert (one.text, one.reasoning, one.model) == ("ANS", "hm", "claude-x")
    assert (one.prompt_tokens, one.completion_tokens) == (5, 9)
    assert [(each.id, each.name, json.loads(each.arguments)) for each in one.tool_calls] == [
        ("t", "python", {"code": "1"})
    ]
    assert one.raw[0] == {"type": "thinking", "thinking": "hm", "signature": "sig"}


def test_stream_when_anthropic_breaks_off_then_the_attempt_has_failed(ask):
    with streaming(*message_events(last=False)) as server, pytest.raises(RequestFailed) as caught:
        ask("anthropic/claude-x", base_url=(server.url,))
    assert caught.value.kind == "connection"
