"""Signals are held while a run lasts, and whoever had them before has them again."""

import asyncio
import signal

import pytest

from markscheme.running.interrupts import Interrupts
from markscheme.running.live import Live


@pytest.mark.parametrize("closing", [True, False])
def test_handlers_when_a_run_is_over_then_those_of_the_caller_again(closing):
    def mine(*_):
        pass

    async def run():
        with Interrupts(Live()) as interrupts:
            assert signal.getsignal(signal.SIGTERM) is not mine
            if closing:
                interrupts.closing()

    numbers = (signal.SIGINT, signal.SIGTERM)
    former = [signal.signal(number, mine) for number in numbers]
    try:
        asyncio.run(run())
        assert [signal.getsignal(number) for number in numbers] == [mine, mine]
    finally:
        for number, handler in zip(numbers, former, strict=True):
            signal.signal(number, handler)
