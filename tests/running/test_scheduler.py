"""The queue: everything once, nothing waits for the slowest, stops are clean."""

import asyncio
import time
from datetime import datetime
from operator import length_hint

import pytest

from markscheme.config import make_config
from markscheme.errors import ModelError
from markscheme.models.base import Completion, Model, Request, RequestFailed
from markscheme.running.limits import FixedLimit
from markscheme.running.live import Live
from markscheme.running.pace import Pace
from markscheme.running.retry import RetryPolicy
from markscheme.running.scheduler import Scheduler
from markscheme.types import Prompt, Sampling


def request(number, samples=1):
    return Request(
        benchmark="b",
        problem_id=str(number),
        key=f"k{number}",
        statement="",
        prompt=Prompt(messages=()),
        samples=tuple(range(samples)),
        seeds=tuple(range(10, 10 + samples)),
        sampling=Sampling(),
    )


class Fake(Model):
    """Answers after `seconds(request)`; `trouble(request, attempt)` may raise instead."""

    name = "fake"

    def __init__(self, seconds=lambda _: 0.0, trouble=lambda *_: None, give=None):
        self.seconds, self.trouble, self.give = seconds, trouble, give
        self.attempts: dict[str, int] = {}
        self.in_flight = self.most = 0

    async def generate(self, asked):
        attempt = self.attempts[asked.problem_id] = self.attempts.get(asked.problem_id, 0) + 1
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        try:
            await asyncio.sleep(self.seconds(asked))
        finally:
            self.in_flight -= 1
        self.trouble(asked, attempt)
        return [Completion(text="t", completion_tokens=5)] * min(len(asked.samples), self.give or 99)


class Asked:
    """What a scheduler did."""

    def __init__(self, model, requests, *, limit=8, retries=3, timeout=5.0, meanwhile=None, delay=0.001, **options):
        self.kept, self.live = [], Live()
        config = make_config(benchmark="b", model="m", **options)

        async def asking():
            self.scheduler = Scheduler(
                model,
                iter(requests),
                self.kept.extend,
                limit=FixedLimit(limit),
                pace=Pace(config),
                retry=RetryPolicy(retries, delay),
                timeout=timeout,
                live=self.live,
            )
            running = asyncio.ensure_future(self.scheduler.run())
            if meanwhile:
                while len(model.attempts) < min(
                    limit, length_hint(requests, limit)
                ):  # until as many as may be have begun
                    await asyncio.sleep(0.001)
                meanwhile(self.scheduler)
            await running

        started = time.monotonic()
        asyncio.run(asking())
        self.seconds = time.monotonic() - started

    @property
    def keys(self):
        return sorted((one.key, one.sample) for one in self.kept)


def test_queue_when_all_is_well_then_each_is_answered_once_and_never_more_at_once():
    model = Fake(lambda _: 0.001)
    asked = Asked(model, [request(number) for number in range(100)], limit=7)
    assert asked.keys == sorted((f"k{number}", 0) for number in range(100))
    assert model.most == 7
    assert asked.live.in_flight == 0


def test_queue_when_one_is_slow_then_the_others_do_not_wait_for_it():
    class Slow(Fake):
        async def generate(self, asked):
            while asked.problem_id == "0" and len(self.attempts) < 59:
                await asyncio.sleep(0.001)
            return await super().generate(asked)

    asked = Asked(Slow(), [request(number) for number in range(60)], limit=4, timeout=60.0)
    assert len(asked.kept) == 60
    assert asked.kept[-1].key == "k0"  # 59 others went by on three places meanwhile


def test_queue_when_requests_are_many_then_drawn_only_as_needed():
    drawn = 0

    def endless():
        nonlocal drawn
        for number in range(1000):
            drawn += 1
            yield request(number)

    model = Fake(lambda _: 10.0)
    Asked(model, endless(), limit=5, meanwhile=lambda scheduler: scheduler.stop())
    assert drawn == 5


def test_failure_when_it_passes_then_answered_with_its_number_of_attempts():
    def trouble(asked, attempt):
        if attempt < 3:
            raise RequestFailed("server_error", "500", retryable=True)

    asked = Asked(Fake(trouble=trouble), [request(number) for number in range(20)])
    assert [one.attempts for one in asked.kept] == [3] * 20
    assert all(one.error is None for one in asked.kept)


def test_failure_when_it_stays_then_recorded_as_error_and_the_rest_goes_on():
    def trouble(asked, _):
        if asked.problem_id == "3":
            raise RequestFailed("server_error", "500 for ever", retryable=True)

    asked = Asked(Fake(trouble=trouble), [request(number) for number in range(10)], retries=2)
    [failed] = [one for one in asked.kept if one.error]
    assert (failed.key, failed.error, failed.error_kind, failed.attempts) == ("k3", "500 for ever", "server_error", 3)
    assert len(asked.kept) == 10


def test_failure_when_another_try_cannot_help_then_asked_once():
    def trouble(asked, _):
        if asked.problem_id == "3":
            raise RequestFailed("context_length", "too long", retryable=False)

    model = Fake(trouble=trouble)
    asked = Asked(model, [request(number) for number in range(10)])
    assert model.attempts["3"] == 1
    assert [one.error_kind for one in asked.kept if one.error] == ["context_length"]


def test_failure_when_fatal_then_stops_at_once_and_says_why():
    def trouble(asked, _):
        if asked.problem_id == "3":
            raise RequestFailed("auth", "set OPENAI_API_KEY", retryable=False, fatal=True)

    model = Fake(lambda asked: 0.0 if asked.problem_id == "3" else 0.05, trouble)
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        Asked(model, [request(number) for number in range(1000)], limit=4)
    assert len(model.attempts) < 10


def test_failure_when_every_request_is_refused_then_stops_after_a_few():
    def trouble(*_):
        raise RequestFailed("bad_request", "the server answered 400: no such parameter top_k", retryable=False)

    model = Fake(trouble=trouble)
    with pytest.raises(ModelError, match="no such parameter top_k"):
        Asked(model, [request(number) for number in range(1000)], limit=4)
    assert len(model.attempts) < 20


def test_failure_when_some_requests_are_refused_then_only_those_are_errors():
    def trouble(asked, _):
        if int(asked.problem_id) % 2:
            raise RequestFailed("bad_request", "the server answered 400: odd", retryable=False)

    asked = Asked(Fake(trouble=trouble), [request(number) for number in range(50)], limit=2)
    assert sum(one.error is not None for one in asked.kept) == 25


def test_failure_when_the_server_is_gone_then_stops_instead_of_trying_every_question():
    def trouble(asked, _):
        if int(asked.problem_id) >= 20:
            raise RequestFailed("connection", "cannot connect", retryable=True)

    model = Fake(trouble=trouble)
    with pytest.raises(ModelError, match="cannot connect"):
        Asked(model, [request(number) for number in range(2000)], limit=4, retries=2)
    assert len(model.attempts) < 200  # of 2,000


def test_failure_when_the_server_dies_over_its_first_long_answers_then_they_are_asked_again(monkeypatch):
    monkeypatch.setattr("markscheme.running.scheduler.PATIENCE", 0.1)

    def trouble(_, attempt):
        if attempt <= 2:
            raise RequestFailed("connection", "closed in mid-answer", retryable=True)

    asked = Asked(Fake(seconds=lambda _: 0.3, trouble=trouble), [request(n) for n in range(4)])
    assert [response.error for response in asked.kept] == [None] * 4


def test_failure_when_the_server_was_never_there_then_stops_long_before_the_last_try(monkeypatch):
    monkeypatch.setattr("markscheme.running.scheduler.PATIENCE", 0.1)

    def trouble(*_):
        raise RequestFailed("connection", "refused", retryable=True)

    fake = Fake(trouble=trouble)
    with pytest.raises(ModelError, match="refused"):
        Asked(fake, [request(n) for n in range(40)], retries=1000, delay=0.02)
    assert max(fake.attempts.values()) < 20


def test_failure_when_the_server_comes_back_then_nobody_sleeps_on():
    back = time.monotonic() + 1

    def trouble(*_):
        if time.monotonic() < back:
            raise RequestFailed("connection", "cannot connect", retryable=True)

    # With doubling delays the last try before that second may be followed by a delay of another and more.
    asked = Asked(Fake(trouble=trouble), [request(number) for number in range(50)], limit=50, retries=30, delay=0.01)
    done = sorted(one.created for one in asked.kept)
    assert len(done) == 50
    first, last = (datetime.fromisoformat(moment) for moment in (done[0], done[-1]))
    assert (last - first).total_seconds() < 0.6


def test_failure_when_no_prompt_fits_the_model_then_stops_after_some():
    def trouble(*_):
        raise RequestFailed("context_length", "maximum context length is 8 tokens", retryable=False)

    model = Fake(trouble=trouble)
    with pytest.raises(ModelError, match="maximum context length"):
        Asked(model, [request(number) for number in range(1000)], limit=4)
    assert len(model.attempts) < 100


def test_failure_when_many_prompts_do_not_fit_but_one_does_then_the_run_goes_on():
    def trouble(asked, _):
        if asked.problem_id != "3":
            raise RequestFailed("context_length", "too long", retryable=False)

    asked = Asked(Fake(trouble=trouble), [request(number) for number in range(200)], limit=4)
    assert len(asked.kept) == 200


def test_failure_when_the_server_wants_us_back_tomorrow_then_stops_instead_of_asking_everything():
    def trouble(*_):
        raise RequestFailed("rate_limit", "daily quota", retryable=True, retry_after=40_000)

    model = Fake(trouble=trouble)
    with pytest.raises(ModelError, match="daily quota"):
        Asked(model, [request(number) for number in range(1000)], limit=4)
    assert len(model.attempts) < 20


def test_timeout_when_a_try_takes_too_long_then_tried_again():
    model = Fake()
    model.seconds = lambda asked: 30.0 if model.attempts[asked.problem_id] == 1 else 0.0
    asked = Asked(model, [request(0), request(1)], timeout=0.05)
    assert [one.attempts for one in asked.kept] == [2, 2]


def test_samples_when_the_server_gives_fewer_than_asked_then_the_rest_is_asked():
    asked = Asked(Fake(give=2), [request(0, samples=5)])
    assert asked.keys == [("k0", sample) for sample in range(5)]
    assert [one.seed for one in sorted(asked.kept, key=lambda one: one.sample)] == [10, 10, 12, 12, 14]


def test_samples_when_the_server_gives_none_at_all_then_an_error_in_the_end():
    class Mute(Fake):
        async def generate(self, asked):
            return []

    asked = Asked(Mute(), [request(0, samples=2)], retries=1, max_tpm=1e9)
    assert [one.error_kind for one in asked.kept] == ["empty", "empty"]


def test_samples_when_a_backend_gives_more_than_asked_then_the_rest_is_dropped():
    class Generous(Fake):
        async def generate(self, asked):
            return [Completion(text="t")] * 5

    assert Asked(Generous(), [request(0, samples=2)]).keys == [("k0", 0), ("k0", 1)]


def test_pace_when_requests_have_an_interval_then_kept():
    asked = Asked(Fake(), [request(number) for number in range(5)], request_interval=0.05)
    assert asked.seconds >= 0.2
    assert len(asked.kept) == 5


def test_drain_when_asked_to_then_what_is_in_flight_comes_back_and_nothing_else_starts():
    model = Fake(lambda _: 0.15)
    asked = Asked(model, [request(number) for number in range(100)], meanwhile=lambda scheduler: scheduler.drain())
    assert len(asked.kept) == 8 == len(model.attempts)


def test_drain_when_retries_wait_then_they_are_left_for_later():
    def trouble(*_):
        raise RequestFailed("server_error", "500", retryable=True, retry_after=60)

    asked = Asked(Fake(trouble=trouble), [request(0)], meanwhile=lambda scheduler: scheduler.drain())
    assert asked.kept == []
    assert asked.seconds < 50  # and not the sixty that the server wants


def test_drain_when_a_server_gives_fewer_samples_then_the_rest_is_left_for_later():
    model = Fake(lambda _: 0.15, give=1)
    asked = Asked(model, [request(0, samples=4)], meanwhile=lambda scheduler: scheduler.drain())
    assert asked.keys == [("k0", 0)]


def test_stop_when_told_then_what_is_in_flight_is_dropped():
    asked = Asked(Fake(lambda _: 60.0), [request(0)], meanwhile=lambda scheduler: scheduler.stop())
    assert asked.kept == []
    assert asked.seconds < 50  # and not the sixty that the model takes


def test_bug_when_a_backend_raises_something_else_then_it_is_not_hidden():
    def trouble(*_):
        raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError):
        Asked(Fake(trouble=trouble), [request(0)])


def test_many_at_once_when_they_begin_then_the_event_loop_looks_after_the_first_ones_meanwhile():
    """Else 2,000 connections that stood at once are noticed only after their time limit, on a busy machine."""
    model, begun = Fake(), []

    class Answering(Fake):
        async def generate(self, asked):
            begun.append(len(model.attempts))  # how many had begun when this one had waited for one turn
            await asyncio.sleep(0)
            return await model.generate(asked)

    done = Asked(Answering(), map(request, range(1000)), limit=1000)
    assert len(done.kept) == 1000
    assert begun[500] > 0
