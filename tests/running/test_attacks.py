"""Attacks on a whole run, as they were made: keys that want into files, servers that want the terminal, no server at all."""

import json
import os
import subprocess
import sys
import time

import pytest
from loopback import Loopback, Plan

KEY = "zq7Rk2Wx9LmP4vTn8BsY1c"


def everything_in(folder):
    """All bytes of all files below a folder, with their names."""
    return b"".join(str(file).encode() + file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file())


def test_key_when_it_stands_everywhere_and_the_server_repeats_it_then_in_no_file_and_no_message(
    markscheme, sums, tmp_path, monkeypatch
):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("HF_TOKEN", "hf_" + KEY)

    def echo(body):
        if "What is 3 " in body["messages"][-1]["content"]:
            return 400, {"error": {"message": f"no such key: {KEY}"}}
        text = f"your key is {KEY}, or hf_{KEY}\nANSWER: 7"
        choice = {"message": {"content": text, "reasoning": KEY}, "finish_reason": "stop"}
        return 200, {"model": f"gateway/{KEY}", "choices": [choice], "usage": {"completion_tokens": 3}}

    with Loopback(Plan(status=echo)) as server:
        done = markscheme(
            *("run", sums(5), "--protocol", "gsm8k-numeric", "--model", "openai/m", "--base-url", server.url),
            *("--extra-field", f"note={KEY}", "--extra-field", f'headers=["Authorization: Bearer {KEY}"]'),
            *("--header", f"X-Forwarded-Key: {KEY}", "--system-prompt", f"Be brief. {KEY}", "--stop", KEY),
            *("--out", tmp_path / "run"),
        )
        assert done.returncode == 3
    kept = everything_in(tmp_path / "run")
    assert b"your key is ***, or ***" in kept
    assert KEY.encode() not in kept
    assert KEY not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "wrong",
    [
        ["--header", KEY],
        ["--extra-field", KEY],
        ["--base-url", f"ftp://{KEY}"],
        ["--limit-seed", KEY],
        ["--api", KEY],
        [KEY],
    ],
)
def test_key_when_an_option_is_refused_then_the_message_does_not_repeat_it(process, wrong, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    done = process("run", "gsm8k-sample", "--model", "openai/m", *wrong)
    out, said = done.communicate(timeout=200)
    assert done.returncode == 2
    assert "markscheme: " in said or "***" in said
    assert KEY not in out + said


def test_server_when_its_message_holds_escape_sequences_then_the_terminal_gets_none(markscheme, sums, tmp_path):
    evil = {"error": {"message": "no\x1b[2J\x1b]0;owned\x07 such \x9b31m model\r\u202e"}}
    with Loopback(Plan(status=lambda _: (400, evil))) as server:
        done = markscheme("run", sums(5), "--model", "openai/m", "--base-url", server.url, "--out", tmp_path / "run")
        shown = markscheme("report", tmp_path / "run")
    for text in (done.stderr, done.stdout, shown.stdout, shown.stderr):
        assert all(one.isprintable() or one == "\n" for one in text), ascii(text)
    assert "such" in done.stderr


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:99999/v1", "http://[bad/v1", "http://:80/v1", "localhost:8000", "http://h:0"]
)
def test_address_when_it_is_none_then_one_sentence_and_no_folder(markscheme, address, tmp_path):
    done = markscheme("run", "gsm8k-sample", "--model", "openai/m", "--base-url", address, "--out", "run")
    assert done.returncode == 2
    assert "is not the address of a server; it should be like http://localhost:8000/v1" in done.stderr
    assert not (tmp_path / "run").exists()


def test_server_when_nobody_listens_then_the_run_stops_soon_and_says_what_to_do(
    markscheme, sums, tmp_path, silent_port
):
    gone = f"http://127.0.0.1:{silent_port}/v1"
    done = markscheme("run", sums(3), "--model", "openai/m", "--base-url", gone, "--out", tmp_path / "run")
    assert done.returncode == 1
    assert not (tmp_path / "run").exists()  # nothing was asked, so there is nothing to resume
    assert "resume" not in done.stderr
    assert f"cannot connect to {gone}/chat/completions" in done.stderr
    assert "start it, or check the address" in done.stderr


def test_server_when_it_comes_up_a_moment_later_then_the_run_waits_for_it(sums, right, tmp_path, process, silent_port):
    gone = f"http://127.0.0.1:{silent_port}/v1"
    run = process("run", sums(3), "--model", "openai/m", "--base-url", gone, "--protocol", "gsm8k-numeric",
                  "--out", tmp_path / "run")  # fmt: skip
    assert "is read as" in run.stderr.readline()
    assert "asking" in run.stderr.readline()
    time.sleep(1.5)  # it tries at once, and gives up after seven seconds
    with Loopback(Plan(answer=right), port=silent_port):
        run.communicate(timeout=200)
    assert run.returncode == 0
    lines = (tmp_path / "run" / "responses.jsonl").read_text().splitlines()
    assert len(lines) == 3
    assert all(json.loads(line)["attempts"] > 1 for line in lines)


def test_address_when_v1_is_missing_then_the_message_says_so(markscheme, sums, tmp_path):
    with Loopback(Plan(status=lambda _: (404, {"detail": "Not Found"}))) as server:
        done = markscheme(
            *("run", sums(3), "--model", "openai/m", "--base-url", server.url.removesuffix("/v1")),
            *("--out", tmp_path / "run"),
        )
    assert done.returncode == 1
    assert "perhaps the address should end in /v1" in done.stderr


def test_model_when_it_has_no_backend_then_the_likely_one_is_named(markscheme):
    assert "use openai/gpt-4.1" in markscheme("run", "gsm8k-sample", "--model", "gpt-4.1").stderr


def command(arguments, tmp_path, prefix="", **environment):
    """The command in a process of its own, below a shell."""
    line = f'{prefix} exec "$0" -m markscheme "$@"'
    if "{}" in prefix:
        line = prefix.format('"$0" -m markscheme "$@"')
    return subprocess.run(
        ["bash", "-c", line, sys.executable, *map(str, arguments)],
        cwd=tmp_path, env={**os.environ, **environment}, capture_output=True, text=True, errors="replace", timeout=120, check=False,
    )  # fmt: skip


RUN = ("run", "countdown-sample", "--model", "solver", "--limit", "3", "--out", "run")


@pytest.mark.parametrize("closed", ["{} >&-", "{} 2>&-", "{} >&- 2>&-", "{} <&- >&- 2>&-"])
def test_command_when_its_streams_are_closed_then_the_run_is_as_ever(closed, tmp_path):
    done = command(RUN, tmp_path, prefix=closed)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["status"] == "complete"
    assert all(json.loads(line) for line in (tmp_path / "run" / "responses.jsonl").read_text().splitlines())


@pytest.mark.parametrize("full", ["{} 2>/dev/full", "{} >/dev/full", "{} >/dev/full 2>/dev/full"])
def test_command_when_nothing_can_be_said_then_the_run_is_kept_and_the_exit_code_is_ours(full, tmp_path):
    done = command(RUN, tmp_path, prefix=full)
    assert done.returncode == (0 if full == "{} 2>/dev/full" else 1)
    assert "Traceback" not in done.stderr + done.stdout
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["status"] == "complete"


def test_adjudicate_when_standard_input_is_closed_then_it_stops_as_at_its_end(markscheme, tmp_path):
    assert markscheme(*RUN).returncode == 0
    done = command(("adjudicate", "run", "--who", "me"), tmp_path, prefix="{} <&-")
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "typed",
    [
        ("run", "nested.toml", "--model", "solver"),
        ("run", "countdown-sample", "--model", "solver", "--prices", "nested.toml", "--out", "other"),
        ("judge", "run", "--model", "solver", "--template", "nested.toml", "--which", "all"),
    ],
)
def test_toml_when_it_is_nested_without_end_then_one_sentence(typed, markscheme, tmp_path):
    (tmp_path / "nested.toml").write_text("a = " + "[" * 100_000)
    assert markscheme(*RUN).returncode == 0
    done = markscheme(*typed)
    assert done.returncode in (1, 2)
    assert "nested.toml" in done.stderr
    assert len(done.stderr) < 1000


def test_memory_when_too_little_is_allowed_then_one_sentence_whose_advice_works(tmp_path):
    done = command(RUN, tmp_path, prefix="ulimit -v 300000;")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "run").exists()
    done = command(RUN, tmp_path, prefix=f"{done.stderr.split('`')[1]};")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_command_when_the_terminal_cannot_write_every_letter_then_no_traceback(encoding, form, tmp_path):
    done = command((*RUN, *form), tmp_path, PYTHONIOENCODING=encoding)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    if form:
        assert json.loads(done.stdout)["benchmark"] == "countdown-sample"


@pytest.mark.parametrize("typed", ["--concurency", "--base_url", "--max-token=5", "--temprature"])
def test_flag_when_mistyped_then_one_line_with_the_nearest(typed, process):
    done = process("run", "countdown-sample", "--model", "solver", typed)
    out, said = done.communicate(timeout=200)
    assert (done.returncode, out) == (2, "")
    assert said.count("\n") == 1
    nearest = {"--concurency": "--concurrency", "--base_url": "--base-url", "--max-token=5": "--max-tokens"}
    assert f"did you mean {nearest.get(typed, '--temperature')}?" in said


@pytest.mark.parametrize("files", [64, 100, 200])
def test_run_when_few_files_may_be_open_then_it_runs_within_them(files, sums, right, tmp_path):
    with Loopback(Plan(answer=right)) as server:
        options = ("--protocol", "gsm8k-numeric", "--model", "openai/m", "--base-url", server.url, "--out", "run")
        done = command(("run", sums(150), *options), tmp_path, prefix=f"ulimit -n {files};")
        assert done.returncode == 0, done.stderr
        assert "Unclosed" not in done.stderr
        assert server.most_in_flight <= files


def test_advice_when_more_is_asked_than_files_allow_then_followed_literally_it_works(sums, right, tmp_path):
    with Loopback(Plan(answer=right)) as server:
        options = ("--protocol", "gsm8k-numeric", "--model", "openai/m", "--base-url", server.url, "--out", "run")
        done = command(("run", sums(150), *options, "--concurrency", 99), tmp_path, prefix="ulimit -n 64;")
        assert done.returncode == 2
        advised = done.stderr.strip().rpartition(" ")[2]
        done = command(("run", sums(150), *options, "--concurrency", advised), tmp_path, prefix="ulimit -n 64;")
        assert done.returncode == 0, done.stderr


def test_server_when_it_never_answers_then_it_is_not_flooded(sums, tmp_path, process):
    """Eight at once until the first answer, whatever `auto` may grow to."""
    with Loopback(Plan(latency=3600.0)) as server:
        run = process("run", sums(2000), "--model", "openai/m", "--base-url", server.url, "--out", tmp_path / "run")
        while "in flight" not in (line := run.stderr.readline()):
            assert line
        assert "8 in flight" in line
        assert server.most_in_flight == 8
        run.kill()
        run.communicate()


def test_content_filter_when_it_refuses_by_status_or_by_finish_reason_then_one_rule(markscheme, sums, right, tmp_path):
    refused = {
        "error": {"message": "The response was filtered due to the content management policy", "code": "content_filter"}
    }

    def filtering(body):
        text = body["messages"][-1]["content"]
        if "What is 1 " in text:
            return 400, refused
        if "What is 2 " in text:
            choice = {"message": {"content": None}, "finish_reason": "content_filter"}
            return 200, {"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 0}}
        return None

    run = tmp_path / "run"
    with Loopback(Plan(answer=right, status=filtering)) as server:
        options = ("--protocol", "gsm8k-numeric", "--model", "openai/m", "--base-url", server.url, "--json")
        report = json.loads(markscheme("run", sums(6), *options, "--out", run).stdout)
        asked = server.requests
        assert markscheme("resume", run).returncode == 0
        assert server.requests == asked == 6
    lines = [json.loads(line) for line in (run / "responses.jsonl").read_text().splitlines()]
    stopped = [line for line in lines if line.get("finish_reason") == "content_filter"]
    assert len(stopped) == 2
    assert not any(line.get("text") for line in stopped)
    assert report["verdicts"]["no_answer"] == 2
    assert "error" not in report["verdicts"]
    assert report["usage"]["prompt_tokens"]  # a refusal does not hide what the others took
    assert any("content filter" in warning for warning in report["warnings"])
    assert "2 responses were stopped by a content filter" in markscheme("report", run).stdout


def test_key_when_an_answer_is_quoted_in_part_by_its_mark_then_no_half_of_it_is_kept(
    markscheme, sums, tmp_path, monkeypatch
):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with Loopback(Plan(text=f"ANSWER: {'y' * 25}{KEY}")) as server:
        options = ["--protocol", "gsm8k-numeric", "--model", "openai/m", "--base-url", server.url]
        assert markscheme("run", sums(3), *options, "--out", tmp_path / "run").returncode == 0
    kept = everything_in(tmp_path / "run")
    assert b"yyy***" in kept
    assert KEY[:6].encode() not in kept


def test_tokens_when_the_server_tells_of_more_than_there_can_be_then_they_are_not_counted(markscheme, sums, tmp_path):
    usage = {
        "completion_tokens": 10**20,
        "prompt_tokens": 2**63,
        "completion_tokens_details": {"reasoning_tokens": 10**25},
    }
    logprobs = {"content": [{"logprob": 10**40}, {"logprob": -0.5}, {"logprob": "x"}, 7, None]}
    body = {"choices": [{"message": {"content": "ANSWER: 7"}, "logprobs": logprobs}], "usage": usage}
    with Loopback(Plan(status=lambda _: (200, body))) as server:
        done = markscheme("run", sums(3), "--model", "openai/m", "--base-url", server.url, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert b'"logprobs":[null,-0.5,null,7,null]' in (tmp_path / "run" / "responses.jsonl").read_bytes()


@pytest.mark.parametrize("option", [["-n", "9" * 30], ["-n", "1000001"], ["--out", "run\udcff"]])
def test_option_when_no_run_folder_could_hold_it_then_one_sentence(markscheme, sums, option):
    done = markscheme("run", sums(3), "--model", "solver", "--out", "run", *option)
    assert done.returncode == 2
    assert done.stderr.startswith("markscheme: --")
