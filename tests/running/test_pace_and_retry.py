"""Speed limits keep to their numbers; retries wait as they should."""

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markscheme.config import make_config
from markscheme.models.base import LONGEST_ASKED, Completion, Request, RequestFailed
from markscheme.running.pace import Pace
from markscheme.running.retry import LONGEST_DELAY, RetryPolicy
from markscheme.types import Message, Prompt, Sampling


def pace(**options):
    return Pace(make_config(benchmark="b", model="m", **options))


def request(characters=400, samples=1):
    return Request(
        benchmark="b",
        problem_id="1",
        key="k",
        statement="",
        prompt=Prompt(messages=(Message("user", "x" * characters),)),
        samples=tuple(range(samples)),
        seeds=tuple(range(samples)),
        sampling=Sampling(),
    )


def starts(limits, seconds, answer_tokens=None):
    """When requests start within so many seconds, if each starts as soon as it may and is answered at once."""
    now, times = 0.0, []
    while True:
        now += max(0.0, limits.wait(now))
        if now > seconds:
            return times
        times.append(now)
        expected = limits.start(request(), now)
        if answer_tokens is not None:
            limits.finish(expected, [Completion(text="", prompt_tokens=100, completion_tokens=answer_tokens)], now)


@settings(max_examples=20, deadline=None)
@given(st.floats(1, 5000), st.floats(0, 2))
def test_pace_when_requests_a_minute_are_limited_then_no_minute_has_more(rpm, interval):
    times = starts(pace(max_rpm=rpm, request_interval=interval), 130)
    for first in times[:20]:
        within = sum(first <= time < first + 60 for time in times)
        assert within <= rpm + 1
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert all(gap >= interval - 1e-9 for gap in gaps)


@pytest.mark.parametrize("tokens", [10, 400, 4000])
def test_pace_when_tokens_a_minute_are_limited_then_the_sum_keeps_to_it(tokens):
    times = starts(pace(max_tpm=60_000), 600, answer_tokens=tokens)
    used = len(times) * (100 + tokens)
    assert used <= 600_000 * 1.05 + 2 * (100 + tokens)
    assert used >= 600_000 * 0.9


def test_pace_when_nothing_is_limited_then_unlimited():
    assert pace().unlimited
    assert pace().wait(0.0) == 0.0


def failure(retryable=True, retry_after=None, kind="server_error"):
    return RequestFailed(kind, "y", retryable=retryable, retry_after=retry_after)


@pytest.mark.parametrize("kind", ["connection", "timeout", "rate_limit", "overloaded"])
def test_delay_when_the_server_is_down_or_busy_then_doubles_up_to_a_minute(kind):
    policy = RetryPolicy(100, 1.0, random.Random(0))
    for attempt in range(1, 101):
        delay = policy.delay(failure(kind=kind), attempt, attempt)
        assert delay is not None
        longest = min(LONGEST_DELAY, 2.0 ** (attempt - 1))
        assert longest / 2 <= delay <= longest


@pytest.mark.parametrize("kind", ["server_error", "malformed", "empty"])
def test_delay_when_the_server_is_there_but_talks_nonsense_then_never_long(kind):
    assert RetryPolicy(100, 1.0).delay(failure(kind=kind), 20, 20) <= 8.0


def test_delay_when_the_server_answers_others_then_stays_short_however_often_it_failed():
    assert RetryPolicy(100, 1.0).delay(failure(), 50, 1) <= 1.0


def test_delay_when_requests_failed_together_then_they_do_not_come_back_together():
    policy = RetryPolicy(3, 1.0)
    assert len({policy.delay(failure(), 1, 1) for _ in range(50)}) > 40


def test_delay_when_the_server_names_a_time_then_never_sooner_and_not_much_later():
    policy = RetryPolicy(30, 0.01, random.Random(0))
    for attempt in range(1, 31):
        delay = policy.delay(failure(retry_after=5.0), attempt, attempt)
        assert delay is not None
        assert 5.0 <= delay <= 5.5


@pytest.mark.parametrize(
    ("trouble", "attempt"),
    [(failure(retryable=False), 1), (failure(), 4), (failure(retry_after=LONGEST_ASKED + 1), 1)],
)
def test_delay_when_another_try_cannot_help_then_none(trouble, attempt):
    assert RetryPolicy(3, 1.0).delay(trouble, attempt, 1) is None
