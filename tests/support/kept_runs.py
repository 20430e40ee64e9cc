"""What a run folder holds, as plain data."""

import json
import time
from collections import Counter

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


def wait_until(happened, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)
