"""Requests to ask with, and one call to ask a backend."""

import asyncio

import pytest

from markscheme.config import make_config
from markscheme.models import load_model
from markscheme.models.base import Request
from markscheme.types import Message, Prompt, Sampling


@pytest.fixture
def ask():
    """Ask a model spec once: `ask("openai/m", samples=2, base_url=(url,))`."""

    def ask(spec, *, samples=1, times=1, sampling=None, messages=None, **options):
        async def asking():
            model = load_model(spec, make_config(benchmark="b", model=spec, **options))
            try:
                for _ in range(times - 1):
                    await model.generate(request)
                return list(await model.generate(request))
            finally:
                await model.close()

        request = Request(
            benchmark="gsm8k",
            problem_id="0001",
            key="k",
            statement="1+1?",
            prompt=Prompt(messages=messages or (Message("system", "Be brief."), Message("user", "1+1?"))),
            samples=tuple(range(samples)),
            seeds=tuple(range(100, 100 + samples)),
            sampling=sampling or Sampling(temperature=0.5),
        )
        return asyncio.run(asking())

    return ask
