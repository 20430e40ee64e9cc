"""Bodies as bad servers and gateways send them: bombs stay small, what was paid for is read."""

import asyncio
import gzip
import json
import tracemalloc
import zlib

import aiohttp
import pytest
from aiohttp import web

from markscheme.models import bodies
from markscheme.models.base import RequestFailed
from markscheme.models.bodies import decode
from markscheme.models.transport import Transport

ANSWER = {"choices": [{"message": {"content": "ANSWER: 4"}}], "usage": {"completion_tokens": 3}}


def ask(body, headers=None, times=1):
    """What a transport makes of a body with these headers, asked for so many times at once; aiohttp serves it."""

    async def asking():
        async def serve(_):
            return web.Response(body=body, headers=headers or {}, content_type="application/json")

        app = web.Application()
        app.router.add_post("/v1", serve)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        transport = Transport([f"http://127.0.0.1:{port}/v1"], {})
        try:
            waiting = [transport.ask(b"{}", lambda answer: answer["choices"]) for _ in range(times)]
            return await asyncio.gather(*waiting, return_exceptions=True)
        finally:
            await transport.close()
            await runner.cleanup()

    return asyncio.run(asking())


def bare_deflate(content):
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush()


@pytest.mark.parametrize(
    ("coding", "pack"),
    [
        ("gzip", gzip.compress),
        ("x-gzip", gzip.compress),
        ("gzip", lambda content: gzip.compress(content[:20]) + gzip.compress(content[20:])),
        ("gzip", lambda content: gzip.compress(content) + bytes(512)),
        ("deflate", zlib.compress),
        ("deflate", bare_deflate),
        ("identity", bytes),
    ],
)
def test_body_when_packed_in_any_usual_way_then_read(coding, pack):
    [choices] = ask(pack(json.dumps(ANSWER).encode()), {"Content-Encoding": coding})
    assert choices == ANSWER["choices"]


@pytest.mark.parametrize("spoil", [lambda packed: packed[:-12], lambda packed: packed[:10] + b"\xff" * 20, bytes])
def test_body_when_its_packing_is_cut_off_damaged_or_unknown_then_malformed(spoil):
    coding = "br" if spoil is bytes else "gzip"
    [failure] = ask(spoil(gzip.compress(json.dumps(ANSWER).encode())), {"Content-Encoding": coding})
    assert isinstance(failure, RequestFailed)
    assert (failure.kind, failure.retryable) == ("malformed", True)


def test_body_when_sixteen_bombs_arrive_at_once_then_memory_stays_small(monkeypatch):
    """64 MB each when unpacked, from 64 kB: together they would take a gigabyte."""
    monkeypatch.setattr(bodies, "LARGEST_BODY", 8 * 2**20)
    bomb = gzip.compress(bytes(64 * 2**20))
    assert len(bomb) < 2**17
    tracemalloc.start()
    try:
        failures = ask(bomb, {"Content-Encoding": "gzip"}, times=16)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert {str(failure) for failure in failures} == {"the answer is longer than 8 MB"}
    # Two at a time may be large, the others hold 256 kB each; a growing buffer is copied.
    assert peak < 2 * 3 * 8 * 2**20 + 16 * 2**20


@pytest.mark.parametrize(("tokens", "alternatives"), [(1_000, 20), (32_000, 8)])
def test_body_when_it_has_log_probabilities_of_a_long_answer_then_it_is_read(tokens, alternatives):
    one = b'{"token":"abcd","logprob":-0.5,"bytes":[97,98,99,100],"top_logprobs":['
    many = b",".join([b'{"token":"abcd","logprob":-0.5,"bytes":[97,98,99,100]}'] * alternatives)
    content = b'{"choices":[' + b",".join([one + many + b"]}"] * tokens) + b"]}"
    assert len(content) < bodies.LARGEST_BODY
    assert len(decode(content)["choices"]) == tokens


def test_body_when_it_is_nothing_but_lists_then_it_is_not_asked_for_again():
    with pytest.raises(RequestFailed, match="millions of lists") as refused:
        decode(b"[" + b"[]," * 2_000_000 + b"1]")
    assert not refused.value.retryable


@pytest.mark.parametrize("content", [b'{"choices": [' + b"[]," * 2_000_000 + b"1]}", b"<html>" + b" " * (6 << 20)])
def test_body_when_sixteen_of_a_few_megabytes_are_no_answers_then_memory_stays_small(content):
    """Read in vain: what a failure keeps, and what a list in a list takes, must not add up."""
    tracemalloc.start()
    try:
        failures = ask(gzip.compress(content), {"Content-Encoding": "gzip"}, times=16)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert {failure.kind for failure in failures} == {"malformed"}
    assert peak < 10 * len(content)


def test_body_when_many_are_large_then_each_gets_its_turn():
    large = json.dumps({**ANSWER, "padding": "x" * 2**20}).encode()
    assert ask(gzip.compress(large), {"Content-Encoding": "gzip"}, times=10) == [ANSWER["choices"]] * 10


@pytest.mark.parametrize(
    "body",
    [
        b"\xef\xbb\xbf" + json.dumps(ANSWER).encode(),
        json.dumps(ANSWER).encode("utf-16"),
        json.dumps(ANSWER).encode("utf-16-le"),
        json.dumps(ANSWER).encode("utf-16-be"),
        json.dumps(ANSWER).encode("utf-32"),
        b'{"choices": [{"message": {"content": "ANSWER: 4"}, "logprobs": [NaN, -Infinity]}], "score": Infinity}',
        b'{"choices": [{"message": {"content": "ANSWER: 4"}}], "huge": 1e999, "digits": ' + b"9" * 5000 + b"}",
        json.dumps(ANSWER).encode() + b"\n\x00\x00",
        b"\r\n \r\n" + json.dumps(ANSWER).encode() + b"data: [DONE]",
    ],
)
def test_answer_when_it_is_json_only_to_a_friendly_reader_then_read_all_the_same(body):
    assert decode(body)["choices"][0]["message"]["content"] == "ANSWER: 4"


def test_answer_when_a_text_has_a_raw_line_break_or_half_a_pair_then_read():
    assert decode(b'{"text": "one\ntwo \\ud83d"}') == {"text": "one\ntwo ?"}


@pytest.mark.parametrize("body", [b"", b"<html>no</html>", b"{" * 10_000, b"\xff\xfe\x00"])
def test_answer_when_nobody_could_read_it_then_malformed(body):
    with pytest.raises(RequestFailed, match=r"not JSON|empty"):
        decode(body)


def test_client_when_it_asks_then_it_offers_only_what_it_can_unpack():
    seen = {}

    async def asking():
        async def serve(request):
            seen.update(request.headers)
            return web.json_response(ANSWER)

        app = web.Application()
        app.router.add_post("/v1", serve)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        transport = Transport([f"http://127.0.0.1:{runner.addresses[0][1]}/v1"], {})
        await transport.ask(b"{}", lambda answer: answer)
        await transport.close()
        await runner.cleanup()

    asyncio.run(asking())
    offered = {word.strip() for word in seen.get("Accept-Encoding", "").split(",")}
    assert offered <= {"gzip", "deflate", "identity"}, aiohttp.__version__
