"""Published figures made again from stored outputs: shapes of files, ways to count, what is odd, what differs."""

import json
from pathlib import Path

import pytest

import markscheme as ms
from markscheme.cli import main
from markscheme.errors import DataError
from markscheme.marking.bulk import claim_rows
from markscheme.marking.bulk.claims import load_claim
from markscheme.runs import Run

ROWS = [
    {"id": "a", "question": "3 + 4?", "gold": "7", "response": "The answer is 7.", "ok": True, "level": 1},
    {"id": "b", "question": "Half of one?", "gold": "1/2", "response": "It is \\boxed{0.5}.", "ok": False, "level": 2},
    {"id": "c", "question": "2 * 6?", "gold": "12", "response": "The answer is 12.", "ok": True, "level": 2},
    {"id": "d", "question": "9 - 5?", "gold": "4", "response": "The answer is 5.", "ok": True, "level": 2},
]


@pytest.fixture
def checked(tmp_path):
    """Write outputs and a claim, and make the claim's first row again."""

    def make(outputs, claim="", fields='verdict = "ok"', published="75.0", name="a.jsonl", **options):
        content = outputs if isinstance(outputs, str) else "".join(json.dumps(row) + "\n" for row in outputs)
        (tmp_path / name).write_text(content)
        text = f'published = "{published}"\nfiles = "{name}"\n{claim}\n[fields]\n{fields}\n'
        (tmp_path / "claim.toml").write_text(text)
        return ms.reproduce(tmp_path / "claim.toml", **options).rows[0]

    return make


def figures(row):
    return {name: figure.value for name, figure in row.figures.items()}


def test_reproduce_when_verdicts_differ_then_each_class_is_counted_and_shown(checked):
    row = checked(ROWS, 'rule = "gsm8k-lm-eval-flexible"')
    assert row.reproduced
    assert figures(row) == {"stored": 0.75, "gsm8k-lm-eval-flexible": 0.5, "math": 0.75}
    assert row.figures["math"].low < 0.75 < row.figures["math"].high
    assert {each.kind: each.samples for each in row.differing} == {
        "math accepts, they do not": 1,
        "they accept, math reads another answer": 1,
        "stored as right, gsm8k-lm-eval-flexible does not accept": 1,
    }
    example = next(each for each in row.differing if each.kind == "math accepts, they do not").examples[0]
    assert (example.problem, example.marks["stored"].verdict, example.marks["math"].verdict) == (
        "b",
        "wrong",
        "correct",
    )


@pytest.mark.parametrize(
    ("published", "reproduced"),
    [("75", True), ("75.0", True), ("75.00", True), ("75.01", False), ("74.9", False), ("3/4", True), ("2/4", False)],
)
def test_reproduce_when_a_digit_more_is_printed_then_it_counts(checked, published, reproduced):
    assert checked(ROWS, published=published).reproduced == reproduced


def test_reproduce_when_digits_were_cut_off_then_that_is_the_explanation(checked):
    row = checked([*ROWS, *({**ROWS[0], "id": str(n)} for n in range(2))], published="83.3")
    assert row.reproduced
    row = checked(ROWS[:3], published="66.6")
    assert row.remarks == ["published if digits are cut off instead of rounded (by stored)"]
    row = checked(ROWS[:3], published="60.0")
    assert row.remarks == ["the published figure has about 0 fewer right answers than stored"]


@pytest.mark.parametrize(
    ("name", "content", "more"),
    [
        ("a.json", json.dumps(ROWS), ""),
        ("a.json", json.dumps(ROWS, indent=3), ""),
        ("a.json", json.dumps({row["id"]: row for row in ROWS}), ""),
        ("a.json", json.dumps({"meta": 1, "results": {"items": ROWS}}), 'records = "results.items"'),
        ("a.json", "".join(json.dumps(row) + "\n" for row in ROWS), ""),
        ("a.jsonl", "".join(json.dumps({f"P_{n}": row}) + "\n" for n, row in enumerate(ROWS)), 'records = "*"'),
        ("a.csv", "id,question,gold,response,ok\n" + "".join(f"{r['id']},{r['question']},{r['gold']},{r['response']},{r['ok']}\n" for r in ROWS), ""),
    ],
    ids=["array", "indented", "by name", "within", "lines in .json", "a name a line", "csv"],
)  # fmt: skip
def test_reproduce_when_the_shape_is_odd_then_the_same_figures(checked, monkeypatch, name, content, more):
    monkeypatch.setattr(claim_rows, "AT_ONCE", 7)  # an array is read in pieces, wherever they end
    assert figures(checked(content, more, name=name)) == {"stored": 0.75, "math": 0.75}


@pytest.mark.parametrize("content", ["[", '[{"id": 1}', '[{"id": 1}, x]', "[1]", "{", '"text"'])
def test_reproduce_when_the_json_is_broken_then_one_sentence(checked, content):
    with pytest.raises(DataError, match=r"a\.json"):
        checked(content, name="a.json")


def test_reproduce_when_it_is_a_text_log_then_marks_cut_out_the_fields(checked):
    log = "dataset : x\n*****\n"
    for row in ROWS:
        log += (
            f"Q: {row['question']}\nA: {row['response']}\npred : {7 if row['ok'] else 8}\nGT : {row['gold']}\n*****\n"
        )
    claim = """separator = "*****"
[log]
question = { after = "Q: " }
said = { after = "A: ", before = "\\npred" }
pred = { after = "pred : " }
truth = { after = "GT : ", last = true }
"""
    fields = 'response = "said"\ngold = "truth"\nverdict = "pred is gold"'
    row = checked(log, claim, fields, "25", "a.log")
    assert (figures(row), row.samples, row.reproduced) == ({"stored": 0.25, "math": 0.75}, 4, True)


def test_reproduce_when_golds_are_in_another_file_then_they_are_joined(checked, tmp_path):
    golds = [{"question": row["question"] + " ", "answer": f"because\n#### {row['gold']}"} for row in ROWS]
    (tmp_path / "golds.jsonl").write_text("".join(json.dumps(row) + "\n" for row in golds))
    bare = [{key: row[key] for key in ("id", "question", "response", "ok")} for row in ROWS]
    claim = '[golds]\nfiles = "golds.jsonl"\nby = "statement"\ngold = "text after #### of answer"'
    assert figures(checked(bare, claim)) == {"stored": 0.75, "math": 0.75}
    odd = checked([*bare, {"question": "another?", "response": "1", "ok": True}], claim)
    assert odd.remarks == ["rows that could not be read: 1, the first: a.jsonl, row 5: no gold for 'another?'"]


def test_reproduce_when_rows_are_missing_doubled_or_without_output_then_said(checked):
    rows = [*ROWS, ROWS[0], {**ROWS[1], "id": "e", "response": None}, {"id": "f", "question": "?"}]
    row = checked(rows, "problems = 9", published="44.44")
    assert row.remarks[:2] == [
        "rows that could not be read: 1, the first: a.jsonl, row 7: no field gold or no field ground_truth or no field gt "
        "or no field target or no field answer",
        "rows that occur more than once: 1 (a)",
    ]
    assert "there are 5 problems instead of 9" in row.remarks
    assert {each.kind: each.samples for each in row.differing}["no output is stored"] == 1
    wrong = checked(ROWS, "problems = 5", published="60.0")
    assert wrong.remarks[-1] == "published if missing problems (1) count as wrong (by stored)"


def test_reproduce_when_a_benchmark_is_named_then_missing_problems_and_other_golds_are_named(checked):
    problems = ms.benchmark("gsm8k-sample").problems
    rows = [
        {"id": each.id, "question": each.statement, "gold": each.gold, "response": each.gold} for each in problems[1:]
    ]
    rows[0]["gold"] = "123456"
    row = checked(rows, 'benchmark = "gsm8k-sample"', "", published="99.0")
    assert row.remarks[0] == f"problems of gsm8k-sample that are missing: 1 ({problems[0].id})"
    assert row.remarks[1].startswith(
        f"golds that differ from the official ones: 1 ({problems[1].id} (123456, officially"
    )


def test_reproduce_when_only_some_rows_count_then_where_chooses_them(checked):
    row = checked(ROWS, "where = { level = [2, 3] }", published="66.7")
    assert (row.samples, row.reproduced) == (3, True)


@pytest.mark.parametrize(
    ("figure", "value"), [("accuracy", 0.5), ("first", 0.0), ("maj@3", 1.0), ("best@3", 0.0), ("pass@1", 0.5), ("pass@4", 1.0)]
)  # fmt: skip
def test_reproduce_when_a_row_has_several_samples_then_the_figure_says_what_counts(checked, figure, value):
    said = [5, 7, 7, 6]
    row = {
        "question": "3 + 4?",
        "gold": "7",
        "response": [f"The answer is {n}." for n in said],
        "pred": [*map(str, said)],
    }
    row |= {"ok": [n == 7 for n in said], "reward": [[0.9], [0.2], [0.3], [1.5]]}
    fields = 'verdict = "ok"\nanswer = "pred"\nscore = "reward"'
    made = checked([row], f'figure = "{figure}"', fields, published="50")
    assert figures(made) == {"stored": value, "math": value}
    with pytest.raises(DataError, match="4 samples and 3 verdicts"):
        checked([{**row, "ok": [True] * 3}], f'figure = "{figure}"', fields)


@pytest.mark.parametrize(
    ("verdict", "right"),
    [
        ('"pred is gold"', 1),  # the letters of it
        ('"pred equals gold"', 2),  # 1/2 is 0.5
        ('"pred is close to gold"', 3),  # 700 is 7 in percent
        ('"first number of field answer of reply is first number of gold"', 2),
        ('["first number of field result of reply is gold", "pred is gold"]', 1),
        ("\"word is 'Correct'\"", 2),
    ],
)
def test_reproduce_when_only_the_extracted_answer_is_stored_then_the_claim_compares(checked, verdict, right):
    rows = [
        {"gold": "12", "pred": "12", "reply": '{"answer": "12 apples"}', "word": "Correct"},
        {"gold": "1/2", "pred": "0.5", "reply": '{"answer": 0.5}', "word": "Correct"},
        {"gold": "7", "pred": "700", "reply": "no JSON", "word": "Unknown"},
    ]
    row = checked([{**each, "response": each["pred"]} for each in rows], "", f"verdict = {verdict}", f"{right}/3")
    assert row.reproduced


def test_reproduce_when_rows_have_choices_then_letter_and_text_are_one_answer(checked):
    rows = [
        {
            "question": "Which?",
            "choices": ["red", "blue"],
            "answer": "blue",
            "response": "The answer is (B).",
            "ok": True,
        },
        {"question": "How many?", "choices": None, "answer": "3", "response": "The answer is 3.", "ok": True},
    ]
    fields = 'verdict = "ok"\nchoices = "choices"\ngold = ["letter by text of answer", "answer"]'
    assert figures(checked(rows, "", fields, "100")) == {"stored": 1.0, "math": 1.0}


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        ('published = 75.0\nfiles = "a"', "line 1: `published`: write it in quotes"),
        ('published = "about 75"\nfiles = "a"', "'about 75' is not a figure such as 84.3"),
        ('published = "75"', "`files` is missing"),
        ('published = "75"\nfiles = "../a"', "line 2: `files`: '../a' is not below the root"),
        ('published = "75"\nfiles = "a"\nfigure = "best"', "there is no figure 'best'"),
        ('published = "75"\nfiles = "a"\nfigure = "best@4"', "needs `score`"),
        ('published = "75"\nfiles = "a"\nrulle = "math"', "line 3: there is no `rulle`; did you mean rule"),
        (
            'published = "75"\nfiles = "a"\n[fields]\nverdikt = "ok"',
            "line 4: there is no `verdikt`; did you mean verdict",
        ),
        ('published = "75"\nfiles = "a"\nrule = "nothing"', "there is no protocol 'nothing'"),
        ('published = "75"\nfiles = "a"\n[log.x]\nafter = "Q"', "a log needs `separator`"),
        ('published = "75"\nfiles = "none-*.jsonl"', "no file matches none-*.jsonl"),
        ("rows = []", "claims nothing"),
        ("rows = 3", "claims nothing"),
        ("rows = [3]", "claims nothing"),
        ("fields = 3", "fields"),
        ("title = [", "not valid TOML"),
    ],
)
def test_claim_when_it_is_mistaken_then_one_sentence_and_exit_code(tmp_path, capsys, claim, says):
    (tmp_path / "claim.toml").write_text(claim)
    assert main(["reproduce", str(tmp_path / "claim.toml")]) in (1, 2)
    said = capsys.readouterr().err
    assert says in said
    assert "Traceback" not in said


def test_command_when_a_figure_is_not_reproduced_then_exit_4_and_pages_for_each_class(checked, tmp_path, capsys):
    checked(ROWS, published="74.9")
    claim = str(tmp_path / "claim.toml")
    assert main(["reproduce", claim, "--out", str(tmp_path / "out"), "--show", "1"]) == 4
    folders = sorted((tmp_path / "out" / "claim").iterdir())
    assert [each.name for each in folders] == ["math-accepts-they-do-not", "they-accept-math-reads-another-answer"]
    run = Run.open(folders[0])
    assert [mark.verdict for name in ("stored", "math") for mark in run.marks(name)] == ["wrong", "correct"]
    assert main(["reproduce", claim, "--out", str(tmp_path / "out")]) == 1  # never written over
    capsys.readouterr()
    assert main(["reproduce", claim, "--json"]) == 4
    made = json.loads(capsys.readouterr().out)
    assert made["rows"][0]["figures"]["stored"]["value"] == 0.75
    assert main(["reproduce", claim, "--format", "markdown"]) == 4
    assert "| claim | 74.9 | 75.00 | – | 75.00 (" in capsys.readouterr().out
    assert main(["reproduce", claim, "--format", "latex"]) == 4
    assert r"claim & 74.9 & 75.00 &" in capsys.readouterr().out
    assert main(["reproduce", claim, "--row", "clam"]) == 1
    assert "did you mean claim" in capsys.readouterr().err


def test_audit_when_given_a_claim_then_every_protocol_on_all_its_rows(checked, tmp_path):
    checked(ROWS)
    claim = tmp_path / "claim.toml"
    claim.write_text('files = "a.jsonl"\n[[rows]]\npublished = "75"\n[[rows]]\npublished = "75"\n')
    made = ms.audit(claim, protocol=("math", "gsm8k-strict"))
    assert (made.responses, made.problems) == (8, 4)


def test_claims_when_shipped_then_each_is_well_formed_and_names_where_it_is_from():
    files = sorted((Path(__file__).parents[3] / "perf" / "claims").glob("*.toml"))
    claims = [load_claim(file) for file in files]
    assert len(claims) >= 12
    assert len({claim.repository for claim in claims}) >= 8
    assert all(claim.title and claim.source and claim.repository for claim in claims)
