"""`nano`: the small Countdown transformer that ships with the package, run in numpy. A demonstration model.

Requests that wait at the same time are answered as one batch, and each core has its own; each sample draws from its own
seed, so the batch it happens to share changes nothing but the last bits of a float.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from markscheme.config import RunConfig
from markscheme.errors import UsageError
from markscheme.models.base import Completion, Request, RequestFailed
from markscheme.types import Sampling

if TYPE_CHECKING:
    from threadpoolctl import threadpool_limits

    from markscheme.nano.transformer import Transformer

MOST_ROWS = 256
"""Sequences in one batch: more gain nothing and only delay the first answers."""

MOST_CORES = 4
"""Python's lock keeps more threads from gaining anything."""

MOST_TOKENS = 208
"""Room for about nine attempts at four numbers; it was never taught to go on for longer."""

_PUZZLE = re.compile(r"\d+\D+\d+.*target\D*\d+[^?]*\?", re.DOTALL)


def create(target: str, config: RunConfig) -> Nano:  # noqa: ARG001 - the signature of every backend
    """The model; it takes no target."""
    if target:
        raise UsageError(f"nano takes nothing behind its name, so say `nano`, not `nano/{target}`")
    return Nano()


class Nano:
    """The transformer and the requests that wait for its next batches."""

    name = "nano"
    in_process = True

    def __init__(self) -> None:
        self._cores = _cores()
        self.concurrency = MOST_ROWS * self._cores
        self._threads = ThreadPoolExecutor(self._cores, thread_name_prefix="nano")
        self._model: Transformer | None = None
        self._one_thread: threadpool_limits | None = None
        self._waiting: list[tuple[Request, asyncio.Future[list[Completion]]]] = []
        self._working: set[asyncio.Task[None]] = set()
        self._idle = self._cores

    async def answer(self, request: Request) -> Sequence[Completion]:
        """Join the next batch."""
        if _PUZZLE.search(request.prompt.messages[-1].content) is None:
            reason = f"nano can only play Countdown, and {request.problem_id} is no such puzzle; choose another model"
            raise RequestFailed("not a puzzle", reason, retryable=False, fatal=True)
        self._load()
        answered: asyncio.Future[list[Completion]] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, answered))
        if len(self._working) < self._cores:
            worker = asyncio.create_task(self._work())
            self._working.add(worker)
            worker.add_done_callback(self._working.discard)
        return await answered

    async def close(self) -> None:
        """Let the batches at hand finish: numpy cannot be interrupted, and nobody should wait for them elsewhere."""
        self._waiting.clear()
        await asyncio.gather(*self._working, return_exceptions=True)
        self._threads.shutdown()
        if self._one_thread is not None:
            self._one_thread.restore_original_limits()

    def _load(self) -> None:
        if self._model is None:
            from threadpoolctl import threadpool_limits

            from markscheme.nano import load

            self._model = load()
            # Its matrices are small. Shared between threads, each product waits for the slowest of them, spinning: twice
            # the processor time for no gain on idle cores, and many times the seconds on busy ones.
            self._one_thread = threadpool_limits(1, user_api="blas")

    async def _work(self) -> None:
        await asyncio.sleep(0)  # everyone who is about to ask joins
        while self._waiting:
            size = min(MOST_ROWS, -(-len(self._waiting) // self._idle))  # something for every core
            batch, self._waiting = self._waiting[:size], self._waiting[size:]
            requests = [request for request, _ in batch]
            self._idle -= 1
            try:
                answers = await asyncio.get_running_loop().run_in_executor(self._threads, self._answer_all, requests)
            except MemoryError as error:
                failure = RequestFailed("out of memory", str(error), retryable=False)
                for _, answered in batch:
                    if not answered.done():
                        answered.set_exception(failure)
                continue
            finally:
                self._idle += 1
            for (_, answered), completions in zip(batch, answers, strict=True):
                if not answered.done():  # the asker may have been cancelled
                    answered.set_result(completions)

    def _answer_all(self, requests: list[Request]) -> list[list[Completion]]:
        from markscheme.nano.tokenizer import encode

        assert self._model is not None
        # One batch needs prompts of one length and one way of sampling; Countdown has two lengths.
        groups: dict[tuple[int, Sampling], list[tuple[int, list[int], int]]] = defaultdict(list)
        for index, request in enumerate(requests):
            prompt = encode(request.prompt.messages[-1].content)
            for seed in request.seeds:
                groups[len(prompt), request.sampling].append((index, prompt, seed))
        answers: list[list[Completion]] = [[] for _ in requests]
        for (_, sampling), rows in groups.items():
            completions = _complete(
                self._model, [prompt for _, prompt, _ in rows], [seed for *_, seed in rows], sampling
            )
            for (index, *_), completion in zip(rows, completions, strict=True):
                answers[index].append(completion)
        return answers


def _cores() -> int:
    """The cores that this process may use; Ray and batch systems say it like this."""
    told = os.environ.get("OMP_NUM_THREADS", "")
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    usable = int(told) if told.isdigit() else allowed
    return max(1, min(usable, MOST_CORES))


def _complete(model: Transformer, prompts: list[list[int]], seeds: list[int], sampling: Sampling) -> list[Completion]:
    import numpy as np

    from markscheme.nano.tokenizer import EOS, decode
    from markscheme.nano.transformer import generate

    length = min(sampling.max_tokens or MOST_TOKENS, MOST_TOKENS)
    luck = np.stack([np.random.default_rng(seed).random(length, dtype=np.float32) for seed in seeds])
    written = generate(
        model,
        prompts,
        luck,
        end=EOS,
        temperature=1.0 if sampling.temperature is None else sampling.temperature,
        top_k=sampling.top_k,
        top_p=sampling.top_p,
    )
    return [
        Completion(
            text=decode(tokens),
            finish_reason="stop" if tokens[-1] == EOS else "length",
            prompt_tokens=len(prompt),
            completion_tokens=len(tokens),
            model="markscheme-nano",
        )
        for prompt, tokens in zip(prompts, written, strict=True)
    ]
