"""A response that would keep the marker busy for hours holds up nothing: not the asking, not Ctrl-C, not resuming."""

import json
import signal

import pytest
from kept_runs import answers, wait_until
from loopback import Loopback, Plan

from markscheme.marking import mark
from markscheme.running import within_limits
from markscheme.runs import Run
from markscheme.types import Problem, Response

# A protocol for the command in its own process and for its workers: any text of hashes keeps it busy for a minute. The
# limit is a second here, as a minute of processor time is as much beyond it as beyond the usual five.
BUSY = """
import time
from markscheme.running import within_limits
within_limits.SECONDS = 1.0
from markscheme.marking import Assessment, Protocol
from markscheme.marking import protocol as register
from markscheme.types import Verdict

def judge(sections, gold):
    until = time.process_time() + 60
    while "#" * 1000 in sections.text and time.process_time() < until:
        pass
    return Assessment(Verdict.CORRECT, gold, "at last")

register._loaded["busy"] = Protocol("busy", "1", "keeps busy", "text", judge)
"""


@pytest.fixture
def busy(tmp_path, monkeypatch):
    """The protocol is known to every process that is started from here."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(BUSY)
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=":")
    return folder


def answer_with(text, hashes):
    return lambda body: text(body) + ("#" * hashes if "What is 3 +" in str(body) else "")


def test_marks_when_a_response_keeps_the_marker_busy_then_the_run_ends_and_names_it(
    process, sums, right, tmp_path, busy
):
    folder = tmp_path / "run"
    with Loopback(Plan(answer=answer_with(right, 20_000)), count=True) as server:
        command = ("run", sums(12), "--protocol", "busy", "--model", "openai/m", "--base-url", server.url, "--json")
        asking = process(*command, "--concurrency", 4, "--out", folder)
        wait_until(lambda: (folder / "responses.jsonl").exists() and len(answers(folder)) == 12, 60)
        out, said = asking.communicate(timeout=100)
        assert asking.returncode == 0, said
        report = json.loads(out)
        assert report["verdicts"] == {"correct": 11, "unmarkable": 1}
        assert "the marker took longer than 1 s" in " ".join(report["warnings"])
        again = process("resume", folder, "--json")  # and does not meet it again
        again.communicate(timeout=60)
        assert again.returncode == 0
        assert sum(server.asked.values()) == 12
    assert {one.verdict for one in Run.open(folder).marks("busy")} == {"correct", "unmarkable"}


def test_termination_when_the_marker_is_busy_then_obeyed_at_once(process, sums, right, tmp_path, busy):
    folder = tmp_path / "run"
    with Loopback(Plan(answer=lambda body: right(body) + "#" * 20_000)) as server:
        command = ("run", sums(12), "--protocol", "busy", "--model", "openai/m", "--base-url", server.url, "--json")
        asking = process(*command, "--concurrency", 4, "--out", folder)
        wait_until(lambda: (folder / "responses.jsonl").exists() and len(answers(folder)) >= 4, 60)
        asking.send_signal(signal.SIGTERM)
        asking.communicate(timeout=110)
    kept = Run.open(folder)
    assert kept.manifest.status in ("interrupted", "complete")
    assert json.loads((folder / "report.json").read_bytes())["responses"] == len(answers(folder))


def test_mark_apart_when_there_is_time_then_the_same_mark_as_here():
    problem = Problem(id="1", statement="1+1?", gold="2")
    for text in ("\\boxed{2}", "\\boxed{3}", "no idea", "<think>" + "x" * 30_000):
        response = Response(key=problem.key, sample=4, text=text)
        assert within_limits.mark_apart(response, problem, "math") == mark(response, problem, protocol="math")
