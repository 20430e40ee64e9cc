"""A gathered stream is what the server sent, however its bytes were cut, and its connection can be used again."""

import asyncio
import json
import random
from contextlib import suppress

import pytest

from markscheme.models.base import RequestFailed
from markscheme.models.gathering import LAST, Clock, Gathering
from markscheme.models.streams import ChatFold, Stream
from markscheme.models.transport import Transport

WORDS = ["So ", "1 + 1", " = ", "2", ", é", "\\n", '"', "😀"] * 12
HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(text, more=""):
    data = text.encode()
    return f"{len(data):x}{more}\r\n".encode() + data + b"\r\n"


def event(word, gap="\n\n"):
    return f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'content': word}}]})}{gap}"


END = 'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
FORMS = {
    "an event per chunk": [chunk(event(word)) for word in WORDS],
    "several events per chunk": [chunk("".join(map(event, WORDS[at : at + 7]))) for at in range(0, len(WORDS), 7)],
    "chunks that end within an event": [
        chunk(piece) for word in WORDS for piece in (event(word)[:20], event(word)[20:])
    ],
    "events with carriage returns": [chunk(event(word, "\r\n\r\n")) for word in WORDS],
    "chunk extensions": [chunk(event(word), ";a=b" if number % 5 == 4 else "") for number, word in enumerate(WORDS)],
    "one large chunk": [chunk("".join(map(event, WORDS)) + ":" + "x" * 70_000 + "\n\n")],
}


async def asked(body, cuts, delay, times=2):
    """Return the texts of this many requests on one connection, and the number of connections."""
    connections = []

    async def serve(reader, writer):
        with suppress(ConnectionError):
            await answer(reader, writer)

    async def answer(reader, writer):
        connections.append(writer)
        while True:
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError:
                return
            await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]))
            at = 0
            for cut in [*cuts, len(body)]:
                writer.write(body[at:cut])
                await writer.drain()
                await asyncio.sleep(delay)
                at = cut

    server = await asyncio.start_server(serve, "127.0.0.1")
    transport = Transport([f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"], {}, silence=2)
    try:
        answers = [await transport.ask(b"{}", lambda answer: answer, Stream(ChatFold)) for _ in range(times)]
    finally:
        await transport.close()
        server.close()
        for writer in connections:
            writer.close()
    return [answer["choices"][0]["message"]["content"] for answer in answers], len(connections)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("delay", [0, 0.002, 0.05], ids=["at once", "quickly", "slowly"])
def test_stream_when_cut_anywhere_then_its_text_is_whole_and_the_connection_is_used_again(form, delay):
    body = HEAD.encode() + b"".join(FORMS[form]) + chunk(END) + b"0\r\n\r\n"
    cuts = sorted(random.Random(form).sample(range(1, len(body)), 9 if delay > 0.01 else 60))
    assert asyncio.run(asked(body, cuts, delay)) == (["".join(WORDS)] * 2, 1)


@pytest.mark.parametrize("last", [1, 2, 3, 4, 5, 6])
def test_stream_when_its_last_bytes_come_late_then_it_is_whole(last):
    chunks = [*FORMS["an event per chunk"], chunk(END), b"0\r\n\r\n"]
    body = HEAD.encode() + b"".join(chunks)
    cuts = [len(HEAD), len(HEAD) + len(chunks[0]), len(body) - 300, len(body) - last]
    assert asyncio.run(asked(body, cuts, 0.06)) == (["".join(WORDS)] * 2, 1)


@pytest.mark.parametrize("spoilt", [b"zz\r\n", b"-5\r\n", b"5\r\nabcdefgh\r\n"])
def test_stream_when_its_chunks_are_damaged_then_the_attempt_fails(spoilt):
    body = HEAD.encode() + b"".join(FORMS["an event per chunk"]) + spoilt + chunk(END) + b"0\r\n\r\n"
    cuts = [len(HEAD) + len(FORMS["an event per chunk"][0])]
    with pytest.raises(RequestFailed) as caught:
        asyncio.run(asked(body, cuts, 0.03))
    assert caught.value.retryable


def test_connection_when_aiohttp_makes_it_then_it_gathers():
    async def made():
        transport = Transport(["http://127.0.0.1:1/v1"], {})
        connection = transport._open().connector._factory()
        await transport.close()
        return connection

    connection = asyncio.run(made())
    assert isinstance(connection, Gathering)
    assert isinstance(connection._clock, Clock)


def test_clock_when_enough_streams_have_ended_then_knows_how_long_the_shortest_took():
    async def durations():
        clock = Clock(asyncio.get_running_loop())
        for seconds in range(LAST - 1):
            clock.ended(9.0 + seconds)
        few = clock.shortest
        clock.ended(50.0)
        known = clock.shortest
        clock.ended(51.0)
        return few, known, clock.shortest

    assert asyncio.run(durations()) == (0.0, 9.0, 10.0)


def test_gathering_when_streams_take_long_then_later_ones_are_read_less_often():
    """Times the loop, not the machine: the pauses are what the connection asks of its clock."""

    class Ended:
        shortest = 8.0

        def call(self, connection, when):
            pauses.append(when - now)

    pauses = []
    loop = asyncio.new_event_loop()
    now = loop.time()
    connection = Gathering(loop, Ended())
    connection._sent = connection._first = now - 2.0
    connection._rest_until(now, now - 2.0)
    Ended.shortest = 2.5
    connection._resting = False
    connection._rest_until(now, now - 2.0)
    Ended.shortest = 0.0
    connection._resting = False
    connection._rest_until(now, now - 2.0)
    loop.close()
    assert pauses == pytest.approx([1.0, 0.5, 0.2])
