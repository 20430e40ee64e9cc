"""`transformers/NAME`: starts `transformers serve NAME`, asks it, takes it down."""

from __future__ import annotations

from markscheme.config import RunConfig
from markscheme.errors import UsageError
from markscheme.models.managed import LOOPBACK, Managed, as_flags, program, server_arguments
from markscheme.scale.servers import Launch


def create(target: str, config: RunConfig) -> Managed:
    """A `transformers serve` for each replica."""
    if not target:
        raise UsageError("transformers needs a model: transformers/Qwen/Qwen3-0.6B, or the path of a checkpoint")
    found = program("transformers")
    if found is None:
        raise UsageError(
            "transformers/ starts `transformers serve`, and there is no program `transformers` here: "
            "pip install 'transformers[serving]'"
        )
    flags = as_flags(server_arguments(config))
    return Managed(
        Launch(
            "transformers",
            lambda port: [found, "serve", target, "--host", LOOPBACK, "--port", str(port), *flags],
            "/health",
        ),
        target,
        config,
        spreads=True,
    )
