r"""math-sample: every kind of answer that MATH-500 has, every gold worked out again without reading it."""

import re
from collections import Counter
from functools import cache
from typing import Any

import confirm_math_algebra
import confirm_math_counting
import confirm_math_geometry
import confirm_math_intermediate_algebra
import confirm_math_number_theory
import confirm_math_prealgebra
import confirm_math_precalculus
import pytest
from gold_reader import READERS, same
from sample_files import missing_numerals, rows

ROWS = rows("math-sample")
MODULES = (
    confirm_math_algebra,
    confirm_math_counting,
    confirm_math_geometry,
    confirm_math_intermediate_algebra,
    confirm_math_number_theory,
    confirm_math_prealgebra,
    confirm_math_precalculus,
)
CONFIRM = {row_id: function for module in MODULES for row_id, function in module.CONFIRM.items()}
SLUGS = {
    "Algebra": "algebra",
    "Counting & Probability": "counting_and_probability",
    "Geometry": "geometry",
    "Intermediate Algebra": "intermediate_algebra",
    "Number Theory": "number_theory",
    "Prealgebra": "prealgebra",
    "Precalculus": "precalculus",
}
# Ways of writing that MATH-500 mixes within one kind, and so does the sample.
SPELLINGS = {
    "fraction": [r"\\frac\d\d", r"\\dfrac", r"\\frac \d\{", r"\\frac\{"],
    "degrees": [r"\^\\circ", r"\\text\{ degrees\}"],
    "decimal": [r"^\.\d", r"^\d+\.\d"],
    "thousands": [r",\\!\d", r",\\! \d", r"\d,\d"],
    "money": [r"\\\$", r"\\text\{ cents\}"],
    "unit": [r"\\text", r"\\mbox"],
    "interval": [r"^x \\in \[", r"\)$", r"\\left\["],
    "base": [r"_\d", r"_\{\d"],
    "set": [r"\\pm", r"\\\{-?\d"],
}

each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row["unique_id"])


def last_boxed(text: str) -> str:
    r"""What stands in the last `\boxed{…}`, with its braces balanced."""
    start = text.rindex(r"\boxed{") + len(r"\boxed{")
    depth = 1
    for end in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if depth == 0:
            return text[start:end]
    raise ValueError(text)


def changed(row) -> str:
    """A gold of the same kind and spelling that is wrong."""
    gold = row["answer"]
    if row["kind"] == "word":
        return r"\text{another}"
    if row["kind"] == "choice":
        return gold.translate(str.maketrans("ABCDE", "BCDEA"))
    return re.sub(r"\d", lambda digit: str(int(digit[0]) + 1 if digit[0] < "9" else 8), gold, count=1)


@cache
def computed(row_id: str) -> Any:
    return CONFIRM[row_id]()


def confirmed(row, gold: str) -> bool:
    """Whether the independent computation gives this gold; one that contradicts itself is given by none."""
    try:
        read = READERS[row["kind"]](gold)
    except ValueError:
        return False
    return same(read, computed(row["unique_id"]))


def test_sample_file_when_read_then_rows_have_math500_fields_and_running_ids():
    assert len(ROWS) >= 70
    seen: Counter[str] = Counter()
    for row in ROWS:
        assert set(row) == {"problem", "solution", "answer", "subject", "level", "unique_id", "kind"}
        seen[row["subject"]] += 1
        assert row["unique_id"] == f"math-sample/{SLUGS[row['subject']]}/{seen[row['subject']]:02d}"
        assert row["level"] in {1, 2, 3, 4, 5}
    assert set(seen) == set(SLUGS)
    assert min(seen.values()) >= 8
    assert len({row["problem"] for row in ROWS}) == len(ROWS)


def test_kinds_when_counted_then_each_occurs_at_least_twice_and_in_its_spellings():
    kinds = Counter(row["kind"] for row in ROWS)
    assert set(kinds) == set(READERS)
    assert min(kinds.values()) >= 2
    for kind, patterns in SPELLINGS.items():
        golds = [row["answer"] for row in ROWS if row["kind"] == kind]
        for pattern in patterns:
            assert any(re.search(pattern, gold) for gold in golds), f"no {kind} is written like {pattern}"


def test_levels_when_counted_then_each_occurs_in_several_subjects():
    for level in (1, 2, 3, 4, 5):
        assert len({row["subject"] for row in ROWS if row["level"] == level}) >= 4


def test_confirmations_when_compared_with_rows_then_cover_each_id():
    assert set(CONFIRM) == {row["unique_id"] for row in ROWS}


@each_row
def test_solution_when_read_to_the_end_then_boxes_the_gold(row):
    assert last_boxed(row["solution"]) == row["answer"]
    assert row["solution"].count(r"\boxed") == 1
    assert row["solution"].count("$") % 2 == row["solution"].count(r"\$") % 2


@each_row
def test_gold_when_worked_out_independently_then_equal(row):
    assert confirmed(row, row["answer"])


@each_row
def test_gold_when_changed_then_no_longer_confirmed(row):
    wrong = changed(row)
    assert wrong != row["answer"]
    assert not confirmed(row, wrong), f"{wrong} is taken for {row['answer']}"


@each_row
def test_confirmation_when_statement_is_edited_then_noticed(row):
    """A number that is changed in the statement alone leaves the confirmation without it."""
    statement = re.sub(r"where \$i\^2 = -1\$|= 0\$", "", row["problem"])
    assert missing_numerals(statement, CONFIRM[row["unique_id"]]) == set()


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("interval", "[1,2]", "[1,2)"),
        ("interval", r"(4,\infty)", r"(-\infty,4)"),
        ("union", r"(1,2)\cup(3,4)", r"(1,2)\cup(3,4]"),
        ("tuple", "(2,-1)", "(-1,2)"),
        ("tuple", "(1,1)", "(1,1,1)"),
        ("list", "1, 2", "1, 2, 3"),
        ("plus-minus", r"\pm \frac{3}{4}", r"\pm \frac{4}{3}"),
        ("equation", "y = 2x - 5", "y = 2x + 5"),
        ("base", "52_8", "52_9"),
        ("unit", r"5\text{ cm}^2", r"5\text{ cm}^3"),
        ("money", r"250\text{ cents}", r"\$250.00"),
        ("complex", "11+10i", "11-10i"),
        ("vector", r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", r"\begin{pmatrix} 1 & 2 \end{pmatrix}"),
    ],
)
def test_same_when_answers_are_near_misses_then_false(kind, one, other):
    read = READERS[kind]
    assert same(read(one), read(one))
    assert not same(read(one), read(other))


def test_gold_reader_when_spelling_varies_then_reads_the_same_number():
    read = READERS["fraction"]
    assert read(r"\frac43") == read(r"\dfrac{4}{3}") == read(r"\frac 4{3}") == read("4/3")
    assert READERS["root"](r"\frac{\sqrt{6}}{2}") ** 2 == read(r"\frac32")
    assert READERS["thousands"](r"720,\! 720") == READERS["thousands"]("720,720") == 720720
