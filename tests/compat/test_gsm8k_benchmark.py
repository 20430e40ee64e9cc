"""`GSM8KBenchmark`, the script that asks a model, and the one that scores its answers."""

import json

import pytest
from loopback import Loopback, Plan

import markscheme as ms
from markscheme.errors import DataError
from markscheme.plugins.doors.gsm8k_answers import ask, score

ROWS = [
    {"question": "Five dogs eat two cups each a day. How many cups in three days?", "answer": "5*2*3\n#### 30"},
    {"question": "What is a thousand and ten?", "answer": "#### 1,010"},
    {"question": "What is seven less ten?", "answer": "#### -3"},
]
OUTPUTS = ["Ten a day, so 30.\n#### 30", "The answer is 30", "#### 1010", "#### 1011", "So -3.\n#### -3.0", "-3", ""]


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return folder


@pytest.fixture
def benchmark_class(in_compat):
    from benchmarks.gsm8k.gsm8k_benchmark import GSM8KBenchmark

    return GSM8KBenchmark


def test_benchmark_when_used_as_documented_then_tasks_and_scores(benchmark_class, data):
    benchmark = benchmark_class(data)
    assert benchmark.get_task_ids() == ["0000", "0001", "0002"]
    assert benchmark.get_task("0001")["question"] == ROWS[1]["question"]
    assert benchmark.get_task("0001").data["answer"] == ROWS[1]["answer"]
    with pytest.raises(ValueError, match="0000 to 0002"):
        benchmark.get_task("0003")


def test_benchmark_when_nothing_is_prepared_then_the_three_documented_examples_score_as_written(
    benchmark_class, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("MARKSCHEME_DATA", str(tmp_path))
    benchmark = benchmark_class()
    assert "placeholder" in capsys.readouterr().err
    outputs = (
        "5 dogs eat 10 cups a day, 30 in three days.\n#### 30",
        "The answer is 30",
        "She needs 30 cups.\n#### 30",
    )
    results = [benchmark.evaluate("0000", output) for output in outputs]
    assert [result.score for result in results] == [1.0, 0.0, 1.0]
    assert results[1].score_explanation == "Expected: 30, Got: None"
    assert "no ####" in results[1].mark.why


def test_documented_example_when_the_official_data_is_there_too_then_its_own_scores(door, real_data):
    printed = door("python", "examples/documented_gsm8k.py", env={"MARKSCHEME_DATA": str(real_data)}).stdout
    assert [line.split()[0] for line in printed.splitlines()] == ["1.0", "0.0", "1.0"]
    assert printed.splitlines()[0] == "1.0  Correct answer"
    assert "Expected: 30, Got: None" in printed


def test_task_when_used_as_a_mapping_then_like_its_data(benchmark_class, data):
    from benchmarks.gsm8k import GSM8KBenchmark

    assert GSM8KBenchmark is benchmark_class
    task = benchmark_class(data).get_task("0000")
    assert dict(task.items()) == ROWS[0]
    assert list(task.keys()) == ["question", "answer"]
    other = task.copy()
    other.update({"subject": "dogs"})
    assert other["subject"] == "dogs"
    assert "subject" not in task


@pytest.mark.parametrize(
    ("output", "ours", "letter"),
    [
        ("#### 30", 1, 1),
        ("#### 30 cups for 5 dogs", 1, 1),
        ("#### 30 = 10 * 3", 1, 1),
        ("#### 30.0", 1, 0),
        ("#### $30", 1, 0),
        ("#### 30 … no, #### 31", 0, 1),
        ("30", 1, 1),
        ("", 0, 0),
        ("#### 10 * 3 = 30", 1, 0),
    ],
)
def test_evaluate_when_nothing_is_said_then_the_documented_rule_decides_and_math_is_beside_it(
    benchmark_class, data, output, ours, letter
):
    documented = benchmark_class(data).evaluate("0000", output)
    exchanged = benchmark_class(data, protocol="math").evaluate("0000", output)
    assert (documented.score, documented.beside.score) == (letter, ours)
    assert (exchanged.score, exchanged.beside.score) == (ours, letter)


def test_benchmark_when_the_official_data_is_there_then_all_its_tasks(benchmark_class, real_data, monkeypatch):
    monkeypatch.setenv("MARKSCHEME_DATA", str(real_data))
    benchmark = benchmark_class()
    ids = benchmark.get_task_ids()
    assert (len(ids), ids[0], ids[-1]) == (1319, "0000", "1318")
    # Every gold solution earns the mark of its own task.
    assert all(benchmark.evaluate(name, benchmark.get_task(name)["answer"]).score == 1.0 for name in ids)


def test_benchmark_when_a_row_is_no_task_then_says_which(benchmark_class, data):
    (data / "test.jsonl").write_text('{"question": "?", "answer": "forty-two"}\n')
    with pytest.raises(DataError, match="row 1"):
        benchmark_class(data)


def test_evaluate_when_compared_with_a_run_on_the_same_responses_then_equal(benchmark_class, data, tmp_path):
    benchmark = benchmark_class(data)
    stored = tmp_path / "stored.jsonl"
    lines = [
        {"question": row["question"], "sample": sample, "text": output}
        for row in ROWS
        for sample, output in enumerate(OUTPUTS)
    ]
    stored.write_text("".join(json.dumps(line) + "\n" for line in lines))
    run = ms.run(
        str(data / "test.jsonl"),
        model=f"replay/{stored}",
        samples=len(OUTPUTS),
        protocol="gsm8k-benchmark",
        out=tmp_path / "run",
    )
    marks = {(mark.key, mark.sample): mark.score for mark in run.marks("gsm8k-benchmark")}
    for task_id, question in zip(benchmark.get_task_ids(), run.questions(), strict=True):
        for sample, output in enumerate(OUTPUTS):
            assert benchmark.evaluate(task_id, output).score == marks[question.problem.key, sample]


def test_scripts_when_a_model_is_asked_twice_then_nothing_is_asked_again_and_the_file_scores(door, tmp_path):
    def answer(body):
        return "#### 30" if "kennel" in body["messages"][-1]["content"] else "#### 6"

    answers = tmp_path / "answers.jsonl"
    with Loopback(Plan(answer=answer), keep=True) as server:
        ask = ("python", "benchmarks/gsm8k/run_gpt41_on_gsm8k.py", "--base-url", server.url, "--output", answers)
        door(*ask)
        assert len(server.seen) == 3
        answers.unlink()
        door(*ask)
        assert len(server.seen) == 3
        first = json.loads(server.seen[0][1])
        subset = tmp_path / "subset.jsonl"
        door(*ask[:-1], subset, "--num-questions", "2", "--seed", "5")
        changed = door(*ask[:-1], subset, "--num-questions", "2", "--seed", "6")
        assert len(server.seen) == 3 + 2 + 2
    assert first["model"] == "gpt-4.1"
    assert first["temperature"] == 0
    assert "####" in first["messages"][0]["content"]
    assert f"run folder: {tmp_path / 'subset.run-2'}" in changed.stdout
    rows = [json.loads(line) for line in answers.read_text().splitlines()]
    assert [list(row) for row in rows] == [["question_id", "question", "answer"]] * 3
    assert [row["question_id"] for row in rows] == ["0000", "0001", "0002"]
    assert len(subset.read_text().splitlines()) == 2
    scored = door("python", "examples/example_gsm8k.py", answers)
    assert "Summary: 2.0/3 correct (66.7% accuracy)" in scored.stdout
    assert "By math: 2 of 3 are right; 0 differ from gsm8k-benchmark" in scored.stdout
    assert "95 % interval: 0." in scored.stdout


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"question_id": "0000", "question": "Another one?", "answer": "#### 30"}, "has another question than 0000"),
        ({"question_id": "0009", "answer": "#### 30"}, "there is no task '0009'"),
        ({"answer": "#### 30"}, "has no question_id"),
    ],
)
def test_score_when_the_file_is_of_other_questions_then_one_sentence(
    benchmark_class, data, tmp_path, capsys, row, says
):
    answers = tmp_path / "answers.jsonl"
    answers.write_text(json.dumps(row) + "\n")
    assert score(lambda: benchmark_class(data), tmp_path, [str(answers)]) != 0
    assert says in capsys.readouterr().err


def test_ask_when_interrupted_then_what_came_is_written_and_the_same_command_asks_for_the_rest(
    benchmark_class, data, tmp_path, capsys
):
    import os
    import signal

    def stop(body):
        os.kill(os.getpid(), signal.SIGINT)
        return "#### 30"

    output = tmp_path / "answers.jsonl"
    words = ["--output", str(output), "--concurrency", "1"]
    with Loopback(Plan(answer=stop)) as server:
        assert ask(lambda: benchmark_class(data), tmp_path, [*words, "--base-url", server.url]) == 130
    kept = len(output.read_text().splitlines())
    assert 1 <= kept < 3  # another request may be on its way before the signal is heard
    said = capsys.readouterr().err
    assert f"{3 - kept} responses are missing and not counted; the same command asks for them" in said
    with Loopback(Plan(answer=lambda body: "#### 30"), keep=True) as server:
        assert ask(lambda: benchmark_class(data), tmp_path, [*words, "--base-url", server.url]) == 0
        assert len(server.seen) == 3 - kept
    assert len(output.read_text().splitlines()) == 3


def test_benchmark_when_its_folder_is_not_there_then_a_script_ends_in_one_sentence(door):
    said = door("python", "-c", "from benchmarks.gsm8k import GSM8KBenchmark; GSM8KBenchmark('nowhere')", code=1)
    assert said.stderr == "markscheme: nowhere/test.jsonl cannot be read: the folder nowhere does not exist.\n"


def test_ask_when_there_is_no_key_then_one_sentence(door, tmp_path):
    said = door(
        *("python", "benchmarks/gsm8k/run_gpt41_on_gsm8k.py", "--output", tmp_path / "a.jsonl"),
        env={"OPENAI_API_KEY": ""},
        code=2,
    )
    assert "OPENAI_API_KEY is not set" in said.stderr
    assert "Traceback" not in said.stderr
