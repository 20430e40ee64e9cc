"""Anthropic's Messages API, SGLang's native API and the plain HTTP contract: what goes out, what comes in."""

import json

import msgspec
import pytest
from loopback import Loopback, Plan

from markscheme.config import make_config
from markscheme.errors import UsageError
from markscheme.models import load_model
from markscheme.models.base import RequestFailed
from markscheme.types import Sampling


class Scripted(Plan):
    """Answers with one JSON document."""

    def __init__(self, reply):
        self.reply = reply
        super().__init__(answer=lambda _: "")

    def encode(self, text, model):
        return json.dumps(self.reply).encode()


def asked(server):
    head, body = server.seen[-1]
    return head, json.loads(body)


MESSAGE = {
    "type": "message",
    "model": "claude-x",
    "content": [
        {"type": "thinking", "thinking": "hm, ", "signature": "s"},
        {"type": "redacted_thinking", "data": "?"},
        {"type": "text", "text": "ANSWER: "},
        {"type": "text", "text": "2"},
    ],
    "stop_reason": "max_tokens",
    "usage": {"input_tokens": 5, "cache_read_input_tokens": 3, "output_tokens": 9},
}


def test_anthropic_when_asked_then_sends_what_the_messages_api_wants(ask, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-1")
    with Loopback(Scripted(MESSAGE), keep=True) as server:
        base = server.url.removesuffix("/v1")
        sampling = Sampling(temperature=0.3, top_p=0.9, top_k=4, max_tokens=77, stop=("END",))
        ask("anthropic/claude-x", base_url=(base,), sampling=sampling)
        head, body = asked(server)
    assert head.startswith(b"post /v1/messages")
    assert b"x-api-key: sk-ant-1" in head
    assert b"anthropic-version: 2023-06-01" in head
    assert body == {
        "model": "claude-x",
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "1+1?"}],
        "max_tokens": 77,
        "temperature": 0.3,
        "top_p": 0.9,
        "top_k": 4,
        "stop_sequences": ["END"],
        "stream": True,
    }


def test_anthropic_when_answered_then_thinking_is_reasoning(ask):
    with Loopback(Scripted(MESSAGE)) as server:
        [one] = ask("anthropic/claude-x", base_url=(server.url,))
    assert (one.text, one.reasoning, one.finish_reason) == ("ANSWER: 2", "hm, ", "length")
    assert (one.prompt_tokens, one.completion_tokens, one.model) == (8, 9, "claude-x")


def test_anthropic_when_a_tool_is_called_then_the_call_and_hidden_thinking_are_kept(ask):
    call = {"type": "tool_use", "id": "t1", "name": "python", "input": {"code": "1+1"}}
    reply = {**MESSAGE, "content": [MESSAGE["content"][1], call], "stop_reason": "tool_use"}
    with Loopback(Scripted(reply)) as server:
        [one] = ask("anthropic/claude-x", base_url=(server.url,))
    assert (one.text, one.finish_reason) == ("", "other")
    assert one.metadata == {"tool_use": [call], "redacted_thinking": [MESSAGE["content"][1]]}


def test_anthropic_when_thinking_is_on_then_temperature_is_left_out(ask):
    thinking = 'thinking={"type": "enabled", "budget_tokens": 1024}'
    with Loopback(Scripted(MESSAGE), keep=True) as server:
        ask("anthropic/claude-x", base_url=(server.url,), extra_field=(thinking,))
        body = asked(server)[1]
    assert "temperature" not in body
    assert body["thinking"]["budget_tokens"] == 1024
    assert body["max_tokens"] == 8192


def test_anthropic_when_the_answer_has_another_shape_then_malformed(ask):
    with Loopback(Scripted({"content": "text"})) as server, pytest.raises(RequestFailed) as caught:
        ask("anthropic/claude-x", base_url=(server.url,))
    assert caught.value.kind == "malformed"


def test_plain_http_when_asked_then_sends_the_contract_and_nothing_else(ask):
    with Loopback(Scripted({"answer": "ANSWER: 2"}), keep=True) as server:
        [one] = ask(f"http/{server.url}/generate", extra_field=("temperature=0.2", "mode=fast"))
        head, body = asked(server)
    assert head.startswith(b"post /v1/generate")
    assert body == {
        "dataset": "gsm8k",
        "prompt": "Be brief.\n\n1+1?",
        "sample_id": 0,
        "temperature": 0.2,
        "mode": "fast",
    }
    assert one.text == "ANSWER: 2"


@pytest.mark.parametrize(
    ("field", "reply"),
    [
        ("text", {"text": "2"}),
        ("data.0.out", {"data": [{"out": "2"}]}),
        ("a.b", {"a.b": "2"}),
        ("answer", {"answer": 2}),
    ],
)
def test_plain_http_when_the_answer_lies_elsewhere_then_found(ask, field, reply):
    with Loopback(Scripted(reply)) as server:
        [one] = ask(f"http/{server.url}", response_field=field)
    assert one.text == "2"


@pytest.mark.parametrize("reply", [{"other": 1}, [], "x", {"answer": None}, {"answer": {"deep": 1}}])
def test_plain_http_when_the_field_is_missing_then_malformed(ask, reply):
    with Loopback(Scripted(reply)) as server, pytest.raises(RequestFailed) as caught:
        ask(f"http/{server.url}")
    assert caught.value.kind == "malformed"


def test_plain_http_when_a_sampling_option_would_be_dropped_then_says_how_to_send_it(ask):
    with pytest.raises(UsageError, match=r"--extra-field temperature=0\.2"):
        ask("http/http://localhost:1/generate", temperature=0.2)


SAMPLE = {
    "text": "ANSWER: 2",
    "meta_info": {"prompt_tokens": 4, "completion_tokens": 6, "finish_reason": {"type": "length", "length": 6}},
}


def test_sglang_when_asked_then_sends_text_and_sampling_params(ask):
    with Loopback(Scripted(SAMPLE), keep=True) as server:
        base = server.url.removesuffix("/v1")
        [one] = ask(f"sglang/{base}", sampling=Sampling(temperature=0.1, max_tokens=8), extra_field=("min_p=0.2",))
        head, body = asked(server)
    assert head.startswith(b"post /generate")
    assert body == {
        "text": "Be brief.\n\n1+1?",
        "sampling_params": {"temperature": 0.1, "max_new_tokens": 8, "sampling_seed": 100, "min_p": 0.2},
    }
    assert (one.text, one.finish_reason, one.prompt_tokens, one.completion_tokens) == ("ANSWER: 2", "length", 4, 6)


def test_sglang_when_several_samples_then_the_prompt_counts_once(ask):
    with Loopback(Scripted([SAMPLE, SAMPLE]), keep=True) as server:
        first, second = ask(f"sglang/{server.url}", samples=2)
        assert asked(server)[1]["sampling_params"]["n"] == 2
    assert (first.prompt_tokens, second.prompt_tokens) == (4, 0)


@pytest.mark.parametrize("spec", ["anthropic/claude-x", "http/http://localhost:1"])
def test_model_when_it_gives_one_sample_a_request_then_refuses_more(ask, spec):
    with pytest.raises(UsageError, match="--samples-per-request"):
        ask(spec, samples_per_request=4, base_url=("http://localhost:1",))


@pytest.mark.parametrize(
    ("spec", "extra", "sent"),
    [
        ("openai/m", ("temperature=null",), {"max_tokens": 9}),
        ("openai/m", ('stop="END"', "max_tokens=7"), {"temperature": 0.5, "max_tokens": 7, "stop": ("END",)}),
        ("sglang/http://h", ("max_new_tokens=3",), {"temperature": 0.5, "max_tokens": 3}),
        ("anthropic/m", ('thinking={"type":"enabled"}',), {"max_tokens": 9}),
        ("anthropic/m", ("thinking=enabled",), {"temperature": 0.5, "max_tokens": 9}),
    ],
)
def test_sampling_when_extra_fields_replace_an_option_then_the_manifest_gets_what_is_sent(spec, extra, sent):
    config = make_config(benchmark="b", model=spec, base_url=("http://h",), extra_field=extra)
    sampling = load_model(spec, config).as_sent(Sampling(temperature=0.5, max_tokens=9))
    assert msgspec.to_builtins(sampling) == sent


def test_sampling_when_an_extra_field_is_no_number_then_refused():
    config = make_config(benchmark="b", model="openai/m", base_url=("http://h",), extra_field=("temperature=hot",))
    with pytest.raises(UsageError, match="--extra-field"):
        load_model("openai/m", config).as_sent(Sampling())


def test_options_when_the_server_knows_them_then_they_stand_in_the_request(ask):
    with Loopback(keep=True) as server:
        ask(
            "openai/m", base_url=(server.url,), reasoning_effort="high", header=("X-Team: maths", "x-trace=7"),
            chat_template_kwarg=("enable_thinking=false", "style=short"),
        )  # fmt: skip
        [(head, body)] = server.seen
    sent = json.loads(body)
    assert sent["reasoning_effort"] == "high"
    assert sent["chat_template_kwargs"] == {"enable_thinking": False, "style": "short"}
    assert b"x-team: maths\r\n" in head.lower()
    assert b"x-trace: 7\r\n" in head.lower()


def test_anthropic_when_a_thinking_budget_is_given_then_it_thinks_without_temperature(ask):
    with Loopback(Scripted(MESSAGE), keep=True) as server:
        ask("anthropic/m", base_url=(server.url,), thinking_budget=2048, sampling=Sampling(temperature=0.5))
        sent = json.loads(server.seen[0][1])
    assert sent["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    assert "temperature" not in sent


@pytest.mark.parametrize(
    ("spec", "options"),
    [
        ("openai/m", {"thinking_budget": 5}),
        ("anthropic/m", {"reasoning_effort": "low"}),
        ("http/http://h", {"chat_template_kwarg": ("a=1",)}),
        ("solver", {"header": ("A: b",)}),
        ("nano", {"reasoning_effort": "low"}),
        ("openai/m", {"header": ("no sign",)}),
        ("openai/m", {"header": ("A: two\nlines",)}),
        ("openai/m", {"header": ("Sp ace: x",)}),
        ("openai/m", {"chat_template_kwarg": ("nothing",)}),
    ],
)
def test_option_when_it_could_have_no_effect_then_refused_by_its_flag(spec, options):
    (name,) = options
    where = {} if spec in ("solver", "nano") or "http" in spec else {"base_url": ("http://h/v1",)}
    with pytest.raises(UsageError, match="--" + name.replace("_", "-")):
        load_model(spec, make_config(benchmark="b", model=spec, **options, **where))


def test_backend_when_its_library_is_not_installed_then_the_extra_that_brings_it_is_named(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError("No module named 'torch'")

    monkeypatch.setattr("markscheme.errors.import_module", missing)
    with pytest.raises(UsageError, match=r"^hf cannot be .*No module named 'torch'.*'markscheme\[hf\]'"):
        load_model("hf/x", make_config(benchmark="b", model="hf/x"))


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("openai/", "openai needs a model name"),
        ("anthropic/", "anthropic needs a model name"),
        ("http/", "http needs an address"),
        ("sglang/", "sglang needs a model .* or a server"),
        ("replay/", "replay needs a file"),
        ("solver/x", "use `solver`, not `solver/x`"),
    ],
)
def test_backend_when_its_target_is_missing_or_too_much_then_a_sentence_says_how_to_name_one(spec, sentence):
    with pytest.raises(UsageError, match=sentence):
        load_model(spec, make_config(benchmark="b", model=spec))


@pytest.mark.parametrize(
    ("reply", "kind"), [([], "empty"), ({"text": None}, "malformed"), ({"error": {"message": "no"}}, "server_error")]
)
def test_sglang_when_the_answer_holds_no_text_then_a_failure_that_another_try_may_mend(reply, kind, ask):
    with Loopback(Scripted(reply)) as server, pytest.raises(RequestFailed) as caught:
        ask(f"sglang/{server.url}")
    assert (caught.value.kind, caught.value.retryable) == (kind, True)
