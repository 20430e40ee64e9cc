"""Whole runs against a server that misbehaves, and processes that are killed: nothing lost, nothing twice."""

import asyncio
import json
import random
import time
from collections import Counter

import pytest
from kept_runs import answers, lines, verdicts, wait_until
from loopback import FAULTS, Loopback, Plan

import markscheme as markscheme_package
from markscheme.errors import ModelError
from markscheme.runs.folder import Run


def test_run_when_every_fault_strikes_one_in_ten_then_the_same_verdicts_and_none_twice(
    markscheme, sums, right, fast, tmp_path
):
    benchmark = sums(120)
    with Loopback(Plan(answer=right)) as server:
        clean = markscheme("run", benchmark, *fast, "--base-url", server.url, "-n", 2, "--out", tmp_path / "clean")
    faults = dict.fromkeys(FAULTS, 0.1)
    with Loopback(Plan(answer=right, faults=faults, retry_after=0.1), count=True) as server:
        faulty = markscheme(
            *("run", benchmark, *fast, "--base-url", server.url, "-n", 2, "--out", tmp_path / "faulty"),
            *("--retry-delay", 0.02, "--max-retries", 90, "--request-timeout", 2, "--concurrency", 64),
        )
        assert all(server.faulted[fault] > 0 for fault in FAULTS)
        assert max(server.answered.values()) == 1
    assert (clean.returncode, faulty.returncode) == (0, 0), faulty.stderr
    assert verdicts(tmp_path / "faulty") == verdicts(tmp_path / "clean")
    assert set(answers(tmp_path / "faulty").values()) == {1}
    assert len(answers(tmp_path / "faulty")) == 240
    assert {"correct", "wrong"} == set(verdicts(tmp_path / "clean").values())
    usage = Run.open(tmp_path / "faulty").manifest.usage
    assert usage.attempts > 240


def test_run_when_killed_again_and_again_then_complete_and_nothing_kept_was_asked_twice(
    process, sums, right, fast, tmp_path
):
    benchmark, folder = sums(60), tmp_path / "run"
    luck = random.Random(3)
    options = (*fast, "-n", 4, "--concurrency", 8)
    with Loopback(Plan(answer=right, latency=0.03), count=True) as server:
        kept_before: Counter = Counter()
        finished: dict = {}  # seed of a kept response → how often the server had been asked for it by then
        kills = 0
        while True:
            command = ("resume", folder, "--json") if (folder / "manifest.json").exists() else None
            command = command or ("run", benchmark, *options, "--base-url", server.url, "--out", folder)
            last = process(*command)
            ended = wait_for_growth(last, folder, len(kept_before), luck)
            if ended:
                break
            kills += 1
            kept = answers(folder)
            assert max(kept.values(), default=1) == 1
            assert kept_before <= kept
            kept_before = kept
            finished = {**requests_by_seed(server, {line["seed"] for line in lines(folder)}), **finished}
        assert requests_by_seed(server, set(finished)) == finished  # nothing that was kept is asked again
        assert kills >= 3
        assert last.returncode == 0, last.communicate()[1]
        asked = server.asked.copy()
    assert set(answers(folder).values()) == {1}
    assert len(answers(folder)) == 240
    # Whatever was asked more than once was in flight at a kill: at most 8 each time.
    assert sum(count - 1 for count in asked.values()) <= 8 * kills
    assert len(verdicts(folder)) == 240
    assert Run.open(folder).manifest.status == "complete"


def requests_by_seed(server, wanted):
    counts = {json.loads(identity)[1]: count for identity, count in server.asked.items()}
    return {seed: counts[seed] for seed in wanted}


def wait_for_growth(process, folder, kept, luck):
    """Kill the process some time after it has kept something new; true when it ended by itself."""
    journal = folder / "responses.jsonl"
    deadline = time.monotonic() + 200
    while process.poll() is None and time.monotonic() < deadline:
        if journal.exists() and journal.read_bytes().count(b"\n") > kept + luck.randrange(30, 70):
            time.sleep(luck.random() * 0.05)
            process.kill()
            process.wait()
            return False
        time.sleep(0.005)
    return True


def test_report_when_responses_are_missing_then_each_reason_is_told_once(markscheme, sums, right, tmp_path):
    def refuse(body):
        number = int(body["messages"][-1]["content"].split("What is ")[1].split()[0])
        if number % 2 == 0:
            return 500, {"error": f"out of luck with {number}"}
        return (400, {"error": "too long for the context window"}) if number == 3 else None

    with Loopback(Plan(answer=right, status=refuse)) as server:
        options = ("--protocol", "gsm8k-numeric", "--model", "openai/m", "--base-url", server.url, "--max-retries", 0)
        done = markscheme("run", sums(10), *options, "--out", tmp_path / "run")
    assert done.returncode == 3
    said = " ".join(done.stdout.split())
    assert "5 × server_error, such as: the server answered 500: out of luck with" in said
    assert "1 × context_length, such as: the server answered 400: too long for the context window" in said


def test_option_when_it_is_no_text_then_refused_in_one_sentence(process, sums, fast, tmp_path):
    asking = process("run", sums(2), *fast, "--base-url", "http://127.0.0.1:9", "--system-prompt", "\udcff")
    _, said = asking.communicate(timeout=200)
    assert asking.returncode == 2
    assert said == "markscheme: --system-prompt is not text: it contains bytes that are not UTF-8\n"


def test_run_when_the_folder_holds_a_run_then_nothing_is_asked_twice_and_another_run_is_refused(
    markscheme, sums, right, fast, tmp_path
):
    folder = tmp_path / "run"
    with Loopback(Plan(answer=right)) as server:
        command = ("run", sums(3), *fast, "--base-url", server.url, "--out", folder)
        markscheme(*command)
        before = lines(folder)
        again = markscheme(*command)
        other = markscheme(*command, "-t", "0.7")
        assert server.requests == 3
    assert again.returncode == 0
    assert other.returncode != 0
    assert str(folder) in other.stderr
    assert lines(folder) == before


def test_run_when_another_process_is_at_it_then_refused_by_its_number(markscheme, process, sums, right, fast, tmp_path):
    folder = tmp_path / "run"
    with Loopback(Plan(hold=True)) as server:
        first = process("run", sums(3), *fast, "--base-url", server.url, "--out", folder)
        wait_until(lambda: server.in_flight == 3)
        second = markscheme("resume", folder)
        first.kill()
        first.wait()
    assert second.returncode == 1
    assert f"process {first.pid}" in second.stderr


@pytest.mark.parametrize("status", [401, 403])
def test_key_when_refused_then_stops_at_once_and_names_the_variable(markscheme, sums, fast, tmp_path, status):
    def refuse(_):
        return status, {"error": {"message": "Incorrect API key provided: sk-live-abc"}}

    with Loopback(Plan(status=refuse)) as server:
        stopped = markscheme(
            *("run", sums(500), *fast, "--base-url", server.url, "--out", tmp_path / "run", "--concurrency", 8),
            env={"OPENAI_API_KEY": "sk-live-abc"},
        )
        assert server.requests <= 16
    assert stopped.returncode == 1
    assert "OPENAI_API_KEY" in stopped.stderr
    assert "Traceback" not in stopped.stderr


def test_request_when_refused_by_all_then_stops_with_the_servers_words(markscheme, sums, fast, tmp_path):
    def refuse(_):
        return 400, {"error": {"message": "unknown parameter: wibble"}}

    with Loopback(Plan(status=refuse)) as server:
        stopped = markscheme("run", sums(500), *fast, "--base-url", server.url, "--out", tmp_path / "run")
        assert server.requests <= 100
    assert stopped.returncode == 1
    assert "unknown parameter: wibble" in stopped.stderr


def test_problem_when_too_long_for_the_model_then_an_error_of_that_problem(markscheme, sums, right, fast, tmp_path):
    def refuse(body):
        if "What is 5 +" in body["messages"][-1]["content"]:
            return 400, {"error": {"message": "maximum context length is 8 tokens", "code": "context_length_exceeded"}}
        return None

    with Loopback(Plan(answer=right, status=refuse)) as server:
        done = markscheme("run", sums(20), *fast, "--base-url", server.url, "--out", tmp_path / "run")
    report = json.loads(done.stdout)
    assert done.returncode == 3
    assert (report["missing"], report["responses"], report["verdicts"]["error"]) == (1, 19, 1)
    [line] = [line for line in lines(tmp_path / "run") if "error" in line]
    assert line["error_kind"] == "context_length"
    assert line.get("attempts", 1) == 1


def test_secrets_when_a_run_has_some_then_no_file_and_no_output_holds_them(markscheme, sums, fast, tmp_path):
    secrets = {"key": "sk-live-abc123", "password": "hunter2pass", "field": "tok-998877"}

    def refuse(body):
        if "What is 2 +" in body["messages"][-1]["content"]:
            return 422, {"error": {"message": f"bad: {' '.join(secrets.values())}"}}
        return None

    with Loopback(Plan(answer=lambda _: "ANSWER: 1", status=refuse), keep=True) as server:
        url = server.url.replace("http://", f"http://bob:{secrets['password']}@")
        done = markscheme(
            *("run", sums(5), *fast, "--base-url", url, "--extra-field", f"api_key={secrets['field']}"),
            env={"OPENAI_API_KEY": secrets["key"]},
        )
        assert b"authorization: basic" in server.seen[0][0]
        assert secrets["field"].encode() in server.seen[0][1]
    written = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    said = (done.stdout + done.stderr).encode()
    assert b"bad: *** *** ***" in written  # the server's complaint is there
    for secret in secrets.values():
        assert secret.encode() not in written + said
    folder = next((tmp_path / "runs").iterdir())
    again = markscheme("resume", folder)
    assert again.returncode == 2
    assert "--base-url contained a secret" in again.stderr


def test_replicas_when_one_dies_then_the_other_takes_over(process, sums, right, fast, tmp_path):
    with Loopback(Plan(answer=right, latency=0.02)) as first, Loopback(Plan(answer=right, latency=0.02)) as second:
        asking = process(
            *("run", sums(400), *fast, "--base-url", first.url, "--base-url", second.url, "--retry-delay", 0.05),
            *("--concurrency", 16, "--out", tmp_path / "run"),
        )
        wait_until(lambda: first.requests > 30)
        assert second.requests > 10
        first.stop()
        asking.communicate(timeout=200)
        assert first.requests + second.requests >= 400
    assert asking.returncode == 0
    assert set(answers(tmp_path / "run").values()) == {1}


def test_concurrency_when_1500_then_all_are_in_flight_on_a_default_file_limit(process, sums, right, fast, tmp_path):
    limit = ("bash", "-c", 'ulimit -Sn 1024; exec "$@"', "bash")  # what most systems start with
    with Loopback(Plan(answer=right, hold=True)) as server:
        options = ("--base-url", server.url, "--concurrency", 1500, "--out", tmp_path / "run")
        asking = process("run", sums(1500), *fast, *options, prefix=limit)
        wait_until(lambda: server.in_flight == 1500 or asking.poll() is not None)
        server.release()
        _, said = asking.communicate(timeout=200)
        assert server.most_in_flight == 1500
    assert asking.returncode == 0, said


def test_concurrency_when_the_hard_limit_is_too_low_then_says_what_to_raise(process, sums, fast, tmp_path):
    limit = ("bash", "-c", 'ulimit -n 512; exec "$@"', "bash")
    options = ("--base-url", "http://127.0.0.1:9/v1", "--concurrency", 2000)
    asking = process("run", sums(2000), *fast, *options, prefix=limit)
    _, said = asking.communicate(timeout=200)
    assert asking.returncode == 2
    assert "ulimit -Hn" in said
    assert not (tmp_path / "runs").exists()


def test_auto_when_the_server_refuses_above_a_number_then_found_without_errors(markscheme, sums, right, fast, tmp_path):
    with Loopback(Plan(answer=right, latency=0.02, capacity=12, retry_after=0.02)) as server:
        done = markscheme(
            *("run", sums(500), *fast, "--base-url", server.url, "--retry-delay", 0.02, "--max-retries", 90),
            *("--concurrency", "auto", "--out", tmp_path / "run"),
        )
        refused = server.faulted["429"]
    assert done.returncode == 0, done.stderr
    assert refused < 250


def test_samples_when_several_in_one_request_then_each_is_kept_and_the_prompt_counts_once(
    markscheme, sums, right, fast, tmp_path
):
    class Several(Plan):
        def encode(self, text, model):
            answer = json.loads(super().encode(text, model))
            answer["choices"] = answer["choices"] * 3
            return json.dumps(answer).encode()

    with Loopback(Several(answer=right), keep=True) as server:
        done = markscheme(
            *("run", sums(10), *fast, "--base-url", server.url, "-n", 5, "--samples-per-request", 3),
            *("--out", tmp_path / "run"),
        )
        assert server.requests == 20
        assert sorted({json.loads(body)["n"] for _, body in server.seen}) == [2, 3]
    assert done.returncode == 0
    assert set(answers(tmp_path / "run").values()) == {1}
    assert len(answers(tmp_path / "run")) == 50
    assert Run.open(tmp_path / "run").manifest.usage.prompt_tokens == 20 * 200


def test_seeds_when_asked_again_then_the_same_and_all_different(markscheme, sums, right, fast, tmp_path):
    benchmark = sums(10)
    seen = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        with Loopback(Plan(answer=right), keep=True) as server:
            markscheme(
                "run", benchmark, *fast, "--base-url", server.url, "-n", 3, "--seed", seed, "--out", tmp_path / name
            )
            seen.append({json.loads(body)["seed"] for _, body in server.seen})
        assert {line["seed"] for line in lines(tmp_path / name)} == seen[-1]
    assert len(seen[0]) == 30
    assert seen[0] == seen[1]
    assert not seen[0] & seen[2]


def test_progress_when_not_on_a_terminal_then_plain_lines_with_the_figures(
    markscheme, sums, right, tmp_path, monkeypatch
):
    monkeypatch.setattr("markscheme.running.progress.Lines.every", 0.4)
    with Loopback(Plan(answer=right, latency=0.1)) as server:
        done = markscheme(
            *("run", sums(100), "--protocol", "gsm8k-numeric", "--model", "openai/m", "--base-url", server.url),
            *("--concurrency", 8, "--out", tmp_path / "run"),
        )
    columns, told, *lines = done.stderr.splitlines()
    assert "sums is read as statement = question; gold = answer" in columns
    assert f"asking {server.url}" in told
    figures = ("/100 done", "8 in flight", "0 retrying", "0 errors", "accuracy", "±", "tokens/s", "truncated", "left")
    assert [line for line in lines if all(figure in line for figure in figures)], done.stderr


def test_python_call_when_an_event_loop_is_running_then_works_as_in_a_notebook(sums, right, tmp_path):
    async def cell(url):
        return markscheme_package.run(
            str(sums(5)), model="openai/m", protocol="gsm8k-numeric", base_url=(url,), out=tmp_path / "run", samples=2
        )

    with Loopback(Plan(answer=right)) as server:
        run = asyncio.run(cell(server.url))
    assert run.manifest.status == "complete"
    assert run.manifest.usage.responses == 10
    assert (tmp_path / "run" / "report.json").exists()


@pytest.mark.parametrize("answered", [0, 3])
def test_python_call_when_the_key_is_refused_then_raises_and_keeps_what_there_is(sums, right, tmp_path, answered):
    def refuse(body):
        late = f"What is {answered} " in body["messages"][-1]["content"]
        return (401, {"error": "no"}) if late else None

    with (
        Loopback(Plan(answer=right, status=refuse)) as server,
        pytest.raises(ModelError, match="OPENAI_API"),
    ):
        markscheme_package.run(
            str(sums(5)), model="openai/m", protocol="gsm8k-numeric", base_url=(server.url,), out=tmp_path / "run",
            concurrency=1,
        )  # fmt: skip
    if not answered:
        assert not (tmp_path / "run").exists()
        return
    stopped = Run.open(tmp_path / "run")
    assert stopped.manifest.status == "stopped"
    assert stopped.manifest.usage.responses == answered
