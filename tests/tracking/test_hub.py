"""A run on the Hub: the real client uploads it to a loopback server."""

import os
import shutil
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import SimpleNamespace

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


def push(hub, run, *arguments, **variables):
    """The command in a process of its own: the client reads its settings when it is imported."""
    settings = {"HF_ENDPOINT": hub.endpoint, "HF_TOKEN": "hf_for_the_test", "HF_HUB_DISABLE_XET": "1", **variables}
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


@pytest.mark.parametrize("file", ["notes.txt", "servers/0.log", "judges/j/responses.jsonl"])
def test_push_when_a_file_holds_a_key_that_was_not_known_before_then_nothing_leaves(hub, run, tmp_path, file):
    copy = ms.load(shutil.copytree(run.path, tmp_path / "copy"))
    (copy.path / file).parent.mkdir(parents=True, exist_ok=True)
    (copy.path / file).write_text("a gateway said: your key hk-3Nf8Zw5Qx7Lm2Vb9 is wrong\n")
    asked = len(hub.requests)
    done = push(hub, copy, "--to", "someone/keys", GATEWAY_KEY="hk-3Nf8Zw5Qx7Lm2Vb9")
    assert done.returncode == 2
    assert f"{copy.path / file} contains a key" in done.stderr
    assert len(hub.requests) == asked
    (copy.path / file).unlink()  # the advice
    assert push(hub, copy, "--to", "someone/keys", GATEWAY_KEY="hk-3Nf8Zw5Qx7Lm2Vb9").returncode == 0


def test_push_when_a_judge_has_a_folder_then_its_lock_stays_here(hub, run, tmp_path):
    copy = ms.load(shutil.copytree(run.path, tmp_path / "copy"))
    (copy.path / "judges" / "j").mkdir(parents=True)
    (copy.path / "judges" / "j" / "lock").write_text("process 1 on a-machine")
    assert push(hub, copy, "--to", "someone/judged").returncode == 0
    assert not any("lock" in path for repo, path in hub.files if repo == "someone/judged")


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
        (["--to", "nowhere"], "--to takes a tracker or OWNER/NAME for the Hub, not 'nowhere'"),
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
    assert "the Hub refused" in done.stderr
    assert "Traceback" not in done.stderr


class Echo(BaseHTTPRequestHandler):
    """A Hub that answers with the token that it refuses."""

    def do_POST(self):
        said = f"token {self.headers['Authorization']} is not good".encode()
        self.send_response(401)
        self.send_header("X-Error-Message", said.decode())
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    do_GET = do_POST  # noqa: N815 - the name that http.server calls


@pytest.mark.parametrize("more", [[], ["--model-repo", "someone/m"]])
def test_push_when_the_hub_repeats_the_token_of_the_clients_own_file_then_it_is_not_shown(run, tmp_path, more):
    token = "hf_Xy7Kq2Wm9Rt4Lp8Zc3Vb"
    (tmp_path / "token").write_text(token)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    Thread(target=server.serve_forever, daemon=True).start()
    endpoint = SimpleNamespace(endpoint=f"http://127.0.0.1:{server.server_port}")
    done = push(endpoint, run, "--to", "someone/x", *more, HF_TOKEN="", HF_TOKEN_PATH=str(tmp_path / "token"))
    server.shutdown()
    assert done.returncode in (1, 2)
    assert token not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
