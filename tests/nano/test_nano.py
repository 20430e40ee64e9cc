"""`--model nano`: a real model on real puzzles, reproducible, and honest about what it cannot do."""

import pytest

import markscheme as ms
from markscheme.cli import main
from markscheme.nano import WEIGHTS
from markscheme.reporting.summary import summarize


def run(tmp_path, name="run", **options):
    return ms.run("countdown-sample", model="nano", out=tmp_path / name, **options)


def texts(run):
    return {(response.key, response.sample): response.text for response in run.responses()}


def test_nano_when_asked_for_samples_then_most_puzzles_are_solved(tmp_path):
    summary = summarize(run(tmp_path, samples=8), pass_k=(1, 8))
    assert summary.accuracy.value > 0.5
    assert summary.pass_at_k["8"].value > 0.8


def test_nano_when_run_again_in_other_batches_then_the_same_responses(tmp_path):
    first = texts(run(tmp_path, "a", samples=3, limit=10, seed=5))
    assert first == texts(run(tmp_path, "b", samples=3, limit=10, seed=5, concurrency=2))
    assert first != texts(run(tmp_path, "c", samples=3, limit=10, seed=6))


def test_nano_when_tokens_are_limited_then_truncated(tmp_path):
    responses = list(run(tmp_path, limit=3, max_tokens=4).responses())
    assert [response.finish_reason for response in responses] == ["length"] * 3


def test_nano_when_asked_something_else_then_one_sentence(tmp_path, capsys):
    assert main(["run", "gsm8k-sample", "--model", "nano", "--out", str(tmp_path / "run")]) != 0
    assert "nano can only play Countdown" in capsys.readouterr().err


@pytest.mark.parametrize("spec", ["nano/large"])
def test_nano_when_given_a_target_then_refused(tmp_path, capsys, spec):
    assert main(["run", "countdown-sample", "--model", spec, "--out", str(tmp_path / "run")]) == 2
    assert "say `nano`" in capsys.readouterr().err


@pytest.mark.needs("torch", "transformers")
def test_weights_when_run_by_transformers_then_the_same_greedy_answers(tmp_path):
    ours = run(tmp_path, "ours", limit=12, max_tokens=100)
    theirs = ms.run("countdown-sample", model=f"hf/{WEIGHTS}", out=tmp_path / "theirs", limit=12, max_tokens=100)
    assert texts(ours) == texts(theirs)
