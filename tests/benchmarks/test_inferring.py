"""What a file says about itself: rows in the shapes of public data sets are read right, or refused with the line to add."""

import gzip
import json

import pytest

from markscheme.benchmarks import benchmark
from markscheme.cli import main
from markscheme.errors import DataError

Q, ABCD = "Which is prime?", ["21", "22", "23", "24"]
CHAT = [{"role": "user", "content": "What is 6 times 7?"}]
ARC = {"text": ABCD, "label": ["A", "B", "C", "D"]}
ARC_NUMBERED = {"text": ABCD, "label": ["1", "2", "3", "4"]}


def written(tmp_path, rows, name="mine.jsonl"):
    file = tmp_path / name
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def rows_of(*answers, column="answer", **same):
    return [{**same, column: answer} for answer in answers]


def numbered(answers, column="answer", choices=("w", "x", "y", "z"), **same):
    return rows_of(*answers, column=column, question=Q, choices=list(choices), **same)


MMLU_PRO = {
    "question_id": 7,
    "question": Q,
    "options": [*ABCD, "25", "26"],
    "answer": "C",
    "answer_index": 2,
    "cot_content": "",
}
MEDQA = {"question": Q, "options": dict(zip("ABCD", ABCD, strict=True)), "answer": "23", "answer_idx": "C"}
SCIQ = {"question": Q, "correct_answer": "23", "distractor1": "21", "distractor2": "22", "distractor3": "24"}
GPQA = {"Question": Q, "Correct Answer": "23", "Incorrect Answer 1": "21", "Incorrect Answer 2": "22"}
HELLASWAG = {"ind": 1, "ctx": Q, "ctx_a": "Which", "ctx_b": "is prime?", "endings": ABCD}
CSQA = {"id": "x", "question": {"stem": Q, "choices": [{"label": "A", "text": "21"}, {"label": "B", "text": "23"}]}}
VERL = {"data_source": "openai/gsm8k", "prompt": CHAT, "ability": "math", "extra_info": {"index": 0, "split": "test"}}

READ_RIGHT = {
    "MMLU": (numbered([0, 3, 2, 1], subject="x"), "ADCB"),
    "MMLU, numbers as choices": (numbered([2, 0, 1], choices=["2", "3", "12", "0"]), "CAB"),
    "MMLU-Pro": ([MMLU_PRO], "C"),
    "ARC": (
        [
            {"id": "a", "question": Q, "choices": ARC, "answerKey": "C"},
            {"id": "b", "question": Q, "choices": ARC_NUMBERED, "answerKey": "4"},
        ],
        "CD",
    ),
    "OpenBookQA": ([{"id": "a", "question_stem": Q, "choices": ARC, "answerKey": "C"}], "C"),
    "CommonsenseQA": ([{"answerKey": "B", **CSQA}], "B"),
    "AQuA": ([{"question": Q, "options": ["A)21", "B)23"], "rationale": "…", "correct": "B"}], "B"),
    "MathQA": (
        [{"Problem": Q, "options": "a ) rs . 400 , b ) rs . 300 , c ) 5 : 00 , d ) a , b", "correct": "c"}],
        "C",
    ),
    "AGIEval": ([{"passage": None, "question": Q, "options": ["(A)21", "(B)23"], "label": "B", "answer": None}], "B"),
    "AGIEval, dmayhem93": (
        rows_of([0], [3], [1], column="gold", query=Q, choices=["(A)w", "(B)x", "(C)y", "(D)z"]),
        "ADB",
    ),
    "CMMLU, SeaEval": ([{"id": "a", "question": Q, "choices": ["(A) 21", "(B) 23"], "answer": "(B) 23"}], "B"),
    "C-Eval": (
        [{"id": 1, "question": Q, **dict(zip("ABCD", ABCD, strict=True)), "answer": "C", "explanation": ""}],
        "C",
    ),
    "SuperGPQA": ([{"uuid": "a", "question": Q, "options": ABCD, "answer": "23", "answer_letter": "C"}], "C"),
    "MedQA": ([MEDQA], "C"),
    "MedMCQA": (rows_of(0, 3, column="cop", question=Q, opa="w", opb="x", opc="y", opd="z"), "AD"),
    "MedMCQA as first published": (rows_of(1, 4, column="cop", question=Q, opa="w", opb="x", opc="y", opd="z"), "AD"),
    "HellaSwag": (rows_of("0", "3", column="label", **HELLASWAG), "AD"),
    "Winogrande": (rows_of("1", "2", sentence=Q, option1="x", option2="y"), "AB"),
    "PIQA": (rows_of(0, 1, column="label", goal=Q, sol1="x", sol2="y"), "AB"),
    "GSM8K": ([{"question": Q, "answer": "3 + 4 = 7\n#### 7"}], ["7"]),
    "MATH": ([{"problem": Q, "level": "Level 1", "type": "Algebra", "solution": "so $\\boxed{7}$."}], ["7"]),
    "MATH-500": ([{"problem": Q, "solution": "so $\\boxed{7}$.", "answer": "7", "unique_id": "a"}], ["7"]),
    "NuminaMath-CoT": ([{"source": "x", "problem": Q, "solution": "so $\\boxed{7}$.", "messages": CHAT}], ["7"]),
    "NuminaMath-1.5": ([{"problem": Q, "solution": "…", "answer": "7", "question_type": "MCQ", "source": "x"}], ["7"]),
    "OpenR1-Math": ([{"problem": Q, "solution": "…", "answer": "7", "generations": ["a"], "uuid": "a"}], ["7"]),
    "DeepScaleR": ([{"problem": Q, "answer": "7", "solution": "…"}], ["7"]),
    "Big-Math": ([{"problem": Q, "answer": "7", "source": "x", "domain": ["a"], "llama8b_solve_rate": 0.5}], ["7"]),
    "DeepMath": ([{"question": Q, "final_answer": "7", "difficulty": 5.0, "r1_solution_1": "…"}], ["7"]),
    "OlympiadBench": ([{"id": 1, "context": None, "question": Q, "final_answer": ["7"], "solution": ["…"]}], ["7"]),
    "OpenMathInstruct-2": ([{"problem": Q, "generated_solution": "…", "expected_answer": "7"}], ["7"]),
    "TheoremQA": ([{"Question": Q, "Answer": 7, "Answer_type": "integer"}], ["7"]),
    "AIME, Maxwell-Jia": ([{"ID": "2024-I-1", "Problem": Q, "Solution": "…", "Answer": 7}], ["7"]),
    "MGSM": ([{"question": Q, "answer": None, "answer_number": 7, "equation_solution": None}], ["7"]),
    "verl": ([{**VERL, "reward_model": {"style": "rule", "ground_truth": "42"}}], ["42"]),
    "Skywork-OR1": ([{**VERL, "reward_model": {"style": "rule", "ground_truth": '["42"]'}}], ["42"]),
    "TRL": ([{"prompt": CHAT, "solution": "$\\boxed{42}$"}], ["42"]),
}


@pytest.mark.parametrize(("rows", "golds"), READ_RIGHT.values(), ids=READ_RIGHT)
def test_file_when_in_the_shape_of_a_public_data_set_then_every_gold_is_right(tmp_path, rows, golds):
    assert [problem.gold for problem in benchmark(written(tmp_path, rows)).problems] == list(golds)


@pytest.mark.parametrize("row", [SCIQ, GPQA], ids=["SciQ", "GPQA"])
def test_file_when_the_right_choice_is_always_first_then_choices_are_in_an_order_of_our_own(tmp_path, row):
    name = next(name for name in row if name.lower() == "question")
    problems = benchmark(written(tmp_path, [{**row, name: f"{Q} {number}"} for number in range(20)])).problems
    assert all(problem.choices["ABCD".index(problem.gold)] == "23" for problem in problems)
    assert len({problem.gold for problem in problems}) == len(problems[0].choices)


LONG = "First we note that the sum is what it is. " * 10
REFUSED = {
    "one row of MMLU": (
        numbered([2], choices=["2", "3", "12", "0"]),
        "row 1 '2' is A ('2') by text or C ('12') by place",
    ),
    "places that fit from 0 and from 1": (
        numbered([1, 2]),
        "'1' is B ('x') by place from 0 or A ('w') by place from 1",
    ),
    "letters and places": (numbered(["A", "1", "B"]), "row 2: answer, '1', is not one of the choices by letter"),
    "two columns that differ": (
        [{**MMLU_PRO, "answer_index": 4}],
        "`answer` and `answer_index` name different choices",
    ),
    "a passage": ([{"passage": "Ann has 3.", "question": Q, "answer": "7"}], "`passage` may be part of the question"),
    "SciQ with its text": ([{**SCIQ, "support": "Primes."}], "`support` may be part of the question"),
    "SVAMP": ([{"Body": "Ann has 3.", "Question": Q, "Answer": 7.0}], "`Body` may be part of the question"),
    "two questions": ([{"problem": "a", "question": "b", "answer": "7"}], "`question` and `problem` differ in row 1"),
    "two golds": ([{"problem": Q, "answer": "7", "final_answer": "8"}], "`answer` and `final_answer` differ in row 1"),
    "some with ####": (rows_of("x #### 7", "8", problem=Q), "row 1 has `####` in `answer` and row 2 does not"),
    "worked solutions": ([{"question": Q, "answer": LONG}], "`answer` has worked solutions instead of answers"),
    "solutions without a box": ([{"problem": Q, "solution": "We add and get 7."}], "no row marks its answer"),
    "several answers": (
        [{"question": Q, "final_answer": ["1", "2"]}],
        "`final_answer` is a list, with 2 items in row 1",
    ),
    "two boxes": (
        rows_of("\\boxed{2} or \\boxed{3}", "\\boxed{4}", column="solution", problem=Q),
        "row 1 has `\\boxed` several times in `solution`",
    ),
    "gold in an object": ([{"question": Q, "ground_truth": {"yes": 1}}], "`ground_truth` is an object in row 1"),
    "StrategyQA": (rows_of(True, False, question=Q), "`answer` is true or false in row 1"),
    "TheoremQA": (rows_of("7", True, Question=Q, column="Answer"), "`Answer` is true or false in row 2"),
    "Orca-Math": (
        rows_of("If she is fifth, then four people have crossed the line before her.", "60", question=Q),
        "`answer` has worked solutions instead of answers",
    ),
    "Alpaca": (
        [{"instruction": "Add.", "input": "2 and 3", "answer": "5"}],
        "`instruction` and `input` differ in row 1",
    ),
    "no question": ([{"text": Q, "answer": "7"}], "no column is known to be the statement"),
    "no gold": ([{"query": Q, "response": "The answer is: 7"}], "no column is known to be the gold"),
    "system messages": (
        [{"prompt": [{"role": "system", "content": each}, *CHAT], "answer": "42"} for each in "ab"],
        "2 different system",
    ),
}


@pytest.mark.parametrize(("rows", "said"), REFUSED.values(), ids=REFUSED)
def test_file_when_it_fits_no_one_reading_then_the_rows_that_decide_are_told(tmp_path, rows, said):
    with pytest.raises(DataError) as caught:
        benchmark(written(tmp_path, rows))
    assert said in str(caught.value)


FOLLOWED = {
    name: rows for name, (rows, said) in REFUSED.items() if name not in ("letters and places", "no question", "no gold")
}


@pytest.mark.parametrize("rows", FOLLOWED.values(), ids=FOLLOWED)
def test_refusal_when_its_lines_are_written_then_the_file_is_read(tmp_path, rows):
    with pytest.raises(DataError) as caught:
        benchmark(written(tmp_path, rows))
    assert "to a file mine.toml" in str(caught.value)
    (tmp_path / "mine.toml").write_text(str(caught.value).partition("\n\n")[2])
    problems = list(benchmark(tmp_path / "mine.toml").problems)
    assert len(problems) == len(rows)
    assert all(problem.gold and problem.statement for problem in problems)


def test_refusal_when_the_benchmark_has_its_own_fields_then_the_line_goes_there(tmp_path):
    written(tmp_path, numbered([1, 2]))
    stated = 'data.test.file = "mine.jsonl"\n[fields]\nstatement = "question"\n'
    (tmp_path / "mine.toml").write_text(stated)
    with pytest.raises(DataError, match=r"Say which in \[fields\]") as caught:
        benchmark(tmp_path / "mine.toml")
    (tmp_path / "mine.toml").write_text(stated + str(caught.value).partition("\n\n")[2])
    assert [problem.gold for problem in benchmark(tmp_path / "mine.toml").problems] == ["B", "C"]


@pytest.mark.parametrize(("way", "gold"), [("text", "A"), ("place from 0", "C"), ("place from 1", "B")])
def test_benchmark_when_it_states_how_an_answer_names_its_choice_then_that_counts(tmp_path, way, gold):
    written(tmp_path, numbered([2], choices=["2", "3", "12", "0"]))
    (tmp_path / "mine.toml").write_text(f'data.test.file = "mine.jsonl"\nfields.gold = "letter by {way} of answer"\n')
    bench = benchmark(tmp_path / "mine.toml")
    assert [problem.gold for problem in bench.problems] == [gold]
    assert "put its letter" in bench.questions()[0].prompt.messages[-1].content


def test_reading_when_inferred_then_told_in_one_line(tmp_path, capsys):
    file = written(tmp_path, numbered([0, 3, 2, 1]))
    assert main(["show", str(file)]) == 0
    told = "read as statement = question; choices = choices; gold = letter by place from 0 of answer; id = position"
    assert told in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("chat", [json.dumps(CHAT), str(CHAT)], ids=["JSON", "Python"])
def test_chat_when_it_is_a_cell_of_a_table_then_its_question_is_asked(tmp_path, chat):
    cell = chat.replace('"', '""')
    (tmp_path / "mine.csv").write_text(f'prompt,answer\n"{cell}",42\n')
    (problem,) = benchmark(tmp_path / "mine.csv").problems
    assert (problem.statement, problem.gold) == ("What is 6 times 7?", "42")


def test_ids_when_they_repeat_then_the_place_is_taken(tmp_path):
    file = written(tmp_path, rows_of("1", "2", problem=Q, id="same"))
    assert [problem.id for problem in benchmark(file).problems] == ["0000", "0001"]


def test_data_verify_when_a_file_is_odd_then_a_sample_and_every_oddity_are_shown(tmp_path, capsys):
    rows = [{"question": f"What is {n} + 1?", "answer": str(n + 1)} for n in range(30)]
    rows += [{"question": "What is 3 + 1?", "answer": "5"}, {"question": "Prove it.", "answer": "proof"}]
    main(["data", "verify", str(written(tmp_path, rows))])
    shown = capsys.readouterr().out
    assert "read as statement = question; gold = answer; id = position" in shown
    assert "problem 0000: gold 1 (number) to 'What is 0 + 1?'" in shown
    assert "problem 0030: gold 5, and problem 0003 asks the same with 4" in shown
    assert "problem 0031: gold 'proof' is words, and nearly all others are number" in shown


def test_data_verify_when_a_gold_is_the_text_of_two_choices_then_it_is_shown(tmp_path, capsys):
    main(["data", "verify", str(written(tmp_path, numbered(["x"], choices=["x", "x", "y"])))])
    assert "problem 0000: gold A is the text of two choices" in capsys.readouterr().out


def test_chat_when_it_has_one_system_message_then_both_are_sent_as_they_are(tmp_path):
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": [{"type": "text", "text": Q}]}]
    bench = benchmark(written(tmp_path, [{"prompt": chat, "answer": "23"}] * 2))
    assert [(said.role, said.content) for said in bench.questions()[0].prompt.messages] == [
        ("system", "Be brief."),
        ("user", Q),
    ]


@pytest.mark.parametrize(
    ("statement", "value", "said"),
    [
        ("{prompt}", CHAT, "an item of prompt is an object instead of text or a number"),
        ("prompt", CHAT, "the statement is a list instead of text or a number"),
        ("prompt", {"a": 1}, "the statement is an object instead of text or a number"),
        ("user message of prompt", [*CHAT, {"role": "assistant", "content": "42"}, *CHAT], "several turns"),
        ("user message of prompt", [{"role": "user", "content": [{"type": "image"}]}], "something that is not text"),
        ("user message of prompt", ["a"], "is not a list of messages"),
    ],
)
def test_field_when_it_is_not_text_then_one_sentence_and_never_its_repr(tmp_path, statement, value, said):
    written(tmp_path, [{"prompt": value, "answer": "42"}])
    (tmp_path / "mine.toml").write_text(f'data.test.file = "mine.jsonl"\nfields.statement = "{statement}"\n')
    with pytest.raises(DataError, match=said):
        list(benchmark(tmp_path / "mine.toml").problems)


def test_field_when_it_is_inside_a_list_then_its_path_names_the_place(tmp_path):
    written(tmp_path, [{"turns": [{"say": Q}], "answer": "23"}])
    (tmp_path / "mine.toml").write_text('data.test.file = "mine.jsonl"\nfields.statement = "Hi. {turns.0.say}"\n')
    assert benchmark(tmp_path / "mine.toml").problems[0].statement == f"Hi. {Q}"


def test_files_when_named_by_a_pattern_then_read_in_the_order_of_their_names(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for number in (1, 0):
        row = {"prompt": [{"role": "user", "content": f"{number}?"}], "reward_model": {"ground_truth": str(number)}}
        parquet.write_table(pyarrow.Table.from_pylist([row]), tmp_path / f"train-0000{number}-of-00002.parquet")
    bench = benchmark(tmp_path / "train-*.parquet")
    assert bench.name == "train"
    assert [(problem.statement, problem.gold) for problem in bench.problems] == [("0?", "0"), ("1?", "1")]
    with pytest.raises(DataError, match="no file matches"):
        list(benchmark(tmp_path / "test-*.parquet").problems)


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_file_when_packed_then_read_and_when_damaged_then_told(tmp_path, suffix):
    pyarrow = pytest.importorskip("pyarrow")
    file = tmp_path / f"mine.jsonl{suffix}"
    with pyarrow.output_stream(str(file), compression="gzip" if suffix == ".gz" else "zstd") as stream:
        stream.write(b'{"question": "1+1?", "answer": "2"}\n')
    bench = benchmark(file)
    assert (bench.name, bench.problems[0].gold) == ("mine", "2")
    file.write_bytes(b"not packed")
    with pytest.raises(DataError, match="cannot be decompressed"):
        list(benchmark(file).problems)


def test_file_when_it_unpacks_without_end_then_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("markscheme.datasets.files.MOST_UNPACKED", 100)
    (tmp_path / "mine.jsonl.gz").write_bytes(gzip.compress(b" " * 1000))
    with pytest.raises(DataError, match="more than 100 bytes"):
        list(benchmark(tmp_path / "mine.jsonl.gz").problems)
