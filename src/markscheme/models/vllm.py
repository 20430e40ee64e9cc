"""`vllm/NAME`: starts `vllm serve NAME`, asks it, takes it down."""

from __future__ import annotations

from markscheme.config import RunConfig
from markscheme.errors import UsageError
from markscheme.models.managed import LOOPBACK, Managed, as_flags, program, server_arguments
from markscheme.scale.servers import Launch


def create(target: str, config: RunConfig) -> Managed:
    """A vLLM server for each replica."""
    if not target:
        raise UsageError("vllm needs a model: vllm/Qwen/Qwen3-8B, or the path of a checkpoint")
    found = program("vllm")
    if found is None:
        raise UsageError("vllm/ starts `vllm serve`, and there is no program `vllm` here: pip install vllm")
    flags = as_flags(server_arguments(config))
    # Asked for under the name that was given, whatever --served-model-name might say.
    return Managed(
        Launch(
            "vllm", lambda port: [found, "serve", target, "--host", LOOPBACK, "--port", str(port), *flags], "/health"
        ),
        target,
        config,
    )
