"""A series: every checkpoint once, in the order of its step, and what is new when it is typed again."""

import json
import os
import time

import pytest
from loopback import Loopback, Plan

from markscheme.cli import main
from markscheme.errors import UsageError
from markscheme.experiments.series import find_checkpoints
from markscheme.runs import find_runs


@pytest.fixture
def server():
    def answer(body):
        return "\\boxed{7}" if int(body["model"].rpartition("-")[2]) > 150 else "\\boxed{0}"

    with Loopback(Plan(answer=answer), keep=True) as running:
        yield running


@pytest.fixture
def sums(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [{"question": f"What is {n} + {7 - n}?", "answer": "7"} for n in range(8)]
    (tmp_path / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def typed(server, *checkpoints):
    address = ["--base-url", server.url, "--api-key-env", "NONE", "--no-stream"]
    return ["run", "sums.jsonl", "--model", "openai", *address, "--out", "training", "--series", *checkpoints]


def test_series_when_typed_again_with_one_more_then_only_that_is_asked(sums, server, capsys):
    assert main(typed(server, "ck-100,ck-200")) == 0
    assert server.requests == 16
    shown = capsys.readouterr().out
    assert "step 200 has the highest accuracy of 2 steps: 100.0 % as observed" in shown
    assert "learnt between step 100 and 200: 8 problems" in shown
    assert main(typed(server, "ck-100,ck-200", "50=ck-300")) == 0
    assert server.requests == 24
    assert sorted(run.manifest.config.step for run in find_runs(["training"])) == [50, 100, 200]
    assert main(["report", "training", "--series", "--json"]) == 0
    assert main(["report", "training", "--series", "--between", "100,999"]) == 2
    assert "there is no step 999; there are 50, 100, 200" in capsys.readouterr().err


def test_series_when_a_run_says_no_step_then_one_sentence(sums, server, capsys):
    assert main(["run", "sums.jsonl", "--model", "solver", "--watch"]) == 2
    assert "--series" in capsys.readouterr().err
    assert main([*typed(server, "latest")]) == 2
    assert "contains no step: write it as STEP=latest" in capsys.readouterr().err
    assert main(typed(server, "a-1,b-1")) == 2
    assert "both of step 1" in capsys.readouterr().err


def test_checkpoints_when_named_by_pattern_or_file_then_by_step(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for step in (1000, 200, 30):
        (tmp_path / "ckpt" / f"step-{step}").mkdir(parents=True)
    found = find_checkpoints(["ckpt/step-*"], None, {}, watch=False)
    assert found == [(30, "hf/ckpt/step-30"), (200, "hf/ckpt/step-200"), (1000, "hf/ckpt/step-1000")]
    (tmp_path / "steps.txt").write_text("5 openai/first\n\nvllm/x-70\n")
    assert find_checkpoints(["steps.txt"], "hf", {}, watch=False) == [(5, "openai/first"), (70, "vllm/x-70")]
    with pytest.raises(UsageError, match="no checkpoint matches nothing"):
        find_checkpoints(["nothing-*"], None, {}, watch=False)


def test_checkpoint_when_it_is_being_saved_then_watching_leaves_it_for_later(tmp_path):
    for step, age in ((1, 60), (2, 0)):
        folder = tmp_path / f"step-{step}"
        folder.mkdir()
        (folder / "model.bin").write_bytes(b"x")
        os.utime(folder / "model.bin", (time.time() - age,) * 2)
    found = find_checkpoints([f"{tmp_path}/step-*"], None, {}, watch=True)
    assert [step for step, _ in found] == [1]


def test_watch_when_the_step_has_been_asked_then_it_ends(sums, server):
    assert main([*typed(server, "ck-100,ck-200"), "--watch", "--until-step", "200"]) == 0
    assert server.requests == 16
