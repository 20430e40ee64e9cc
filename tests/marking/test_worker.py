"""The worker process: it ends with its parent, also in the middle of a task."""

import subprocess
import sys

import msgspec
import pytest


@pytest.mark.parametrize("busy", [False, True])
def test_worker_when_its_parent_is_gone_then_it_ends_at_once(busy):
    command = [sys.executable, "-m", "markscheme.marking._worker", "1024"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
        try:
            read(worker.stdout)
            if busy:
                body = msgspec.msgpack.encode(["time:sleep", [900], 900.0])
                worker.stdin.write(len(body).to_bytes(4, "big") + body)
                worker.stdin.flush()
                assert read(worker.stdout)[0] == "started"
            worker.stdin.close()  # as the system does when the parent dies
            worker.wait(200)
        finally:
            worker.kill()


def read(stream):
    """One message."""
    return msgspec.msgpack.decode(stream.read(int.from_bytes(stream.read(4), "big")))
