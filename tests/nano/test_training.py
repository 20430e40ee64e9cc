"""The training script: puzzles that are right, never one of the test set, and the same weights from the same seed."""

import importlib.util
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from markscheme.countdown.expression import parse
from markscheme.nano import tokenizer as words

pytestmark = pytest.mark.needs("torch", "transformers")


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("train_nano", Path(__file__).parents[2] / "train" / "nano.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["train_nano"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["train_nano"]


def test_puzzles_when_drawn_then_every_taught_step_and_equation_is_right(script):
    rows, taught = script.Puzzles(3, [], 0.7).batch(64)
    assert not taught[:, 0].any()
    for row in rows:
        question, _, rest = words.decode(row).partition(" ? ")
        numbers, _, target = question.partition(" > ")
        steps, _, answer = rest.partition(" <answer> ")
        equation = parse(answer.removesuffix(" </answer>"))
        assert sorted(equation.literals) == sorted(map(int, numbers.split()))
        assert equation.value == int(target)
        for step in steps.split(" ; "):
            left, _, value = step.partition(" , ")[0].partition(" = ")
            assert parse(left).value == int(value)


def test_puzzles_when_some_are_excluded_then_they_never_come(script):
    def drawn(excluded):
        puzzles = script.generate(300, script.Demand(sizes=(3, 3)), seed=3, exclude=excluded)
        return {(tuple(sorted(puzzle.nums)), puzzle.target): puzzle for puzzle in puzzles}

    before = drawn([])
    assert not before.keys() & drawn(list(before.values())).keys()
    packaged = script.excluded_puzzles([])
    assert len(packaged) == 100


def test_training_when_repeated_from_a_seed_then_the_same_weights(script, tmp_path):
    def weights(name):
        out = tmp_path / name
        script.train(Namespace(out=out, exclude=[], steps=2, batch=4, rate=1e-3, share_of_four=0.5, seed=9, threads=1))
        assert (out / "tokenizer.json").exists()
        assert len((out / "loss.jsonl").read_text().splitlines()) == 1
        return (out / "model.safetensors").read_bytes()

    assert weights("a") == weights("b")
