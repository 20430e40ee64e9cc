"""What a run folder holds, as plain data."""

import json
import re
import time
from collections import Counter
from pathlib import Path

from markscheme.runs.folder import Run


def verdicts(folder):
    run = Run.open(folder)
    return {(mark.key, mark.sample): str(mark.verdict) for mark in run.marks(run.manifest.protocol)}


def lines(folder):
    """Every whole line of the journal, answers and errors."""
    journal = folder / "responses.jsonl"
    content = journal.read_bytes().splitlines() if journal.exists() else []
    return [json.loads(line) for line in content if line.endswith(b"}")]


def answers(folder):
    return Counter((line["key"], line["sample"]) for line in lines(folder) if "error" not in line)


def answers_that_count(folder):
    return {(one.key, one.sample) for one in Run.open(folder).responses() if one.error is None}


def wait_until(happened, seconds=200.0):
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)


def wait_until_taken(process):
    """Until the signal that was just sent has reached its process: another one before that would be the same one."""
    status = Path(f"/proc/{process.pid}/status")
    if status.exists():
        wait_until(lambda: not status.exists() or re.search(r"^ShdPnd:\s*0+$", status.read_text(), re.MULTILINE))
    time.sleep(0.3)
