"""A continuous queue over (problem, sample): never batches that wait for their slowest member."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from datetime import UTC, datetime

from markscheme.errors import ModelError
from markscheme.models.base import Completion, Model, Request, RequestFailed
from markscheme.types import Response


async def ask(model: Model, requests: Iterable[Request], concurrency: int) -> AsyncIterator[Response]:
    """Every request's responses as they arrive, `concurrency` requests in flight."""
    waiting: Iterator[Request] = iter(requests)
    arrived: asyncio.Queue[Response | BaseException | None] = asyncio.Queue()

    async def work() -> None:
        try:
            for request in waiting:
                for response in await _answer(model, request):
                    arrived.put_nowait(response)
        except BaseException as failure:
            arrived.put_nowait(failure)
            raise
        arrived.put_nowait(None)

    workers = [asyncio.create_task(work()) for _ in range(concurrency)]
    try:
        running = len(workers)
        while running:
            item = await arrived.get()
            if item is None:
                running -= 1
            elif isinstance(item, BaseException):
                raise item
            else:
                yield item
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


async def _answer(model: Model, request: Request) -> list[Response]:
    started = time.perf_counter()
    try:
        completions = await model.answer(request)
    except RequestFailed as failure:
        if failure.fatal:
            raise ModelError(str(failure)) from None
        return [_failed(request, sample, failure) for sample in range(len(request.samples))]
    latency = time.perf_counter() - started
    return [_arrived(request, index, completion, latency) for index, completion in enumerate(completions)]


def _arrived(request: Request, index: int, completion: Completion, latency: float) -> Response:
    return Response(
        key=request.key,
        sample=request.samples[index],
        problem_id=request.problem_id,
        text=completion.text,
        reasoning=completion.reasoning,
        finish_reason=completion.finish_reason,
        prompt_tokens=completion.prompt_tokens,
        completion_tokens=completion.completion_tokens,
        reasoning_tokens=completion.reasoning_tokens,
        latency=round(latency, 4),
        seed=request.seeds[index],
        model=completion.model,
        created=_now(),
    )


def _failed(request: Request, index: int, failure: RequestFailed) -> Response:
    return Response(
        key=request.key,
        sample=request.samples[index],
        problem_id=request.problem_id,
        seed=request.seeds[index],
        created=_now(),
        error=str(failure),
        error_kind=failure.kind,
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
