"""What a run took: sums that are true, percentiles of what was measured, nothing made up."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markscheme.config import make_config
from markscheme.runs import Manifest, Run
from markscheme.runs.ledger import ledger
from markscheme.runs.usage import Price
from markscheme.types import Problem, Prompt, Question, Response

KEYS = ("k", "a", "b", "slow", "fast")


def response(key="k", sample=0, **fields):
    return Response(key=key, sample=sample, **fields)


@pytest.fixture(scope="module")
def accounts_of(tmp_path_factory):
    """The ledger of a run with these responses: `accounts_of(responses, price)`."""

    def accounts_of(responses, price=None):
        problems = [Problem(id=key, statement=key, gold="1", key=key) for key in KEYS]
        manifest = Manifest(
            config=make_config(benchmark="b", model="m"),
            benchmark="b", model="m", protocol="math@1", samples=200, problems=len(KEYS),
        )  # fmt: skip
        folder = tmp_path_factory.mktemp("accounts") / "run"
        questions = [Question(problem=problem, prompt=Prompt(messages=())) for problem in problems]
        run = Run.create(folder, manifest, questions)
        lines = (msgspec.json.encode(one) + b"\n" for one in responses)
        (folder / "responses.jsonl").write_bytes(b"".join(lines))
        return ledger(run.snapshot(), price)

    return accounts_of


def test_accounts_when_responses_are_added_then_totals_and_problems_agree(accounts_of):
    responses = [
        response(key, sample, prompt_tokens=100, completion_tokens=50, latency=1.0 + sample, attempts=2)
        for key in ("a", "b")
        for sample in range(3)
    ]
    accounts = accounts_of(responses, Price(2.0, 8.0, "2026-01-01"))
    usage, problems = accounts.total, accounts.problems
    assert (usage.responses, usage.prompt_tokens, usage.completion_tokens, usage.attempts) == (6, 600, 300, 12)
    assert usage.cost == pytest.approx((600 * 2 + 300 * 8) / 1e6)
    assert sum(problem.cost or 0 for problem in problems.values()) == pytest.approx(usage.cost)
    assert sum(problem.completion_tokens for problem in problems.values()) == 300
    assert usage.price == "2 / 8 USD per million tokens in / out (as of 2026-01-01)"
    assert set(problems) == {"a", "b"}


def test_accounts_when_errors_come_then_counted_by_kind_and_never_as_responses(accounts_of):
    usage = accounts_of(
        [response(error="e", error_kind="timeout", attempts=9), response(sample=1, error="e", error_kind=None)]
    ).total
    assert (usage.responses, usage.attempts, usage.errors) == (0, 10, {"timeout": 1, "unknown": 1})
    assert usage.latency is None
    assert usage.cost is None


def test_accounts_when_an_error_was_made_good_then_its_attempts_still_count(accounts_of):
    usage = accounts_of([response(error="e", attempts=9), response(text="good", attempts=1)]).total
    assert (usage.responses, usage.attempts, usage.errors) == (1, 10, {"unknown": 1})


def test_accounts_when_one_response_has_no_count_then_no_total_is_claimed(accounts_of):
    accounts = accounts_of([response(prompt_tokens=1, completion_tokens=1), response(sample=1)], Price(1.0, 1.0))
    assert accounts.total.completion_tokens is None
    assert accounts.total.cost is None
    assert accounts.problems["k"].cost is None


def test_accounts_when_problems_differ_then_each_has_its_own_latencies(accounts_of):
    responses = [response(key, n, latency=base + n) for n in range(10) for key, base in (("slow", 100), ("fast", 1))]
    accounts = accounts_of(responses)
    problems = accounts.problems
    assert (problems["slow"].latency.p50, problems["slow"].latency.max) == (104.0, 109.0)
    assert (problems["fast"].latency.p50, problems["fast"].latency.p90, problems["fast"].seconds) == (5.0, 9.0, 55.0)
    assert accounts.total.latency.p50 == 10.0


def test_accounts_when_cut_off_then_truncations_are_counted(accounts_of):
    accounts = accounts_of([response(finish_reason="length"), response(sample=1, finish_reason="stop")])
    assert accounts.total.truncated == 1
    assert accounts.problems["k"].truncated == 1


def test_accounts_when_a_response_is_not_asked_for_then_it_costs_nothing_here(accounts_of):
    accounts = accounts_of([response("stray", 0, completion_tokens=5), response("k", 200, completion_tokens=7)])
    assert accounts.total.responses == 0
    assert accounts.problems == {}


@settings(max_examples=50, deadline=None)
@given(latencies=st.lists(st.floats(0, 1000, width=32), min_size=1, max_size=200))
def test_latency_when_measured_then_percentiles_are_measured_values_in_order(accounts_of, latencies):
    found = accounts_of([response(sample=sample, latency=one) for sample, one in enumerate(latencies)]).total.latency
    assert found is not None
    assert found.p50 <= found.p90 <= found.p99 <= found.max == pytest.approx(max(latencies), abs=1e-4)
    ordered = sorted(latencies)
    assert found.p50 == pytest.approx(ordered[(len(ordered) - 1) // 2], abs=1e-4)
    assert min(latencies) - 1e-3 <= found.mean <= max(latencies) + 1e-3
