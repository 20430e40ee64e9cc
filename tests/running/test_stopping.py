"""A run that is stopped, by a signal or a full disk: what is kept is whole, and the folder says so."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest
from kept_runs import answers, lines, wait_until, wait_until_taken
from loopback import Loopback, Plan

import markscheme as markscheme_package
from markscheme.runs.folder import Run


def test_interrupt_when_once_then_what_is_in_flight_is_finished_and_reported(process, sums, right, fast, tmp_path):
    folder = tmp_path / "run"
    with Loopback(Plan(answer=right, hold=True), count=True) as server:
        asking = process(*("run", sums(200), *fast, "--base-url", server.url, "--concurrency", 8, "--out", folder))
        wait_until(lambda: server.in_flight == 8)
        asking.send_signal(signal.SIGINT)
        wait_until_taken(asking)
        server.release()
        stdout, stderr = asking.communicate(timeout=200)
        assert sum(server.asked.values()) == 8
    assert asking.returncode == 130
    assert len(answers(folder)) == 8
    assert Run.open(folder).manifest.status == "interrupted"
    assert json.loads((folder / "report.json").read_bytes())["missing"] == 192 == json.loads(stdout)["missing"]
    assert f"markscheme resume {folder}" in stderr


def test_interrupt_when_twice_then_what_is_in_flight_is_dropped(process, sums, right, fast, tmp_path):
    folder = tmp_path / "run"
    with Loopback(Plan(hold=True)) as server:
        asking = process("run", sums(20), *fast, "--base-url", server.url, "--concurrency", 20, "--out", folder)
        wait_until(lambda: server.in_flight == 20)
        asking.send_signal(signal.SIGINT)
        wait_until_taken(asking)
        assert asking.poll() is None
        asking.send_signal(signal.SIGINT)
        _, stderr = asking.communicate(timeout=200)
    assert asking.returncode == 130
    assert lines(folder) == []
    assert "Traceback" not in stderr
    assert Run.open(folder).manifest.status == "interrupted"


def test_termination_when_a_batch_system_asks_then_stops_at_once_with_a_report(process, sums, right, fast, tmp_path):
    folder = tmp_path / "run"
    with Loopback(Plan(hold=True)) as server:
        asking = process("run", sums(20), *fast, "--base-url", server.url, "--concurrency", 20, "--out", folder)
        wait_until(lambda: server.in_flight == 20)
        asking.send_signal(signal.SIGTERM)
        asking.communicate(timeout=200)
    assert asking.returncode == 130
    assert (folder / "report.json").exists()


@pytest.fixture
def small_disk(tmp_path):
    """A file system of its own, of 400 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", folder], capture_output=True, check=False
    )
    if mount.returncode:
        pytest.skip(f"no permission to mount: {mount.stderr.decode()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.skipif(shutil.which("mount") is None or not sys.platform.startswith("linux"), reason="needs Linux")
@pytest.mark.parametrize("told", ["--json", None])
def test_disk_when_full_then_stops_cleanly_and_the_folder_says_so(
    markscheme, process, sums, right, small_disk, tmp_path, told
):
    folder, filler = small_disk / "run", small_disk / "filler"
    filler.write_bytes(bytes(150_000))
    options = ("--protocol", "gsm8k-numeric", "--model", "openai/m", "--concurrency", 8, "--out", folder)
    with Loopback(Plan(answer=lambda body: "Well. " * 500 + right(body))) as server:
        asking = process("run", sums(60), *options, "--base-url", server.url, *([told] if told else []))
        out, said = asking.communicate(timeout=200)
        kept = answers(folder)
        assert asking.returncode == 1
        assert "No space left on device" in said
        assert f"{len(kept)} of 60 responses are kept; `markscheme resume {folder}`" in said
        assert "Traceback" not in said
        assert 5 < len(kept) < 60
        assert "accuracy" in out
        assert Run.open(folder).manifest.status == "stopped"
        assert json.loads((folder / "report.json").read_bytes())["responses"] == len(kept)
        assert not (folder / ".reserve").exists()
        filler.unlink()
        again = markscheme("resume", folder, "--json")
    assert again.returncode == 0
    assert set(answers(folder).values()) == {1}
    assert len(answers(folder)) == 60


def test_report_when_it_cannot_be_kept_then_it_is_still_printed(markscheme, sums, right, fast, tmp_path):
    folder = tmp_path / "run"
    with Loopback(Plan(answer=right)) as server:
        markscheme("run", sums(4), *fast, "--base-url", server.url, "--out", folder)
    (folder / "report.json").unlink()
    (folder / "report.json").mkdir()  # in the way
    again = markscheme("resume", folder, "--json")
    assert json.loads(again.stdout)["responses"] == 4
    assert "the report could not be written" in again.stderr


def test_file_when_it_may_not_grow_then_stops_cleanly_with_everything_kept(
    markscheme, process, sums, right, fast, tmp_path
):
    folder = tmp_path / "run"
    limit = ("bash", "-c", 'ulimit -f 64; exec "$@"', "bash")  # no file above 64 kB
    with Loopback(Plan(answer=lambda body: "Well. " * 500 + right(body))) as server:
        options = ("--base-url", server.url, "--concurrency", 8, "--out", folder)
        asking = process("run", sums(60), *fast, *options, prefix=limit)
        _, said = asking.communicate(timeout=200)
        kept = answers(folder)
        assert asking.returncode == 1
        assert "File too large" in said
        assert f"markscheme resume {folder}" in said
        assert "Traceback" not in said
        assert 5 < len(kept) < 60
        assert Run.open(folder).manifest.status == "stopped"
        again = markscheme("resume", folder, "--json")
    assert again.returncode == 0
    assert set(answers(folder).values()) == {1}
    assert len(answers(folder)) == 60


def test_display_when_nobody_reads_it_then_the_run_goes_on(markscheme, sums, right, tmp_path, monkeypatch):
    def broken(*_):
        raise BrokenPipeError

    monkeypatch.setattr("markscheme.running.progress.Lines.show", broken)
    with Loopback(Plan(answer=right, latency=0.05)) as server:
        options = ("--model", "openai/m", "--base-url", server.url, "--concurrency", 2, "--out", tmp_path / "run")
        done = markscheme("run", sums(6), "--protocol", "gsm8k-numeric", *options)
    assert done.returncode == 0
    assert len(answers(tmp_path / "run")) == 6


def test_python_call_when_a_notebook_is_interrupted_then_nobody_goes_on_asking(sums, right, tmp_path):
    async def cell(url):
        return markscheme_package.run(
            str(sums(500)), model="openai/m", protocol="gsm8k-numeric", base_url=(url,), out=tmp_path / "run"
        )

    with Loopback(Plan(answer=right, latency=0.2)) as server:

        def interrupt():
            wait_until(lambda: server.requests > 40)
            os.kill(os.getpid(), signal.SIGINT)

        helper = threading.Thread(target=interrupt)
        helper.start()
        loop = asyncio.new_event_loop()  # a notebook's: it has no handler of its own for Ctrl-C
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(cell(server.url))
        helper.join()
        loop.close()
        asked = server.requests
        time.sleep(0.4)
        assert server.requests == asked
    assert Run.open(tmp_path / "run").manifest.status == "interrupted"
    assert 0 < len(answers(tmp_path / "run")) < 500
