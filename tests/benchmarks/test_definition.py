"""A benchmark's file: what it may say, and that a mistake in it is one sentence with line and remedy."""

import json

import pytest

import markscheme as ms
from markscheme.benchmarks import benchmark
from markscheme.benchmarks.fields import Fields, ProblemMaker
from markscheme.errors import DataError, UsageError
from markscheme.types import Problem

MINE = """\
summary = "mine"
protocol = "math"

[data.test]
file = "mine.csv"

[fields]
statement = "Frage"
gold = "letter of Lösung"
choices = ["a", "b", "c"]
metadata = ["topic"]
cluster = "source"

[prompts.short]
user = "{statement} Answer with a letter."
"""


@pytest.fixture
def mine(tmp_path):
    """Write a benchmark file with some text replaced, and its CSV."""

    def write(old="", new=""):
        assert old in MINE
        (tmp_path / "mine.toml").write_text(MINE.replace(old, new) if old else MINE)
        (tmp_path / "mine.csv").write_text(
            "Frage,a,b,c,Lösung,topic,source\nWhich is odd?,2,3,4,3,parity,x\nWhich is even?,5,7,8,8,parity,x\n"
        )
        return tmp_path / "mine.toml"

    return write


def test_own_benchmark_when_it_has_choices_then_they_are_asked_and_the_gold_is_a_letter(mine):
    bench = benchmark(mine())
    first, second = bench.problems
    assert first.statement == "Which is odd?\n\n(A) 2\n(B) 3\n(C) 4"
    assert (first.gold, second.gold) == ("B", "C")  # by their texts
    assert (first.metadata, first.cluster) == ({"topic": "parity"}, "x")
    assert bench.questions(limit=1)[0].prompt.messages[-1].content.endswith("(C) 4 Answer with a letter.")


def test_own_benchmark_when_it_is_like_another_then_the_column_that_its_rows_lack_is_named(mine):
    file = mine('summary = "mine"', 'like = "aqua"')
    with pytest.raises(
        DataError, match=r"row 1: there is no column `question`, which is inherited from aqua"
    ) as caught:
        list(benchmark(file).problems)
    assert "there are Frage, a, b, c, Lösung" in str(caught.value)


def test_own_benchmark_when_it_lies_elsewhere_then_its_data_is_found_beside_it(mine, tmp_path, monkeypatch):
    file = mine()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert len(benchmark(file).problems) == 2
    assert ms.mark("\\boxed{B}", benchmark(file).problems[0]).correct


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('statement = "Frage"', 'sttement = "Frage"', "line 8: there is no `sttement`; did you mean statement?"),
        ('protocol = "math"', "protocol = 5", "line 2: `protocol`: expected `str`, got `int`"),
        ('file = "mine.csv"', "", "line 4: name a `file`, or the `hub` that has it"),
        ('file = "mine.csv"', 'hub = { repp = "a/b" }', "line 5: there is no `repp`; did you mean repo?"),
        ('file = "mine.csv"', 'hub = [{ repp = "a/b" }]', "line 5: there is no `repp`; did you mean repo?"),
        ('file = "mine.csv"', "hub = [{ repo = 5 }]", "line 5: `repo`: expected `str`, got `int`"),
        ('file = "mine.csv"', 'fiel = "mine.csv"', "line 5: there is no `fiel`; did you mean file?"),
        ("[data.test]", "[date.test]", "line 4: there is no `date`; did you mean data?"),
        ("{statement} Answer", "Answer", "line 14: `user` has no {statement}"),
        ("{statement} Answer", "{statement} {gold} Answer", "line 14: `user` has {gold}, which would give the answer"),
        ('summary = "mine"', 'summary = "mine', "line 1: not valid TOML"),
        ('summary = "mine"', 'like = "gsm9k"', "line 1: there is no benchmark 'gsm9k'; did you mean gsm8k?"),
        ('summary = "mine"', 'evaluate = ["tset"]', "line 1: there is no [data.tset]; there are test"),
        ("[fields]", '[columns]\nx = "number"\n[fields]', "line 8: a column cannot have the kind 'number'"),
        ("[fields]", '[fewshot]\npool = "train"\n[fields]', "line 8: there is no [data.train]"),
        ("[fields]", '[fewshot]\npool = "test"\n[fields]', "line 4: there is nothing to ask: add [data.test]"),
        ("[fields]", "[fewshot]\ncount = 2\n[fields]", "line 7: `pool` is missing"),
        ("[data.test]", '[data]\ntrain = "math:tarin"\n[data.test]', "line 5: math has no data file 'tarin'"),
    ],
)
def test_own_benchmark_when_it_has_a_mistake_then_one_sentence_with_line_and_remedy(mine, old, new, said):
    with pytest.raises(DataError) as caught:
        benchmark(mine(old, new))
    assert said in str(caught.value)
    assert "mine.toml" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "?." not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('statement = "Frage"', 'statement = "Fragen"', "row 1, is not a problem of mine: no field Fragen"),
        ('"letter of Lösung"', '"letter of topic"', "row 1: topic, 'parity', is not one of the choices"),
        ('choices = ["a", "b", "c"]', 'choices = ["a"]', "1 choices, and a question has 2 to 26"),
        ('file = "mine.csv"', 'file = "yours.csv"', "yours.csv cannot be read"),
    ],
)
def test_own_benchmark_when_its_rows_do_not_fit_then_file_row_and_reason_are_told(mine, old, new, said):
    with pytest.raises(DataError) as caught:
        list(benchmark(mine(old, new)).problems)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("gold", "row", "value"),
    [
        ("a", {"a": 5}, "5"),
        (("a", "b"), {"b": "x"}, "x"),
        (("a", "b"), {"a": None, "b": "x"}, "x"),
        ("last box of a", {"a": r"so \boxed{1} or \boxed{\frac{1}{2}}."}, r"\frac{1}{2}"),
        ("last box of a", {"a": r"so $x = \boxed 7.$"}, "7"),
        (("number of a", "b"), {"a": None, "b": "x"}, "x"),
        ("text after #### of a", {"a": "3 #### 4 #### 5"}, "5"),
        ("text before ( of a", {"a": "9 (apples)"}, "9"),
        ("number of a", {"a": 27.0}, "27"),
        ("number of a", {"a": "0.50"}, "0.5"),
        ("number of a", {"a": "1,000"}, "1,000"),
        ("item 1 of a", {"a": ["x", "y"]}, "x"),
        ("{a} and {b}", {"a": 1, "b": [2, 3]}, "1 and 2, 3"),
        ("a.b", {"a": {"b": "c"}}, "c"),
        ("part", {}, "I"),
        ("without <<…>> of text before #### of a", {"a": "2*3=<<2*3=6>>6 #### 6"}, "2*3=6"),
    ],
)
def test_expression_when_read_then_gives_the_value(gold, row, value):
    make = ProblemMaker(Fields(statement="q", gold=gold), "math")
    assert make(0, {"q": "?", **row}, "I").gold == value


@pytest.mark.parametrize(
    ("gold", "row", "said"),
    [
        ("last box of a", {"a": r"\boxed{1"}, r"no \boxed{} in a"),
        ("text after #### of a", {"a": "5"}, "a has no text after `####`"),
        ("item 3 of a", {"a": [1]}, "a has no item 3"),
        ("a", {}, "no field a"),
        ("a", {"a": True}, "true or false"),
        ("a", {"a": " "}, "the answer is empty"),
    ],
)
def test_expression_when_the_row_does_not_have_it_then_says_what_is_missing(gold, row, said):
    make = ProblemMaker(Fields(statement="q", gold=gold), "math")
    with pytest.raises((KeyError, ValueError, TypeError)) as caught:
        make(0, {"q": "?", **row})
    assert said in str(caught.value)


def test_choices_when_the_data_letters_them_then_the_letters_stand_once():
    make = ProblemMaker(Fields(statement="q", gold="a", choices="o"), "math")
    assert make(0, {"q": "?", "a": "B", "o": ["A)1", "B) 2"]}).statement == "?\n\n(A) 1\n(B) 2"


def test_benchmark_object_when_made_of_problems_then_it_asks_and_runs(tmp_path):
    problems = [Problem(id="a", statement="1 + 1?", gold="2"), Problem(id="b", statement="2 + 2?", gold="4")]
    bench = ms.Benchmark("sums", problems)
    assert bench.questions()[0].prompt.messages[-1].content.startswith("1 + 1?")
    stored = tmp_path / "out.jsonl"
    stored.write_text("".join(json.dumps({"id": p.id, "text": f"\\boxed{{{p.gold}}}"}) + "\n" for p in problems))
    run = ms.run(bench, model=f"replay/{stored}", out=tmp_path / "run")
    assert run.manifest.counts == {"correct": 2}
    assert run.manifest.benchmark == "sums"


def test_prompt_when_typed_then_it_is_asked_and_must_ask_something():
    bench = benchmark("math-sample")
    assert bench.questions(variant="Solve: {statement}", limit=1)[0].prompt.messages[-1].content.startswith("Solve: ")
    with pytest.raises(UsageError, match="give the answer away"):
        bench.questions(variant="{statement} {gold}")
    with pytest.raises(UsageError, match=r"a text with \{statement\}"):
        bench.questions(variant="Solve it")
