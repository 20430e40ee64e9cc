"""What a run took: sums that are true, percentiles of what was measured, nothing made up."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markscheme.runs.usage import Accounts, Price
from markscheme.types import Response


def response(key="k", sample=0, **fields):
    return Response(key=key, sample=sample, **fields)


def test_accounts_when_responses_are_added_then_totals_and_problems_agree():
    accounts = Accounts(Price(2.0, 8.0, "2026-01-01"))
    for key in ("a", "b"):
        for sample in range(3):
            accounts.add(
                response(key, sample, prompt_tokens=100, completion_tokens=50, latency=1.0 + sample, attempts=2)
            )
    usage, problems = accounts.usage(), accounts.per_problem()
    assert (usage.responses, usage.prompt_tokens, usage.completion_tokens, usage.attempts) == (6, 600, 300, 12)
    assert usage.cost == pytest.approx((600 * 2 + 300 * 8) / 1e6)
    assert sum(problem.cost or 0 for problem in problems.values()) == pytest.approx(usage.cost)
    assert sum(problem.completion_tokens for problem in problems.values()) == 300
    assert usage.price == "2 / 8 USD per million tokens in / out (as of 2026-01-01)"


def test_accounts_when_errors_come_then_counted_by_kind_and_never_as_responses():
    accounts = Accounts()
    accounts.add(response(error="e", error_kind="timeout", attempts=9))
    accounts.add(response(sample=1, error="e"))
    usage = accounts.usage()
    assert (usage.responses, usage.attempts, usage.errors) == (0, 10, {"timeout": 1, "unknown": 1})
    assert usage.latency is None
    assert usage.cost is None


def test_accounts_when_one_response_has_no_count_then_no_total_is_claimed():
    accounts = Accounts(Price(1.0, 1.0))
    accounts.add(response(prompt_tokens=1, completion_tokens=1))
    accounts.add(response(sample=1))
    assert accounts.usage().completion_tokens is None
    assert accounts.usage().cost is None
    assert accounts.per_problem()["k"].cost is None


def test_accounts_when_problems_differ_then_each_has_its_own_latencies():
    accounts = Accounts()
    for sample in range(10):
        accounts.add(response("slow", sample, latency=100.0 + sample))
        accounts.add(response("fast", sample, latency=1.0 + sample))
    problems = accounts.per_problem()
    assert (problems["slow"].latency.p50, problems["slow"].latency.max) == (104.0, 109.0)
    assert (problems["fast"].latency.p50, problems["fast"].latency.p90, problems["fast"].seconds) == (5.0, 9.0, 55.0)
    assert accounts.usage().latency.p50 == 10.0


def test_accounts_when_cut_off_then_truncations_are_counted():
    accounts = Accounts()
    accounts.add(response(finish_reason="length"))
    accounts.add(response(sample=1, finish_reason="stop"))
    assert accounts.usage().truncated == 1
    assert accounts.per_problem()["k"].truncated == 1


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1000, width=32), min_size=1, max_size=200))
def test_latency_when_measured_then_percentiles_are_measured_values_in_order(latencies):
    accounts = Accounts()
    for sample, latency in enumerate(latencies):
        accounts.add(response(sample=sample, latency=latency))
    found = accounts.usage().latency
    assert found is not None
    assert found.p50 <= found.p90 <= found.p99 <= found.max == pytest.approx(max(latencies), abs=1e-4)
    ordered = sorted(latencies)
    assert found.p50 == pytest.approx(ordered[(len(ordered) - 1) // 2], abs=1e-4)
    assert min(latencies) - 1e-3 <= found.mean <= max(latencies) + 1e-3
