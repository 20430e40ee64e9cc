"""HTTP/1.1 as bad servers and gateways speak it, byte by byte: an answer, or a failure that is tried again; never another's answer."""

import json
import socket
import threading

import pytest
from loopback import Loopback

from markscheme.models.base import RequestFailed


def body(text):
    return json.dumps({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}).encode()


def whole(text, *headers):
    content = body(text)
    lines = ["HTTP/1.1 200 OK", f"Content-Length: {len(content)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + content


def chunked(text, trailer=b"", extension=b""):
    content = body(text)
    parts = [content[:7], content[7:]]
    framed = b"".join(b"%x%s\r\n%s\r\n" % (len(part), extension, part) for part in parts)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + framed + b"0\r\n" + trailer + b"\r\n"


class Wire:
    """Answers the n-th request of all with the n-th of these bytes; `None` closes the connection instead."""

    def __init__(self, *answers, pieces=1, keep=True):
        self.answers, self.pieces, self.keep = list(answers), pieces, keep
        self.requests = []

    def __enter__(self):
        self._socket = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        return self

    def __exit__(self, *_):
        self._socket.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection, connection.makefile("rb") as lines:
            while self._read(lines) and self.answers:
                answer = self.answers.pop(0)
                if answer is None:
                    return
                step = max(1, len(answer) // self.pieces)
                for at in range(0, len(answer), step):
                    connection.sendall(answer[at : at + step])
                if not self.keep:
                    return

    def _read(self, lines):
        head = b""
        while (line := lines.readline()) not in (b"\r\n", b""):
            head += line
        if not head:
            return False
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
        self.requests.append(head + lines.read(length))
        return True


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 100 Continue\r\n\r\n" + whole("4"),
        b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n" + whole("4"),
        b"HTTP/1.1 102 Processing\r\n\r\n" * 5 + whole("4"),
        chunked("4"),
        chunked("4", trailer=b"X-Checksum: 1\r\nServer-Timing: total;dur=5\r\n"),
        chunked("4", extension=b";name=value"),
        whole("4", "Connection: close"),
        whole("4", "Set-Cookie: a=b; Path=/", "Set-Cookie: c=d"),
        whole("4", "X-Long: " + "x" * 4000),
        whole("4", "Content-Type: text/html; charset=utf-16"),
        b"HTTP/1.0 200 OK\r\n\r\n" + body("4"),
        b"HTTP/1.1 200\r\nContent-Length: %d\r\n\r\n" % len(body("4")) + body("4"),
    ],
    ids=range(12),
)
@pytest.mark.parametrize("pieces", [1, 50])
def test_answer_when_oddly_framed_then_read(ask, answer, pieces):
    with Wire(answer, pieces=pieces, keep=not answer.startswith(b"HTTP/1.0")) as wire:
        [one] = ask("openai/m", base_url=(wire.url,))
    assert one.text == "4"


@pytest.mark.parametrize(
    "answer",
    [
        None,
        b"",
        b"\r\n\r\n",
        b"220 mail.example ESMTP\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nx",
        b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 50_000 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nX-\x00: \x01\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 999 What\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    ],
    ids=range(14),
)
def test_answer_when_it_is_no_http_or_no_answer_then_a_failure_that_is_tried_again(ask, answer):
    with Wire(answer, keep=False) as wire, pytest.raises(RequestFailed) as failed:
        ask("openai/m", base_url=(wire.url,))
    assert failed.value.retryable
    assert len(str(failed.value)) < 700


def test_connection_when_a_second_answer_was_slipped_in_then_it_is_nobodys(ask):
    """Behind a confused gateway the answer to another request stands in the pipe: it must not become ours."""
    with Wire(whole("right") + whole("somebody else's"), whole("right again"), whole("right again")) as wire:
        [one] = ask("openai/m", base_url=(wire.url,), times=2)
    assert one.text == "right again"


def test_answer_when_it_is_no_http_then_the_message_does_not_repeat_what_was_sent(ask):
    said = whole("right").replace(b"\r\n", b"\r\nConnection: close\r\n", 1) + whole("somebody else's")
    with Wire(said) as wire, pytest.raises(RequestFailed, match="did not answer in HTTP") as failed:
        ask("openai/m", base_url=(wire.url,))
    assert "right" not in str(failed.value)
    assert failed.value.retryable


def test_connection_when_the_server_closes_it_on_a_new_request_then_tried_again_by_the_scheduler_only(ask):
    """Not by the client: whether the request was worked on, only the server knows."""
    with Wire(whole("one"), None, whole("two")) as wire:
        with pytest.raises(RequestFailed, match="closed the connection") as failed:
            ask("openai/m", base_url=(wire.url,), times=2)
        assert len(wire.requests) == 2
    assert (failed.value.kind, failed.value.retryable) == ("connection", True)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirect_when_it_leads_to_another_host_then_the_key_stays_here(ask, monkeypatch, status):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-only-for-the-first")
    with Loopback(keep=True) as thief:
        moved = f"HTTP/1.1 {status} Moved\r\nLocation: {thief.url}/chat/completions\r\nContent-Length: 0\r\n\r\n"
        with Wire(moved.encode()) as wire, pytest.raises(RequestFailed, match="redirects to") as failed:
            ask("openai/m", base_url=(wire.url,))
        assert b"sk-only-for-the-first" in wire.requests[0]
        assert thief.requests == 0
    assert failed.value.fatal


@pytest.mark.parametrize("place", ["http://[x", "//[", "http://[::1", "%%%"])
def test_redirect_when_it_leads_nowhere_then_refused_in_a_sentence(ask, place):
    moved = f"HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n"
    with Wire(moved.encode()) as wire, pytest.raises(RequestFailed, match="redirects to"):
        ask("openai/m", base_url=(wire.url,))


def test_cookie_when_a_server_sets_one_then_it_is_not_sent_back(ask):
    with Wire(whole("a", "Set-Cookie: session=stolen; Path=/"), whole("b")) as wire:
        ask("openai/m", base_url=(wire.url,), times=2)
        assert b"stolen" not in wire.requests[1]
