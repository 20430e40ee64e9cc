"""What may be spent, with many requests in flight."""

import pytest

from markscheme.running.budget import Budget
from markscheme.runs.usage import Price
from markscheme.types import Response

PRICE = Price(1.0, 1.0)


def asked(budget: Budget, costs: list[int]) -> None:
    """Ask as the scheduler does: as many at once as the budget allows (at most 64), and the oldest comes back first."""
    stopped, flying, left = [], [], list(costs)
    take = budget.watching(lambda _: None, PRICE, lambda: stopped.append(1))
    while (left and not stopped) or flying:
        while left and not stopped and len(flying) < min(64, budget.affordable()):
            flying.append(left.pop(0))
        take([Response(key="k", sample=0, text="", prompt_tokens=0, completion_tokens=flying.pop(0))])


@pytest.mark.parametrize("each", [1_000, 7_000, 60_000])
def test_budget_when_requests_cost_the_same_then_at_most_one_above_it_is_spent(each):
    budget = Budget(0.5, None)
    asked(budget, [each] * 2_000)
    assert 0.5 <= budget.cost <= 0.5 + each / 1e6


def test_budget_of_tokens_when_requests_differ_then_overspent_by_no_more_than_a_request():
    budget = Budget(None, 100_000)
    asked(budget, [900, 1_000, 300, 1_000] * 500)
    assert 100_000 <= budget.tokens <= 101_000


def test_budget_when_there_is_none_then_nothing_holds_requests_back():
    assert Budget(None, None).affordable() == float("inf")


def test_budget_when_a_server_tells_no_tokens_then_requests_still_go_out_together():
    budget = Budget(1.0, None)
    take = budget.watching(lambda _: None, PRICE, lambda: None)
    take([Response(key="k", sample=0, text="")])
    assert budget.affordable() == float("inf")
