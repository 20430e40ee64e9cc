"""Five jobs of docs/experiments.md, typed as there: killed in the middle, grown from 4 samples to 16 and by one model.

What the server itself has seen is the judge: only what was in flight when the process was killed is asked twice.
"""

import json
import time
from collections import Counter

import pytest
from loopback import Loopback, Plan

from markscheme.cli import main
from markscheme.runs import find_runs

IN_FLIGHT = 2
SUMS = [{"question": f"What is {n} + {n + 7}?", "answer": str(2 * n + 7)} for n in (3, 8)]
MATH = [
    {"problem": f"Find ${n}+{n}$.", "solution": f"It is $\\boxed{{{2 * n}}}$.", "level": "Level 1", "type": "Algebra"}
    for n in range(6)
]
OWN_MATH = """
like = "math"
[data.test]
file = "test.jsonl"
[data.train]
file = "train.jsonl"
[prompts.minerva]
style = "user"
user = "Problem:\\n{statement}\\n\\nSolution:"
example = "Problem:\\n{statement}\\n\\nSolution: {solution}\\nFinal Answer: The final answer is ${gold}$. I hope it is correct."
stop = ["Problem:"]
"""


def lines(rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


FILES = {
    "own-math.toml": OWN_MATH,
    "test.jsonl": lines(MATH[:2]),
    "train.jsonl": lines(MATH[2:]),
    "sums.jsonl": lines(SUMS),
    "one.jsonl": lines(SUMS[:1]),
    "pool.jsonl": lines({"question": f"{n} + 1?", "answer": str(n + 1), "solution": "Add them."} for n in range(4)),
    "quiz.csv": "question,A,B,C,answer\nWhich is prime?,21,23,25,B\nWhich is a square?,48,50,49,C\n",
    "base.txt": "Question: {statement}\nAnswer:",
    **{f"data/mgsm/{code}.jsonl": lines(SUMS[:1]) for code in ("de", "ja", "sw")},
}
# What is typed, how many problems it asks, and how many models.
JOBS = {
    "Minerva's four-shot prompt": ("own-math.toml --prompt minerva --fewshot 4 --api completions", 2, 1),
    "MGSM in three languages": ("mgsm-de mgsm-ja mgsm-sw --data-dir data", 3, 1),
    "a private CSV with choices": ("quiz.csv", 2, 1),
    "models × prompts × temperatures": ("one.jsonl --prompt boxed --prompt bare -t 0,0.6", 1, 2),
    "a base model": ("sums.jsonl --prompt-file base.txt --fewshot 2 --fewshot-pool pool.jsonl --api completions", 2, 1),
}
# What the server must have been sent.
SENT = {
    "Minerva's four-shot prompt": "$. I hope it is correct.\n\nProblem:\nFind $0+0$.",
    "MGSM in three languages": "Löse dieses Mathematikproblem.",
    "a private CSV with choices": "(A) 21\n(B) 23\n(C) 25",
    "models × prompts × temperatures": "What is 3 + 10?",
    "a base model": "Question: What is 3 + 10?\nAnswer:",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def command(job, server, models, samples):
    words, *_ = JOBS[job]
    swept = [] if " -t " in words else ["-t", "0.7"]
    served = ["--base-url", server.url, "--api-key-env", "NONE", "--concurrency", str(IN_FLIGHT), "--max-tokens", "64"]
    named = ["--model", *(f"openai/{name}" for name in "abcd"[:models])]
    return ["run", *words.split(), *swept, *named, *served, "-n", str(samples), "--out", "runs/job"]


@pytest.mark.parametrize("job", JOBS)
def test_job_when_killed_and_grown_then_the_server_sees_no_request_twice(folder, job, capsys, launch):
    _, problems, models = JOBS[job]
    settings = 4 if models > 1 else 1
    with Loopback(Plan(text="\\boxed{13}", latency=0.02), keep=True) as server:
        running = launch(*command(job, server, models, 4))
        deadline = time.monotonic() + 120
        while server.requests < problems * models * settings * 2 and time.monotonic() < deadline:
            assert running.poll() is None
            time.sleep(0.002)
        running.kill()
        running.wait(200)
        before = Counter(body for _, body in server.seen)
        server.plan.latency = 0
        for samples, asked in ((4, models), (16, models), (16, models + 1)):
            assert main(command(job, server, asked, samples)) == 0
            seen = Counter(body for _, body in server.seen)
            assert len(seen) == problems * settings * samples * asked
        twice = [body for body, times in seen.items() if times > 1]
        assert len(twice) <= IN_FLIGHT
        assert all(body in before and seen[body] == 2 for body in twice)
    assert any(SENT[job] in said(body) for body in seen)
    runs = find_runs(["runs/job"])
    assert sum(1 for run in runs for _ in run.responses()) == problems * settings * 16 * (models + 1)
    assert "rank" in capsys.readouterr().out
    assert main(["report", "runs/job"]) == 0


def said(body):
    """The text of a request."""
    request = json.loads(body)
    return request.get("prompt") or "\n".join(message["content"] for message in request["messages"])
