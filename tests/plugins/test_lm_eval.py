"""lm-evaluation-harness, the real one: our tasks in it, our command around it, its samples as a run."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from loopback import Loopback, Plan

import markscheme as ms
from markscheme.countdown.solver import solve
from markscheme.errors import DataError, UsageError
from markscheme.plugins.lm_eval import TASKS, compute_score, countdown_prompt, countdown_results, load, process_results
from markscheme.plugins.logs import import_log
from markscheme.plugins.records import record

BIN = Path(sys.executable).parent
# Seconds: before it does anything, lm_eval reads its 14,000 task files, which takes minutes on a busy machine.
TIMEOUT = 900


def test_compute_score_when_as_documented_then_one_or_zero():
    assert compute_score("(70 - 41) + (35 - 18)", [41, 70, 18, 35], 46) == 1.0
    assert compute_score("I don't know", [41, 70, 18, 35], 46) == 0.0
    assert compute_score("<think>41+5=46</think> 70 + 35 - 41 - 18 = 46", [41, 70, 18, 35], 46) == 1.0


@pytest.mark.needs("lm_eval")
def test_load_when_the_newer_words_are_asked_for_then_every_puzzle_has_them():
    splits = load("countdown", sample=True, prompt="conversation")
    prompts = [countdown_prompt(row) for split in ("test", "train") for row in list(splits[split])[:3]]
    assert [row["prompt"] for row in splits["test"]][:3] == prompts[:3]  # what a log of samples shows is what was asked
    assert all(prompt.startswith("A conversation between User and Assistant.") for prompt in prompts)
    assert all(prompt.endswith("Assistant: Let me solve this step by step.\n<think>") for prompt in prompts)
    with pytest.raises(UsageError, match="documented or conversation"):
        load("countdown", sample=True, prompt="tinyzero")


@pytest.mark.parametrize(
    ("response", "wide", "tags"),
    [
        ("<answer>70 + 35 - 41 - 18</answer>", 1.0, 1.0),
        ("<answer>1 + 1</answer> no: <answer>(70 + 35) - (41 + 18)</answer>", 1.0, 1.0),
        ("70 + 35 - 41 - 18 = 46", 1.0, 0.0),
        (r"<answer>\boxed{70 + 35 - 41 - 18}</answer>", 1.0, 0.0),
        ("I do not know", 0.0, 0.0),
        ("</answer><answer>", 0.0, 0.0),
    ],
)
def test_countdown_results_when_the_protocol_is_named_then_the_two_rules_change_places(response, wide, tags):
    doc = {"nums": [41, 70, 18, 35], "target": 46}
    found = countdown_results(doc, [response])
    assert (found["countdown_score"], found["score"], found["beside"]) == (wide, wide, tags)
    assert found["differing"] == float(wide != tags)
    other = countdown_results({**doc, "protocol": "answer-tags"}, [response])
    assert (other["countdown_score"], other["beside"], other["differing"]) == (tags, wide, found["differing"])


@pytest.mark.needs("datasets", "lm_eval")
def test_load_when_a_protocol_is_named_then_every_document_has_it_and_an_unknown_one_is_refused():
    assert load("gsm8k", sample=True, protocol="math")["test"][0]["protocol"] == "math"
    with pytest.raises(UsageError, match="protocol is one of countdown, answer-tags, not 'math'"):
        load("countdown", sample=True, protocol="math")


def test_results_when_a_task_repeats_then_the_share_of_right_responses():
    assert countdown_results({"nums": [3, 5, 2], "target": 16}, [["(3+5)*2", "3+5"]]) == {
        "countdown_score": 0.5,
        "score": 0.5,
        "beside": 0.0,  # neither is in tags
        "differing": 0.5,
    }
    assert process_results({"gold": "18", "protocol": "gsm8k-numeric"}, ["ANSWER: 18"]) == {"score": 1.0}


def test_door_when_its_task_file_is_compared_then_it_is_the_packaged_one():
    folder = Path(__file__).parents[2] / "compat" / "countdown"
    assert (folder / "countdown.yaml").read_text() == (TASKS / "countdown.yaml").read_text()


@pytest.mark.needs("lm_eval", "torch", "transformers", "accelerate")
def test_countdown_when_named_with_nothing_else_then_found_in_the_folder_of_the_doors_and_among_linked_tasks(
    lm_eval_programs, tiny_llama, tmp_path
):
    # `lm_eval --tasks countdown` takes a folder of that name for a task if it knows none; after `plugins link lm_eval`
    # it knows one anywhere. Both without reading lm_eval's own 14,000 files, which would take minutes here.
    script = """
import json, shutil, sys
from pathlib import Path
import lm_eval.tasks
from lm_eval import simple_evaluate
from lm_eval.config.evaluate_config import EvaluatorConfig
from lm_eval.models.huggingface import HFLM
from markscheme.plugins.lm_eval import TASKS
model, out, scratch = sys.argv[1:]
lm_eval.tasks.manager.__file__ = str(Path(scratch) / "manager.py")  # an lm_eval that has no tasks of its own
made = {}
config = EvaluatorConfig(model="hf", tasks=["countdown"], metadata={"sample": True})
manager = config.process_tasks({"sample": True})
lm = HFLM(pretrained=model, device="cpu")
def figures(tasks, manager, shots):
    results = simple_evaluate(
        lm, tasks=tasks, task_manager=manager, limit=1, gen_kwargs={"max_gen_toks": 4}, bootstrap_iters=0, num_fewshot=shots,
    )
    (name,) = results["results"]
    return sorted(results["results"][name]), results["samples"][name][0]["arguments"][0][0]
made["folder"] = figures(config.tasks, manager, 0)
shutil.copytree(TASKS, Path(scratch) / "markscheme")  # where `plugins link` puts them
config = EvaluatorConfig(model="hf", tasks=["countdown"], metadata={"sample": True})
manager = config.process_tasks({"sample": True})
made["linked"] = figures(config.tasks, manager, 3)
json.dump(made, open(out, "w"))
"""
    (tmp_path / "tasks").mkdir()
    out = tmp_path / "out.json"
    done = subprocess.run(
        [lm_eval_programs / "python", "-c", script, tiny_llama, out, tmp_path / "tasks"],
        cwd=Path(__file__).parents[2] / "compat",
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == 0, done.stderr
    made = json.loads(out.read_text())
    for metrics, prompt in made.values():
        assert {"countdown_score,none", "score,none"} <= set(metrics)
        assert prompt.endswith("?\n\nAnswer:")
    assert made["linked"][1].count("Answer:") == 4
    (shot, *_) = re.findall(
        r"numbers ([\d, ]+), how.*target (\d+)\?\n\nAnswer: ([-+*/() \d]+) = (\d+)\n", made["linked"][1]
    )
    assert compute_score(shot[2], [int(number) for number in shot[0].split(", ")], int(shot[1])) == 1.0


def test_path_when_asked_for_then_the_folder_with_every_task():
    said = subprocess.run(
        [BIN / "markscheme", "plugins", "path", "lm_eval"], capture_output=True, text=True, check=True
    )
    assert said.stdout == f"{TASKS}\n"
    names = {file.stem for file in TASKS.glob("*.yaml")}
    assert {"countdown", "markscheme_gsm8k", "markscheme_math500", "markscheme_aime"} <= names


def answer(body):
    """Right for odd targets, another puzzle's answer for even ones, all behind some thinking."""
    puzzle = re.search(r"numbers ([\d, ]+),.*target (\d+)", body["messages"][-1]["content"])
    numbers, target = [int(word) for word in puzzle[1].split(", ")], int(puzzle[2])
    return f"<think>1 + 1 = 2</think>{solve(numbers, target)}" if target % 2 else "9 + 9"


@pytest.mark.needs("lm_eval", "tenacity")
def test_command_when_it_asks_a_server_then_scores_and_samples_equal_our_own_run(lm_eval_programs, tmp_path, rerun):
    data = tmp_path / "data" / "countdown"
    data.mkdir(parents=True)
    puzzles = [problem.gold for problem in ms.benchmark("countdown-sample").problems[:30]]
    rows = [json.dumps({"nums": list(gold.nums), "target": gold.target}) for gold in puzzles]
    (data / "test.jsonl").write_text("\n".join(rows) + "\n")
    with Loopback(Plan(answer=answer), keep=True) as server:
        done = subprocess.run(
            [
                *(lm_eval_programs / "markscheme", "lm-eval", "--model", "local-chat-completions", "--model_args"),
                f"model=m,base_url={server.url}/chat/completions,num_concurrent=8,max_gen_toks=8192",
                *("--tasks", "countdown", "--apply_chat_template", "--log_samples", "--output_path", tmp_path / "out"),
            ],
            env={**os.environ, "MARKSCHEME_DATA": str(data.parent), "HF_HUB_OFFLINE": "1"},
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
        assert done.returncode == 0, done.stderr
        sent = json.loads(server.seen[0][1])
    right = sum(gold.target % 2 for gold in puzzles)
    for metric in ("countdown_score", "score"):  # in lm_eval's own table
        shown = re.search(rf"\|{metric} *\|↑ *\| *([\d.]+)\|", done.stdout)
        assert float(shown[1]) == pytest.approx(right / 30, abs=1e-4)
    assert sent["max_tokens"] == 8192  # the task leaves the limit to the model's arguments
    assert [message["role"] for message in sent["messages"]] == ["user"]

    (samples,) = (tmp_path / "out").rglob("samples_countdown_*.jsonl")
    scores = {row["doc"]["key"]: row["score"] for row in map(json.loads, samples.read_text().splitlines())}
    assert sum(scores.values()) == right
    run = import_log(samples, tmp_path / "imported")
    assert (run.manifest.benchmark, run.manifest.model, run.manifest.problems) == ("countdown", "m", 30)
    assert run.manifest.data[0].source.startswith("log of lm_eval 0.")
    assert {mark.key: mark.score for mark in run.marks("countdown")} == scores
    ours = rerun(run, "countdown", data_dir=str(data.parent))
    assert {key: mark.score for (key, _), mark in ours.items()} == scores


@pytest.mark.needs("lm_eval", "torch", "transformers", "accelerate")
def test_tasks_when_run_on_a_real_tiny_model_then_every_one_is_scored(lm_eval_programs, tiny_llama, tmp_path):
    script = """
import json, sys
from lm_eval import simple_evaluate
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks import TaskManager
folder, model, out = sys.argv[1:]
names = ["countdown", "markscheme_gsm8k", "markscheme_math500", "markscheme_aime"]
manager = TaskManager(include_path=folder, include_defaults=False, metadata={"sample": True})
lm = HFLM(pretrained=model, device="cpu")
results = simple_evaluate(
    lm, tasks=names, task_manager=manager, limit=2, gen_kwargs={"max_gen_toks": 8}, bootstrap_iters=0,
    apply_chat_template=True,
)
fewshot = simple_evaluate(
    lm, tasks=["markscheme_gsm8k"], task_manager=manager, limit=1, gen_kwargs={"max_gen_toks": 4}, num_fewshot=3,
    bootstrap_iters=0,
)
json.dump(
    {
        "scores": {name: figures.get("score,none") for name, figures in results["results"].items()},
        "tags": sorted(manager.task_index["arithmetic"].tags),
        "math": sorted(manager.task_index["math"].tags),
        "prompt": fewshot["samples"]["markscheme_gsm8k"][0]["arguments"][0][0],
        "logged": {name: len(rows) for name, rows in results["samples"].items()},
    },
    open(out, "w"),
)
"""
    out = tmp_path / "out.json"
    done = subprocess.run(
        [lm_eval_programs / "python", "-c", script, TASKS, tiny_llama, out],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text())
    tasks = {"countdown", "markscheme_gsm8k", "markscheme_math500", "markscheme_aime_2024", "markscheme_aime_2025"}
    assert found["scores"] == dict.fromkeys([*tasks, "markscheme_aime"], 0.0)  # random weights know nothing
    assert found["logged"] == dict.fromkeys(tasks, 2)
    assert found["tags"] == found["math"] == ["countdown"]
    assert found["prompt"].count("ANSWER: ") >= 3  # three worked examples stand before the question
    assert found["prompt"].rstrip().endswith("Reasoning:")


@pytest.mark.needs("lm_eval", "torch", "transformers", "accelerate")
def test_countdown_when_a_model_thinks_then_the_answer_behind_it_counts_with_and_without_the_end_token(
    lm_eval_programs, tmp_path
):
    from tiny_llama import make_scripted_llama

    gold = ms.benchmark("countdown-sample").problems[0].gold
    thought, right = "<think>1 + 1 = 2, which is wrong", solve(gold.nums, gold.target).expression
    model = make_scripted_llama(tmp_path / "model", [thought, "</think>", f"{right} = {gold.target}"])
    script = """
import json, sys
from lm_eval import simple_evaluate
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks import TaskManager
folder, model, out = sys.argv[1:]
manager = TaskManager(include_path=folder, include_defaults=False, metadata={"sample": True})
made = []
for token in (None, "</think>"):
    lm = HFLM(pretrained=model, device="cpu", think_end_token=token)
    results = simple_evaluate(
        lm, tasks=["countdown"], task_manager=manager, limit=1, bootstrap_iters=0, apply_chat_template=True,
        gen_kwargs={"max_gen_toks": 8},
    )
    (sample,) = results["samples"]["countdown"]
    made.append([sample["countdown_score"], sample["resps"][0][0]])
json.dump(made, open(out, "w"))
"""
    out = tmp_path / "out.json"
    done = subprocess.run(
        [lm_eval_programs / "python", "-c", script, TASKS, model, out],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == 0, done.stderr
    (whole, cut) = json.loads(out.read_text())
    assert (whole[0], cut[0]) == (1.0, 1.0)
    assert whole[1].startswith("<think>")
    assert "think" not in cut[1]  # lm_eval itself took it away


def test_command_when_an_include_path_is_given_then_says_that_there_can_be_one():
    from markscheme.cli import build_parser
    from markscheme.cli.lm_eval import run

    args = build_parser("lm-eval").parse_args(["--tasks", "x", "--include_path=mine"])
    assert args.arguments == ["--tasks", "x", "--include_path=mine"]
    with pytest.raises(UsageError, match=r"to use another one, call lm_eval|lm_eval cannot be imported"):
        run(args)


GSM8K_ROW = {
    "doc_id": 7,
    "doc": {"question": "Two and two?", "answer": "2+2=4\n#### 4"},
    "target": "2+2=4\n#### 4",
    "arguments": {"gen_args_0": {"arg_0": "Question: Two and two?\nAnswer:", "arg_1": {}}},
    "resps": [["It is 4.\n#### 4"]],
    "filtered_resps": ["4"],
    "filter": "strict-match",
}
AIME_ROW = {"doc_id": 0, "doc": {"Problem": "One?", "Answer": 1}, "target": "1", "resps": [["\\boxed{1}", "2"]]}


def test_import_when_the_task_is_lm_evals_own_then_questions_come_from_its_documents(tmp_path):
    log = tmp_path / "samples_gsm8k_2025-01-02T03-04-05.678901.jsonl"
    rows = [GSM8K_ROW, {**GSM8K_ROW, "filter": "flexible-extract"}, {**GSM8K_ROW, "doc_id": 8}]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = import_log(log, tmp_path / "run", protocol="gsm8k-strict")
    assert (run.manifest.benchmark, run.manifest.problems, run.manifest.samples) == ("gsm8k", 2, 1)
    assert [mark.verdict for mark in run.marks("gsm8k-strict")] == ["correct", "correct"]
    first, second = run.questions()
    assert first.prompt.messages[0].content == "Question: Two and two?\nAnswer:"
    assert (first.problem.gold, second.problem.key) == ("4", f"{first.problem.key}-2")

    other = tmp_path / "samples_aime24.jsonl"
    other.write_text(json.dumps(AIME_ROW) + "\n")
    run = import_log(other, tmp_path / "aime", protocol="aime")
    assert [str(mark.verdict) for mark in run.marks("aime")] == ["correct", "wrong"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "no responses"),
        ("{", "line 1: not valid JSON"),
        ("[]", "expected a JSON object"),
        ('{"doc_id": 1}', "not a sample of lm_eval"),
        (json.dumps({**GSM8K_ROW, "resps": [[[-1.5, False]]]}), "likelihoods"),
        (json.dumps({**GSM8K_ROW, "doc": {"words": "?"}}), "say which benchmark"),
    ],
)
def test_import_when_the_log_is_no_log_then_one_sentence_and_no_folder(tmp_path, content, words):
    log = tmp_path / "samples_x.jsonl"
    log.write_text(content)
    with pytest.raises(DataError, match=words):
        import_log(log, tmp_path / "runs" / "run")
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").iterdir())


def test_import_when_a_benchmark_is_named_then_its_problems_are_meant(tmp_path):
    problem = ms.benchmark("gsm8k-sample").problems[3]
    row = {**GSM8K_ROW, "doc": {"question": problem.statement + "\n", "answer": "#### 1"}, "resps": [[problem.gold]]}
    log = tmp_path / "samples_x.jsonl"
    log.write_text(json.dumps(row) + "\n")
    run = import_log(log, tmp_path / "run", benchmark="gsm8k-sample")
    assert run.questions()[0].problem.key == problem.key
    assert run.manifest.protocol == "gsm8k-numeric@9"
    log.write_text(json.dumps(GSM8K_ROW) + "\n")
    with pytest.raises(DataError, match="is not in gsm8k-sample"):
        import_log(log, tmp_path / "other", benchmark="gsm8k-sample")
    # A log of our own tasks says itself which benchmark it is of; another name for it is a mistake.
    log.write_text(json.dumps(our_row(problem, "#### 1")) + "\n")
    with pytest.raises(DataError, match="is not in aime-sample"):
        import_log(log, tmp_path / "other", benchmark="aime-sample")


def our_row(problem, text):
    doc = record(problem, "gsm8k-sample", ms.benchmark("gsm8k-sample").protocol)
    return {"doc_id": problem.id, "doc": doc, "target": problem.gold, "resps": [[text]]}


def test_import_when_two_logs_are_imported_then_they_can_be_marked_audited_and_compared(tmp_path):
    problems = ms.benchmark("gsm8k-sample").problems[:20]
    for name, right in (("a", 15), ("b", 5)):
        rows = [our_row(one, f"#### {one.gold if at < right else 10**9}") for at, one in enumerate(problems)]
        (tmp_path / f"samples_{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        assert run_command("import", tmp_path / f"samples_{name}.jsonl", "--out", tmp_path / name, "--json") == 0
    assert run_command("mark", tmp_path / "a", "--protocol", "gsm8k-strict") == 0
    assert ms.Run.open(tmp_path / "a").snapshot().protocols == ["gsm8k-numeric", "gsm8k-strict"]
    assert run_command("audit", tmp_path / "a") == 0
    assert run_command("compare", tmp_path / "a", tmp_path / "b") == 0
    stored = tmp_path / "stored.jsonl"
    stored.write_text("".join(json.dumps({"key": one.key, "text": "#### 7"}) + "\n" for one in problems))
    ms.run("gsm8k-sample", model=f"replay/{stored}", limit=20, out=tmp_path / "ours")
    assert run_command("compare", tmp_path / "a", tmp_path / "ours") == 0


def test_resume_when_the_run_was_imported_then_says_who_could_ask(tmp_path, capsys):
    log = tmp_path / "samples_x.jsonl"
    problems = ms.benchmark("gsm8k-sample").problems[:2]
    rows = [our_row(problems[0], "1"), our_row(problems[1], "2")]
    rows[0]["resps"] = [["1", "2"]]  # the second problem has fewer samples
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run_command("import", log, "--out", tmp_path / "run") == 3
    assert run_command("resume", tmp_path / "run") == 2
    assert "only the tool that wrote the log can ask" in capsys.readouterr().err
    assert ms.Run.open(tmp_path / "run").manifest.status == "incomplete"


def run_command(*words):
    from markscheme.cli import main

    return main([str(word) for word in words])
