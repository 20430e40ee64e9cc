"""`transformers/NAME`: starts `transformers serve NAME`, asks it, takes it down."""

from __future__ import annotations

from markscheme.config import RunConfig
from markscheme.errors import UsageError
from markscheme.models.managed import Managed, Program, find_program


def create(target: str, config: RunConfig) -> Managed:
    """A `transformers serve` for each replica."""
    if not target:
        raise UsageError("transformers needs a model: transformers/Qwen/Qwen3-0.6B, or the path of a checkpoint")
    found = find_program("transformers")
    if found is None:
        raise UsageError(
            "transformers/ starts `transformers serve`, and there is no program `transformers` here: "
            "pip install 'transformers[serving]'"
        )
    return Managed(Program("transformers", [found, "serve", target], spreads=True), target, config)
