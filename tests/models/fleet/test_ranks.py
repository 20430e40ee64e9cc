"""One run asked by two processes of torchrun, on a real tiny model; one of them is killed."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import markscheme as ms
from markscheme.cli import main
from markscheme.errors import UsageError
from markscheme.models.fleet import ranks
from markscheme.models.fleet.ranks import Ranks

BIN = Path(sys.executable).parent


def test_share_when_taken_by_every_rank_then_each_item_once():
    items = list(range(11))
    shares = [Ranks(rank, 3).share(items) for rank in range(3)]
    assert sorted(item for share in shares for item in share) == items
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


POD = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "h", "MASTER_PORT": "1"}


@pytest.mark.parametrize("variables", [{}, POD, {**POD, "TORCHELASTIC_RUN_ID": "x", "WORLD_SIZE": "1"}])
def test_current_when_there_is_one_process_then_it_is_alone_and_waits_for_nobody(monkeypatch, variables):
    for name in ranks.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    alone = ranks.join()
    assert alone == ranks.ALONE
    assert (alone.first, alone.several, alone.share([1, 2]), alone.agreed(3), alone.meet()) == (
        True,
        False,
        [1, 2],
        3,
        True,
    )
    assert asyncio.run(alone.met())


@pytest.mark.needs("torch")
def test_current_when_the_others_do_not_come_then_says_how_to_run_alone(monkeypatch):
    import socket
    from datetime import timedelta

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for name, value in {
        **POD,
        "TORCHELASTIC_RUN_ID": "x",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(ranks, "GATHERING", timedelta(seconds=0.5))
    monkeypatch.setattr("torch.distributed.rendezvous", _rendezvous(port))
    with pytest.raises(UsageError, match="rank 0 of 2 waited"):
        ranks.join()


def _rendezvous(port):
    """The store of a rank 0 whose peers never come (the real one would wait for them before we do)."""
    from torch.distributed import TCPStore

    store = TCPStore("127.0.0.1", port, 2, is_master=True, wait_for_workers=False)
    return lambda *_: iter([(store, 0, 2)])


def lines(file):
    return file.read_text().splitlines() if file.exists() else []


def environment():
    clean = {name: value for name, value in os.environ.items() if name not in (*ranks.VARIABLES, "LOCAL_RANK")}
    return {**clean, "PATH": f"{BIN}:{os.environ['PATH']}", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}


@pytest.mark.needs("torch", "transformers")
def test_run_when_a_rank_is_killed_then_nothing_is_lost_and_the_rest_can_be_asked(tiny_llama, tmp_path, capsys):
    folder = tmp_path / "run"
    options = ("--samples", "4", "--max-tokens", "64", "--limit", "20", "--fewshot", "0")
    words = ("run", "gsm8k-sample", "--model", f"hf/{tiny_llama}", *options, "--extra-field", "batch_size=4")
    started = subprocess.Popen(
        ["torchrun", "--nproc_per_node=2", "-m", "markscheme", *words, "--out", folder],
        env=environment(),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        deadline = time.monotonic() + 240
        while not (lines(folder / "responses.1.jsonl") and lines(folder / "responses.0.jsonl")):
            assert started.poll() is None, started.stdout.read()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        victim = int(re.search(r"process (\d+)", (folder / "lock.1").read_text())[1])
        os.kill(victim, signal.SIGKILL)
        output, _ = started.communicate(timeout=240)
    finally:
        if started.poll() is None:
            started.kill()
    assert started.returncode != 0, output
    assert "responses are missing" in output  # the rank that lives on still reports
    assert "terminate called" not in output
    kept = [lines(folder / name) for name in ("responses.0.jsonl", "responses.1.jsonl")]
    assert all(kept)
    before = {(row["key"], row["sample"]) for row in map(json.loads, kept[0] + kept[1])}
    assert 0 < len(before) < 80

    capsys.readouterr()
    assert main(["resume", str(folder), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["responses"], report["missing"], report["status"]) == (80, 0, "complete")
    asked_again = [json.loads(line) for line in lines(folder / "responses.jsonl")]
    assert len(asked_again) == 80 - len(before)
    assert not before & {(row["key"], row["sample"]) for row in asked_again}

    # Whoever asked, and however often it was interrupted: the same samples as in one undisturbed process.
    whole = ms.run(
        "gsm8k-sample", model=f"hf/{tiny_llama}", samples=4, max_tokens=64, limit=20, fewshot=0, out=tmp_path / "whole"
    )
    texts = {(one.key, one.sample): one.text for one in whole.responses()}
    assert {(one.key, one.sample): one.text for one in ms.Run.open(folder).responses()} == texts


@pytest.mark.needs("torch")
def test_run_when_torchrun_restarts_the_ranks_then_the_run_goes_on(tmp_path):
    from nanochat_files import CHECKOUT, make_checkpoints

    marker = tmp_path / "died"
    engine = tmp_path / "checkout" / "nanochat" / "engine.py"
    engine.parent.mkdir(parents=True)
    for file in (CHECKOUT / "nanochat").glob("*.py"):
        (engine.parent / file.name).write_text(file.read_text())
    # Rank 1 dies once, at its fourth problem.
    once = f'if os.environ.get("RANK") == "1" and self._calls == 4 and not os.path.exists({str(marker)!r}):\n'
    once += f"            open({str(marker)!r}, 'w').close()\n            os.kill(os.getpid(), signal.SIGKILL)\n"
    engine.write_text(engine.read_text().replace("        prompt = self", f"        {once}        prompt = self"))
    done = subprocess.run(
        [
            *("torchrun", "--nproc_per_node=2", "--max-restarts=2", "-m", "markscheme", "run", "aime-sample"),
            *("--model", "nanochat/sft", "--samples", "4", "--max-tokens", "64", "--out", tmp_path / "run"),
        ],
        env={
            **environment(),
            "NANOCHAT_DIR": str(engine.parents[1]),
            "NANOCHAT_BASE_DIR": str(make_checkpoints(tmp_path / "base")),
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert marker.exists()
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert (manifest["status"], manifest["resumed"]) == ("complete", 1)
    total = manifest["problems"] * 4
    rows = [json.loads(line) for file in (tmp_path / "run").glob("responses.*.jsonl") for line in lines(file)]
    assert len(rows) == total == len({(row["key"], row["sample"]) for row in rows})
    assert sum(manifest["counts"].values()) == total
    assert "accuracy" in done.stdout
