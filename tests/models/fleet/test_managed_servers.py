"""Servers of our own: started, asked, started again, and never left behind."""

import json
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

import markscheme as ms
from markscheme.cli import main
from markscheme.errors import ModelError
from markscheme.nano import WEIGHTS

FAST = ("--protocol", "gsm8k-numeric", "--json", "--out", "run")


def args(*words):
    return [word for given in words for word in ("--server-arg", given)]


def run(sums, tmp_path, **options):
    return ms.run(str(sums), model="vllm/tiny", protocol="gsm8k-numeric", out=tmp_path / "run", **options)


def lines(tmp_path):
    file = tmp_path / "run" / "responses.jsonl"
    return [json.loads(line) for line in file.read_bytes().splitlines()] if file.exists() else []


def until(condition, process=None, seconds=200):
    deadline = time.monotonic() + seconds
    while not condition():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_run_when_the_server_is_ours_then_asked_over_http_logged_and_taken_down(sums, tmp_path, stand_in, alive):
    finished = run(sums, tmp_path, samples=2, server_arg=(f"pids={tmp_path / 'pids'}", "children=1"))
    assert finished.manifest.status == "complete"
    assert len(list(finished.responses())) == 24
    log = (tmp_path / "run" / "servers" / "0.log").read_text()
    assert "serve tiny --host 127.0.0.1 --port" in log
    assert "loading tiny" in log
    assert alive() == []


def test_run_when_the_server_crashes_at_start_then_its_last_words_and_nothing_left(sums, tmp_path, stand_in, alive):
    with pytest.raises(ModelError, match=r"ended before it was ready \(exit code 1; .*CUDA out of memory"):
        run(sums, tmp_path, server_arg=("fault=crash", "children=2", f"pids={tmp_path / 'pids'}"))
    assert alive(patience=0) == []


def test_run_when_the_server_hangs_in_start_up_then_stopped_at_the_limit(sums, tmp_path, stand_in, alive, monkeypatch):
    monkeypatch.setattr("markscheme.models.fleet.servers.GRACE", 0.5)
    with pytest.raises(ModelError, match=r"not ready after 6 s \(--server-timeout\); its log .*loading tiny"):
        run(sums, tmp_path, server_timeout=6.0, server_arg=("fault=hang", f"pids={tmp_path / 'pids'}"))
    assert alive(patience=0) == []


def test_run_when_the_port_is_taken_then_another_is_tried(sums, tmp_path, stand_in):
    finished = run(sums, tmp_path, server_arg=("fault=taken", f"once={tmp_path / 'once'}"))
    assert finished.manifest.status == "complete"
    assert "Address already in use" in (tmp_path / "run" / "servers" / "0.log").read_text()


def test_run_when_every_port_is_taken_then_says_so(sums, tmp_path, stand_in):
    with pytest.raises(ModelError, match="Address already in use"):
        run(sums, tmp_path, server_arg=("fault=taken",))


def test_run_when_a_stranger_answers_on_the_port_then_it_is_not_asked(sums, tmp_path, stand_in, monkeypatch):
    from loopback import Loopback, Plan

    with Loopback(Plan()) as stranger:
        ports = [int(stranger.url.split(":")[2].split("/")[0])] * 3
        monkeypatch.setattr("markscheme.models.fleet.servers.free_port", ports.pop)
        with pytest.raises(ModelError, match="in use"):
            run(sums, tmp_path)
    assert lines(tmp_path) == []


def test_run_when_the_server_dies_in_mid_run_then_started_again_and_nothing_lost(sums, tmp_path, stand_in, alive):
    finished = run(
        sums, tmp_path, samples=2, concurrency=4, retry_delay=0.1,
        server_arg=("fault=die", "after=7", "children=1", f"once={tmp_path / 'once'}", f"pids={tmp_path / 'pids'}"),
    )  # fmt: skip
    assert finished.manifest.status == "complete"
    assert len(lines(tmp_path)) == 24 == len({(line["key"], line["sample"]) for line in lines(tmp_path)})
    assert (tmp_path / "run" / "servers" / "0.log").read_text().count("== markscheme starts") == 2
    assert alive() == []


def test_run_when_the_server_dies_too_often_then_stops_with_what_there_is(sums, tmp_path, stand_in, alive):
    with pytest.raises(ModelError, match=r"killed by SIGKILL.*--server-restarts 1"):
        run(
            sums, tmp_path, concurrency=1, retry_delay=0.1, server_restarts=1,
            server_arg=("fault=die", "after=3", f"pids={tmp_path / 'pids'}"),
        )  # fmt: skip
    assert len(lines(tmp_path)) == 6
    assert alive() == []


def test_run_when_one_of_two_servers_is_gone_for_good_then_the_other_finishes(sums, tmp_path, stand_in):
    finished = run(
        sums, tmp_path, samples=3, replicas=2, concurrency=4, retry_delay=0.1, server_restarts=0,
        server_arg=("fault=die", "after=3", f"once={tmp_path / 'once'}", "latency=0.02"),
    )  # fmt: skip
    assert finished.manifest.status == "complete"
    assert len(lines(tmp_path)) == 36


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_command_when_it_is_killed_in_mid_run_then_no_process_is_left(sums, tmp_path, command, alive, number):
    process = command(
        *("run", sums, "--model", "vllm/tiny", "-n", "50", "--concurrency", "2", *FAST),
        *args("latency=0.05", "children=1", f"pids={tmp_path / 'pids'}"),
    )
    until(lambda: len(lines(tmp_path)) > 3, process)
    assert len(alive(patience=0)) == 2
    os.kill(process.pid, number)
    process.communicate(timeout=200)
    assert alive() == []


def test_command_when_a_keeper_is_killed_in_mid_run_then_its_server_is_started_again_and_no_process_is_left(
    sums, tmp_path, command, alive
):
    process = command(
        *("run", sums, "--model", "vllm/tiny", "-n", "4", "--concurrency", "2", *FAST),
        *args("latency=0.1", "children=1", f"pids={tmp_path / 'pids'}"),
    )
    until(lambda: len(lines(tmp_path)) > 3, process)
    (keeper,) = (one for one, words in commands().items() if keeps(words) and str(tmp_path / "pids") in words)
    os.kill(keeper, signal.SIGKILL)
    _, said = process.communicate(timeout=200)
    assert process.returncode == 0, said
    assert len(lines(tmp_path)) == 48
    assert len((tmp_path / "pids").read_text().split()) == 4
    assert alive(patience=0) == []


def test_command_when_it_is_stopped_in_start_up_then_no_process_is_left(sums, tmp_path, command, alive):
    process = command("run", sums, "--model", "vllm/tiny", *FAST, *args("fault=hang", f"pids={tmp_path / 'pids'}"))
    until(lambda: (tmp_path / "pids").exists() and (tmp_path / "pids").read_text(), process)
    os.kill(process.pid, signal.SIGTERM)
    _, said = process.communicate(timeout=200)
    assert process.returncode == 130, said
    assert alive(patience=0) == []


def test_command_when_it_is_stopped_in_the_start_up_of_several_servers_then_all_are_gone_before_it(
    sums, tmp_path, command, alive
):
    process = command(
        *("run", sums, "--model", "vllm/tiny", "--replicas", "2", *FAST),
        *args("fault=hang", f"once={tmp_path / 'once'}", f"pids={tmp_path / 'pids'}", "load=60"),
    )
    until(lambda: (tmp_path / "pids").exists() and len((tmp_path / "pids").read_text().split()) == 2, process)
    time.sleep(0.5)  # until the stubborn one has turned a deaf ear to SIGTERM
    os.kill(process.pid, signal.SIGINT)
    time.sleep(1)
    os.kill(process.pid, signal.SIGINT)  # impatience does not leave a process behind either
    _, said = process.communicate(timeout=200)
    assert process.returncode == 130, said
    assert alive(patience=0) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_command_when_it_is_stopped_while_servers_end_then_the_run_is_closed_and_no_process_is_left(
    sums, tmp_path, command, alive, number
):
    process = command(*("run", sums, "--model", "vllm/tiny", *FAST), *args("linger=3", f"pids={tmp_path / 'pids'}"))
    log = tmp_path / "run" / "servers" / "0.log"
    until(lambda: log.exists() and "ending" in log.read_text(), process)
    os.kill(process.pid, number)
    _, said = process.communicate(timeout=200)
    assert process.returncode == 0, said
    manifest = ms.Run.open(tmp_path / "run").manifest
    assert (manifest.status, sum(manifest.counts.values())) == ("complete", 12)
    assert alive(patience=0) == []


def test_command_when_the_server_is_slow_to_start_then_a_line_says_what_it_does(sums, tmp_path, command):
    process = command(
        *("run", sums, "--model", "vllm/tiny", "--protocol", "gsm8k-numeric", "--out", "run"),
        *("--server-timeout", "7"),
        *args("fault=hang"),
    )
    _, said = process.communicate(timeout=200)
    assert process.returncode == 1, said
    assert "vllm is starting, " in said
    assert "0 of 12 responses are kept; `markscheme resume run` asks for the rest" in said


def test_resume_when_the_first_server_could_not_start_then_another_finishes(sums, tmp_path, stand_in):
    with pytest.raises(ModelError):
        run(sums, tmp_path, server_arg=("fault=crash",))
    from markscheme.running import resume

    resume(ms.Run.open(tmp_path / "run"), {"server_arg": ()})
    assert ms.Run.open(tmp_path / "run").manifest.status == "complete"


@pytest.mark.timeout(900)  # it starts twice, twelve seconds of a core each, and a core is shared on a busy machine
@pytest.mark.needs("torch", "transformers", "fastapi", "uvicorn")
def test_transformers_serve_when_it_serves_nano_and_is_killed_in_mid_run_then_nothing_is_missing_or_different(
    tmp_path, command, monkeypatch
):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    asked = {"limit": 16, "max_tokens": 64}
    process = command(
        *("run", "countdown-sample", "--model", f"transformers/{WEIGHTS}", "--concurrency", "2"),
        *(word for name, value in asked.items() for word in (f"--{name.replace('_', '-')}", str(value))),
        *("--json", "--out", "run", *args("device=cpu")),
    )
    until(lambda: len(lines(tmp_path)) > 4, process, seconds=400)
    os.kill(_server_of(WEIGHTS, tmp_path), signal.SIGKILL)
    _, said = process.communicate(timeout=400)
    assert process.returncode == 0, said
    assert (tmp_path / "run" / "servers" / "0.log").read_text().count("== markscheme starts") == 2
    in_process = ms.run("countdown-sample", model="nano", out=tmp_path / "in-process", **asked)
    assert len(lines(tmp_path)) == 16
    assert {one["key"]: one["text"] for one in lines(tmp_path)} == {one.key: one.text for one in in_process.responses()}


def commands():
    """The command line of every process."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found[int(entry.parent.name)] = entry.read_text(errors="replace").split("\0")
    return found


def keeps(words):
    """Whether a command line is that of a keeper."""
    return any(word.endswith("keeper.py") for word in words)


def _server_of(model, folder):
    """The process that serves the model: neither the command that asked for it, nor the keeper, nor another test's."""
    return next(
        one
        for one, words in commands().items()
        if "serve" in words
        and str(model) in words
        and not keeps(words)
        and Path(f"/proc/{one}/cwd").readlink() == folder
    )


def test_server_when_it_logs_its_environment_and_options_then_no_key_is_in_any_file(
    sums, tmp_path, stand_in, monkeypatch
):
    """As frameworks do that print everything when they start: whole, quoted, and in two writes."""
    key, token = "zq7Rk2Wx9LmP4vTn8BsY1c", "hf_" + "9LmP4vTn8BsY1czq7Rk2Wx"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setenv("HF_TOKEN", token)
    monkeypatch.setenv("VLLM_API_KEY", key)
    real = stand_in.rename(stand_in.with_name("real-vllm"))
    stand_in.write_text(
        "#!/bin/sh\nenv\nprintf 'in two: %s' \"${HF_TOKEN%????}\"; sleep 0.2; printf '%s\\n' \"${HF_TOKEN#?????????????????????}\"\n"
        f'echo "$@" >&2\nexec {real} "$@"\n'
    )
    stand_in.chmod(0o755)
    finished = run(sums, tmp_path, server_arg=(f"hf-token={token}", f"api-key={key}"))
    assert finished.manifest.status == "complete"
    files = [file for file in (tmp_path / "run").rglob("*") if file.is_file()]
    kept = b"".join(file.read_bytes() for file in files)
    assert b"HF_TOKEN=***" in kept
    assert b"in two: ***" in kept
    assert key.encode() not in kept
    assert token.encode() not in kept


def test_series_when_the_servers_are_ours_then_one_is_gone_before_the_next_starts(sums, tmp_path, stand_in, alive):
    for step in (1, 2, 3):
        (tmp_path / "ckpt" / f"step-{step}").mkdir(parents=True)
    real = stand_in.rename(stand_in.with_name("real-vllm"))
    # Each start notes which of the servers before it are still there.
    stand_in.write_text(
        "#!/bin/sh\n"
        f"for pid in $(cat {tmp_path}/pids 2>/dev/null); do [ -d /proc/$pid ] && echo $pid >> {tmp_path}/overlap; done\n"
        f'exec {real} "$@"\n'
    )
    stand_in.chmod(0o755)
    typed = ["run", str(sums), "--model", "vllm", "--series", f"{tmp_path}/ckpt/step-*", "--out", str(tmp_path / "all")]
    assert main([*typed, "--protocol", "gsm8k-numeric", *args(f"pids={tmp_path / 'pids'}")]) == 0
    assert len((tmp_path / "pids").read_text().split()) == 3
    assert not (tmp_path / "overlap").exists()
    assert alive() == []
    (found,) = ms.series(tmp_path / "all")
    assert [point.step for point in found.series.points] == [1, 2, 3]
