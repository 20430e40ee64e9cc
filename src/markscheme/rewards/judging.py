"""Let a judge model score only the completions that the marker leaves open.

Questions are cached by content, asked concurrently and counted against a budget. If a judge fails, the completion stays
unscored.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

from markscheme.config import make_config
from markscheme.errors import MarkschemeError, UsageError
from markscheme.marking.marker import as_gold, mark
from markscheme.marking.protocol import get_protocol
from markscheme.models import load_model
from markscheme.models.base import Model, Request, RequestFailed
from markscheme.objects import named_objects
from markscheme.rewards.scoring import Outcome, default_protocol, text_of
from markscheme.running.judges.templates import find_template
from markscheme.types import Problem, Question, Response, Sampling, Verdict


class Account(NamedTuple):
    """Counts of what a judge was asked so far."""

    seen: int  # completions that were rewarded
    asked: int  # questions asked
    cached: int
    failed: int  # requests without a usable verdict
    unasked: int  # left open because the budget was used up

    @property
    def share(self) -> float:
        """Return the share of completions that the marker left open."""
        return (self.asked + self.cached + self.unasked) / self.seen if self.seen else 0.0

    @property
    def error_rate(self) -> float:
        return self.failed / self.asked if self.asked else 0.0


class RewardJudge:
    """A judge for `unmarkable` completions. `model` is a spec such as `openai/gpt-4.1`, `file.py:name`, or a function."""

    def __init__(
        self, model: Any, *, template: str = "strict", budget: int = 1_000, concurrency: int = 8, **options: Any
    ) -> None:
        if budget < 0 or concurrency < 1:
            raise UsageError("a judge needs a budget of at least 0 questions and a concurrency of at least 1")
        spec = named_objects({"model": model})["model"]
        self._config = make_config(benchmark="judge", model=spec, **options)
        self._template, self._budget, self._concurrency = find_template(template), budget, concurrency
        self._known: dict[str, Verdict] = {}
        self._counts = dict.fromkeys(Account._fields, 0)
        self._lock = threading.Lock()

    @property
    def account(self) -> Account:
        return Account(**self._counts)

    def settle(
        self,
        found: Sequence[Outcome],
        completions: Sequence[Any],
        golds: Sequence[Any],
        statements: Sequence[str] | None = None,
    ) -> list[Outcome]:
        """Return the outcomes with the open ones settled; rewards that were already decided stay as they are."""
        settled = list(found)
        open_: dict[int, Question] = {}
        for at, outcome in enumerate(found):
            if outcome.verdict == Verdict.UNMARKABLE and outcome.score is None and golds[at] is not None:
                question = self._question(
                    text_of(completions[at]), golds[at], statements[at] if statements else "", outcome
                )
                if question is not None:
                    open_[at] = question
        with self._lock:
            self._counts["seen"] += len(found)
            keys = {at: question.problem.key for at, question in open_.items()}
            new = {key: open_[at] for at, key in keys.items() if key not in self._known}
            asking = dict(list(new.items())[: max(0, self._budget - self._counts["asked"])])
            self._counts["asked"] += len(asking)
            self._counts["unasked"] += len(new) - len(asking)
            self._counts["cached"] += len(keys) - len(new)
        replies = _run(self._ask_all(asking)) if asking else {}
        with self._lock:
            self._known |= replies
            self._counts["failed"] += len(asking) - len(replies)
        for at, key in keys.items():
            if (verdict := self._known.get(key)) is not None:
                right = verdict is Verdict.CORRECT
                settled[at] = found[at]._replace(score=float(right), verdict=str(verdict), why="the judge says so")
        return settled

    def _question(self, text: str, gold: Any, statement: str, outcome: Outcome) -> Question | None:
        try:
            right = as_gold(gold, get_protocol(default_protocol(gold)))
        except (MarkschemeError, TypeError):
            return None
        problem = Problem(id="", statement=statement, gold=right)
        return self._template.question(
            problem, Response(key=problem.key, sample=0, text=text), outcome.answer, swap=False
        )

    async def _ask_all(self, questions: dict[str, Question]) -> dict[str, Verdict]:
        model = load_model(self._config.model, self._config)
        slots = asyncio.Semaphore(self._concurrency)
        try:
            found = await asyncio.gather(*(self._ask(model, each, slots) for each in questions.values()))
        finally:
            await model.close()
        return {key: verdict for key, verdict in zip(questions, found, strict=True) if verdict is not None}

    async def _ask(self, model: Model, question: Question, slots: asyncio.Semaphore) -> Verdict | None:
        request = Request(
            benchmark="judge",
            problem_id="",
            key=question.problem.key,
            statement=question.problem.statement,
            prompt=question.prompt,
            samples=(0,),
            seeds=(0,),
            sampling=Sampling(temperature=0.0),
        )
        async with slots:
            try:
                (completion, *_) = await model.generate(request)
            except (RequestFailed, ValueError):
                return None
        verdict = mark(completion.text, question.problem).verdict
        return verdict if verdict in (Verdict.CORRECT, Verdict.WRONG) else None


def _run(work: Any) -> Any:
    """Run a coroutine to completion, even if this thread already has a running event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    done: list[Any] = []
    thread = threading.Thread(target=lambda: done.append(asyncio.run(work)))
    thread.start()
    thread.join()
    return done[0]
