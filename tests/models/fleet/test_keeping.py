"""A process and everything it starts end together, whoever is killed first."""

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import pytest
import stand_in_server

from markscheme.errors import ModelError
from markscheme.models.fleet import keeper
from markscheme.models.fleet.guarded_process import GuardedProcess
from markscheme.models.fleet.servers import Program, Server


@pytest.fixture
def kept(tmp_path):
    """Start Python code as a kept process; its log."""
    started = []

    def kept(code, secrets=()):
        with (tmp_path / "log").open("ab") as log:
            started.append(GuardedProcess([sys.executable, "-c", code], log, dict(os.environ), 1.0, secrets))
        return started[-1]

    yield kept
    for one in started:
        if one.poll() is None:
            one.kill()


@pytest.fixture
def server(tmp_path):
    """A server by the stand-in, with options."""
    program = stand_in_server.install(tmp_path / "bin")

    def server(*options, restarts=2, health="/health"):
        command = [str(program), "serve", "tiny", "--pids", str(tmp_path / "pids"), *options]
        return Server(
            Program("stand-in", command, health), tmp_path / "log", environment={}, start_limit=30, restarts=restarts
        )

    return server


def until(condition):
    deadline = time.monotonic() + 200
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


# A process whose child has left its group and its parents, and says its id.
DAEMON = f"""
import sys, time
sys.path.append({str(Path(stand_in_server.__file__).parent)!r})
from stand_in_server import stubborn_child
print(stubborn_child(), flush=True)
time.sleep(600)
"""


def test_keeper_when_it_is_killed_then_nothing_of_the_server_is_left(kept, tmp_path, alive):
    process = kept(DAEMON)
    until(lambda: (tmp_path / "log").read_text().strip())
    assert len(alive(tmp_path / "log", patience=0)) == 1
    os.kill(process.pid, signal.SIGKILL)
    until(lambda: process.poll() is not None)
    assert process.returncode == -signal.SIGKILL
    assert alive(tmp_path / "log", patience=2) == []


def test_kept_when_it_is_killed_with_its_keeper_then_nothing_is_left(kept, tmp_path, alive):
    process = kept(DAEMON)
    until(lambda: (tmp_path / "log").read_text().strip())
    process.kill()
    assert alive(tmp_path / "log", patience=2) == []


def test_kept_when_the_keeper_cannot_run_then_an_error_and_no_open_files(kept, monkeypatch):
    monkeypatch.setattr(keeper, "__file__", "/nowhere/keeper.py")
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(OSError, match="ended before"):
        kept("")
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_kept_when_the_program_does_not_exist_then_its_exit_code_says_so(tmp_path):
    with (tmp_path / "log").open("wb") as log:
        process = GuardedProcess(["/nowhere/server"], log, {}, grace=1.0)
    until(lambda: process.poll() is not None)
    assert process.returncode == keeper.NOT_STARTED
    assert "No such file" in (tmp_path / "log").read_text()


def test_server_when_a_port_cannot_be_had_then_tried_again_and_at_last_gone(server, monkeypatch):
    def full():
        raise OSError(24, "Too many open files")

    async def watched():
        one = server(restarts=1)
        await one.start()
        monkeypatch.setattr("markscheme.models.fleet.servers.free_port", full)
        one._process.kill()
        async with asyncio.timeout(120):
            while one.gone is None:
                await asyncio.sleep(0.05)
        await one.stop()
        return one.gone

    assert "cannot be started: [Errno 24] Too many open files; it is not started again" in asyncio.run(watched())


def test_server_when_the_watch_over_it_fails_then_gone_and_still_taken_down(server, monkeypatch, alive):
    changes = []

    async def watched():
        one = server()
        await one.start()
        one.on_change = changes.append
        monkeypatch.setattr(one._process, "poll", lambda: 1 / 0)
        async with asyncio.timeout(120):
            while one.gone is None:
                await asyncio.sleep(0.05)
        monkeypatch.undo()
        await one.stop()
        return one.gone

    assert "no longer be watched (ZeroDivisionError" in asyncio.run(watched())
    assert changes == [False]
    assert alive(patience=0) == []


def test_server_when_its_health_is_behind_its_key_then_it_is_up(server):
    async def started():
        one = server("--api-key", "sesame", health="/v1/models")
        await one.start()
        await one.stop()
        return one.url

    assert asyncio.run(started())


def test_server_when_its_port_turns_out_to_be_shared_then_on_another(server, monkeypatch, tmp_path):
    answers = iter([True, False])
    monkeypatch.setattr("markscheme.models.fleet.servers.is_shared", lambda *_: next(answers))

    async def started():
        one = server()
        await one.start()
        await one.stop()

    asyncio.run(started())
    assert (tmp_path / "log").read_text().count("== markscheme starts") == 2


def test_server_when_its_log_would_steer_the_terminal_then_only_words_are_shown(server, tmp_path):
    said = tmp_path / "said"
    said.write_text("\x1b[2J\x1b]0;title\x07\x1b[1;31mno\x1b[0m \x1b(Bmemory\x00\x9b2J\u202e\n\x1b[0m\n")
    with pytest.raises(ModelError) as failed:
        asyncio.run(server("--fault", "crash", "--last-words", str(said)).start())
    assert str(failed.value).endswith("ends: no memory2J)")


def test_server_when_no_port_can_be_had_at_the_start_then_a_sentence(server, monkeypatch):
    def full():
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("markscheme.models.fleet.servers.free_port", full)
    with pytest.raises(ModelError, match=r"stand-in cannot be started: .*Too many open files"):
        asyncio.run(server().start())


def test_log_when_a_line_is_longer_than_is_held_then_no_key_is_cut_in_two(tmp_path):
    key = "sk-0123456789-abcdefghij-z"
    code = f"import sys; sys.stdout.write({key!r} * 150_000); sys.stdout.flush()"  # about four megabytes without a line's end
    with (tmp_path / "log").open("ab") as log:
        said = GuardedProcess([sys.executable, "-c", code], log, dict(os.environ), 1.0, [key])
    until(lambda: said.poll() is not None)
    assert (tmp_path / "log").read_bytes() == b"***" * 150_000


def test_process_when_there_are_more_secrets_than_an_environment_holds_then_it_starts_and_says_none(kept, tmp_path):
    document = '{\n  "private_key": "Xk29fjslkJ3Xk29"\n}'
    one = kept(f"print('a {{}} b'); print({document!r}); print('key-123-7')", [f"key-{'123' * 100}-{n}" for n in range(900)]
               + ["key-123-7", document])  # fmt: skip
    until(lambda: one.poll() is not None)
    assert one.returncode == 0
    first, *others = (tmp_path / "log").read_text().splitlines()
    assert first == "a {} b"
    # As the pipe delivers it, the document is hidden as one or line by line; its braces alone are no secret.
    assert "".join("".join(others).split()) in ("******", "{***}***")
