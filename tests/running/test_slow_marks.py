"""Marking beside the asking: a slow mark delays no request, and what falls behind is marked afterwards."""

import threading
import time
from datetime import datetime

import pytest
from loopback import Loopback, Plan

from markscheme.marking import Assessment, Protocol
from markscheme.marking import protocol as register
from markscheme.runs.folder import Run
from markscheme.types import Verdict

SECONDS = 0.1


@pytest.fixture
def slow(monkeypatch):
    """A protocol that takes its time, as one does that waits for a worker process."""
    threads = set()

    def judge(sections, gold):
        if sections.text:
            threads.add(threading.current_thread().name)
            time.sleep(SECONDS)
        return Assessment(Verdict.CORRECT, gold, "slowly")

    monkeypatch.setitem(register._loaded, "slow", Protocol("slow", "1", "takes its time", "text", judge, slow=True))
    return threads


def times(folder):
    return sorted(datetime.fromisoformat(one.created).timestamp() for one in Run.open(folder).responses())


@pytest.mark.parametrize("backlog", [256, 5])
def test_marks_when_slow_then_requests_do_not_wait_and_every_response_is_marked(
    markscheme, sums, right, tmp_path, slow, monkeypatch, backlog
):
    monkeypatch.setattr("markscheme.running.recorder.BACKLOG", backlog)
    folder = tmp_path / "run"
    with Loopback(Plan(answer=right)) as server:
        done = markscheme(
            *("run", sums(60), "--protocol", "slow", "--model", "openai/m", "--base-url", server.url, "--json"),
            *("--concurrency", 4, "--out", folder),
        )
    assert done.returncode == 0
    asked = times(folder)
    # Marked one by one between the requests, this would have taken 60 × 0.1 s.
    assert asked[-1] - asked[0] < 30 * SECONDS
    assert len({(mark.key, mark.sample) for mark in Run.open(folder).marks("slow")}) == 60
    assert all(name.startswith("marking") for name in slow)


def test_marks_when_a_protocol_cannot_judge_these_problems_then_said_before_anything_is_asked(
    markscheme, sums, right, tmp_path
):
    with Loopback(Plan(answer=right)) as server:
        done = markscheme("run", sums(5), "--protocol", "countdown", "--model", "openai/m", "--base-url", server.url)
        assert server.requests == 0
    assert done.returncode == 1
    assert "needs the numbers and the target" in done.stderr
