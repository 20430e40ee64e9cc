"""Benchmarks by every name people type, and the problems behind them."""

import json

import pytest

import markscheme as ms
from markscheme.benchmarks import benchmark, benchmarks, expand
from markscheme.errors import DataError, UsageError
from markscheme.types import Message


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("math-500", "math500"),
        ("MATH-500", "math500"),
        ("aime24", "aime-2024"),
        ("aime-24", "aime-2024"),
        ("AIME-2024-I", "aime-2024-I"),
        ("aime_2024_ii", "aime-2024-II"),
        ("aime25", "aime-2025"),
        ("AIME-2025", "aime-2025"),
        ("GSM8K", "gsm8k"),
        ("gsm8k-sample", "gsm8k-sample"),
    ],
)
def test_benchmark_when_named_by_alias_then_found(typed, name):
    assert benchmark(typed).name == name


def test_benchmark_when_unknown_then_suggests_the_nearest():
    with pytest.raises(UsageError, match="did you mean gsm8k"):
        benchmark("gsm9k")


def test_all_when_expanded_then_leaves_aime_out():
    assert expand(["all"]) == ["countdown", "gsm8k", "math500"]
    assert expand(["gsm8k", "all", "aime24"]) == ["gsm8k", "countdown", "math500", "aime24"]


OFFICIAL_SIZES = {
    "gsm8k": 1319,
    "math500": 500,
    "aime-2024-I": 15,
    "aime-2024-II": 15,
    "aime-2024": 30,
    "aime-2025-I": 15,
    "aime-2025-II": 15,
    "aime-2025": 30,
    "countdown": 1000,
}


@pytest.mark.parametrize(("name", "size"), OFFICIAL_SIZES.items())
def test_official_benchmark_when_loaded_then_has_its_problems(real_data, name, size):
    bench = benchmark(name, real_data)
    assert len(bench.problems) == size
    assert len({problem.key for problem in bench.problems}) == size
    assert len({problem.id for problem in bench.problems}) == size
    assert all(problem.protocol == bench.protocol for problem in bench.problems)
    assert all(len(file.sha256) == 64 for file in bench.files)


def test_aime_when_both_parts_then_ids_name_contest_and_number(real_data):
    ids = [problem.id for problem in benchmark("aime-2024", real_data).problems]
    assert ids[0] == "2024-I-1"
    assert ids[-1] == "2024-II-15"


def test_gsm8k_when_loaded_then_solution_has_no_calculator_notes(real_data):
    pool = benchmark("gsm8k", real_data).pool
    assert len(pool) == 7473
    assert not any("<<" in (problem.solution or "") for problem in pool)


SAMPLES = ("gsm8k-sample", "math-sample", "aime-sample", "countdown-sample")


@pytest.mark.parametrize("name", SAMPLES)
def test_sample_benchmark_when_offline_then_loads(name, tmp_path):
    bench = benchmark(name, tmp_path)  # an empty data folder: nothing may be read from it
    assert len(bench.problems) >= 30
    assert bench.questions()


def test_every_benchmark_when_listed_then_has_a_known_protocol():
    from markscheme.marking import protocol_names

    assert {bench.protocol for bench in benchmarks().values()} <= set(protocol_names())


def test_missing_data_when_asked_then_one_sentence_says_how_to_get_it_and_what_runs_now(tmp_path):
    with pytest.raises(DataError) as caught:
        _ = benchmark("gsm8k", tmp_path).problems[0]
    assert "markscheme data prepare gsm8k" in str(caught.value)
    assert "gsm8k-sample" in str(caught.value)


def test_own_file_when_given_then_is_a_benchmark(tmp_path):
    file = tmp_path / "mine.jsonl"
    rows = [{"question": "1+1?", "answer": 2, "id": "a"}, {"problem": "2+2?", "answer": "4", "topic": "sums"}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    bench = ms.benchmark(str(file))
    assert bench.name == "mine"
    assert [problem.gold for problem in bench.problems] == ["2", "4"]
    assert bench.problems[1].metadata == {"topic": "sums"}
    assert "\\boxed{}" in bench.questions()[0].prompt.messages[-1].content


def test_own_file_when_a_row_lacks_its_answer_then_names_file_and_row(tmp_path):
    file = tmp_path / "mine.jsonl"
    file.write_text('{"problem": "1+1?", "answer": "2"}\n{"problem": "2+2?"}\n')
    with pytest.raises(DataError, match=r"mine\.jsonl: `answer` is empty in row 2"):
        list(ms.benchmark(str(file)).problems)


def test_same_problem_twice_when_loaded_then_both_are_asked(tmp_path):
    file = tmp_path / "twice.jsonl"
    file.write_text('{"problem": "1+1?", "answer": "2"}\n' * 2)
    first, second = ms.benchmark(str(file)).problems
    assert second.key == f"{first.key}-2"


def test_questions_when_limited_with_a_seed_then_a_random_subset_in_order():
    bench = benchmark("gsm8k-sample")
    everything = [question.problem.id for question in bench.questions(fewshot=0)]
    drawn = [question.problem.id for question in bench.questions(fewshot=0, limit=10, limit_seed=1)]
    assert drawn != everything[:10]
    assert drawn == sorted(set(drawn), key=everything.index)
    assert len(drawn) == 10
    assert drawn == [question.problem.id for question in bench.questions(fewshot=0, limit=10, limit_seed=1)]
    assert [q.problem.id for q in bench.questions(fewshot=0, limit=1000, limit_seed=1)] == everything


def test_questions_when_a_system_prompt_is_given_then_it_comes_first():
    question = benchmark("math-sample").questions(system_prompt="Be brief.", limit=1)[0]
    assert question.prompt.messages[0] == Message("system", "Be brief.")


def test_own_file_when_it_holds_puzzles_then_is_asked_and_marked_as_countdown(tmp_path):
    file = tmp_path / "puzzles.jsonl"
    file.write_text('{"nums": [41, 70, 18, 35], "target": 46, "id": "mine"}\n')
    bench = ms.benchmark(str(file))
    assert bench.protocol == bench.problems[0].protocol == "countdown"
    assert bench.problems[0].id == "mine"
    assert bench.questions()[0].prompt.messages[-1].content.endswith("Answer:")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ('{"problem": "?", "answer": true}', "true or false"),
        ('{"problem": "?", "answer": [1, 2]}', "a list"),
        ('{"nums": 5, "target": 5}', "a list of whole numbers"),
    ],
)
def test_own_file_when_a_value_is_of_the_wrong_kind_then_says_so(tmp_path, row, said):
    file = tmp_path / "odd.jsonl"
    file.write_text(row + "\n")
    with pytest.raises(DataError, match=said):
        list(ms.benchmark(str(file)).problems)


def test_countdown_sample_when_generated_again_then_is_the_packaged_one(tmp_path):
    from markscheme.cli import main

    file = tmp_path / "again.jsonl"
    assert main(["countdown", "generate", "--count", "100", "--seed", "2026", "-o", str(file)]) == 0
    assert [json.loads(line) for line in file.read_text().splitlines()] == list(benchmark("countdown-sample").rows())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", 'question,choices,answer\nWhich is prime?,"[""21"", ""23""]",23\n'),
        ("b.csv", "question,A,B,answer\nWhich is prime?,21,23,B\n"),
        ("c.tsv", "question\tA\tB\tanswer\nWhich is prime?\t21\t23\t23\n"),
        (
            "d.jsonl",
            '{"question": "Which is prime?", "choices": {"text": ["21", "23"], "label": ["1", "2"]}, "answer": "2"}\n',
        ),
        ("e.jsonl", '{"problem": "Which is prime?", "options": ["A) 21", "B) 23"], "answer": "B"}\n'),
        ("f.jsonl", '{"problem": "Which is prime?", "options": ["A) 21", "B) 23"], "answer": "B) 23"}\n'),
        ("g.jsonl", '{"problem": "Which is prime?", "options": ["21", "23"], "answer": "(b)"}\n'),
    ],
)
def test_file_when_it_has_choices_then_they_are_asked_for_the_letter(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    (question,) = benchmark(tmp_path / name).questions()
    assert question.problem.statement == "Which is prime?\n\n(A) 21\n(B) 23"
    assert (question.problem.gold, question.problem.choices) == ("B", ("21", "23"))
    assert "put its letter" in question.prompt.messages[-1].content


def test_file_when_its_answer_is_no_choice_then_says_so(tmp_path):
    (tmp_path / "a.csv").write_text("question,A,B,answer\nWhich is prime?,21,23,C\n")
    with pytest.raises(DataError, match="row 1: answer, 'C', is not one of the choices"):
        list(benchmark(tmp_path / "a.csv").problems)
