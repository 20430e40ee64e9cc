"""The filter language: the same rows as a loop over the responses would keep, whatever stands in it, and one sentence else."""

import operator
from contextlib import suppress

import numpy as np
import pytest
import run_folders as folders
from hypothesis import given
from hypothesis import strategies as st

import markscheme as ms
from markscheme.errors import UsageError
from markscheme.runs import Run
from markscheme.runs.columns import VERDICTS
from markscheme.view.conditions import DEEPEST, fields, matching
from markscheme.view.filters import Filter

SIGNS = {"=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory):
    folder = tmp_path_factory.mktemp("conditions") / "run"
    folders.finished(folder, problems=12, samples=8, skill=0.6, seed=1)
    return Run.open(folder).snapshot()


def plain(row, snapshot):
    """A row as a loop would see it."""
    verdict = int(snapshot.verdict("math")[row])
    problem = int(snapshot.problem[row])
    return {
        "tokens": int(snapshot.rows["tokens"][row]),
        "sample": int(snapshot.sample[row]),
        "verdict": str(VERDICTS[verdict]) if verdict >= 0 else "unmarked",
        "id": snapshot.ids[problem],
        "subject": snapshot.groups["subject"][problem].lower(),
        "level": int(snapshot.groups["level"][problem]),
    }


comparisons = st.one_of(
    st.tuples(st.sampled_from(["tokens", "sample"]), st.sampled_from([*SIGNS]), st.integers(0, 400).map(str)),
    st.tuples(st.just("verdict"), st.sampled_from(["=", "!="]), st.sampled_from([*map(str, VERDICTS), "unmarked"])),
    st.tuples(st.just("level"), st.sampled_from([*SIGNS]), st.integers(0, 12).map(str)),  # 10 is more than 5
    st.tuples(st.just("subject"), st.sampled_from(["<", ">="]), st.sampled_from(["b", "geometry", "zz"])),
)
conditions = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.tuples(st.just("not"), inner), st.tuples(st.sampled_from(["and", "or"]), inner, inner)
    ),
    max_leaves=6,
)  # fmt: skip


def typed(tree):
    if tree[0] == "not":
        return f"not ({typed(tree[1])})"
    if tree[0] in ("and", "or"):
        return f"({typed(tree[1])}) {tree[0]} ({typed(tree[2])})"
    return " ".join(tree)


def holds(tree, row):
    if tree[0] == "not":
        return not holds(tree[1], row)
    if tree[0] in ("and", "or"):
        first, second = holds(tree[1], row), holds(tree[2], row)
        return (first and second) if tree[0] == "and" else (first or second)
    value = row[tree[0]]
    if value == -1:  # a number that is not known is neither more nor less than another
        return False
    return SIGNS[tree[1]](value, int(tree[2]) if isinstance(value, int) else tree[2])


@given(conditions)
def test_condition_when_typed_then_it_keeps_the_rows_that_a_loop_would(snapshot, tree):
    expected = [holds(tree, plain(row, snapshot)) for row in range(len(snapshot))]
    assert matching(typed(tree), snapshot, "math").tolist() == expected


def test_condition_when_and_and_or_are_mixed_then_and_binds_closer(snapshot):
    loose = matching("sample = 0 or sample = 1 and tokens < 0", snapshot, "math")
    assert loose.tolist() == (snapshot.sample == 0).tolist()


def test_condition_when_a_part_of_an_id_or_a_group_is_asked_for_then_it_is_found(snapshot):
    name = snapshot.ids[3]
    assert set(snapshot.problem[matching(f'id ~ "{name}"', snapshot, "math")]) == {3}
    for field, labels in snapshot.groups.items():
        label = next(label for label in labels if label is not None)
        kept = matching(f'{field} = "{label}"', snapshot, "math")
        assert {labels[problem] for problem in snapshot.problem[kept]} == {label}
    assert matching("disagree", snapshot, "math").tolist() == snapshot.disagree.tolist()


@pytest.mark.parametrize(
    ("condition", "sentence"),
    [
        ("tokens >", "a value at the end"),
        ("tokens", "=, !=, <, <=, >, >= or ~ at the end"),
        ("tokens > many", "but 'many' is not"),
        ("tokens ~ 5", "only searches text"),
        ("colour = red", "'colour' is not a field"),
        ("(tokens > 1", r"`\)` at the end"),
        ("tokens > 1 tokens < 5", "character 12"),
        ("; drop", "a field at ';'"),
        ("not " * (DEEPEST + 5) + "disagree", "deep"),
        ("", "a field at the end"),
    ],
)  # fmt: skip
def test_condition_when_it_cannot_be_read_then_one_sentence_says_where(snapshot, condition, sentence):
    with pytest.raises(UsageError, match=sentence):
        matching(condition, snapshot, "math")


@given(st.text(max_size=60))
def test_condition_when_anything_is_typed_then_rows_or_a_sentence(snapshot, text):
    with suppress(UsageError):
        assert matching(text, snapshot, "math").dtype == np.bool_


def test_fields_when_listed_then_each_can_be_asked_about(snapshot):
    for name in fields(snapshot):
        matching(name if name == "disagree" else f'"{name}" = 1', snapshot, "math")


def test_rows_when_a_field_of_the_problems_has_no_name_then_no_group_still_means_all(tmp_path):
    (tmp_path / "mine.csv").write_text(",problem,answer\n0,What is 2 + 2?,4\n1,What is 3 + 3?,6\n")
    stored = [f'{{"problem": "What is {n} + {n}?", "text": "4"}}\n' for n in (2, 3)]
    (tmp_path / "stored.jsonl").write_text("".join(stored))
    run = ms.run(tmp_path / "mine.csv", model=f"replay/{tmp_path / 'stored.jsonl'}", out=tmp_path / "run")
    snapshot = Run.open(run.path).snapshot()
    assert "" in snapshot.groups
    assert Filter().mask(snapshot, "math").tolist() == [True, True]
