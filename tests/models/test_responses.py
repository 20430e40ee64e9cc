"""The Responses API, held against the official client: its types, its own reading, a server from its documentation."""

import json
import time
from pathlib import Path

import pytest
from responses_server import USAGE, ResponsesServer, call, message, reasoning

from markscheme.models.base import RequestFailed
from markscheme.runs.folder import Run
from markscheme.types import Message, Sampling

pytestmark = pytest.mark.needs("openai")


def answering(*items, **fields):
    return ResponsesServer(lambda _: (list(items), fields))


def check_body(body):
    """Against the official client's types: every field is one of them, and of its type."""
    from openai.types.responses import response_create_params
    from pydantic import TypeAdapter

    kind = response_create_params.ResponseCreateParamsNonStreaming
    if body.get("stream"):
        kind = response_create_params.ResponseCreateParamsStreaming
    assert set(body) <= set(kind.__annotations__) | set(response_create_params.ResponseCreateParamsBase.__annotations__)
    TypeAdapter(kind).validate_python(body)


ANSWERS = {
    "plain": ([message("ANSWER: 2")], {}),
    "reasoning with a summary": ([reasoning("First|Second"), message("ANSWER: 2")], {}),
    "two messages": ([message("one "), message("two", 2)], {}),
    "a refusal": ([message("", content=[{"type": "refusal", "refusal": "I cannot"}])], {}),
    "cut off": (
        [reasoning(""), message("ANSW", status="incomplete")],
        {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
    ),
    "filtered": ([], {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}),
    "a call": ([reasoning("x"), call("python", '{"code": "1"}'), call("python", '{"co', 2)], {}),
}


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("name", ANSWERS)
def test_answer_when_read_then_it_is_what_the_official_client_reads(ask, name, stream):
    import openai

    items, fields = ANSWERS[name]
    server = answering(*items, **fields)
    with server.running() as url:
        [one] = ask("openai/gpt-5", base_url=(url,), api="responses", no_stream=not stream)
        official = openai.OpenAI(base_url=url, api_key="k", max_retries=0).responses.create(model="gpt-5", input="1+1?")
    check_body(server.bodies[0])
    assert one.text == official.output_text
    usage = official.usage
    assert (one.prompt_tokens, one.completion_tokens) == (usage.input_tokens, usage.output_tokens)
    assert one.cached_tokens == usage.input_tokens_details.cached_tokens == 64
    assert one.reasoning_tokens == usage.output_tokens_details.reasoning_tokens == 30
    calls = [item for item in official.output if item.type == "function_call"]
    assert [(each.id, each.name, each.arguments) for each in one.tool_calls] == [
        (each.call_id, each.name, each.arguments) for each in calls
    ]
    assert [item["type"] for item in one.raw] == [item.type for item in official.output]
    assert [item.get("encrypted_content") for item in one.raw] == [
        getattr(item, "encrypted_content", None) for item in official.output
    ]
    assert (one.first_token is not None) == (stream and name not in ("filtered", "a refusal"))


@pytest.mark.parametrize(
    ("name", "finish", "thought"),
    [
        ("plain", "stop", None),
        ("reasoning with a summary", "stop", "First\n\nSecond"),
        ("cut off", "length", None),
        ("filtered", "content_filter", None),
    ],
)
def test_answer_when_read_then_reasoning_and_the_reason_of_its_end_are_ours(ask, name, finish, thought):
    items, fields = ANSWERS[name]
    with answering(*items, **fields).running() as url:
        [one] = ask("openai/gpt-5", base_url=(url,), api="responses")
    assert (one.finish_reason, one.reasoning) == (finish, thought)


def test_answer_when_it_has_commentary_then_only_the_final_answer_counts_and_the_rest_is_kept(ask):
    items = [message("I will add.", phase="commentary"), message("ANSWER: 2", 2, phase="final_answer")]
    with answering(*items).running() as url:
        [one] = ask("openai/gpt-5", base_url=(url,), api="responses")
    assert (one.text, one.metadata["commentary"]) == ("ANSWER: 2", "I will add.")


def test_request_when_sent_then_options_have_the_names_of_this_api(ask):
    server = answering(message("2"))
    with server.running() as url:
        ask(
            "openai/gpt-5",
            base_url=(url,),
            api="responses",
            reasoning_effort="high",
            reasoning_summary="auto",
            sampling=Sampling(temperature=1.0, top_p=0.9, max_tokens=77),
            messages=(Message("system", "Be brief."), Message("user", "1+1?")),
        )
    [body] = server.bodies
    check_body(body)
    assert body["reasoning"] == {"effort": "high", "summary": "auto"}
    assert (body["max_output_tokens"], body["top_p"], body["store"]) == (77, 0.9, False)
    assert body["input"] == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "1+1?"}]
    assert "seed" not in body


@pytest.mark.parametrize("cut", [0, 1, 4, -1])
def test_stream_when_it_breaks_off_then_the_attempt_has_failed(ask, cut):
    server = answering(reasoning("x"), message("ANSWER: 2"))
    server.cut = cut
    with server.running() as url, pytest.raises(RequestFailed, match="broke off"):
        ask("openai/gpt-5", base_url=(url,), api="responses")


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        ({"code": "server_error", "message": "oops"}, "server_error", True),
        ({"code": "rate_limit_exceeded", "message": "slow"}, "rate_limit", True),
        ({"code": "invalid_prompt", "message": "no"}, "bad_request", False),
        ({"code": "misalignment_policy_violation", "message": "no"}, "content_filter", False),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_response_when_it_failed_then_the_failure_says_whether_to_try_again(ask, error, kind, retryable, stream):
    with answering(status="failed", error=error).running() as url, pytest.raises(RequestFailed) as failure:
        ask("openai/gpt-5", base_url=(url,), api="responses", no_stream=not stream)
    assert (failure.value.kind, failure.value.retryable) == (kind, retryable)
    assert error["message"] in str(failure.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"stop": ("x",)}, "no --stop"),
        ({"top_k": 3}, "no --top-k"),
        ({"samples_per_request": 2}, "one sample"),
        ({"tools": ("python",), "tool_format": "fenced"}, "needs a stop"),
        ({"api": "chat", "background": True}, "needs --api responses"),
        ({"api": "chat", "reasoning_summary": "auto"}, "needs --api responses"),
    ],
)
def test_options_when_the_api_does_not_have_them_then_refused(ask, options, said):
    from markscheme.errors import UsageError

    with pytest.raises(UsageError, match=said):
        ask("openai/m", base_url=("http://127.0.0.1:9/v1",), **{"api": "responses", **options})


def run_of(folder, url, problems, *options):
    from markscheme.cli import main

    data = folder / "sums.jsonl"
    rows = [{"question": f"What is {n} + {n + 7}?", "answer": str(2 * n + 7)} for n in range(problems)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked = ["run", str(data), "--model", "openai/gpt-5", "--base-url", url, "--api", "responses"]
    return main([*asked, "--protocol", "gsm8k-numeric", "--out", str(folder / "run"), "--json", *options])


@pytest.mark.needs_program("bwrap")
def test_conversation_when_it_goes_on_then_every_item_is_handed_back_as_it_came(tmp_path, capsys):
    def script(body):
        outputs = [item["output"] for item in body["input"] if item.get("type") == "function_call_output"]
        if outputs:
            return [message(f"ANSWER: {outputs[0]}")], {}
        return [reasoning("Let me compute"), call("python", '{"code": "3 + 4"}')], {}

    server = ResponsesServer(script)
    prices = tmp_path / "prices.toml"
    prices.write_text('[models]\n"openai/gpt-5" = { input = 1.0, cached = 0.1, output = 10.0 }\n')
    with server.running() as url:
        assert run_of(tmp_path, url, 1, "--tools", "python", "--prices", str(prices)) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["verdicts"] == {"correct": 1}
    for body in server.bodies:
        check_body(body)
    first, second = server.bodies
    assert first["tools"][0]["name"] == "python"
    assert second["input"][1:] == [
        reasoning("Let me compute"),
        call("python", '{"code": "3 + 4"}'),
        {"type": "function_call_output", "call_id": "call_1", "output": "7"},
    ]
    usage = report["usage"]
    assert usage["cached_tokens"] == 2 * USAGE["input_tokens_details"]["cached_tokens"]
    assert usage["cost"] == pytest.approx((2 * (120 - 64) * 1.0 + 2 * 64 * 0.1 + 2 * 50 * 10) / 1e6)
    assert "in / cached / out" in usage["price"]


def test_background_when_wanted_then_the_answer_is_fetched_when_it_is_there(ask, monkeypatch):
    monkeypatch.setattr("markscheme.models.responses.LOOK_AGAIN", (0.01,))
    server = answering(reasoning("x"), message("ANSWER: 2"))
    with server.running() as url:
        [one] = ask("openai/gpt-5", base_url=(url,), api="responses", background=True)
    check_body(server.bodies[0])
    assert (server.bodies[0]["background"], server.bodies[0]["store"]) == (True, True)
    assert one.text == "ANSWER: 2"
    assert server.fetched == ["resp_1"] * 3


def test_background_when_the_run_is_killed_then_the_answer_is_fetched_and_not_paid_for_again(launch, tmp_path):
    server = answering(message("ANSWER: 7"))
    server.looks = 10**6
    with server.running() as url:
        data = tmp_path / "sums.jsonl"
        data.write_text(
            '{"question": "What is 0 + 7?", "answer": "7"}\n{"question": "What is 7 + 0?", "answer": "7"}\n'
        )
        command = ("run", data, "--model", "openai/gpt-5", "--base-url", url, "--api", "responses", "--background")
        asking = launch(*command, "--protocol", "gsm8k-numeric", "--out", tmp_path / "run", "--json", cwd=tmp_path)
        deadline = time.monotonic() + 60
        turns = tmp_path / "run" / "turns.jsonl"
        while time.monotonic() < deadline and not (turns.exists() and turns.read_bytes().count(b"\n") == 2):
            time.sleep(0.01)
        asking.kill()
        asking.wait()
        server.looks = 0
        for stored in server.stored.values():
            stored[1] = 0
        del server.stored["resp_2"]  # one of them the provider has forgotten
        again = launch("resume", tmp_path / "run", "--json", cwd=tmp_path)
        again.communicate(timeout=100)
    assert again.returncode == 0
    assert len(server.bodies) == 3
    assert {response.text for response in Run.open(Path(tmp_path / "run")).responses()} == {"ANSWER: 7"}
