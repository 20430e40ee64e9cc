"""`python -m scripts.chat_eval` and `dev-aime/preprocess.py`, typed as documented, with a stand-in for nanochat itself."""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from nanochat_files import CHECKOUT, make_checkpoints, make_contests

import markscheme as ms
from markscheme.plugins.doors.chat_eval import main
from markscheme.plugins.doors.nanochat_tasks import question_id

pytestmark = pytest.mark.needs("torch")

COMPAT = Path(__file__).parents[2] / "compat"


@pytest.fixture
def environment(tmp_path):
    return {
        "NANOCHAT_DIR": str(CHECKOUT),
        "NANOCHAT_BASE_DIR": str(make_checkpoints(tmp_path / "base")),
        "MARKSCHEME_DATA": str(make_contests(tmp_path / "data")),
    }


@pytest.fixture
def here(environment, monkeypatch, capsys):
    """The same command in this process, which has torch already: what it prints."""

    def chat_eval(*words):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "path", [*sys.path])  # the stand-in for nanochat must not stay importable
        capsys.readouterr()
        assert main([str(word) for word in words]) == 0
        return capsys.readouterr().out

    return chat_eval


def figures(output):
    passed = {f"pass@{k}": float(value) for k, value in re.findall(r"Pass@(\d+): ([\d.]+)", output)}
    solved, asked = map(int, re.search(r"Final: (\d+)/(\d+)", output).groups())
    per_sample = float(re.search(r"Per sample: ([\d.]+)", output)[1])
    return {"solved": solved, "asked": asked, "per sample": per_sample, **passed}


def rerun(folder, tmp_path, benchmark, **options):
    """The same responses through `markscheme run`."""
    stored = tmp_path / "stored.jsonl"
    shutil.copy(folder / "responses.jsonl", stored)
    run = ms.run(benchmark, model=f"replay/{stored}", out=tmp_path / "rerun", **options)
    return json.loads((run.path / "report.json").read_text())


def test_chat_eval_when_typed_as_documented_then_equal_to_our_own_run(door, environment, tmp_path):
    saved = tmp_path / "results" / "aime.jsonl"
    done = door(
        *("python", "-m", "scripts.chat_eval", "-i", "sft", "-a", "AIME-2024", "-n", "8", "-t", "0.8", "-k", "50"),
        *("-m", "64", "--passatk", "--passatk-ks", "1,2,4,8", "--save-results", saved, "--out", tmp_path / "out"),
        *("-g", "d20", "-s", "100", "--device-type", "cpu"),
        env=environment,
    )
    found = figures(done.stdout)
    assert found["asked"] == 30
    assert found["pass@1"] == pytest.approx(found["per sample"])
    assert 0.1 < found["pass@1"] < found["pass@4"] < found["pass@8"]
    assert found["solved"] == round(30 * found["pass@8"])
    assert f"AIME-2024 accuracy: {100 * found['solved'] / 30:.2f}%" in done.stdout

    rows = [json.loads(line) for line in saved.with_stem("aime_AIME-2024").read_text().splitlines()]
    assert len(rows) == 240
    assert {"question_id", "sample_idx", "label", "completion"} <= rows[0].keys()
    assert {row["question_id"] for row in rows} == {
        f"aime_2024_{part}_{n}" for part in ("I", "II") for n in range(1, 16)
    }
    assert sum(row["label"] for row in rows) / 240 == pytest.approx(found["per sample"], abs=1e-4)

    ours = rerun(
        tmp_path / "out" / "AIME-2024",
        tmp_path,
        "aime-2024",
        samples=8,
        pass_k=(1, 2, 4, 8),
        protocol="nanochat-aime",
        data_dir=environment["MARKSCHEME_DATA"],
    )
    assert ours["accuracy"]["value"] == pytest.approx(found["per sample"], abs=1e-4)
    for k in (1, 2, 4, 8):
        assert ours["pass_at_k"][str(k)]["value"] == pytest.approx(found[f"pass@{k}"], abs=1e-4)


def test_chat_eval_when_under_torchrun_then_each_rank_has_its_file_and_the_figures_are_the_same(
    door, here, environment, tmp_path
):
    words = ("-i", "sft", "-a", "AIME-2025", "-n", "2", "-t", "0.8", "-m", "64", "--passatk", "--device-type", "cpu")
    alone = here(*words, "--out", tmp_path / "alone")
    together = door(
        *("torchrun", "--nproc_per_node=2", "-m", "scripts.chat_eval", "--", *words, "--out", tmp_path / "ranks"),
        env=environment,
        timeout=300,
    )
    assert figures(together.stdout) == figures(alone)
    assert together.stdout.count("Final:") == 1
    folder = tmp_path / "ranks" / "AIME-2025"
    files = {file.name: len(file.read_text().splitlines()) for file in folder.glob("responses*.jsonl")}
    assert files == {"responses.0.jsonl": 30, "responses.1.jsonl": 30}
    manifest = json.loads((folder / "manifest.json").read_text())
    assert (manifest["status"], sum(manifest["counts"].values())) == ("complete", 60)


def kept(folder):
    """The (problem, sample) pairs that a run folder holds, each rank's by itself."""
    return {
        file.name: [(row["key"], row["sample"]) for row in map(json.loads, file.read_text().splitlines())]
        for file in folder.glob("responses*.jsonl")
    }


def test_chat_eval_when_torchrun_is_disturbed_then_nothing_is_lost_and_the_same_command_goes_on(
    door, here, environment, tmp_path
):
    words = ("-i", "sft", "-a", "AIME-2024-I", "-n", "4", "-t", "0.8", "-m", "64", "--passatk", "--device-type", "cpu")
    folder = tmp_path / "ranks" / "AIME-2024-I"
    door(
        *("torchrun", "--nproc_per_node=2", "-m", "scripts.chat_eval", "--", *words, "--out", tmp_path / "ranks"),
        # The rank that would report is killed while the other is still at work, and torchrun ends that one.
        env={**environment, "STAND_IN_DIES": "0:4", "STAND_IN_PAUSE": "0.02"},
        code=1,
        timeout=600,
    )
    before = kept(folder)
    asked = [pair for pairs in before.values() for pair in pairs]
    assert len(before["responses.0.jsonl"]) >= 12  # three problems were done
    assert len(asked) == len(set(asked)) < 60

    # The rest in one process is as good as in two, and equal to an undisturbed run.
    assert figures(here(*words, "--out", tmp_path / "ranks")) == figures(here(*words, "--out", tmp_path / "alone"))
    after = kept(folder)
    assert {name: after[name] for name in before} == before
    assert sorted(pair for pairs in after.values() for pair in pairs) == sorted(every_pair(folder))
    manifest = json.loads((folder / "manifest.json").read_text())
    assert (manifest["status"], sum(manifest["counts"].values())) == ("complete", 60)


def every_pair(folder):
    keys = [json.loads(line)["problem"]["key"] for line in (folder / "problems.jsonl").read_text().splitlines()]
    return {(key, sample) for key in keys for sample in range(4)}


def test_chat_eval_when_interrupted_then_what_came_is_kept_and_the_next_task_is_not_started(
    door, here, environment, tmp_path
):
    words = ("-i", "sft", "-a", "AIME-2024-I|AIME-2024-II", "-m", "64", "--out", tmp_path / "out")
    trouble = {**environment, "STAND_IN_INTERRUPTED": "0:4"}
    said = door("python", "-m", "scripts.chat_eval", *words, env=trouble, code=130)
    assert "11 responses are missing and not counted" in said.stderr
    assert f"`markscheme resume {tmp_path / 'out' / 'AIME-2024-I'}` asks for them" in said.stderr
    assert len(kept(tmp_path / "out" / "AIME-2024-I")["responses.jsonl"]) == 4
    assert not (tmp_path / "out" / "AIME-2024-II").exists()
    assert here(*words).count("Final: ") == 2
    assert len(kept(tmp_path / "out" / "AIME-2024-I")["responses.jsonl"]) == 15


def test_chat_eval_when_nothing_is_said_then_the_documented_defaults(environment, tmp_path, monkeypatch, capsys):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.syspath_prepend(str(CHECKOUT))
    assert main(["-i", "sft", "-a", "AIME-2024-I|AIME-2024-II", "-x", "3", "--out", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert shown.count("Final: ") == 2
    assert re.search(r"By math: \d of 3 samples are right; \d differ from nanochat-aime; Final would be \d/3", shown)
    assert "Pass@" not in shown
    words = ["-i", "sft", "-a", "AIME-2024-I", "-x", "3", "-n", "2", "--passatk", "--passatk-ks"]
    for ks, lines in (("4,8", 0), ("2,8", 1)):
        assert main([*words, ks, "--protocol", "math", "--out", str(tmp_path / ks)]) == 0
        exchanged = capsys.readouterr().out
        assert exchanged.count("  Pass@") == lines
        assert re.search(r"By nanochat-aime: \d of 6 samples are right; \d differ from math; Final", exchanged)
    manifest = json.loads((tmp_path / "out" / "AIME-2024-I" / "manifest.json").read_text())
    assert manifest["sampling"] == {"temperature": 0.0, "top_k": 50, "max_tokens": 512}
    assert (manifest["samples"], manifest["problems"], manifest["protocol"]) == (1, 3, "nanochat-aime@3")


@pytest.mark.parametrize(
    ("words", "says", "code"),
    [
        (["-a", "AIME-2024"], "-i/--source", 2),
        (["-i", "sft", "-a", "AIME-2023"], "there is no task 'AIME-2023'", 2),
        (["-i", "sft", "-a", "ARC-Easy"], "nanochat's own scripts.chat_eval", 2),
        (["-i", "sft", "-a", "AIME-2024", "--passatk", "--passatk-ks", "1;2"], "is not a list", 2),
        (["-i", "sft", "-a", "AIME-2024", "-n", "0"], "argument -n/--num-samples: 0 is less than 1", 2),
        (["-i", "sft", "-a", "AIME-2024", "-x", "0"], "argument -x/--max-problems: 0 is less than 1", 2),
        (["-i", "sft", "-a", "AIME-2024", "-g", "7"], "tag 7", 1),
        (["-i", "rl", "-a", "AIME-2024"], "no checkpoint for rl", 1),
    ],
)
def test_chat_eval_when_a_flag_is_wrong_then_one_sentence(
    environment, tmp_path, monkeypatch, capsys, words, says, code
):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "path", [*sys.path])  # the stand-in for nanochat must not stay importable
    monkeypatch.chdir(tmp_path)
    try:
        ended = main(words)
    except SystemExit as stop:
        ended = stop.code
    assert ended == code
    assert says in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_chat_eval_when_no_task_is_named_then_aime_is_not_among_them():
    from markscheme.plugins.doors.chat_eval import _tasks

    assert _tasks(None) == ["GSM8K", "MATH-500", "Countdown"]


def test_preprocess_when_run_then_the_four_documented_files(door, environment, tmp_path):
    copy = tmp_path / "compat"
    shutil.copytree(COMPAT / "dev-aime", copy / "dev-aime", ignore=shutil.ignore_patterns("data"))
    door("python", "dev-aime/preprocess.py", cwd=copy, env=environment)
    rows = {}
    for file in (copy / "dev-aime" / "data").iterdir():
        rows[file.name] = [json.loads(line) for line in file.read_text().splitlines()]
    assert {name: len(lines) for name, lines in rows.items()} == {
        "aime_2024_I.jsonl": 15,
        "aime_2024_II.jsonl": 15,
        "aime_2024.jsonl": 30,
        "aime_2025.jsonl": 30,
    }
    assert rows["aime_2024.jsonl"][16]["question_id"] == "aime_2024_II_2"
    assert [row["question_id"] for row in rows["aime_2025.jsonl"]] == [f"aime_2025_{n}" for n in range(1, 31)]
    assert all(type(row["answer"]) is str for row in rows["aime_2025.jsonl"])
    assert question_id("gsm8k", "0007") == "0007"
