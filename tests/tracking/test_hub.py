"""A run on the Hub: the real client uploads it to a loopback server."""

import os
import subprocess
import sys

import pytest
from hub_server import running_hub

import markscheme as ms

pytestmark = pytest.mark.needs("huggingface_hub", "yaml")


@pytest.fixture(scope="module")
def hub():
    with running_hub() as started:
        yield started


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "solver"
    return ms.run("countdown-sample", model="solver", samples=2, limit=4, out=out, progress=False)


def push(hub, run, *arguments):
    """The command in a process of its own: the client reads its settings when it is imported."""
    settings = {"HF_ENDPOINT": hub.endpoint, "HF_TOKEN": "hf_for_the_test", "HF_HUB_DISABLE_XET": "1"}
    return subprocess.run(
        [sys.executable, "-m", "markscheme", "push", str(run.path), *arguments],
        capture_output=True, text=True, env={**os.environ, **settings},
    )  # fmt: skip


def front_matter(card):
    import yaml

    return yaml.safe_load(card.decode().split("---\n")[1])


def test_run_when_pushed_then_a_private_dataset_holds_its_folder_and_a_card(hub, run):
    done = push(hub, run, "--to", "someone/solver-run")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("/datasets/someone/solver-run")
    made = hub.created["someone/solver-run"]
    assert made["type"] == "dataset"
    assert made.get("private") is True or made.get("visibility") == "private"
    stored = {path: content for (repo, path), content in hub.files.items() if repo == "someone/solver-run"}
    for name in ("manifest.json", "problems.jsonl", "responses.jsonl", "report.json", "marks/countdown.jsonl"):
        assert stored[name] == (run.path / name).read_bytes()
    assert not any("lock" in name for name in stored)
    card = stored["README.md"]
    assert {"config_name": "responses", "data_files": "responses*.jsonl"} in front_matter(card)["configs"]
    assert "| accuracy | 100.0 %" in card.decode()
    assert "hf_for_the_test" not in b"".join(stored.values()).decode()


def test_run_when_downloaded_again_then_it_is_the_same_run(hub, run, tmp_path):
    assert push(hub, run, "--to", "someone/again").returncode == 0
    for (repo, path), content in hub.files.items():
        if repo == "someone/again":
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_bytes(content)
    assert ms.load(tmp_path).accuracy == run.accuracy


def test_result_when_the_problems_are_from_the_hub_then_it_is_proposed_to_the_model(hub, real_data, tmp_path):
    import yaml
    from huggingface_hub import EvalResultEntry
    from huggingface_hub._eval_results import parse_eval_result_entries

    run = _aime(tmp_path, real_data)
    done = push(hub, run, "--to", "someone/aime-run", "--model-repo", "someone/model")
    assert done.returncode == 0, done.stderr
    assert "/discussions/1" in done.stdout
    (file,) = [path for repo, path in hub.files if repo == "someone/model"]
    assert file == ".eval_results/aime-2025-markscheme.yaml"
    (entry,) = parse_eval_result_entries(yaml.safe_load(hub.files["someone/model", file]))
    assert isinstance(entry, EvalResultEntry)
    assert entry.value == pytest.approx(100 * run.accuracy)
    assert entry.source_url.endswith("/datasets/someone/aime-run")
    assert "95 % interval" in entry.notes


def _aime(folder, data):
    problems = ms.benchmark("aime-2025", str(data)).problems
    lines = [f'{{"question_id": "{each.id}", "answer": "\\\\boxed{{{each.gold}}}"}}' for each in problems[:3]]
    (folder / "outputs.jsonl").write_text("\n".join(lines))
    return ms.run(
        "aime-2025",
        model=f"replay/{folder / 'outputs.jsonl'}",
        limit=3,
        out=folder / "r",
        data_dir=str(data),
        progress=False,
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--to", "someone/x", "--model-repo", "someone/m"], "not from the Hub"),
        (["--to", "nowhere"], "no tracker 'nowhere'"),
        (["--to", "wandb", "--public"], "are for the Hub"),
    ],
)
def test_push_when_it_cannot_be_then_a_sentence(hub, run, arguments, said):
    done = push(hub, run, *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_push_when_the_hub_refuses_then_a_sentence(run, tmp_path):
    with running_hub() as gone:
        endpoint = gone
    done = push(endpoint, run, "--to", "someone/x")
    assert done.returncode == 1
    assert "the Hub did not take" in done.stderr
    assert "Traceback" not in done.stderr
