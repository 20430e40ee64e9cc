"""`markscheme data prepare` as its own process: exit codes, one sentence, and faults that need real time."""

import json
import signal
import time

import pytest
from hub_server import parquet

from markscheme.benchmarks import benchmark

(PINNED,) = benchmark("aime-2025-I").sources
(UNPINNED,) = benchmark("brumo-2025").sources
CONTEST = [{"problem_idx": n, "problem": f"{n}?", "answer": n, "problem_type": ["Algebra"]} for n in range(1, 31)]


def one_sentence(done):
    assert done.returncode == 1, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("markscheme: ")
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def files_below(folder):
    return [path for path in folder.rglob("*") if path.is_file()] if folder.exists() else []


def test_prepare_when_fetched_twice_then_says_so_and_asks_the_hub_once(data_command, hub, tmp_path):
    hub.add(UNPINNED.places[0], parquet(CONTEST))
    first = data_command("prepare", "brumo-2025", hub=hub)
    assert (first.returncode, "brumo-2025/test.jsonl: fetched, 30 rows" in first.stdout) == (0, True), first.stderr
    assert "trusted and recorded" in first.stdout
    asked = len(hub.requests)
    second = data_command("prepare", "brumo-2025", "--json", hub=hub)
    assert (second.returncode, second.stderr, len(hub.requests)) == (0, "", asked)
    (file,) = json.loads(second.stdout)["files"]
    assert (file["action"], file["file"]["check"]) == ("there", "recorded")


def test_prepare_when_the_hash_is_wrong_then_both_are_named_and_nothing_is_left(data_command, hub, tmp_path):
    hub.add(PINNED.places[0], parquet(CONTEST))
    said = one_sentence(data_command("prepare", "aime-2025-I", hub=hub))
    assert PINNED.sha256 in said
    assert files_below(tmp_path / "data") == []


def test_prepare_when_the_hub_stops_answering_in_the_body_then_gives_up(data_command, hub, tmp_path):
    hub.add(PINNED.places[0], b"x" * 1000, "stalled body")
    started = time.monotonic()
    said = one_sentence(data_command("prepare", "aime-2025-I", hub=hub))
    assert "stopped answering" in said
    assert time.monotonic() - started < 30
    assert files_below(tmp_path / "data") == []


def test_prepare_when_the_hub_never_answers_then_gives_up(data_command, hub, tmp_path):
    hub.add(PINNED.places[0], b"", "stalled")
    assert "stopped answering" in one_sentence(data_command("prepare", "aime-2025-I", hub=hub))


def test_prepare_when_nothing_listens_then_says_it_cannot_be_reached(data_command):
    done = data_command("prepare", "gsm8k", HF_ENDPOINT="http://127.0.0.1:9")
    assert "http://127.0.0.1:9 cannot be reached" in one_sentence(done)


def test_prepare_when_the_client_is_set_offline_then_says_so(data_command, hub):
    done = data_command("prepare", "gsm8k", hub=hub, HF_HUB_OFFLINE="1")
    assert "HF_HUB_OFFLINE is set" in one_sentence(done)
    assert hub.requests == []


def test_prepare_when_interrupted_then_no_file_is_left(environment, hub, tmp_path, launch):
    hub.add(PINNED.places[0], b"x" * 100_000, "slow")
    environment = {**environment, "HF_ENDPOINT": hub.endpoint, "TMPDIR": str(tmp_path / "scratch")}
    (tmp_path / "scratch").mkdir()
    running = launch("data", "prepare", "aime-2025-I", env=environment)
    deadline = time.monotonic() + 200
    while not any(request.startswith("GET /datasets") for request in hub.requests):
        assert time.monotonic() < deadline, "the download never began"
        time.sleep(0.05)
    time.sleep(0.3)  # some of the body has arrived
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=200)
    assert (running.returncode, said) == (130, "markscheme: interrupted\n")
    assert files_below(tmp_path / "data") == []
    assert files_below(tmp_path / "scratch") == []


@pytest.mark.parametrize("arguments", [[], ["gsm8k", "--all"], ["nonsense"]])
def test_prepare_when_it_is_not_clear_what_then_exit_2(data_command, arguments):
    done = data_command("prepare", *arguments)
    assert done.returncode == 2
    assert "list` lists them" in done.stderr
