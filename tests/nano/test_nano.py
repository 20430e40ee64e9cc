"""`--model nano`: a real model on real puzzles, reproducible, and honest about what it cannot do."""

import json

import pytest
from threadpoolctl import threadpool_info

import markscheme as ms
from markscheme.cli import main
from markscheme.config import make_config
from markscheme.models import load_model
from markscheme.models.nano import MOST_CORES, MOST_TOKENS, usable_cores
from markscheme.nano import WEIGHTS
from markscheme.reporting.summary import summarize


def run(tmp_path, name="run", **options):
    return ms.run("countdown-sample", model="nano", out=tmp_path / name, **options)


def texts(run):
    return {(response.key, response.sample): response.text for response in run.responses()}


def test_nano_when_asked_for_samples_then_most_puzzles_are_solved(tmp_path):
    summary = summarize(run(tmp_path, samples=4, limit=16), pass_k=(1, 4))
    assert summary.accuracy.value > 0.5
    assert summary.pass_at_k["4"].value > 0.7


def test_nano_when_run_again_in_other_batches_then_the_same_responses(tmp_path):
    first = texts(run(tmp_path, "a", samples=2, limit=4, seed=5))
    assert first == texts(run(tmp_path, "b", samples=2, limit=4, seed=5, concurrency=2))
    assert first != texts(run(tmp_path, "c", samples=2, limit=4, seed=6))


def test_nano_when_tokens_are_limited_then_truncated(tmp_path):
    responses = list(run(tmp_path, limit=3, max_tokens=4).responses())
    assert [response.finish_reason for response in responses] == ["length"] * 3


def test_nano_when_asked_something_else_then_one_sentence(tmp_path, capsys):
    assert main(["run", "gsm8k-sample", "--model", "nano", "--out", str(tmp_path / "run")]) != 0
    assert "nano can only play Countdown" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--model", "nano/large"], "use `nano`, not `nano/large`"),
        (["--model", "nano", "--extra-field", "a=1"], "no --extra-field"),
    ],
)
def test_nano_when_given_what_it_does_not_take_then_refused(tmp_path, capsys, words, said):
    assert main(["run", "countdown-sample", *words, "--out", str(tmp_path / "run")]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("puzzle", "said"),
    [
        ({"nums": [1] * 299, "target": 299}, "nano takes 255"),
        ({"nums": [1] * 253, "target": 253}, "nano takes 255"),
        ({"nums": [5, 1500, 3], "target": 200}, "numbers from 0 to 999"),
        ({"nums": [5, 3], "target": 2000}, "numbers from 0 to 999"),
    ],
)
def test_nano_when_a_puzzle_is_beyond_it_then_that_one_fails_and_the_others_do_not(tmp_path, puzzle, said):
    file = tmp_path / "puzzles.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in ({"nums": [2, 3], "target": 6}, puzzle)))
    finished = ms.run(str(file), model="nano", out=tmp_path / "run")
    fine, failed = sorted(finished.responses(), key=lambda response: response.problem_id)
    assert fine.error is None
    assert said in failed.error


def test_nano_when_asked_for_more_than_it_writes_then_the_manifest_tells_what_held(tmp_path):
    finished = run(tmp_path, limit=4, max_tokens=5000, stop=(";",))
    assert finished.manifest.sampling["max_tokens"] == MOST_TOKENS
    assert all(";" not in response.text for response in finished.responses())
    assert {response.finish_reason for response in finished.responses()} == {"stop"}


def test_nano_when_only_made_then_numpy_keeps_its_threads():
    before = [pool["num_threads"] for pool in threadpool_info()]
    load_model("nano", make_config(benchmark="b", model="nano"))
    assert [pool["num_threads"] for pool in threadpool_info()] == before


def test_nano_when_it_has_answered_then_numpy_has_its_threads_again(tmp_path):
    before = [pool["num_threads"] for pool in threadpool_info()]
    run(tmp_path, limit=2)
    assert [pool["num_threads"] for pool in threadpool_info()] == before


@pytest.mark.parametrize(("told", "cores"), [("1", 1), ("3", 3), ("64", MOST_CORES), ("0", 1), ("", 2), ("many", 2)])
def test_cores_when_the_environment_tells_then_no_more_than_that(monkeypatch, told, cores):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 5}, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", told)
    assert usable_cores() == cores


@pytest.mark.needs("torch", "transformers")
def test_weights_when_run_by_transformers_then_the_same_greedy_answers(tmp_path):
    ours = run(tmp_path, "ours", limit=3, max_tokens=60)
    theirs = ms.run("countdown-sample", model=f"hf/{WEIGHTS}", out=tmp_path / "theirs", limit=3, max_tokens=60)
    assert texts(ours) == texts(theirs)
