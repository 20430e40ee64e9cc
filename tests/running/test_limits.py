"""How many at once: `auto` against simulated servers, and the limit of open files."""

import heapq
import random
import resource

import pytest

from markscheme.config import make_config
from markscheme.errors import UsageError
from markscheme.models.base import Model
from markscheme.running.asking import choose_limit
from markscheme.running.limits import AutoLimit, FixedLimit, make_room


def simulate(limit, latency, refuse_above=None, answers=6000, tokens=None, seed=0):
    """A server in simulated time: `latency(in_flight)` seconds an answer. Returns answers a second in the second half."""
    now, done, order = 0.0, 0, 0
    flying: list[tuple[float, int, bool, float, int, int]] = []
    luck = random.Random(seed)
    marks = {}
    while done < answers:
        while len(flying) < limit.value:
            order += 1
            refused = refuse_above is not None and len(flying) >= refuse_above
            size = luck.choice(tokens) if tokens else 1
            seconds = 0.01 if refused else latency(len(flying) + 1) * size * luck.uniform(0.9, 1.1)
            heapq.heappush(flying, (now + seconds, order, refused, seconds, size, limit.epoch))
        now, _, refused, seconds, size, epoch = heapq.heappop(flying)
        if refused:
            limit.failed("rate_limit", seconds, epoch)
        else:
            done += 1
            limit.answered(seconds, size if tokens else None, epoch)
        if done == answers // 2:
            marks.setdefault("half", now)
    return (answers / 2) / (now - marks["half"])


def test_auto_when_a_server_does_k_at_once_then_it_gets_most_of_its_throughput():
    for capacity in (8, 64, 300):

        def latency(in_flight, capacity=capacity):
            return max(1.0, in_flight / capacity)

        limit = AutoLimit()
        achieved = simulate(limit, latency, answers=20000)
        assert achieved > 0.85 * capacity
        assert limit.value < 3 * capacity  # and no long queue there


def test_auto_when_batching_slows_each_answer_but_raises_the_sum_then_it_goes_on_growing():
    def latency(in_flight):  # like a served model: 256 at once are each three times as slow, and 85 times as many
        return 1.0 + 2.0 * in_flight / 256

    limit = AutoLimit(highest=256)
    achieved = simulate(limit, latency, answers=20000)
    assert achieved > 0.8 * 256 / latency(256)


def test_auto_when_responses_differ_a_hundredfold_in_length_then_speed_is_counted_in_tokens():
    def latency(in_flight):
        return 0.01 * max(1.0, in_flight / 64)

    limit = AutoLimit()
    simulate(limit, latency, answers=20000, tokens=[10] * 9 + [1000])
    assert 32 <= limit.value <= 192


def test_auto_when_the_server_refuses_above_k_then_it_settles_near_k():
    limit = AutoLimit()
    simulate(limit, lambda _: 1.0, refuse_above=50, answers=10000)
    assert 35 <= limit.value <= 60


def test_auto_when_everything_is_refused_then_one_stays():
    limit = AutoLimit(start=64)
    for _ in range(5000):
        limit.failed("overloaded", 0.1, limit.epoch)
    assert limit.value == 1


@pytest.mark.parametrize("kind", ["timeout", "rate_limit", "malformed"])
def test_auto_when_three_in_ten_fail_by_chance_then_it_goes_on_growing(kind):
    limit, luck = AutoLimit(), random.Random(1)
    for _ in range(20000):
        if luck.random() < 0.3:
            limit.failed(kind, 1.0, limit.epoch)
        else:
            limit.answered(1.0, None, limit.epoch)
    assert limit.value >= 32


def test_fixed_when_everything_is_refused_then_the_users_number_stands():
    limit = FixedLimit(7)
    limit.failed("rate_limit", 0.1, 0)
    limit.answered(1.0, 5, 0)
    assert limit.value == 7


@pytest.fixture
def file_limit():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield before
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_room_when_the_soft_limit_is_low_then_it_is_raised(file_limit):
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, file_limit[1]))
    make_room(2000)
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= 2000


def test_room_when_the_hard_limit_is_too_low_then_says_what_to_raise(file_limit, monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 1024))
    with pytest.raises(UsageError, match=r"ulimit -Hn 2128.*--concurrency to 896"):
        make_room(2000)


class Anything(Model):
    name, replicas = "anything", 64

    async def generate(self, request):
        raise AssertionError("nothing is asked here")


def test_limit_when_each_request_is_a_connection_then_no_more_than_files(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 1024))
    config = make_config(benchmark="b", model="m", concurrency=64_000)
    with pytest.raises(UsageError, match="lower --concurrency to 896"):
        choose_limit(config, Anything(), 100_000)


def test_limit_when_requests_are_no_connections_then_open_files_do_not_matter(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 1024))
    model = Anything()
    model.connects = False
    assert choose_limit(make_config(benchmark="b", model="m", concurrency=64_000), model, 100_000).value == 64_000
    assert choose_limit(make_config(benchmark="b", model="m"), model, 100_000).value == 32 * 64
