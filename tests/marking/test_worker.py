"""The worker process: it ends with its parent, also in the middle of a task."""

import msgspec
import pytest

from markscheme.marking.sandbox import Nursery


@pytest.mark.parametrize("busy", [False, True])
def test_worker_when_its_parent_is_gone_then_it_ends_at_once(busy):
    nursery = Nursery()
    worker = nursery.start(1024, "time")
    try:
        assert read(worker.stdout)[0] == "ready"
        if busy:
            body = msgspec.msgpack.encode(["time:sleep", [900], 900.0, 0])
            worker.stdin.write(len(body).to_bytes(4, "big") + body)
            worker.stdin.flush()
            assert read(worker.stdout)[0] == "started"
        worker.stdin.close()  # as the system does when the parent dies
        assert worker.stdout.read() == b""
    finally:
        worker.kill()
        nursery.close()


def read(stream):
    """One message."""
    return msgspec.msgpack.decode(stream.read(int.from_bytes(stream.read(4), "big")))
