"""The HTTP part: every kind of trouble is a `RequestFailed` of the right kind, and no secret gets out."""

import asyncio
import socket

import pytest
from loopback import Loopback, Plan

from markscheme.models.base import RequestFailed
from markscheme.models.bodies import decode
from markscheme.models.transport import Transport


def post(urls, times=1, headers=None, key_variable=None):
    async def posting():
        transport = Transport(urls, headers or {}, key_variable)
        try:
            answers = []
            for _ in range(times):
                try:
                    answers.append(await transport.ask(b'{"messages": []}', lambda answer: answer["choices"]))
                except RequestFailed as failure:
                    answers.append(failure)
            return answers
        finally:
            await transport.close()

    return asyncio.run(posting())


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("429", "rate_limit"),
        ("500", "server_error"),
        ("reset", "connection"),
        ("malformed", "malformed"),
        ("cut", "malformed"),
    ],
)
def test_post_when_the_server_misbehaves_then_the_failure_has_its_kind(fault, kind):
    with Loopback(Plan(faults={fault: 1.0}, retry_after=7)) as server:
        [failure] = post([server.url])
    assert isinstance(failure, RequestFailed)
    assert (failure.kind, failure.retryable) == (kind, True)
    assert failure.retry_after == (7.0 if fault == "429" else None)


def test_post_when_nobody_listens_then_a_retryable_connection_failure():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    [failure] = post([f"http://127.0.0.1:{port}/v1"])
    assert (failure.kind, failure.retryable) == ("connection", True)
    assert f"127.0.0.1:{port}" in str(failure)


def test_post_when_the_body_ends_early_then_a_retryable_connection_failure():
    with raw_server(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{") as url:
        [failure] = post([url])
    assert (failure.kind, failure.retryable) == ("connection", True)


def test_post_when_the_answer_has_no_end_then_it_is_not_read_for_ever(monkeypatch):
    monkeypatch.setattr("markscheme.models.bodies.LARGEST_BODY", 1000)
    chunk = b"400\r\n" + b" " * 1024 + b"\r\n"
    with raw_server(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + 50 * chunk) as url:
        [failure] = post([url])
    assert failure.kind == "malformed"
    assert "longer than" in str(failure)


def test_post_when_the_server_repeats_the_key_then_the_message_does_not(monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    refuse = {"error": {"message": "Incorrect API key provided: sk-very-secret, password hunter2"}}
    with Loopback(Plan(status=lambda _: (401, refuse))) as server:
        url = server.url.replace("http://", "http://bob:hunter2@")
        [failure] = post([url], key_variable="MY_KEY")
    assert failure.fatal
    assert "MY_KEY" in str(failure)
    assert "sk-very-secret" not in str(failure)
    assert "hunter2" not in str(failure)


def test_post_when_an_error_behind_200_repeats_a_secret_then_the_message_does_not(monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    said = {"error": {"message": "sk-very-secret is no good, and neither is p%40ss or p@ss"}}
    with Loopback(Plan(status=lambda _: (200, said))) as server:
        [failure] = post([server.url.replace("http://", "http://bob:p%40ss@")], key_variable="MY_KEY")
    assert "*** is no good, and neither is *** or ***" in str(failure)


@pytest.mark.parametrize("status", [200, 400, 500])
def test_post_when_the_message_is_cut_then_no_half_of_a_key_is_left_at_the_cut(monkeypatch, status):
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    said = {"error": {"message": "x" * 530 + " sk-very-secret" * 20}}
    with Loopback(Plan(status=lambda _: (status, said))) as server:
        [failure] = post([server.url], key_variable="MY_KEY")
    assert len(str(failure)) < 700
    assert "sk-" not in str(failure)


def test_post_when_the_refusal_is_long_then_the_variable_to_set_is_still_named(monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    with Loopback(Plan(status=lambda _: (401, {"error": "no " * 1000}))) as server:
        [failure] = post([server.url], key_variable="MY_KEY")
    assert "set MY_KEY" in str(failure)


def test_post_when_one_replica_is_dead_then_the_other_answers_at_once(silent_port):
    gone = f"http://127.0.0.1:{silent_port}/v1"
    with Loopback() as alive:
        answers = post([gone, alive.url], times=6)
        assert alive.requests == 6
    assert not any(isinstance(answer, RequestFailed) for answer in answers)


@pytest.mark.parametrize(("status", "most"), [(400, 3), (401, 1), (403, 1), (404, 1), (429, 1)])
def test_post_when_one_replica_refuses_everything_then_the_other_answers_and_it_is_left_out(status, most):
    refuse = Plan(status=lambda _: (status, {"error": {"message": "not here"}}))
    with Loopback(refuse) as sour, Loopback() as sweet:
        answers = post([sour.url, sweet.url], times=8)
        assert sour.requests == most
        assert sweet.requests == 8
    assert not any(isinstance(answer, RequestFailed) for answer in answers)


def test_post_when_every_replica_refuses_the_request_then_it_is_the_requests_fault():
    refuse = Plan(status=lambda _: (400, {"error": {"message": "no such parameter"}}))
    with Loopback(refuse) as first, Loopback(refuse) as second:
        answers = post([first.url, second.url], times=5)
        assert (first.requests, second.requests) == (5, 5)  # nobody is left out for it
    assert {(one.kind, one.retryable) for one in answers} == {("bad_request", False)}


def test_post_when_one_replica_refuses_the_key_and_the_other_is_away_then_it_may_come_back(silent_port):
    gone = f"http://127.0.0.1:{silent_port}/v1"
    with Loopback(Plan(status=lambda _: (401, {"error": "no"}))) as server:
        [failure] = post([gone, server.url])
        assert (failure.kind, failure.fatal, failure.retryable) == ("auth", False, True)
        [failure] = post([server.url])
    assert failure.fatal


def test_post_when_a_replica_asks_for_time_then_it_is_left_alone_that_long():
    with Loopback(Plan(faults={"429": 1.0}, retry_after=60)) as busy, Loopback() as free:
        post([busy.url, free.url], times=8)
        assert (busy.requests, free.requests) == (1, 8)


def test_post_when_the_status_is_201_then_it_is_an_answer():
    body = {"choices": [{"message": {"content": "4"}}]}
    with Loopback(Plan(status=lambda _: (201, body))) as server:
        assert post([server.url]) == [body["choices"]]


def test_post_when_a_proxy_is_named_for_another_host_then_the_loopback_is_asked_directly(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Loopback() as server:
        [answer] = post([server.url])
    assert not isinstance(answer, RequestFailed)


def test_decode_when_deeply_nested_then_malformed_and_not_a_crash():
    with pytest.raises(RequestFailed, match="not JSON"):
        decode(b"[" * 200_000)


class raw_server:  # noqa: N801 - reads like a function
    """Sends these bytes to whoever connects, then closes."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer

    def __enter__(self) -> str:
        import threading

        self._socket = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._serve, daemon=True).start()
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"

    def _serve(self) -> None:
        connection, _ = self._socket.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(self._answer)

    def __exit__(self, *_: object) -> None:
        self._socket.close()


@pytest.mark.parametrize(
    ("location", "advice"),
    [
        ("/other/v1?x=1", "to http://HOST/other/v1?x=1; give"),
        ("//elsewhere/v1", "to http://elsewhere/v1; give"),
        ("", "check"),
    ],
)
def test_post_when_redirected_without_a_host_then_the_advice_can_be_followed(location, advice):
    head = f"HTTP/1.1 307 Moved\r\n{f'Location: {location}' if location else 'X: y'}\r\nContent-Length: 0\r\n\r\n"
    with raw_server(head.encode()) as url:
        [failure] = post([url])
        assert advice.replace("HOST", url.split("/")[2]) in str(failure)


def test_call_when_the_server_asks_for_a_month_then_it_is_not_waited_for():
    head = b"HTTP/1.1 429 Slow\r\nRetry-After: 2600000\r\nContent-Length: 0\r\n\r\n"

    async def call(url):
        transport = Transport([url], {})
        try:
            async with asyncio.timeout(20):
                await transport.call("GET", url)
        finally:
            await transport.close()

    with raw_server(head) as url, pytest.raises(RequestFailed, match="429"):
        asyncio.run(call(url))
