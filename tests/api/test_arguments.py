"""What people type in a notebook: numbers of numpy, paths, lists; and errors that speak Python."""

import asyncio
from pathlib import Path

import numpy as np
import pytest

import markscheme as ms
from markscheme.errors import DataError, JournalError, UsageError, command, option, speaking


def test_run_when_numbers_are_numpys_then_they_are_taken(tmp_path):
    options = {"samples": np.int64(2), "limit": np.int32(2), "temperature": np.float32(0.5), "pass_k": np.array([1, 2])}
    run = ms.run("countdown-sample", model="nano", out=tmp_path / "run", progress=False, **options)
    assert (run.manifest.samples, run.manifest.problems) == (2, 2)
    assert run[np.int64(-1)].problem == run[1].problem
    assert run.extend(samples=np.int64(3), progress=False).manifest.samples == 3


def test_functions_when_numbers_are_numpys_then_they_are_taken(nano):
    assert "pass@2" in ms.report(nano, pass_k=np.array([1, 2])).figures
    assert ms.plan(benchmark="gsm8k-sample", detect=np.float32(5))
    assert len(ms.select(nano, between=np.array([0.0, 1.0])))


def test_run_when_its_cell_is_run_again_then_nothing_is_asked_twice(tmp_path):
    options = {"model": "nano", "limit": 2, "out": tmp_path / "run", "progress": False}
    first = ms.run("countdown-sample", **options)
    before = (first.path / "responses.jsonl").read_bytes()
    again = ms.run("countdown-sample", **options)
    assert (again.path / "responses.jsonl").read_bytes() == before
    with pytest.raises(UsageError, match="holds a run with other questions"):
        ms.run("countdown-sample", **{**options, "model": "solver"})


def test_run_when_the_benchmark_is_a_path_then_it_is_read(tmp_path):
    (tmp_path / "mine.jsonl").write_text('{"question": "1 + 1?", "answer": "2"}\n')
    (tmp_path / "stored.jsonl").write_text('{"question": "1 + 1?", "text": "2"}\n')
    model = f"replay/{tmp_path / 'stored.jsonl'}"
    assert ms.run(tmp_path / "mine.jsonl", model=model, out=tmp_path / "run", progress=False).accuracy == 1
    with pytest.raises(DataError, match="cannot be read"):
        ms.run(tmp_path / "nope.jsonl", model=model, out=tmp_path / "other")


def test_runs_when_given_as_a_list_a_path_or_themselves_then_all_mean_the_same(nano, solver):
    expected = ms.report(nano, solver).to_pandas()
    assert ms.report([nano, str(solver.path)]).to_pandas().equals(expected)
    assert ms.compare([nano, solver], anyway=True).difference == ms.compare(nano, solver.path, anyway=True).difference
    assert ms.load(nano).path == ms.load(str(nano.path)).path == Path(nano)
    assert ms.report(nano, pass_k=2).figures.keys() == {"accuracy", "pass@2", "truncation"}


WRONG = [
    (lambda nano: ms.report(), UsageError, r"name a run"),
    (lambda nano: ms.report(3), UsageError, "not by a int"),
    (lambda nano: ms.report(nano, pass_k=0), UsageError, "pass_k takes whole numbers"),
    (lambda nano: ms.experiment("nope.toml"), UsageError, "nope.toml cannot be read"),
    (lambda nano: ms.experiment(), UsageError, "name a model and a benchmark"),
    (lambda nano: ms.plan(detect="five"), UsageError, "detect takes percentage points"),
    (lambda nano: ms.plan(detect=5), UsageError, "benchmark=NAME, problems=N or pilot=RUN"),
    (lambda nano: ms.run(["gsm8k-sample", "aime-sample"], model="nano"), UsageError, r"ms\.experiment"),
    (lambda nano: ms.run("gsm8k-sample", model="nano", limit=-1), UsageError, "^limit cannot be -1"),
    (lambda nano: ms.run("gsm8k-sample", model="nano", n=3), UsageError, "did you mean samples"),
    (lambda nano: ms.run("gsm8k-sample", model="nano", pass_k=4), UsageError, "and samples is 1"),
    (lambda nano: ms.run("gsm8k", model="nano", data_dir="/nowhere"), DataError, r"ms\.data\.prepare\('gsm8k'\)"),
    (lambda nano: ms.report(nano, protocol="math"), UsageError, r"ms\.load\('.*'\)\.mark\('math'\)"),
    (lambda nano: nano.to_pandas(protocol="math"), UsageError, r"\.mark\('math'\)"),
    (lambda nano: nano.mark("nonsense"), UsageError, "no protocol 'nonsense'"),
    (lambda nano: nano.push("wandb", public=True), UsageError, "public and model_repo are for the Hub: to=OWNER/NAME"),
    (lambda nano: ms.judge(nano, model="openai/j", share=2.0), UsageError, "^share takes a share"),
    (lambda nano: ms.judge(nano, model="openai/j", limit=3), UsageError, "leave limit out"),
    (lambda nano: ms.judge(nano, model="openai/j"), UsageError, "which='all' or share=0.1 asks about others"),
    (lambda nano: ms.select(nano, between=(0.9, 0.1)), UsageError, "^between takes two solve rates"),
    (lambda nano: ms.attack(len, "gsm8k-sample", strict="form"), UsageError, "^strict is for protocols"),
    (lambda nano: ms.load("nope"), JournalError, "does not exist"),
    (lambda nano: ms.equal(None, "1"), UsageError, "not a NoneType"),
    (lambda nano: asyncio.run(ms.run_async("gsm8k-sample", model="nano", limit=0)), UsageError, "^limit cannot be 0"),
]


@pytest.mark.parametrize(("call", "kind", "sentence"), WRONG)
def test_call_when_it_cannot_be_meant_then_one_sentence_in_python_says_so(
    call, kind, sentence, nano, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind, match=sentence) as raised:
        call(nano)
    assert "--" not in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("named", "shell", "python"),
    [
        (lambda: command("resume", "runs/x"), "`markscheme resume runs/x`", "`ms.resume('runs/x')`"),
        (lambda: command("resume", "my runs/x"), "`markscheme resume 'my runs/x'`", "`ms.resume('my runs/x')`"),
        (
            lambda: command("mark", "runs/x", protocol="math"),
            "`markscheme mark runs/x --protocol math`",
            "`ms.load('runs/x').mark('math')`",
        ),
        (lambda: command("data prepare", "gsm8k"), "`markscheme data prepare gsm8k`", "`ms.data.prepare('gsm8k')`"),
        (lambda: command("push", "x", to="wandb"), "`markscheme push x --to wandb`", "`ms.push('x', to='wandb')`"),
        (lambda: command("run --help"), "`markscheme run --help`", "`help(ms.run)`"),
        (lambda: option("base_url"), "--base-url", "base_url"),
        (lambda: option("max_samples", 2), "--max-samples 2", "max_samples=2"),
        (lambda: option("tool_format", "fenced"), "--tool-format fenced", "tool_format='fenced'"),
        (lambda: option("problems", "N"), "--problems N", "problems=N"),
    ],
)
def test_options_and_commands_when_a_message_names_them_then_each_surface_has_its_own_form(named, shell, python):
    assert named() == python
    with speaking("shell"):
        assert named() == shell


def test_mark_when_gold_is_numpys_then_it_is_a_number_like_any_other():
    assert ms.mark("The answer is 3", gold=np.int64(3)).correct
    assert ms.equal("1/2", np.float64(0.5))
    assert not ms.equal("1/2", 0.25)
