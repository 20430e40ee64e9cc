"""The training script: lessons that are right, never one of the test set, and the same weights from the same seed."""

import json
import sys
from argparse import Namespace
from importlib import import_module
from pathlib import Path

import pytest

from markscheme.benchmarks import benchmark
from markscheme.countdown.expression import parse
from markscheme.nano import tokenizer
from markscheme.types import CountdownGold


@pytest.fixture(scope="module")
def scripts():
    """Imports the modules of the folder `train`, which is not part of the package."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "train"))
    yield import_module
    sys.path.pop(0)


@pytest.fixture
def lessons(scripts):
    return scripts("lessons")


def steps(text):
    """`70 + 35 = 105` of `70 + 35 = 105 , 41 18 105`, for each step."""
    return [step.partition(" , ")[0].split(" = ") for step in text.split(" ; ")]


@pytest.mark.parametrize("kind", ["direct", "searching"])
def test_lessons_when_drawn_then_every_step_and_equation_is_right(lessons, kind):
    supply = lessons.Lessons(3, [], 0.7)
    tokens, taught = supply.direct(64) if kind == "direct" else supply.searching(6_000)
    attempts_made = 0
    for row, mask in zip(tokens, taught, strict=True):
        puzzle, *attempts = tokenizer.decode(row).split(" ? ")
        numbers, _, target = puzzle.partition(" > ")
        last, _, answer = attempts.pop().partition(" <answer> ")
        equation = parse(answer.removesuffix(" </answer>"))
        assert sorted(equation.literals) == sorted(map(int, numbers.split()))
        assert equation.value == int(target)
        for left, result in [step for attempt in (*attempts, last) for step in steps(attempt)]:
            assert parse(left).value == int(result)
        assert all(steps(attempt)[-1][1] != target for attempt in attempts)
        assert not mask[: len(puzzle.split()) + 2].any()
        attempts_made += len(attempts)
    assert (attempts_made == 0) == (kind == "direct")


def test_search_when_an_attempt_failed_then_its_choices_are_not_taught(lessons):
    failed = 0
    for row, mask in zip(*lessons.Lessons(3, [], 0.7).searching(6_000), strict=True):
        words = [tokenizer.VOCABULARY[token] for token in row.tolist()]
        again = [place for place, word in enumerate(words) if word == "?"]
        for place in again[:-1]:
            first = slice(place + 1, place + 6)  # a sign b = c
            assert words[first.start + 3] == "="
            assert mask[first].tolist() == [False] * 3 + [True] * 2
            failed += 1
        assert mask[again[-1] + 1 : words.index("<eos>") + 1].all()
    assert failed


def test_lessons_when_some_puzzles_are_excluded_then_they_never_come(lessons):
    def drawn(excluded):
        tokens, _ = lessons.Lessons(3, excluded, 0.0).direct(200)
        puzzles = [tokenizer.decode(row).partition(" ? ")[0].split(" > ") for row in tokens]
        return {(tuple(sorted(map(int, numbers.split()))), int(target)) for numbers, target in puzzles}

    before = drawn([])
    assert not before & drawn([lessons.CountdownGold(numbers, target) for numbers, target in before])


@pytest.mark.needs("torch", "transformers")
def test_sample_puzzles_when_training_then_excluded(scripts):
    assert scripts("nano").excluded_puzzles([]) == [problem.gold for problem in benchmark("countdown-sample").problems]


@pytest.mark.needs("torch", "transformers")
def test_seen_puzzles_when_written_down_then_those_of_both_stages(scripts, lessons, tmp_path, monkeypatch):
    file = tmp_path / "seen.jsonl"
    small = {"steps": 2, "batch": 4, "search-steps": 1, "share-of-four": 0.5, "seed": 9, "out": file}
    monkeypatch.setattr(sys, "argv", ["seen.py", *(f"--{name}={value}" for name, value in small.items())])
    scripts("seen").main()
    seen = {(tuple(row["nums"]), row["target"]) for row in map(json.loads, file.read_text().splitlines())}
    excluded = scripts("nano").excluded_puzzles([])
    direct = lessons.Lessons(10, excluded, 0.5)
    batches = [direct.direct(4), direct.direct(4), lessons.Lessons(11, excluded, 0.5).searching(6_000)]
    puzzles = [tokenizer.decode(row).partition(" ? ")[0].split(" > ") for rows, _ in batches for row in rows]
    assert seen == {(tuple(sorted(map(int, numbers.split()))), int(target)) for numbers, target in puzzles}


@pytest.mark.needs("torch", "transformers")
def test_training_when_repeated_from_a_seed_then_the_same_weights(scripts, tmp_path):
    def weights(name):
        out = tmp_path / name
        settings = {"steps": 2, "batch": 4, "rate": 1e-3, "search_steps": 1, "search_rate": 1e-3, "share_of_four": 0.5}
        scripts("nano").train(Namespace(out=out, exclude=[], seed=9, threads=1, **settings))
        assert (out / "tokenizer.json").exists()
        assert len((out / "loss.jsonl").read_text().splitlines()) == 2
        return (out / "model.safetensors").read_bytes()

    assert weights("a") == weights("b")


@pytest.mark.needs("torch", "transformers")
def test_audit_finds_the_step_at_which_nano_begins_to_game_a_leaky_reward(scripts, tmp_path, monkeypatch):
    gaming = scripts("gaming")
    for name, value in {"PROBED": 8, "PROMPTS": 24, "RATE": 1e-3}.items():
        monkeypatch.setattr(gaming, name, value)
    for reward in ("numbers", "honest"):
        (tmp_path / reward).mkdir()
        gaming.train(0, reward, 8, tmp_path / reward)
    assert 3 <= gaming.first_alarm(tmp_path / "numbers") < 8
    assert gaming.first_alarm(tmp_path / "honest") is None


def test_honest_judge_of_the_gaming_proof_accepts_solutions_only(scripts):
    pytest.importorskip("torch")
    is_solution, puzzle = scripts("gaming").is_solution, CountdownGold((3, 5, 2), 16)
    right = ["2 * ( 3 + 5 )", "( 5 + 3 ) * 2"]
    wrong = [
        "16",
        "2 * 8",
        "3 * 5 + 2",
        "2 ** ( 5 - 3 )",
        "__import__ ( 'os' )",
        "( 3 + 5",
        "3 / 0",
        "2 * ( 3 + 5 ) + 2 - 2",
        "",
    ]
    assert [is_solution(f"5 + 3 <answer> {each} </answer>", puzzle) for each in right] == [True, True]
    assert not any(is_solution(f"<answer> {each} </answer>", puzzle) for each in wrong)
