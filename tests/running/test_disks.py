"""Disks that fail as real ones do: a loss of power takes what was not synced, a network file system is stale and fails.

The disk is a file system of its own (perf/faulty_disk.py); `python perf/faults.py power` and `network` do more of the same.
"""

import json

import pytest
from faulty_disk import LOSSES, cut, mounted
from kept_runs import answers, wait_until
from loopback import Loopback, Plan

from markscheme.runs.folder import Run


@pytest.fixture
def disk(tmp_path):
    """Mount a disk of this kind below the scratch folder: `disk("--network")`."""

    def disk(*options):
        return mounted(tmp_path / "disk", tmp_path / "state", *options)

    try:
        with disk():
            pass
    except OSError as error:
        pytest.skip(f"no FUSE here: {str(error).strip().splitlines()[-1:]}")
    return disk


def syncs(tmp_path):
    """How often the journal was synced."""
    told = tmp_path / "state.synced"
    return told.read_text().count("responses.jsonl") if told.exists() else 0


@pytest.mark.parametrize("loss", LOSSES)
def test_power_when_lost_in_mid_run_then_what_was_synced_is_there_and_the_rest_is_asked_again(
    process, sums, right, fast, tmp_path, disk, loss
):
    folder = tmp_path / "disk" / "run"
    with Loopback(Plan(answer=right, latency=0.02)) as server:
        command = ("run", sums(150), *fast, "--base-url", server.url, "--concurrency", 1, "--out", folder)
        with disk("--loss", loss) as plugged_in:
            asking = process(*command)
            wait_until(lambda: folder.exists() and len(answers(folder)) >= 20, 100)
            kept, before = answers(folder), syncs(tmp_path)
            wait_until(lambda: syncs(tmp_path) >= before + 2, 100)  # one of them began after we looked
            asking.kill()
            asking.wait()
            cut(plugged_in)
        with disk():
            after = answers(folder)
            assert set(kept) <= set(after)
            again = process("resume", folder, "--json")
            _, said = again.communicate(timeout=200)
            assert again.returncode == 0, said
            assert "Traceback" not in said
            assert len(answers(folder)) == 150
            assert set(answers(folder).values()) == {1}
            assert sum(Run.open(folder).manifest.counts.values()) == 150


def test_power_when_lost_right_after_the_end_then_the_run_is_complete(process, sums, right, fast, tmp_path, disk):
    folder = tmp_path / "disk" / "run"
    with Loopback(Plan(answer=right)) as server:
        with disk("--loss", "strict") as plugged_in:
            asking = process("run", sums(20), *fast, "--base-url", server.url, "--out", folder)
            asking.communicate(timeout=200)
            cut(plugged_in)
        with disk():
            assert Run.open(folder).manifest.status == "complete"
            assert json.loads((folder / "report.json").read_bytes())["responses"] == 20
            assert len(list(Run.open(folder).marks("gsm8k-numeric"))) == 20


def test_network_file_system_when_it_fails_now_and_then_then_resuming_ends_with_everything_once(
    process, sums, right, fast, tmp_path, disk
):
    folder = tmp_path / "disk" / "run"
    with Loopback(Plan(answer=right, latency=0.02)) as server, disk("--network", "--eio", "0.02"):
        command = ("run", sums(60), *fast, "--base-url", server.url, "--concurrency", 4, "--out", folder)
        asking = process(*command)
        while asking.poll() is None:  # whoever reads meanwhile gets figures or a sentence
            reading = process("report", folder)
            _, said = reading.communicate(timeout=200)
            assert "Traceback" not in said
        for _ in range(20):
            _, said = asking.communicate(timeout=200)
            assert "Traceback" not in said
            if asking.returncode == 0:
                break
            assert "Input/output error" in said
            there = (folder / "manifest.json").exists()
            asking = process("resume", folder, "--json") if there else process(*command)
        assert asking.returncode == 0
        assert len(answers(folder)) == 60
        assert set(answers(folder).values()) == {1}
