"""What is settled before a model is asked: several benchmarks, folders, options that cannot work."""

import json

import msgspec
import pytest

import markscheme as ms
from markscheme.cli import main
from markscheme.config import make_config
from markscheme.errors import DataError, UsageError
from markscheme.models.fleet import ranks
from markscheme.running import execute
from markscheme.running.resuming import resumed_config


def test_run_when_called_twice_in_a_second_then_two_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runs = [ms.run("countdown-sample", model="solver", limit=1) for _ in range(3)]
    assert sorted((tmp_path / "runs").iterdir()) == sorted(tmp_path / run.path for run in runs)
    assert [len(list(run.responses())) for run in runs] == [1, 1, 1]
    assert len({run.path for run in runs}) == 3
    assert all("-countdown-sample-solver" in run.path.name for run in runs)


@pytest.mark.parametrize("extra", [["gsm8k"], ["gsm8k-sample", "--protocol", "countdown"]])
def test_run_when_the_second_benchmark_cannot_work_then_the_first_is_not_asked(tmp_path, capsys, monkeypatch, extra):
    monkeypatch.setenv("MARKSCHEME_DATA", str(tmp_path / "empty"))
    assert main(["run", "countdown-sample", *extra, "-m", "solver", "--out", str(tmp_path / "out"), "--json"]) != 0
    assert not (tmp_path / "out").exists()
    assert capsys.readouterr().err.count("\n") == 1


def test_run_when_the_folder_of_the_second_is_taken_then_the_first_is_still_reported(tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["run", "countdown-sample", "-m", "solver", "--limit", "1", "--out", str(out / "gsm8k-sample")]) == 0
    capsys.readouterr()
    names = ["countdown-sample", "gsm8k-sample"]
    assert main(["run", *names, "-m", "solver", "--limit", "1", "--out", str(out), "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["benchmark"] == "countdown-sample"


def test_run_when_the_file_has_no_problems_then_says_so(tmp_path):
    file = tmp_path / "empty.jsonl"
    file.write_text("\n")
    with pytest.raises(DataError, match="has no problems"):
        ms.run(str(file), model="solver", out=tmp_path / "run")


def test_run_when_pass_k_exceeds_the_samples_then_refused():
    with pytest.raises(UsageError, match="pass@4 needs at least 4 samples"):
        ms.run("countdown-sample", model="solver", samples=2, pass_k=(4,))


def test_run_when_one_puzzle_is_beyond_the_solver_then_only_that_one_is_missing(tmp_path, capsys):
    file = tmp_path / "mix.jsonl"
    rows = [{"nums": list(range(1, 10)), "target": 45}, {"nums": [1, 2], "target": 3}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["run", str(file), "-m", "solver", "--out", str(tmp_path / "run"), "--json"]) == 3
    summary = json.loads(capsys.readouterr().out)
    assert (summary["responses"], summary["missing"]) == (1, 1)


@pytest.mark.parametrize(
    ("model", "options", "said"),
    [
        ("solver", {"ray_address": "auto"}, "--ray-address is the cluster of --engine ray"),
        ("solver", {"server_arg": "tp=2"}, "--server-arg is for servers .* not for solver"),
        ("sglang/http://localhost:1", {"server_arg": "tp=2"}, "--server-arg is for servers .* not for sglang"),
        ("hf/m", {"gpus_per_replica": 2}, "--gpus-per-replica has no effect on hf"),
        ("solver", {"gpus_per_replica": 2, "engine": "ray"}, "--gpus-per-replica has no effect on solver"),
    ],
)
def test_run_when_an_option_would_have_no_effect_then_refused_without_a_folder(tmp_path, model, options, said):
    with pytest.raises(UsageError, match=said):
        ms.run("countdown-sample", model=model, out=tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


def test_run_when_both_torchrun_and_ray_would_make_copies_then_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(ranks, "_joined", ranks.Ranks(0, 2))
    config = make_config(benchmark="countdown-sample", model="solver", engine="ray")
    with pytest.raises(UsageError, match="torchrun has started 2"):
        execute(config, tmp_path / "run")


def test_resume_when_it_leaves_the_cluster_then_its_address_is_left_too(tmp_path):
    run = ms.run("countdown-sample", model="solver", limit=2, out=tmp_path / "run")
    stored = msgspec.structs.replace(run.manifest.config, engine="ray", ray_address="head:6379", gpus_per_replica=2.0)
    run.save_manifest(msgspec.structs.replace(run.manifest, config=stored))
    assert resumed_config(run, {}).ray_address == "head:6379"
    assert resumed_config(run, {"engine": "local"}).ray_address is None
    assert resumed_config(run, {"engine": "local"}).gpus_per_replica is None
    assert resumed_config(run, {}).gpus_per_replica == 2
