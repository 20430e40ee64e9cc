"""Several servers: the least busy one is asked, a dead one is left out until it answers again."""

import pytest

from markscheme.models.base import RequestFailed
from markscheme.models.replicas import OUT_LONGEST, Replicas

REFUSED = RequestFailed("connection", "refused", retryable=True)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_choice_when_all_work_then_the_fewest_in_flight(clock):
    replicas = Replicas(["a", "b", "c"], clock)
    for replica, load in zip(replicas.all, (3, 1, 2), strict=True):
        replica.in_flight = load
    assert replicas.choose().url == "b"


def test_choice_when_one_is_dead_then_left_out_then_tried_with_a_single_request(clock):
    replicas = Replicas(["a", "b"], clock)
    a, b = replicas.all
    replicas.failed(a, REFUSED)
    b.in_flight = 100
    assert replicas.choose() is b
    clock.now = 2.0
    assert replicas.choose() is a
    a.in_flight = 1
    assert replicas.choose() is b  # one trial at a time
    a.in_flight = 0
    replicas.answered(a)
    assert replicas.choose() is a


def test_choice_when_a_server_stays_dead_then_tried_ever_less_often_but_for_ever(clock):
    replicas = Replicas(["a", "b"], clock)
    a = replicas.all[0]
    gaps = []
    for _ in range(2000):
        replicas.failed(a, REFUSED)
        gaps.append(a.out_until - clock.now)
        clock.now = a.out_until
    assert gaps == sorted(gaps)
    assert gaps[-1] == OUT_LONGEST


def test_choice_when_all_are_dead_then_the_one_due_first(clock):
    replicas = Replicas(["a", "b"], clock)
    a, b = replicas.all
    replicas.failed(b, REFUSED)
    clock.now = 0.5
    replicas.failed(a, REFUSED)
    assert replicas.choose() is b


def test_choice_when_many_requests_fail_together_then_that_is_one_failure(clock):
    replicas = Replicas(["a", "b"], clock)
    a = replicas.all[0]
    for _ in range(100):
        replicas.failed(a, REFUSED)
    assert a.out_until == 1.0


def test_choice_when_a_server_says_when_to_come_back_then_not_sooner_even_if_it_answers_others(clock):
    replicas = Replicas(["a", "b"], clock)
    a, b = replicas.all
    replicas.failed(a, RequestFailed("rate_limit", "429", retryable=True, retry_after=40))
    replicas.answered(a)  # something that was under way
    b.in_flight = 9
    clock.now = 39
    assert replicas.choose() is b
    clock.now = 41
    assert replicas.choose() is a


def test_choice_when_one_500_then_nobody_is_left_out(clock):
    replicas = Replicas(["a", "b"], clock)
    replicas.failed(replicas.all[0], RequestFailed("server_error", "500", retryable=True))
    assert replicas.choose() is replicas.all[0]


def test_choice_when_a_request_is_at_fault_then_the_server_is_not_blamed(clock):
    replicas = Replicas(["a", "b"], clock)
    for _ in range(10):
        replicas.failed(replicas.all[0], RequestFailed("context_length", "too long", retryable=False))
    assert replicas.choose() is replicas.all[0]
