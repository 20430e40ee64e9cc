"""Signals are held while a run lasts, and whoever had them before has them again."""

import asyncio
import signal
import subprocess
import sys

import pytest
from kept_runs import answers

from markscheme.cli import main
from markscheme.running.interrupts import Interrupts, signals_kept
from markscheme.running.live import Live
from markscheme.runs.folder import Run


@pytest.mark.parametrize("closing", [True, False])
def test_handlers_when_a_run_is_over_then_those_of_the_caller_again(closing):
    def mine(*_):
        pass

    async def run():
        with Interrupts(Live()) as interrupts:
            assert signal.getsignal(signal.SIGTERM) is not mine
            if closing:
                interrupts.closing()

    numbers = (signal.SIGINT, signal.SIGTERM)
    former = [signal.signal(number, mine) for number in numbers]
    try:
        asyncio.run(run())
        assert [signal.getsignal(number) for number in numbers] == [mine, mine]
    finally:
        for number, handler in zip(numbers, former, strict=True):
            signal.signal(number, handler)


# The command, which gets a signal the moment its manifest is written for the Nth time: before the event loop.
EARLY = """
import os, sys
from pathlib import Path
from markscheme.cli import main

number, writes = map(int, sys.argv[1:3])
replace = Path.replace

def and_told(file, target):
    global writes
    replace(file, target)
    writes -= target.name == "manifest.json"
    if writes == 0:
        writes = -1
        os.kill(os.getpid(), number)

Path.replace = and_told
sys.exit(main(sys.argv[3:]))
"""


@pytest.mark.parametrize(
    ("number", "command", "writes", "status"),
    [
        (signal.SIGTERM, "run", 1, "interrupted"),
        (signal.SIGHUP, "run", 1, "interrupted"),
        (signal.SIGINT, "run", 1, "interrupted"),
        (signal.SIGTERM, "resume", 1, "incomplete"),
        (signal.SIGINT, "resume", 2, "interrupted"),
    ],
)
def test_signal_when_the_run_has_just_begun_then_its_manifest_says_how_it_ended(
    tmp_path, number, command, writes, status
):
    folder = tmp_path / "run"
    words = ["run", "countdown-sample", "--model", "solver", "--limit", "4", "--out", str(folder)]
    if command == "resume":
        assert main(words) == 0
        words = ["resume", str(folder), "-n", "2"]
    told = subprocess.run(
        [sys.executable, "-c", EARLY, str(number.value), str(writes), *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in told.stderr
    run = Run.open(folder)
    assert run.manifest.status == status
    if status == "interrupted":
        assert told.returncode == 130, told.stderr
        assert (folder / "report.json").exists()
    assert main(["resume", str(folder)]) == 0
    assert Run.open(folder).manifest.status == "complete"
    assert set(answers(folder).values()) == {1}
    assert len(answers(folder)) == 4 * run.manifest.samples


def test_signals_when_nobody_came_to_obey_them_then_the_caller_gets_them():
    """A disk that fails between the manifest and the event loop must not swallow a Ctrl-C."""

    def fail():
        with signals_kept():
            signal.raise_signal(signal.SIGINT)
            raise OSError

    with pytest.raises(KeyboardInterrupt):
        fail()
