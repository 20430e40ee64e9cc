"""`vllm/NAME`: start `vllm serve NAME`, ask it and stop it."""

from __future__ import annotations

from markscheme.config import RunConfig
from markscheme.errors import UsageError
from markscheme.models.fleet.managed import Managed, find_program
from markscheme.models.fleet.servers import Program


def create(target: str, config: RunConfig) -> Managed:
    """Create the model, with one vLLM server per replica."""
    if not target:
        raise UsageError("vllm needs a model: vllm/Qwen/Qwen3-8B, or the path of a checkpoint")
    executable = find_program("vllm")
    if executable is None:
        raise UsageError("vllm/ starts `vllm serve`, and there is no program `vllm` here: pip install vllm")
    return Managed(Program("vllm", [executable, "serve", target], key_variable="VLLM_API_KEY"), target, config)
