"""An experiment: every combination is asked once, it grows, and the server's own log shows no request twice."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from loopback import Loopback, Plan

import markscheme as ms
from markscheme.cli import main
from markscheme.errors import UsageError
from markscheme.experiments import is_experiment, read_cells
from markscheme.runs import Run, find_runs

SUMS = 4


def bodies(server):
    """How often each request was asked, as the server saw it."""
    return Counter(body for _, body in server.seen)


@pytest.fixture
def sums(tmp_path, monkeypatch):
    """A scratch folder with a benchmark of sums, in which the command is typed."""
    monkeypatch.chdir(tmp_path)
    rows = [{"question": f"What is {n} + {n + 7}?", "answer": str(2 * n + 7)} for n in range(SUMS)]
    (tmp_path / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "half.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[: SUMS // 2]))
    return tmp_path


@pytest.fixture
def server():
    with Loopback(Plan(text="\\boxed{7}"), keep=True) as running:
        yield running


def experiment(folder, server, samples=4, models=("a", "b"), more=""):
    text = f'benchmarks = ["sums.jsonl"]\nsamples = {samples}\ntemperature = [0, 1.0]\n'
    text += f'prompt = ["boxed", "Solve: {{statement}}"]\nconcurrency = 2\n{more}'
    for name in models:
        text += f'\n[models.{name}]\nmodel = "openai/{name}"\nbase_url = "{server.url}"\napi_key_env = "NONE"\n'
    (folder / "eval.toml").write_text(text)
    return folder / "eval.toml"


def test_experiment_when_run_then_every_combination_is_asked_once(sums, server, capsys):
    assert main(["run", str(experiment(sums, server))]) == 0
    assert len(bodies(server)) == server.requests == SUMS * 4 * 2 * 2 * 2
    shown = capsys.readouterr().out
    heading, *rows = shown.splitlines()[1:10]
    assert heading.split()[:3] == ["model", "temperature", "prompt"]
    assert [row.split()[:2] for row in rows[::2]] == [["a", "0"], ["a", "1"], ["b", "0"], ["b", "1"]]
    assert "a is openai/a; b is openai/b" in shown
    assert f"8 runs, {SUMS * 4 * 8} responses" in shown
    assert len(find_runs(["runs/eval"])) == 8


def test_experiment_when_typed_again_then_nothing_is_asked(sums, server, capsys):
    file = str(experiment(sums, server))
    assert main(["run", file]) == 0
    asked = server.requests
    assert main(["run", file]) == 0
    assert server.requests == asked
    assert "0 responses to ask for" in capsys.readouterr().err


def test_experiment_when_stopped_and_grown_then_the_server_sees_no_request_twice(sums, server, launch):
    server.plan.latency = 0.05
    file = str(experiment(sums, server))
    running = launch("run", file)
    deadline = time.monotonic() + 200
    while server.requests < 30 and time.monotonic() < deadline:
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    said = running.communicate(timeout=200)[1]
    assert running.returncode == 130
    assert f"`markscheme run {file}` continues" in said
    assert 30 <= server.requests < SUMS * 4 * 8
    server.plan.latency = 0
    experiment(sums, server, samples=16, models=("a", "b", "c"))
    assert main(["run", file]) == 0
    seen = bodies(server)
    assert len(seen) == SUMS * 16 * 4 * 3
    assert set(seen.values()) == {1}


def test_experiment_when_killed_then_only_what_was_in_flight_is_asked_again(sums, server, launch):
    server.plan.latency = 0.05
    file = str(experiment(sums, server))
    running = launch("run", file)
    deadline = time.monotonic() + 200
    while server.requests < 30 and time.monotonic() < deadline:
        time.sleep(0.02)
    running.kill()
    running.wait(200)
    server.plan.latency = 0
    assert main(["run", file]) == 0
    seen = bodies(server)
    assert len(seen) == SUMS * 4 * 8
    assert sum(seen.values()) - len(seen) <= 2  # the concurrency


def test_experiment_when_grown_then_the_requests_are_those_of_asking_all_at_once(sums, server):
    def ask(samples, out):
        before = len(server.seen)
        assert main(["run", str(experiment(sums, server, samples)), "--out", out]) == 0
        return Counter(body for _, body in server.seen[before:])

    assert ask(2, "grown") + ask(6, "grown") == ask(6, "at-once")


def test_experiment_when_benchmarks_share_problems_then_their_answers_are_shared(sums, server):
    arguments = ["--model", "openai/a", "--base-url", server.url, "-n", "2", "-t", "0.5,1", "--out", "exp"]
    assert main(["run", "sums.jsonl", "half.jsonl", *arguments]) == 0
    assert server.requests == SUMS * 2 * 2
    half = [run for run in find_runs(["exp"]) if run.manifest.benchmark == "half"]
    assert all("reused_from" in response.metadata for run in half for response in run.responses())
    assert main(["run", "sums.jsonl", *arguments[:-1], "other", "--reuse", "exp"]) == 0
    assert server.requests == SUMS * 2 * 2


def test_experiment_when_the_model_differs_only_in_a_field_then_nothing_is_shared(sums, server):
    more = '\n[models.x]\nmodel = "openai/a"\nextra = { chat_template_kwargs = { enable_thinking = false } }\n'
    file = experiment(sums, server, models=("a",))
    file.write_text(file.read_text() + more + f'base_url = "{server.url}"\n')
    assert main(["run", str(file)]) == 0
    assert server.requests == SUMS * 4 * 4 * 2
    assert any(b"enable_thinking" in body for _, body in server.seen)


def test_dry_run_when_asked_then_says_what_it_would_ask_and_asks_nothing(sums, server, capsys):
    assert main(["run", str(experiment(sums, server)), "--dry-run"]) == 0
    assert f"8 runs: {SUMS * 4 * 8} responses to ask for" in capsys.readouterr().out
    assert server.requests == 0
    assert not (sums / "runs").exists()


def test_budget_when_used_up_then_it_stops_cleanly_and_goes_on_with_more(sums, server, capsys):
    arguments = ["run", "sums.jsonl", "--model", "openai/a", "--base-url", server.url, "-n", "4", "--concurrency", "1"]
    # Each answer takes 200 tokens of prompt and 2 of response.
    assert main([*arguments, "--max-tokens-total", "1000", "--out", "run"]) == 3
    assert server.requests == 5
    assert "the budget of 1,000 tokens is used up" in capsys.readouterr().err
    assert main(["resume", "run"]) == 3
    assert server.requests == 5
    assert main(["resume", "run", "--max-tokens-total", "1000000"]) == 0
    assert server.requests == SUMS * 4
    assert set(bodies(server).values()) == {1}


def test_budget_when_no_price_is_known_then_says_so(sums, server, capsys):
    assert main(["run", "sums.jsonl", "--model", "openai/a", "--base-url", server.url, "--max-cost", "1"]) == 2
    assert "--prices" in capsys.readouterr().err
    assert server.requests == 0


def test_budget_when_a_cost_is_reached_then_the_experiment_stops(sums, server, capsys):
    (sums / "prices.toml").write_text("[models.a]\ninput = 1000\noutput = 1000\n")
    arguments = ["run", "sums.jsonl", "--model", "openai/a", "--base-url", server.url, "-t", "0.5,1", "-n", "4"]
    arguments += ["--concurrency", "1", "--prices", "prices.toml", "--out", "exp"]
    assert main([*arguments, "--max-cost", "1"]) == 3
    assert server.requests == 5  # at 0.202 dollars each
    assert len(list((sums / "exp").iterdir())) == 1


@pytest.mark.parametrize(
    ("first", "then"), [(["-n", "4"], ["-n", "8"]), (["-n", "4", "--limit", "3"], ["--limit", "6"])]
)
def test_resume_when_it_asks_for_more_then_only_the_rest_is_asked(sums, server, first, then):
    model = ["--model", "openai/a", "--base-url", server.url]
    assert main(["run", "sums.jsonl", *model, *first, "--out", "run"]) == 0
    assert main(["resume", "run", *then]) == 0
    run = Run.open("run")
    assert server.requests == run.manifest.problems * run.manifest.samples
    assert set(bodies(server).values()) == {1}
    assert run.snapshot().missing == 0
    assert main(["resume", "run"]) == 0  # what was extended is a run like any other


def test_resume_when_fewer_are_asked_for_or_all_would_be_the_same_then_refused(sums, server, capsys):
    model = ["--model", "openai/a", "--base-url", server.url]
    assert main(["run", "sums.jsonl", *model, "--out", "greedy"]) == 0
    assert main(["resume", "greedy", "-n", "4"]) == 2
    assert "temperature 0" in capsys.readouterr().err
    assert main(["run", "sums.jsonl", *model, "-n", "4", "--out", "four"]) == 0
    assert main(["resume", "four", "-n", "2"]) == 2


def test_model_when_several_are_typed_then_all_are_asked_whatever_the_order(sums, server):
    address = ["--base-url", server.url, "--limit", "2"]
    assert main(["run", "sums.jsonl", "--model", "openai/a", "openai/b", *address, "--out", "one"]) == 0
    assert {run.manifest.model for run in find_runs(["one"])} == {"openai/a", "openai/b"}
    assert main(["run", *address, "--out", "two", "--model", "openai/a", "sums.jsonl"]) == 0
    assert Run.open("two").manifest.benchmark == "sums"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("samples = 4", "smaples = 4", "line 2: there is no option 'smaples'; did you mean samples?"),
        ('model = "openai/a"', 'name = "a"', "line 7: [models.a] needs `model`"),
        ("concurrency = 2", 'reasoning_effort = ["low", 3]', "line 5: --reasoning-effort cannot be 3"),
        ("concurrency = 2", "thinking_budget = [1024, -1]", "line 5: --thinking-budget cannot be -1"),
        ('api_key_env = "NONE"', "extra = 4", "line 10: extra is a table of fields, not 4"),
        ("concurrency = 2", "concurrency = [2", "line 7: not valid TOML"),
        ('benchmarks = ["sums.jsonl"]', "", "names no benchmark"),
        ("samples = 4", 'samples = "four"', "--samples cannot be 'four'"),
        ('"sums.jsonl"', '"nothing"', "no benchmark 'nothing'"),
    ],
)
def test_experiment_when_its_file_has_a_mistake_then_one_sentence(sums, server, capsys, old, new, said):
    file = experiment(sums, server, models=("a",))
    file.write_text(file.read_text().replace(old, new))
    assert main(["run", str(file)]) in (1, 2)
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1
    assert server.requests == 0


def test_file_when_it_is_a_benchmark_then_it_is_not_taken_for_an_experiment(sums, server):
    (sums / "mine.toml").write_text('[data.test]\nfile = "sums.jsonl"\n')
    assert not is_experiment("mine.toml")
    assert main(["run", "mine.toml", "--model", "openai/a", "--base-url", server.url, "--out", "run"]) == 0
    assert Run.open("run").manifest.benchmark == "mine"


def test_python_when_it_runs_an_experiment_then_gives_its_runs(sums, server):
    runs = ms.experiment(experiment(sums, server, samples=2))
    assert len(runs) == 8
    assert all(run.manifest.status == "complete" for run in runs)
    assert {run.path.parent for run in runs} == {Path("runs/eval")}


def test_cells_when_a_value_stands_twice_then_it_is_asked_once(sums, server):
    file = experiment(sums, server)
    file.write_text(file.read_text().replace("[0, 1.0]", "[0.5, 0.5]"))
    assert len(read_cells(file, {})) == 4
    file.write_text('benchmarks = ["gsm8k"]\n[models.a]\nsamples = 1\n')
    with pytest.raises(UsageError, match="needs `model`"):
        read_cells(file, {})


def test_run_when_typed_again_with_more_then_it_grows_and_becomes_an_experiment(sums, server, capsys):
    def typed(*more):
        return main(
            ["run", "sums.jsonl", "--base-url", server.url, "-t", "1", "--out", "one", "--api-key-env", "NONE", *more]
        )

    assert typed("--model", "openai/a", "-n", "2", "--limit", "2") == 0
    assert typed("--model", "openai/a", "-n", "4", "--limit", "4") == 0
    assert typed("--model", "openai/a", "-n", "2", "--limit", "2") == 0  # less is there already
    assert server.requests == len(bodies(server)) == 4 * 4
    assert typed("--model", "openai/a", "openai/b", "-n", "4", "--limit", "4") == 0
    assert server.requests == len(bodies(server)) == 4 * 4 * 2
    assert {run.manifest.model for run in find_runs(["one"])} == {"openai/a", "openai/b"}
    assert typed("--model", "openai/a", "-n", "4", "--limit", "4", "--max-tokens", "9") == 2
    assert "max_tokens: the default in the run, 9 now" in capsys.readouterr().err


def test_experiment_when_a_model_is_away_then_the_others_are_asked_and_the_code_says_so(sums, server, capsys):
    file = experiment(sums, server, models=("a", "b"))
    away = file.read_text().replace(f'base_url = "{server.url}"', 'base_url = "http://127.0.0.1:9/v1"', 1)
    file.write_text(away.replace("temperature = [0, 1.0]", "temperature = 1.0").replace('"boxed", ', ""))
    assert main(["run", str(file)]) == 1
    assert server.requests == SUMS * 4
    assert "no server has ever answered there" in capsys.readouterr().err


def test_experiment_when_the_first_model_refuses_a_benchmark_then_the_others_go_on(sums, capsys):
    typed = ["run", "aime-sample", "countdown-sample", "--model", "nano", "solver", "--limit", "2", "--out", "exp"]
    refusal = "nano can only play Countdown"
    assert main(typed) == UsageError.exit_code
    shown, said = capsys.readouterr()
    assert {(run.manifest.benchmark, run.manifest.model) for run in find_runs(["exp"])} == {
        ("aime-sample", "solver"),
        ("countdown-sample", "nano"),
        ("countdown-sample", "solver"),
    }
    assert "countdown-sample" in shown
    assert refusal in said.splitlines()[-1]
    with pytest.warns(UserWarning, match=refusal):
        runs = ms.experiment(model=["nano", "solver"], benchmark=["aime-sample", "countdown-sample"], limit=2, out="ms")
    assert len(runs) == 3
    assert [refusal in str(why) for why in runs.failures.values()] == [True]


def test_table_when_there_are_several_benchmarks_then_ranks_and_their_mean(sums, server, capsys):
    server.plan.answer = lambda body: "\\boxed{7}" if body["model"] == "a" else "\\boxed{0}"
    arguments = ["--model", "openai/a", "openai/b", "--base-url", server.url, "-n", "2", "-t", "1", "--out", "exp"]
    assert main(["run", "sums.jsonl", "half.jsonl", *arguments, "--api-key-env", "NONE"]) == 0
    shown = capsys.readouterr().out
    assert "macro average" in shown
    assert "· 1–2" in shown
    assert main(["compare", "exp"]) == 0
    assert "mean over 2 benchmarks" in capsys.readouterr().out


KILLED = """
import os, sys
from pathlib import Path
from markscheme.cli import main

writes, replace = [0], Path.replace

def counted(self, target):
    replaced = replace(self, target)
    writes[0] += 1
    if writes[0] == int(sys.argv[1]):
        os._exit(9)
    return replaced

Path.replace = counted
main(sys.argv[2:])
"""


@pytest.mark.parametrize("write", [1, 2, 3])
def test_run_when_killed_while_its_limit_grows_then_the_same_command_goes_on(sums, server, write):
    served = ["--model", "openai/a", "--base-url", server.url, "--api-key-env", "NONE", "-t", "1", "--out", "one"]
    assert main(["run", "sums.jsonl", *served, "--limit", "2"]) == 0
    grown = ["run", "sums.jsonl", *served, "--limit", str(SUMS)]
    subprocess.run([sys.executable, "-c", KILLED, str(write), *grown], check=False, capture_output=True)
    assert main(grown) == 0
    assert main(["resume", "one"]) == 0
    assert server.requests == len(bodies(server)) == SUMS


def test_resume_when_nothing_is_left_to_do_then_the_duration_stays(sums, server, capsys):
    arguments = [
        "run",
        "sums.jsonl",
        "--model",
        "openai/a",
        "--base-url",
        server.url,
        "--api-key-env",
        "NONE",
        "--out",
        "run",
    ]
    assert main(arguments) == 0
    before = Run.open("run").manifest.ended
    time.sleep(1.1)  # manifests tell seconds
    assert main(["resume", "run"]) == 0
    assert Run.open("run").manifest.ended == before


def test_samples_when_they_are_greedy_then_it_says_that_they_are_the_same(sums, server, capsys):
    typed = ["--base-url", server.url, "--api-key-env", "NONE", "-n", "3", "-t", "0", "--out", "run"]
    assert main(["run", "sums.jsonl", "--model", "openai/a", *typed]) == 0
    shown = capsys.readouterr()
    assert "at temperature 0 the 3 samples of a problem are all the same answer" in shown.err
    assert "pass@k says nothing more than accuracy" in shown.out


def test_experiment_when_its_file_is_missing_then_that_is_said(sums, capsys):
    assert main(["run", "nothing.toml"]) == 2
    assert "nothing.toml cannot be read: it does not exist" in capsys.readouterr().err


def test_cells_when_settings_are_lists_then_each_is_asked(sums, server):
    more = 'reasoning_effort = ["low", "high"]\nextra = [{ seed_mode = 1 }, { seed_mode = 2 }]\n'
    cells = read_cells(experiment(sums, server, models=("a",), more=more), {})
    assert len(cells) == 2 * 2 * 2 * 2
    assert {cell.config.reasoning_effort for cell in cells} == {"low", "high"}
    assert {cell.config.extra_field for cell in cells} == {("seed_mode=1",), ("seed_mode=2",)}
    assert {cell.config.name for cell in cells} == {"a"}
