"""A run on a Ray cluster of two nodes on this machine, one of which is killed in mid-run."""

import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest

import markscheme as ms
from markscheme.config import make_config
from markscheme.errors import ModelError, UsageError
from markscheme.models import load_model
from markscheme.nano import WEIGHTS

# Starting a cluster takes minutes on a busy machine.
pytestmark = [pytest.mark.needs("ray"), pytest.mark.timeout(900)]


def lines(folder):
    file = folder / "responses.jsonl"
    return [json.loads(line) for line in file.read_bytes().splitlines()] if file.exists() else []


@pytest.mark.parametrize("spec", ["openai/m", "sglang/http://localhost:1", "replay/f.jsonl"])
def test_model_when_it_is_not_ours_to_place_then_refused(spec):
    with pytest.raises(UsageError, match="leave --engine out"):
        load_model(spec, make_config(benchmark="b", model=spec, engine="ray"))


def test_replicas_when_nothing_can_be_copied_here_then_refused():
    with pytest.raises(UsageError, match="need --engine ray"):
        load_model("solver", make_config(benchmark="b", model="solver", replicas=2))


def test_run_when_its_replicas_are_on_a_cluster_then_the_same_folder_as_without(cluster, tmp_path):
    options = {"limit": 20, "samples": 2}
    plain = ms.run("countdown-sample", model="solver", out=tmp_path / "plain", **options)
    spread = ms.run("countdown-sample", model="solver", out=tmp_path / "ray", engine="ray", replicas=2, **options)
    assert spread.manifest.status == "complete"
    assert spread.manifest.sampling == plain.manifest.sampling
    answers = [{(one.key, one.sample): one.text for one in run.responses()} for run in (plain, spread)]
    assert answers[0] == answers[1]


@pytest.mark.parametrize("spec", ["nano", pytest.param("hf/WEIGHTS", marks=pytest.mark.needs("torch", "transformers"))])
def test_run_when_replicas_compute_themselves_then_the_answers_of_one_in_this_process(cluster, tmp_path, spec):
    asked = {"limit": 6, "max_tokens": 48}
    here = ms.run("countdown-sample", model="nano", out=tmp_path / "here", **asked)
    there = ms.run(
        "countdown-sample", model=spec.replace("WEIGHTS", str(WEIGHTS)), engine="ray", replicas=2, out=tmp_path / "there",
        **asked,
    )  # fmt: skip
    assert {one.key: one.text for one in there.responses()} == {one.key: one.text for one in here.responses()}


def test_run_when_a_replica_cannot_load_its_model_then_its_own_words(cluster, tmp_path):
    with pytest.raises(ModelError, match=r"replica \d on .*: hf cannot load"):
        ms.run("countdown-sample", model=f"hf/{tmp_path}", engine="ray", replicas=2, out=tmp_path / "run")


def test_run_when_no_replica_fits_the_cluster_then_says_what_is_needed(cluster, tmp_path):
    with pytest.raises(ModelError, match=r"needs 1 core and 4 GPUs, and the cluster has \d free cores and 0 free GPUs"):
        ms.run(
            "countdown-sample", model="vllm/tiny", engine="ray", gpus_per_replica=4, server_timeout=2.0,
            out=tmp_path / "run",
        )  # fmt: skip


def test_run_when_one_server_is_gone_for_good_then_the_other_replica_answers_everything(cluster, sums, tmp_path, alive):
    run = ms.run(
        str(sums), model="vllm/tiny", protocol="gsm8k-numeric", samples=10, engine="ray", replicas=2, server_restarts=0,
        concurrency=8, retry_delay=0.1, out=tmp_path / "run",
        server_arg=(f"pids={tmp_path / 'pids'}", "latency=0.05", "fault=die", "after=20", f"once={tmp_path / 'once'}"),
    )  # fmt: skip
    assert run.manifest.status == "complete"
    asked = [(line["key"], line["sample"]) for line in lines(run.path)]
    assert len(asked) == len(set(asked)) == 120
    assert max(line.get("attempts", 1) for line in lines(run.path)) > 1
    assert alive() == []


def test_run_when_a_node_is_killed_then_nothing_is_lost_nothing_comes_twice_and_no_server_stays(
    cluster, sums, tmp_path, alive
):
    folder, asked_servers = tmp_path / "run", tmp_path / "asked"

    def kill():
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:  # on a busy machine one server may answer a lot before the others are there
            if asked_servers.exists() and len(set(asked_servers.read_text().split())) == 3:
                break
            time.sleep(0.05)
        cluster.kill_second()

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        run = ms.run(
            str(sums), model="vllm/tiny", protocol="gsm8k-numeric", samples=20, engine="ray", replicas=3,
            concurrency=12, retry_delay=0.1, out=folder,
            server_arg=(f"pids={tmp_path / 'pids'}", "children=1", "latency=0.3", f"asked={asked_servers}"),
        )  # fmt: skip
    finally:
        killer.join()
    assert run.manifest.status == "complete"
    asked = [(line["key"], line["sample"]) for line in lines(folder)]
    assert len(asked) == len(set(asked)) == 240
    assert max(line.get("attempts", 1) for line in lines(folder)) > 1  # some were in flight on the node
    assert "loading tiny" in (folder / "servers" / "0.log").read_text()
    assert alive() == []


def test_run_when_its_worker_is_killed_then_a_replica_that_waited_for_room_takes_over(cluster, sums, tmp_path, alive):
    """There is one core for two replicas: the one that stands dies, and whichever gets the core next is asked."""
    cluster.have_one()
    folder = tmp_path / "run"
    started = tmp_path / "pids"

    def kill():
        deadline = time.monotonic() + 120
        while len(lines(folder)) < 40 and time.monotonic() < deadline:
            time.sleep(0.05)
        server = int(started.read_text().split()[0])
        os.kill(parent(parent(server)), signal.SIGKILL)  # server, its keeper, the worker

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        run = ms.run(
            str(sums), model="vllm/tiny", protocol="gsm8k-numeric", samples=10, engine="ray", replicas=2,
            concurrency=8, retry_delay=0.1, request_timeout=300, out=folder,
            server_arg=(f"pids={started}", "latency=0.05"),
        )  # fmt: skip
    finally:
        killer.join()
    assert run.manifest.status == "complete"
    asked = [(line["key"], line["sample"]) for line in lines(folder)]
    assert len(asked) == len(set(asked)) == 120
    assert max(line["latency"] for line in lines(folder)) < 60  # nobody sat out the timeout at the one that was lost
    assert alive() == []


def parent(pid):
    (line,) = (line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("PPid:"))
    return int(line.split()[1])
