"""Rewards over HTTP: a server that judges requests in batches.

`POST /verify` is NeMo Gym's contract, `/reset`, `/step` and `/state` are OpenEnv's, `/score` takes many at once. The
queue is bounded: when it is full, the answer is 503 with `Retry-After`, so that a trainer slows down instead of piling
up requests.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple
from uuid import uuid4

import msgspec
from aiohttp import web

from markscheme.errors import UsageError
from markscheme.rewards.scoring import Outcome, outcomes, statement_of, text_of, usable
from markscheme.rewards.strict import level_of
from markscheme.types import CountdownGold, Problem

LARGEST = 16 << 20  # bytes of a request
MOST = 256  # completions judged at once
MOST_EPISODES = 100_000  # open OpenEnv episodes; the oldest are dropped
_GOLDS = ("gold", "expected_answer", "ground_truth", "answer", "label")
_STATEMENTS = ("question", "problem", "statement", "prompt")


class Asked(NamedTuple):
    """A completion to judge."""

    text: str
    gold: Any
    statement: str
    protocol: str | None
    finish: str | None


class RewardServer:
    """Collects requests into batches. Judging runs in one thread, so that health checks and refusals are answered at
    once.
    """

    def __init__(
        self,
        protocol: Any = None,
        strict: str | bool | None = None,
        queue: int = 4096,
        problems: Sequence[Problem] = (),
        **options: Any,
    ) -> None:
        usable(protocol)
        level_of(strict)
        self._protocol, self._options = protocol, {**options, "strict": strict}
        self._queue: asyncio.Queue[tuple[Asked, asyncio.Future[Outcome]]] = asyncio.Queue(queue)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="rewards")
        self._problems, self._next = problems, itertools.count()
        self._episodes: dict[str, Problem] = {}
        self.judged = self.refused = 0

    def app(self) -> web.Application:
        """Return the application, which judges while it runs."""
        app = web.Application(client_max_size=LARGEST)
        app.cleanup_ctx.append(self._judging)
        app.add_routes([
            web.get("/health", self._health), web.post("/verify", self._verify), web.post("/score", self._score),
            web.post("/seed_session", self._seed), web.post("/reset", self._reset), web.post("/step", self._step),
            web.get("/state", self._state), web.get("/metadata", self._metadata),
        ])  # fmt: skip
        return app

    async def judge(self, asked: Sequence[Asked]) -> list[Outcome]:
        """Return outcomes; raise 503 if the queue has no room for all of them."""
        if self._queue.maxsize - self._queue.qsize() < len(asked):
            self.refused += len(asked)
            raise web.HTTPServiceUnavailable(headers={"Retry-After": "1"}, text="the queue is full; try again")
        loop = asyncio.get_running_loop()
        waiting = [loop.create_future() for _ in asked]
        for each in zip(asked, waiting, strict=True):
            self._queue.put_nowait(each)
        return list(await asyncio.gather(*waiting))

    async def _judging(self, _: web.Application) -> Any:
        task = asyncio.create_task(self._work())
        yield
        task.cancel()
        self._thread.shutdown(wait=False)

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            batch = [await self._queue.get()]
            while len(batch) < MOST and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            found = await loop.run_in_executor(self._thread, self._judged, [each for each, _ in batch])
            for (_, waiting), outcome in zip(batch, found, strict=True):
                if not waiting.done():  # the client has disconnected
                    waiting.set_result(outcome)
            self.judged += len(batch)

    def _judged(self, asked: Sequence[Asked]) -> list[Outcome]:
        return outcomes(
            [each.text for each in asked],
            [each.gold for each in asked],
            [each.protocol or self._protocol for each in asked],
            statements=[each.statement for each in asked],
            finish=[each.finish for each in asked],
            **self._options,
        )

    async def _health(self, _: web.Request) -> web.Response:
        return _json({
            "status": "healthy", "queue": self._queue.qsize(), "capacity": self._queue.maxsize,
            "judged": self.judged, "refused": self.refused,
        })  # fmt: skip

    async def _verify(self, request: web.Request) -> web.Response:
        body = await _body(request)
        (outcome,) = await self.judge([_asked(body)])
        return _json(
            {**body, "reward": outcome.score or 0.0, "extracted_answer": outcome.answer or None, **outcome.extras()}
        )

    async def _score(self, request: web.Request) -> web.Response:
        body = await _body(request)
        rows = body.get("requests")
        if not isinstance(rows, list) or not all(isinstance(each, Mapping) for each in rows):
            raise web.HTTPBadRequest(text='send {"requests": [{"response": …, "gold": …}, …]}')
        found = await self.judge([_asked(each) for each in rows])
        return _json({"results": [{"reward": each.score or 0.0, **each.extras()} for each in found]})

    async def _seed(self, request: web.Request) -> web.Response:
        await request.read()
        return _json({})

    async def _reset(self, request: web.Request) -> web.Response:
        """Begin an OpenEnv episode: one question, one answer."""
        body = await _body(request)
        if not self._problems:
            raise web.HTTPConflict(text="this server has no problems to draw from; start it with -b BENCHMARK")
        seed = body.get("seed")
        at = seed if isinstance(seed, int) else next(self._next)
        problem = self._problems[at % len(self._problems)]
        episode = str(body.get("episode_id") or uuid4())
        self._episodes[episode] = problem
        if len(self._episodes) > MOST_EPISODES:
            del self._episodes[next(iter(self._episodes))]
        return _json(
            {"observation": {"prompt": problem.statement, "episode_id": episode}, "reward": None, "done": False}
        )

    async def _step(self, request: web.Request) -> web.Response:
        body = await _body(request)
        action = body.get("action")
        if not isinstance(action, Mapping):
            raise web.HTTPUnprocessableEntity(text='send {"action": {"message": "…", "episode_id": "…"}}')
        episode = action.get("episode_id") or body.get("episode_id") or next(reversed(self._episodes), None)
        problem = self._episodes.pop(str(episode), None)
        if problem is None:
            raise web.HTTPConflict(text="the episode is unknown; begin one with /reset")
        text = next((str(action[name]) for name in ("message", "response", "content", "answer") if name in action), "")
        gold = _plain_gold(problem.gold)
        (outcome,) = await self.judge([Asked(text, gold, problem.statement, problem.protocol, None)])
        observation = {"episode_id": episode, "gold": gold, **outcome.extras()}
        return _json({"observation": observation, "reward": outcome.score or 0.0, "done": True})

    async def _state(self, _: web.Request) -> web.Response:
        return _json({"episode_id": next(reversed(self._episodes), None), "step_count": self.judged})

    async def _metadata(self, _: web.Request) -> web.Response:
        return _json({"name": "markscheme", "description": "rewards answers to mathematical problems"})


def serve(host: str, port: int, **options: Any) -> None:
    """Serve until stopped; print the address once listening."""

    async def run() -> None:
        runner = web.AppRunner(RewardServer(**options).app(), access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, host, port, backlog=2048)
        try:
            await site.start()
        except OSError as error:
            await runner.cleanup()
            raise UsageError(f"cannot listen at {host}:{port}: {error.strerror}") from None
        print(f"rewards at http://{host}:{runner.addresses[0][1]}", flush=True)
        try:
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()

    asyncio.run(run())


def _json(value: Any) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), content_type="application/json")


async def _body(request: web.Request) -> dict[str, Any]:
    content = await request.read()
    try:
        body = msgspec.json.decode(content or b"{}")
    except (msgspec.DecodeError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise web.HTTPUnprocessableEntity(text="the request is not a JSON object")
    return body


def _asked(body: Mapping[str, Any]) -> Asked:
    """Parse a request: the response as text, as messages, or as OpenAI's Responses object; the gold by its usual names."""
    about = body.get("verifier_metadata") if isinstance(body.get("verifier_metadata"), Mapping) else {}
    fields = {**about, **body}  # type: ignore[dict-item]
    gold = next((fields[name] for name in _GOLDS if fields.get(name) is not None), None)
    if gold is None and fields.get("nums") is not None:
        gold = {"nums": fields["nums"], "target": fields.get("target")}
    statement = next((statement_of(fields[name]) for name in _STATEMENTS if fields.get(name)), "")
    if not statement and isinstance(created := body.get("responses_create_params"), Mapping):
        statement = statement_of(created.get("input") or "")
    text, finish = _text(body.get("response"))
    protocol = fields.get("protocol")
    return Asked(text, gold, statement, protocol if isinstance(protocol, str) else None, finish)


def _text(response: Any) -> tuple[str, str | None]:
    if isinstance(response, Mapping) and isinstance(response.get("output"), list):
        items = [each for each in response["output"] if isinstance(each, Mapping) and each.get("type") == "message"]
        contents = [each["content"] for each in items if isinstance(each.get("content"), list)]
        parts = [part for content in contents for part in content if isinstance(part, Mapping)]
        text = "".join(str(part.get("text") or "") for part in parts if part.get("type") == "output_text")
        return text, "length" if response.get("status") == "incomplete" else None
    return text_of(response), None


def _plain_gold(gold: Any) -> Any:
    return {"nums": list(gold.nums), "target": gold.target} if isinstance(gold, CountdownGold) else gold
