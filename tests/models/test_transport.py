"""The HTTP part: every kind of trouble is a `RequestFailed` of the right kind, and no secret gets out."""

import asyncio
import socket

import pytest
from loopback import Loopback, Plan

from markscheme.models.base import RequestFailed
from markscheme.models.transport import Transport, decode


def post(urls, times=1, headers=None, key_variable=None):
    async def posting():
        transport = Transport(urls, headers or {}, key_variable)
        try:
            answers = []
            for _ in range(times):
                try:
                    answers.append(await transport.post(b'{"messages": []}'))
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
    monkeypatch.setattr("markscheme.models.transport.LARGEST_BODY", 1000)
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


def test_answer_when_an_error_behind_200_repeats_a_secret_then_the_message_does_not(monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    transport = Transport(["http://h/v1"], {}, "MY_KEY", ["tok-123"])
    said = str(transport.unusable({"error": {"message": "sk-very-secret and tok-123 are no good"}}))
    assert "are no good" in said
    assert "secret" not in said
    assert "tok" not in said


def test_post_when_one_replica_is_dead_then_the_other_answers():
    with Loopback() as dead:
        gone = dead.url
    with Loopback() as alive:
        answers = post([gone, alive.url], times=6)
        assert alive.requests == 5
    assert [isinstance(answer, RequestFailed) for answer in answers] == [True] + [False] * 5


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
