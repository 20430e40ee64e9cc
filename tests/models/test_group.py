"""Copies of one model: whoever is up is asked, requests wait for the first that comes back, and nobody asks the dead."""

import asyncio

import pytest

from markscheme.models.base import Completion, Request, RequestFailed
from markscheme.models.fleet.group import Group
from markscheme.types import Message, Prompt, Sampling

REQUEST = Request(
    benchmark="b", problem_id="1", key="1", statement="", prompt=Prompt(messages=(Message("user", "?"),)),
    samples=(0,), seeds=(0,), sampling=Sampling(),
)  # fmt: skip


class Copy:
    """Answers with its own name, or fails as it is told to."""

    def __init__(self, name):
        self.name, self.asked = name, 0
        self.gone = None
        self.failure = None
        self.answering = asyncio.Event()
        self.answering.set()

    async def generate(self, request):
        self.asked += 1
        await self.answering.wait()
        if self.failure is not None:
            raise self.failure
        return [Completion(text=self.name)]


@pytest.fixture
def copies():
    return [Copy("first"), Copy("second")]


def down(group, *copies, gone=None):
    for copy in copies:
        copy.gone = gone
        group.changed(copy, up=False)


async def ask(group, times=1):
    answers = await asyncio.gather(*(group.generate(REQUEST) for _ in range(times)))
    return {answer.text for (answer,) in answers}


def test_requests_when_none_is_up_then_asked_of_the_first_that_comes_back(copies):
    async def scene():
        group = Group(copies)
        down(group, *copies)
        asking = asyncio.create_task(ask(group, times=10))
        await asyncio.sleep(0.01)
        assert [copy.asked for copy in copies] == [0, 0]
        group.changed(copies[1], up=True)
        async with asyncio.timeout(60):
            assert await asking == {"second"}

    asyncio.run(scene())


def test_requests_when_one_is_gone_and_the_other_not_there_yet_then_they_wait_for_it(copies):
    async def scene():
        group = Group(copies)
        down(group, copies[0], gone="its node burnt down")
        down(group, copies[1])
        asking = asyncio.create_task(ask(group, times=10))
        await asyncio.sleep(0.01)
        assert not asking.done()
        group.changed(copies[1], up=True)
        async with asyncio.timeout(60):
            assert await asking == {"second"}
        assert copies[0].asked == 0

    asyncio.run(scene())


def test_requests_when_it_comes_and_goes_before_they_are_woken_then_they_wait_on(copies):
    async def scene():
        group = Group(copies)
        down(group, *copies)
        asking = asyncio.create_task(ask(group))
        await asyncio.sleep(0.01)
        group.changed(copies[0], up=True)
        group.changed(copies[0], up=False)
        await asyncio.sleep(0.01)
        assert [copy.asked for copy in copies] == [0, 0]
        group.changed(copies[1], up=True)
        assert await asking == {"second"}

    asyncio.run(scene())


def test_requests_when_the_last_copy_goes_for_good_then_fatal_with_its_reason(copies):
    async def scene():
        group = Group(copies)
        down(group, copies[0], gone="the first reason")
        down(group, copies[1])
        asking = asyncio.create_task(ask(group))
        await asyncio.sleep(0.01)
        down(group, copies[1], gone="the last reason")
        with pytest.raises(RequestFailed, match="the last reason") as failed:
            await asking
        assert failed.value.fatal
        assert failed.value.kind == "gone"

    asyncio.run(scene())


def test_request_when_it_fails_at_the_last_copy_then_fatal_at_once(copies):
    async def scene():
        group = Group(copies)
        down(group, copies[0], gone="no room")
        copies[1].failure = RequestFailed("connection", "reset", retryable=True)
        copies[1].answering.clear()
        asking = asyncio.create_task(ask(group))
        await asyncio.sleep(0.01)
        down(group, copies[1], gone="it died")
        copies[1].answering.set()
        with pytest.raises(RequestFailed, match="it died") as failed:
            await asking
        assert failed.value.fatal

    asyncio.run(scene())


def test_answer_when_it_arrives_after_the_copy_went_down_then_the_copy_is_still_not_asked(copies):
    async def scene():
        group = Group(copies)
        copies[0].answering.clear()
        asking = asyncio.create_task(ask(group))
        await asyncio.sleep(0.01)
        down(group, copies[0])
        copies[0].answering.set()
        assert await asking == {"first"}
        assert await ask(group, times=10) == {"second"}

    asyncio.run(scene())


def test_failure_when_it_is_fatal_by_itself_then_passed_on(copies):
    async def scene():
        group = Group(copies)
        for copy in copies:
            copy.failure = RequestFailed("auth", "wrong key", retryable=False, fatal=True)
        with pytest.raises(RequestFailed, match="wrong key") as failed:
            await ask(group)
        assert failed.value.fatal

    asyncio.run(scene())
