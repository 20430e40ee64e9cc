"""Rows become batches of like length, answered in order, and nobody waits for ever."""

import asyncio
import threading

import pytest

from markscheme.models.base import Completion
from markscheme.models.batching import Batcher, Row
from markscheme.types import Sampling

SAMPLING = Sampling(temperature=0.5)


def rows(*lengths, sampling=SAMPLING):
    return [Row([0] * length, seed, 8, sampling) for seed, length in enumerate(lengths)]


class Recording:
    """Generates nothing, but remembers the batches."""

    def __init__(self):
        self.batches = []

    def __call__(self, batch):
        self.batches.append([len(row.tokens) for row in batch])
        return [Completion(text=f"{len(row.tokens)}/{row.seed}") for row in batch]


def test_batcher_when_many_ask_at_once_then_batches_of_like_length_and_answers_in_order():
    generate = Recording()

    async def ask():
        batcher = Batcher(generate, size=4)
        asked = [batcher.put(rows(length, length)) for length in (50, 3, 51, 4, 49, 5)]
        answers = await asyncio.gather(*asked)
        batcher.close()
        return answers

    answers = asyncio.run(ask())
    assert [[one.text for one in pair] for pair in answers] == [
        [f"{length}/0", f"{length}/1"] for length in (50, 3, 51, 4, 49, 5)
    ]
    assert all(len(batch) <= 4 for batch in generate.batches)
    assert all(max(batch) - min(batch) < 10 for batch in generate.batches[:-1])
    assert len(generate.batches) == 3


def test_batcher_when_samplings_differ_then_they_are_not_mixed():
    seen = []

    def generate(batch):
        seen.append({row.sampling.temperature for row in batch})
        return [Completion(text="") for _ in batch]

    async def ask():
        batcher = Batcher(generate, size=8)
        await asyncio.gather(*(batcher.put(rows(5, sampling=Sampling(temperature=t))) for t in (0.0, 1.0, 0.0, 1.0)))
        batcher.close()

    asyncio.run(ask())
    assert seen == [{0.0}, {1.0}]


def test_batcher_when_generation_fails_then_everyone_in_the_batch_is_told_and_the_next_batch_goes_on():
    calls = []

    def generate(batch):
        calls.append(len(batch))
        if len(calls) == 1:
            raise ValueError("no")
        return [Completion(text="yes") for _ in batch]

    async def ask():
        batcher = Batcher(generate, size=8)
        failed = await asyncio.gather(batcher.put(rows(1)), batcher.put(rows(2)), return_exceptions=True)
        fine = await batcher.put(rows(3))
        batcher.close()
        return failed, fine

    failed, fine = asyncio.run(ask())
    assert [str(one) for one in failed] == ["no", "no"]
    assert fine[0].text == "yes"


def test_batcher_when_a_request_is_given_up_then_its_rows_are_not_generated():
    generate = Recording()

    async def ask():
        batcher = Batcher(generate, size=8)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await batcher.put(rows(9))
        await batcher.put(rows(2))
        batcher.close()

    asyncio.run(ask())
    assert [2] in generate.batches
    assert generate.batches[-1] == [2]


def test_batcher_when_it_has_two_threads_then_both_work_and_share_what_is_too_little_for_one():
    together = threading.Barrier(2)
    sizes = []

    def generate(batch):
        together.wait(timeout=120)  # nobody gets past here alone
        sizes.append(len(batch))
        return [Completion(text=str(row.seed)) for row in batch]

    async def ask():
        batcher = Batcher(generate, size=8, threads=2)
        answers = await batcher.put(rows(*[5] * 6))
        batcher.close()
        return answers

    assert [one.text for one in asyncio.run(ask())] == [str(number) for number in range(6)]
    assert sizes == [3, 3]
