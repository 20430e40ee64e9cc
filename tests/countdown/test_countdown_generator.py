"""Generated puzzles: different, as demanded, the same from the same seed, and an end when there are no more."""

import hashlib
import tracemalloc
from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from countdown_brute import reachable, solutions
from hypothesis import given, settings
from hypothesis import strategies as st

from markscheme.countdown import Demand, generate, generator, judge, solve
from markscheme.countdown.space import Space
from markscheme.errors import UsageError
from markscheme.types import CountdownGold

TINY = {"sizes": (3, 3), "numbers": (1, 3), "targets": (1, 10)}


def key(puzzle):
    return tuple(sorted(puzzle.nums)), puzzle.target


def all_keys(demand):
    """Every solvable puzzle that a demand allows, by brute force."""
    low, high = demand.numbers
    first, last = demand.targets
    found = set()
    for size in range(demand.sizes[0], demand.sizes[1] + 1):
        for nums in combinations_with_replacement(range(low, high + 1), size):
            within = reachable(nums)
            found |= {(nums, target) for target in range(first, last + 1) if Fraction(target) in within}
    return found


def test_generate_when_same_seed_then_the_same_puzzles_as_ever():
    # Puzzles of a seed are a promise across versions and platforms: this digest must never change.
    puzzles = list(generate(200, seed=7))
    digest = hashlib.sha256(repr([(p.nums, p.target) for p in puzzles]).encode()).hexdigest()
    assert (puzzles[0], digest[:16]) == (CountdownGold((40, 65, 15, 63), 65), "14ce85e59a163b74")


def test_generate_when_more_are_asked_then_begins_with_the_fewer():
    longer = list(generate(400, Demand(sizes=(3, 5)), seed=1))
    assert longer[:50] == list(generate(50, Demand(sizes=(3, 5)), seed=1))
    assert longer[:50] != list(generate(50, Demand(sizes=(3, 5)), seed=2))


def test_generate_when_defaults_then_different_solvable_and_in_range():
    puzzles = list(generate(2000, seed=3))
    assert len({key(p) for p in puzzles}) == 2000
    assert {len(p.nums) for p in puzzles} == {3, 4}
    assert all(1 <= n <= 99 for p in puzzles for n in p.nums)
    assert all(10 <= p.target <= 100 for p in puzzles)
    for puzzle in puzzles[:60]:
        assert Fraction(puzzle.target) in reachable(puzzle.nums)


def test_generate_when_the_whole_space_is_asked_then_every_solvable_puzzle_once():
    demand = Demand(sizes=(3, 4), numbers=(1, 3), targets=(1, 10))
    expected = all_keys(demand)
    puzzles = list(generate(len(expected), demand, seed=9))
    assert sorted(map(key, puzzles)) == sorted(expected)
    with pytest.raises(UsageError, match=f"only {len(expected)} puzzles of the {len(expected) + 1} asked for exist"):
        list(generate(len(expected) + 1, demand, seed=9))


def test_generate_when_more_than_all_combinations_then_refused_at_once():
    with pytest.raises(UsageError, match="there are only 100 puzzles"):
        generate(101, Demand(**TINY))


def test_generate_when_excluded_then_never_comes_whatever_the_order_of_numbers():
    demand = Demand(sizes=(4, 4))
    test_set = list(generate(300, demand, seed=4))
    turned = [CountdownGold(p.nums[::-1], p.target) for p in test_set]
    fresh = list(generate(300, demand, seed=4, exclude=turned))
    assert not {key(p) for p in fresh} & {key(p) for p in test_set}
    # Nothing else changes: the others come in their old order.
    assert fresh == [p for p in generate(600, demand, seed=4) if key(p) not in {key(q) for q in test_set}]


def test_generate_when_everything_is_excluded_then_says_that_none_exist():
    demand = Demand(**TINY)
    everything = [CountdownGold(nums, target) for nums, target in all_keys(demand)]
    with pytest.raises(UsageError, match="only 0 puzzles"):
        list(generate(1, demand, exclude=everything))


def test_generate_when_excluded_puzzles_are_out_of_range_then_ignored():
    strange = [CountdownGold((1, 2), 3), CountdownGold((-5, 2, 3), 2**80), CountdownGold((500, 2, 3), 50)]
    assert list(generate(20, exclude=strange)) == list(generate(20))


def test_generate_when_unsolvable_then_brute_force_agrees():
    for puzzle in generate(40, Demand(sizes=(3, 4), unsolvable=True), seed=5):
        assert Fraction(puzzle.target) not in reachable(puzzle.nums)


@pytest.mark.parametrize("size", [5, 6, 7, 8])
def test_generate_when_many_numbers_then_solvable(size):
    for puzzle in generate(3, Demand(sizes=(size, size)), seed=6):
        assert len(puzzle.nums) == size
        assert judge(solve(puzzle.nums, puzzle.target).expression, puzzle.nums, puzzle.target).ok


@pytest.mark.parametrize(
    "demand",
    [
        Demand(sizes=(4, 4), numbers=(1, 20), min_solutions=3, max_solutions=4),
        Demand(sizes=(3, 3), numbers=(1, 20), max_solutions=1),
        Demand(sizes=(3, 4), numbers=(1, 20), division="needed"),
        Demand(sizes=(3, 4), numbers=(1, 20), division="unneeded"),
        Demand(sizes=(4, 4), numbers=(1, 12), fractions="needed"),
        Demand(sizes=(4, 4), numbers=(1, 12), division="needed", fractions="unneeded"),
        Demand(sizes=(4, 4), numbers=(1, 12), division="unneeded", fractions="unneeded", min_solutions=6),
    ],
    ids=str,
)
def test_generate_when_a_difficulty_is_asked_then_brute_force_agrees(demand):
    for puzzle in generate(4, demand, seed=8):
        groups = solutions(list(puzzle.nums), puzzle.target).values()
        assert demand.min_solutions <= len(groups) <= (demand.max_solutions or len(groups))
        made = [made for group in groups for made in group]
        if demand.division != "any":
            assert all(m.divides for m in made) == (demand.division == "needed")
        if demand.fractions != "any":
            assert any(m.whole for m in made) == (demand.fractions == "unneeded")


@pytest.mark.parametrize(
    ("demand", "message"),
    [
        (Demand(sizes=(2, 4)), "3 to 8 numbers, not 2–4"),
        (Demand(sizes=(4, 3)), "3 to 8 numbers, not 4–3"),
        (Demand(sizes=(9, 9)), "3 to 8 numbers, not 9"),
        (Demand(numbers=(9, 1)), "range takes a range such as 1-99"),
        (Demand(targets=(-1, 1)), "target takes a range"),
        (Demand(min_solutions=0), "no puzzle has"),
        (Demand(min_solutions=3, max_solutions=2), "no puzzle has"),
        (Demand(max_solutions=0), "no puzzle has"),
        (Demand(unsolvable=True, division="needed"), "no solutions to count"),
        (Demand(sizes=(8, 8), numbers=(1, 10**6)), "narrow the range"),
    ],
)
def test_generate_when_the_demand_contradicts_itself_then_usage_error(demand, message):
    with pytest.raises(UsageError, match=message):
        generate(1, demand)


def test_generate_when_such_puzzles_do_not_turn_up_then_gives_up(monkeypatch):
    monkeypatch.setattr(generator, "PATIENCE", 0.2)
    for hopeless in (Demand(sizes=(3, 3), min_solutions=1000), Demand(sizes=(8, 8), unsolvable=True)):
        with pytest.raises(UsageError, match="numbers in a row were not what is asked"):
            list(generate(1, hopeless))


def test_generate_when_much_is_drawn_then_memory_stays_flat():
    def peak(count):
        tracemalloc.start()
        for _ in generate(count, Demand(sizes=(3, 3))):
            pass
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    peak(100)  # tables and programs are built once and stay
    assert peak(3000) < peak(600) + 100_000  # to remember 2,400 puzzles takes more than 400 kB


@settings(max_examples=40, deadline=None)
@given(st.integers(3, 5), st.integers(0, 4), st.integers(1, 6), st.integers(1, 5), st.integers(0, 2**70))
def test_space_when_walked_to_the_end_then_every_puzzle_once(size, lowest, choices, targets, seed):
    space = Space(size, (lowest, lowest + choices - 1), (7, 6 + targets), seed)
    drawn = space.drawn(0, space.count + 5)
    assert sorted(drawn.tolist()) == list(range(space.count))
    numbers, aims = space.puzzles(drawn)
    keys = {(*row, aim) for row, aim in zip(numbers.tolist(), aims.tolist(), strict=True)}
    everything = combinations_with_replacement(range(lowest, lowest + choices), size)
    assert keys == {(*nums, aim) for nums in everything for aim in range(7, 7 + targets)}
    assert (space.indices(space.shuffled(numbers, drawn), aims) == drawn).all()


@pytest.mark.parametrize(("size", "highest"), [(3, 99), (4, 60_000), (5, 9_000), (8, 600)])
def test_space_when_nearly_too_large_then_indices_come_back(size, highest):
    space = Space(size, (1, highest), (10, 19), 3)
    ends = np.array([0, 1, space.count - 2, space.count - 1], np.uint64)
    indices = np.concatenate([space.drawn(0, 500), ends])
    numbers, targets = space.puzzles(indices)
    assert (numbers >= 1).all()
    assert (numbers <= highest).all()
    assert (np.diff(numbers, axis=1) >= 0).all()
    assert (space.indices(numbers, targets) == indices).all()
    assert numbers[-1].tolist() == [highest] * size


def test_space_when_drawn_in_pieces_then_the_same_walk():
    space = Space(4, (1, 99), (10, 100), 5)
    pieces = [space.drawn(at, at + 7) for at in range(0, 70, 7)]
    assert (np.concatenate(pieces) == space.drawn(0, 70)).all()


def test_space_when_drawn_then_targets_and_places_are_even():
    space = Space(4, (1, 99), (10, 100), 12)
    drawn = space.drawn(0, 91_000)
    numbers, targets = space.puzzles(drawn)
    counts = np.array(list(Counter(targets.tolist()).values()))
    # Chi-squared with 90 degrees of freedom: 137 is its 99.9 % quantile.
    assert ((counts - 1000) ** 2 / 1000).sum() < 137
    # Uniform over the puzzles: the smaller half of the indices is drawn half the time, within 4 sigma.
    assert abs((drawn < space.count // 2).mean() - 0.5) < 4 * 0.5 / 91_000**0.5
    # After shuffling, the largest number is as often in each place.
    places = np.bincount(space.shuffled(numbers, drawn).argmax(axis=1), minlength=4) / len(drawn)
    assert np.abs(places - 0.25).max() < 0.02
