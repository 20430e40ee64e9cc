"""The solver against brute force, and what it promises about the solutions it writes."""

import json
import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from countdown_brute import reachable, signature, solutions
from hypothesis import given, settings
from hypothesis import strategies as st

from markscheme.countdown import iter_solutions, judge, parse, solve, solve_all
from markscheme.countdown.search import Search
from markscheme.countdown.solver import _hits, solvable
from markscheme.errors import UsageError

DATA = Path(os.environ.get("MARKSCHEME_DATA", Path(__file__).parents[3] / "shared" / "data"))


def formula(expression: str, nums: list[int]) -> tuple:
    """The expression over positions, as the brute force has it."""
    places = {n: [i for i, m in enumerate(nums) if m == n] for n in nums}

    def convert(tree: object) -> tuple:
        if isinstance(tree, int):
            return (places[tree].pop(),)
        operator, left, right = tree
        return operator, convert(left), convert(right)

    return convert(parse(expression).tree)


def steps(tree: object) -> list[Fraction]:
    """The value of every intermediate result."""
    if isinstance(tree, int):
        return [Fraction(tree)]
    operator, left, right = tree
    a, b = steps(left), steps(right)
    operations = {"+": Fraction.__add__, "-": Fraction.__sub__, "*": Fraction.__mul__, "/": Fraction.__truediv__}
    return [operations[operator](a[0], b[0]), *a, *b]


def check_against_brute_force(nums: list[int], target: int) -> None:
    expected = solutions(nums, target)
    found = solve_all(nums, target)
    assert {signature(formula(s.expression, nums), nums) for s in found} == set(expected)
    assert len(found) == len(expected)
    for solution in found:
        assert judge(solution.expression, nums, target).ok
        group = expected[signature(formula(solution.expression, nums), nums)]
        assert solution.whole == any(made.whole for made in group)
        assert {solution.divides} == {made.divides for made in group}
        written = steps(parse(solution.expression).tree)
        assert min(written) >= 0
        assert solution.whole == all(step.denominator == 1 for step in written)
    assert solve_all(nums, target, whole=True) == [s for s in found if s.whole]
    assert solve(nums, target) == (found[0] if found else None)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 12), min_size=2, max_size=3), st.integers(0, 30))
def test_solver_when_two_or_three_numbers_then_agrees_with_brute_force(nums, target):
    check_against_brute_force(nums, target)


@settings(max_examples=12, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=4, max_size=4), st.integers(0, 40))
def test_solver_when_four_numbers_then_agrees_with_brute_force(nums, target):
    check_against_brute_force(nums, target)


# Zeros, ones, equal numbers and target 0 are where definitions slip.
@pytest.mark.parametrize(
    ("nums", "target"),
    [
        ([0, 0, 0], 0),
        ([1, 1, 1, 1], 1),
        ([5, 5, 5, 5], 0),
        ([2, 3, 6, 6], 0),
        ([0, 2, 2, 4], 8),
        ([6, 3, 2, 9], 9),
        ([3, 3, 8, 8], 24),
    ],
)
def test_solver_when_zeros_and_equal_numbers_then_agrees_with_brute_force(nums, target):
    check_against_brute_force(nums, target)


@settings(max_examples=8, deadline=None)
@given(
    st.lists(st.integers(0, 20), min_size=5, max_size=5) | st.lists(st.integers(0, 2), min_size=6, max_size=6),
    st.integers(0, 60),
)
def test_solver_when_five_or_six_small_numbers_then_solvable_exactly_if_reachable(nums, target):
    assert (solve(nums, target) is not None) == (Fraction(target) in reachable(tuple(nums)))


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(1, 99), min_size=3, max_size=5, unique=True), st.integers(0, 100))
def test_search_when_numbers_differ_then_finds_what_the_program_finds(nums, target):
    found = list(Search(nums, target).hits())
    assert len(found) == len(set(found))
    assert set(found) == set(_hits(nums, target))


def test_search_when_seven_numbers_then_all_solutions_differ_and_hold():
    nums, target = [7, 7, 7, 3, 3, 50, 99], 61
    found = solve_all(nums, target)
    assert len(found) > 100
    assert len({signature(formula(s.expression, nums), nums) for s in found}) == len(found)
    assert all(judge(s.expression, nums, target).ok for s in found)


def test_solve_when_eight_numbers_then_first_solution_holds():
    nums = [3, 14, 15, 92, 65, 35, 89, 79]
    solution = solve(nums, 100)
    assert judge(solution.expression, nums, 100).ok


def test_solve_when_values_pass_64_bits_then_still_exact():
    nums, target = [10**12, 10**12 - 1, 999_999_999_989, 3], 999_999_999_992
    assert solve(nums, target).expression == "999999999989 * (1000000000000 - 999999999999) + 3"
    assert solve([10**12, 10**12 - 1, 10**12 - 3, 7], 12) is None  # float arithmetic sees many here


def test_solutions_when_numbers_are_reordered_then_the_same():
    assert solve_all([41, 70, 18, 35], 46) == solve_all([18, 35, 41, 70], 46)
    assert [s.expression for s in solve_all([41, 70, 18, 35], 46)] == ["70 + 35 - 41 - 18", "70 * (41 - 18) / 35"]


def test_solve_when_only_a_fraction_helps_then_not_whole():
    only = solve([3, 3, 8, 8], 24)
    assert (only.expression, only.whole, only.divides) == ("8 / (3 - 8 / 3)", False, True)
    assert solve([3, 3, 8, 8], 24, whole=True) is None


@pytest.mark.parametrize(
    ("nums", "target"), [([5], 5), ([1] * 9, 5), ([1, -2], 1), ([1, 2], -1), ([1, 2.0], 1), ([1, 10**13], 1)]
)
def test_solve_when_the_puzzle_is_out_of_range_then_usage_error(nums, target):
    for call in (solve, solve_all, iter_solutions):
        with pytest.raises(UsageError):
            call(nums, target)


def test_solvable_when_batch_then_agrees_with_single_puzzles():
    generator = np.random.default_rng(5)
    for size in (2, 3, 4, 6):
        nums = generator.integers(0, 20, (40 if size < 6 else 3, size))
        targets = generator.integers(0, 60, len(nums))
        expected = [solve(row.tolist(), int(target)) is not None for row, target in zip(nums, targets, strict=True)]
        assert solvable(nums, targets).tolist() == expected


def test_solver_when_real_rows_then_every_one_is_solved_with_whole_steps():
    rows = DATA / "countdown" / "sample.jsonl"
    if not rows.exists():
        pytest.skip("the published Countdown rows are not in MARKSCHEME_DATA")
    for line in rows.read_text().splitlines():
        row = json.loads(line)
        found = solve(row["nums"], row["target"], whole=True)
        assert found is not None, row
        assert judge(found.expression, row["nums"], row["target"]).ok
