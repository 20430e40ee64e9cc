"""Samples that came with one request: requests are what was drawn."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from markscheme.statistics import batches, compare, from_correct, interval, per_problem
from markscheme.types import Verdict


def asked_together(sizes, correct):
    """Counts of problems, each with these samples and correct ones per request."""
    counts = from_correct([sum(each) for each in sizes], [sum(each) for each in correct])
    tables = [from_correct(n, c).table for n, c in zip(sizes, correct, strict=True)]
    return replace(counts, requests=tuple(tables))


def test_pass_rates_when_every_request_brings_one_then_they_are_the_usual_ones():
    counts = asked_together([[1] * 6, [1] * 6], [[1, 0, 0, 1, 0, 0], [0, 0, 0, 0, 0, 1]])
    for name in ("accuracy", "pass@2", "pass@5", "pass^2"):
        assert per_problem(name, counts) == pytest.approx(per_problem(name, replace(counts, requests=())))


def test_pass_rates_when_requests_bring_several_then_k_samples_of_k_requests_are_averaged():
    sizes, right = [4, 2, 3], [2, 1, 0]
    misses = [np.prod([(sizes[at] - right[at]) / sizes[at] for at in chosen]) for chosen in combinations(range(3), 2)]
    counts = asked_together([sizes, sizes], [right, right])
    assert per_problem("pass@2", counts)[0] == pytest.approx(1 - np.mean(misses))


def test_noise_when_samples_of_a_request_are_all_alike_then_it_is_that_of_requests():
    alike = asked_together([[4] * 5], [[4, 0, 0, 4, 0]])
    single = from_correct([5], [2])
    from markscheme.statistics.metrics import metric

    assert metric("accuracy").noise(alike) == pytest.approx(metric("accuracy").noise(single))


def test_worth_when_samples_are_alike_or_independent_then_between_requests_and_samples():
    rng = np.random.default_rng(3)
    alike = asked_together([[4] * 6] * 40, 4 * rng.binomial(1, 0.5, (40, 6)))
    apart = asked_together([[4] * 6] * 40, rng.binomial(4, 0.5, (40, 6)))
    assert batches.worth(alike.batches()) == 6
    assert 15 <= batches.worth(apart.batches()) <= 24


def test_interval_when_samples_depend_then_wider_and_every_other_figure_stays_possible():
    rng = np.random.default_rng(4)
    for seed, name in product(range(6), ("accuracy", "pass@2", "pass^2", "pass@8", "g-pass@2:1.0")):
        rng = np.random.default_rng(seed)
        right = 4 * rng.binomial(1, rng.random((12, 1)), (12, 3))
        counts = replace(asked_together([[4] * 3] * 12, right), asked=(16,) * 12)
        made = interval(name, counts, population="these problems")
        assert made.if_wrong - 1e-9 <= made.estimate <= made.if_right + 1e-9
        assert made.lowest - 1e-9 <= made.low <= made.estimate <= made.high <= made.highest + 1e-9
        plain = interval(name, replace(counts, requests=()), population="these problems")
        assert made.high - made.low >= plain.high - plain.low - 0.02


def test_select_of_and_compare_when_samples_came_together_then_requests_go_along():
    counts = asked_together([[2, 2], [2, 2], [2, 1]], [[2, 0], [1, 1], [0, 0]])
    part = counts.select(["2", "0"])
    assert part.independent.tolist() == [2, 2]
    assert [n.tolist() for n, _ in part.batches()] == [[2, 1], [2, 2]]
    wrong = counts.of(Verdict.WRONG)
    assert [c.tolist() for _, c in wrong.batches()] == [[0, 2], [1, 1], [2, 1]]
    assert compare("accuracy", counts, counts, population="these problems").difference.estimate == 0
