"""Where a file comes from, and the canonical form of its rows: what does not fit is refused, what fits is not changed."""

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markscheme.benchmarks import benchmark, benchmarks
from markscheme.datasets import HubFile, Source, SourceRows
from markscheme.datasets.sources import check_kind
from markscheme.errors import DataError

WHOLE = [each for each in benchmarks().values() if each.definition and each.name == each.definition.name]
FILES = [source for each in WHOLE for source in each.sources if source.places]

ROWS = {
    "gsm8k": {"question": "2 + 2?", "answer": "2 + 2 = <<2+2=4>>4\n#### 4"},
    "math500": {"problem": "x", "solution": "y", "answer": "z", "subject": "Algebra", "unique_id": "1", "level": 3},
    "aime-2024": {"problem_idx": 3, "problem": "Find it.", "answer": 73},
    "countdown": {"nums": [3, 5, 2], "target": 16},
}


def form(name):
    return benchmark(name).sources[0].canonical


@pytest.mark.parametrize("source", FILES, ids=lambda source: source.file)
def test_source_when_it_counts_as_pinned_then_its_revision_is_a_commit(source):
    for hub in source.places:
        assert bool(re.fullmatch("[0-9a-f]{40}", hub.revision)) == hub.pinned
    assert source.sha256 is None or re.fullmatch("[0-9a-f]{64}", source.sha256)


@pytest.mark.parametrize("name", ["gsm8k", "math500", "aime-2024", "aime-2025"])
def test_source_when_compared_with_the_real_rows_then_count_and_hash_are_theirs(name, real_data):
    for source in benchmark(name).sources:
        if source.sha256 is None:
            continue
        rows = SourceRows(source, real_data)
        assert (len(rows), source.hash_of(rows)) == (source.rows, source.sha256)
        assert rows.describe().check == ("answers" if source.hashed else "content")


@pytest.mark.parametrize(("name", "row"), ROWS.items())
def test_form_when_the_row_fits_then_only_its_own_fields_are_kept(name, row):
    assert form(name)({**row, "something_else": [1.5]}) == row


@pytest.mark.parametrize(("name", "field"), [(name, field) for name, row in ROWS.items() for field in row])
def test_form_when_a_field_is_missing_or_of_another_kind_then_it_is_named(name, field):
    row = ROWS[name]
    for bad in ({key: value for key, value in row.items() if key != field}, {**row, field: None}, {**row, field: 1.5}):
        with pytest.raises(ValueError, match=f"`{field}`"):
            form(name)(bad)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("gsm8k", {"question": " "}),
        ("math500", {"level": 6}),
        ("aime-2024", {"answer": 1000}),
        ("aime-2024", {"answer": -1}),
        ("aime-2024", {"answer": True}),
        ("aime-2024", {"answer": "73.0"}),
        ("aime-2024", {"answer": "9" * 5000}),
        ("aime-2024", {"problem_idx": 16}),
        ("countdown", {"nums": []}),
        ("countdown", {"nums": [3, 5, 0]}),
        ("countdown", {"nums": [3, 5, True]}),
        ("countdown", {"target": 0}),
    ],
)
def test_form_when_a_value_is_impossible_then_the_row_is_refused(name, change):
    with pytest.raises(ValueError, match="must be"):
        form(name)({**ROWS[name], **change})


def test_form_when_an_answer_has_leading_zeros_then_it_is_the_integer():
    assert form("aime-2024")({**ROWS["aime-2024"], "answer": "073"}) == ROWS["aime-2024"]


def test_form_when_no_columns_are_named_then_the_row_comes_as_it_is():
    assert Source().canonical({"a": 1.5}) == {"a": 1.5}


def test_all_canonical_when_a_row_does_not_fit_then_the_error_names_file_and_row():
    rows = [ROWS["countdown"], {**ROWS["countdown"], "target": "x"}]
    with pytest.raises(DataError, match=r"^numbers\.jsonl, row 2: `target` must be an integer"):
        benchmark("countdown").sources[0].all_canonical(rows, "numbers.jsonl")


@pytest.mark.parametrize("kind", ["", "texts of", "integer 1", "integer to 3", "number"])
def test_kind_when_it_does_not_exist_then_those_that_do_are_named(kind):
    with pytest.raises(ValueError, match="integer 0 to 999"):
        check_kind(kind)


CONTESTS = [source.places[0] for source in benchmark("aime-2025").sources]


@pytest.mark.parametrize("numbers", [list(range(1, 31)), [*range(1, 16), *range(1, 16)]])
def test_select_when_both_contests_are_in_one_set_then_each_gets_its_own_fifteen(numbers):
    rows = [{"problem_idx": number, "at": position} for position, number in enumerate(numbers)]
    for hub, start in zip(CONTESTS, (0, 15), strict=True):
        contest = hub.select(rows)
        assert [row["problem_idx"] for row in contest] == list(range(1, 16))
        assert [row["at"] for row in contest] == list(range(start, start + 15))


@pytest.mark.parametrize("number", ["1", None, 1.0])
def test_select_when_a_number_is_not_an_integer_then_the_set_is_refused(number):
    with pytest.raises(ValueError, match="problem_idx"):
        CONTESTS[0].select([{"problem_idx": number}])


UNDIVIDED, LEFT = (source.places[-1] for source in benchmark("countdown").sources)


@settings(max_examples=20)
@given(st.integers(1000, 5000))
def test_select_when_drawn_then_a_thousand_different_rows_and_always_the_same(size):
    rows = [{"at": position} for position in range(size)]
    drawn = [row["at"] for row in UNDIVIDED.select(rows)]
    assert len(set(drawn)) == len(drawn) == 1000
    assert drawn == [row["at"] for row in UNDIVIDED.select(list(rows))]


def test_select_when_drawn_then_as_the_published_recipe_draws():
    # The recipe as published works on the module's own generator; this protects against another way of drawing.
    state = random.getstate()
    random.seed(42)
    order = list(range(4321))
    random.shuffle(order)
    random.setstate(state)
    assert [row["at"] for row in UNDIVIDED.select([{"at": n} for n in range(4321)])] == order[:1000]
    assert [row["at"] for row in LEFT.select([{"at": n} for n in range(4321)])] == order[1000:]


def test_address_when_shown_then_names_commit_and_files():
    assert str(HubFile(repo="a/b", path="c.parquet")) == "hf://datasets/a/b@main/c.parquet"
    assert HubFile(repo="a/b", path=("c", "d")).at("1234") == "hf://datasets/a/b@1234/{c,d}"
