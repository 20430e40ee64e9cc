"""A port of one's own for each server."""

import os
import socket
import subprocess
import sys
from contextlib import closing, contextmanager

import pytest

from markscheme.models.fleet.ports import free_port, is_shared, is_taken, listens_below

CHILD = """
import socket, sys
mine = socket.socket()
mine.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
mine.bind(("127.0.0.1", int(sys.argv[1])))
mine.listen()
print("listens", flush=True)
sys.stdin.read()
"""


@contextmanager
def child_on(port):
    """A child of ours that listens on a port and lets others do so."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "listens\n"
    try:
        yield
    finally:
        child.communicate()


def test_port_when_the_system_draws_one_again_then_another_is_given(monkeypatch):
    drawn = iter([4001, 4001, 4001, 4002])
    monkeypatch.setattr("markscheme.models.fleet.ports._given", set())
    monkeypatch.setattr("markscheme.models.fleet.ports._draw", lambda: next(drawn))
    assert [free_port(), free_port()] == [4001, 4002]


def test_port_when_none_is_left_then_an_error_and_no_hanging(monkeypatch):
    monkeypatch.setattr("markscheme.models.fleet.ports._given", {4001})
    monkeypatch.setattr("markscheme.models.fleet.ports._draw", lambda: 4001)
    with pytest.raises(OSError, match="no free port"):
        free_port()


def test_listener_when_it_is_a_child_then_ours_and_not_shared():
    port = free_port()
    assert not listens_below(port, os.getpid())
    with child_on(port):
        assert is_taken(port)
        assert listens_below(port, os.getpid())
        assert not is_shared(port, os.getpid())


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0"])
def test_listener_when_another_shares_the_port_then_known(address):
    port = free_port()
    with child_on(port), closing(socket.socket()) as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        other.bind((address, port))
        other.listen()
        assert listens_below(port, os.getpid())
        assert is_shared(port, os.getpid())  # this process itself is not among its descendants
