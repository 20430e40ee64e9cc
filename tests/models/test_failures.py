"""What a bad answer means: which failures are tried again, which stop the run, what people read."""

from datetime import UTC, datetime

import pytest

from markscheme.models.failures import failed_body, failed_status, retry_after, server_message, shorten


def failure(status, message="no", **headers):
    body = b'{"error":{"message":"%s"}}' % message.encode()
    return failed_status(status, body, headers, "OPENAI_API_KEY")


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_status_when_passing_trouble_then_retried(status):
    found = failure(status)
    assert found.retryable
    assert not found.fatal


@pytest.mark.parametrize("status", [401, 403])
def test_status_when_key_refused_then_stops_the_run_and_names_the_variable(status):
    found = failure(status)
    assert found.fatal
    assert "OPENAI_API_KEY" in str(found)


@pytest.mark.parametrize("status", [400, 404, 422])
def test_status_when_request_is_wrong_then_not_retried_and_the_servers_words_are_kept(status):
    found = failure(status, "top_k is not a thing here")
    assert not found.retryable
    assert "top_k is not a thing here" in str(found)


def test_status_when_model_is_unknown_then_stops_the_run():
    unknown = failure(404, "model not found")
    assert unknown.fatal
    assert not unknown.retryable
    assert "check the address and the model's name" in str(unknown)


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
        "context_length_exceeded",
        "the request exceeds the available context size, try increasing it",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048.",
        "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
    ],
)
@pytest.mark.parametrize("status", [400, 422])
def test_status_when_prompt_does_not_fit_then_it_is_that_problems_error(status, message):
    found = failure(status, message)
    assert found.kind == "context_length"
    assert not found.retryable
    assert not found.fatal


def test_status_when_content_filter_then_it_is_that_problems_error():
    found = failure(400, "The response was filtered due to Azure OpenAI's content management policy.")
    assert found.kind == "content_filter"
    assert not found.fatal


def test_status_when_money_is_out_then_stops_instead_of_retrying():
    body = b'{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}'
    unpaid = failed_status(429, body, {}, None)
    assert (unpaid.kind, unpaid.fatal, unpaid.retryable) == ("quota", True, False)
    assert "You exceeded your current quota" in str(unpaid)


def test_status_when_redirected_then_says_where_to():
    found = failed_status(301, b"", {"Location": "https://elsewhere/v1"}, None)
    assert found.fatal
    assert "https://elsewhere/v1" in str(found)


def test_body_when_an_error_hides_behind_200_then_taken_as_its_code():
    found = failed_body({"error": {"code": 429, "message": "busy"}}, None)
    assert found.kind == "rate_limit"
    assert found.retryable


def test_body_when_of_another_shape_then_malformed_and_retried():
    found = failed_body({"hello": "world"}, None)
    assert found.kind == "malformed"
    assert found.retryable


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"error":{"message":"m","code":"c"}}', "m (c)"),
        (b'{"error":"plain"}', "plain"),
        (b'{"message":"vllm style"}', "vllm style"),
        (b'{"detail":[{"loc":["body"],"msg":"field required"}]}', "field required"),
        (
            b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
            "Overloaded (overloaded_error)",
        ),
        (b"<html>  502   Bad Gateway </html>", "<html> 502 Bad Gateway </html>"),
        (b"\xff\xfe", "\N{REPLACEMENT CHARACTER}" * 2),
        (b"", ""),
    ],
)
def test_message_when_servers_differ_then_their_own_words_are_found(body, words):
    assert words in shorten(server_message(body))


def test_message_when_a_whole_page_comes_then_it_is_shortened():
    assert len(shorten(server_message(b"x" * 100_000))) < 700


NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("3", 3.0),
        ("0.5", 0.5),
        ("Thu, 01 Jan 2026 12:00:30 GMT", 30.0),
        ("Thu, 01 Jan 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("nan", None),
        ("-5", None),
        ("", None),
    ],
)
def test_retry_after_when_seconds_or_a_date_then_read(value, seconds):
    assert retry_after({"Retry-After": value}, NOW) == seconds


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("Fri, 31 Dec 9999 23:59:59 -2359", 251_635_118_339.0),  # beyond the last date that UTC has
        ("Mon, 01 Jan 0001 00:00:00 +2300", 0.0),  # before the first
        ("Thu, 01 Jan 2026 12:00:30", 30.0),  # no zone
        ("1 2 3 4 5", None),
        ("١٢", 12.0),
        ("١٢x", None),
        ("1.2.3", None),
        ("inf", None),
        (",", None),
    ],
)
def test_retry_after_when_odd_then_the_time_it_names_or_none(value, seconds):
    assert retry_after({"Retry-After": value}, NOW) == seconds
