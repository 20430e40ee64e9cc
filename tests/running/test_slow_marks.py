"""Marking beside the asking: a slow mark delays no request, and what falls behind is marked afterwards."""

import threading

import pytest
from loopback import Loopback, Plan

from markscheme.marking import Assessment, Protocol
from markscheme.marking import protocol as register
from markscheme.runs.folder import Run
from markscheme.types import Verdict

PATIENCE = 60.0


@pytest.fixture
def everything_asked(monkeypatch):
    """Until this is set, a protocol that only this process knows is in the middle of a mark."""
    asked = threading.Event()

    def judge(sections, gold):
        in_time = not sections.text or asked.wait(PATIENCE)
        return Assessment(Verdict.CORRECT if in_time else Verdict.WRONG, gold, "slowly")

    monkeypatch.setitem(register._loaded, "slow", Protocol("slow", "1", "takes its time", "text", judge))
    return asked


@pytest.mark.parametrize("backlog", [1 << 20, 5])
def test_marks_when_slow_then_requests_do_not_wait_and_every_response_is_marked(
    markscheme, sums, right, tmp_path, everything_asked, monkeypatch, backlog
):
    monkeypatch.setattr("markscheme.running.marker_process.BACKLOG", backlog)
    folder = tmp_path / "run"

    def answer(body):
        if server.requests == 60:
            everything_asked.set()
        return right(body)

    with Loopback(Plan(answer=answer)) as server:
        done = markscheme(
            *("run", sums(60), "--protocol", "slow", "--model", "openai/m", "--base-url", server.url, "--json"),
            *("--concurrency", 4, "--out", folder),
        )
    assert done.returncode == 0
    marks = list(Run.open(folder).marks("slow"))
    assert len({(mark.key, mark.sample) for mark in marks}) == len(marks) == 60
    assert {mark.verdict for mark in marks} == {Verdict.CORRECT}  # else a mark kept a request waiting


def test_marks_when_a_protocol_cannot_judge_these_problems_then_said_before_anything_is_asked(
    markscheme, sums, right, tmp_path
):
    with Loopback(Plan(answer=right)) as server:
        done = markscheme("run", sums(5), "--protocol", "countdown", "--model", "openai/m", "--base-url", server.url)
        assert server.requests == 0
    assert done.returncode == 1
    assert "needs the numbers and the target" in done.stderr
