"""`llamacpp/FILE.gguf`: starts llama.cpp's server (`llama-server`, or that of llama-cpp-python), asks it, takes it down."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from markscheme.config import RunConfig
from markscheme.errors import UsageError
from markscheme.models.managed import LOOPBACK, Managed, as_flags, program, server_arguments
from markscheme.scale.servers import Launch


def create(target: str, config: RunConfig) -> Managed:
    """A llama.cpp server for each replica."""
    file = Path(target).expanduser()
    if not target or not file.is_file():
        raise UsageError(f"llamacpp needs the path of a GGUF file, and there is none at {target or '(nothing)'!r}")
    found = program("llama-server")
    if found is not None:
        start, health = [found], "/health"
    elif find_spec("llama_cpp") is not None:
        start, health = [sys.executable, "-m", "llama_cpp.server"], "/v1/models"
    else:
        raise UsageError(
            "llamacpp/ starts `llama-server`, and there is no such program here: install llama.cpp, "
            "or pip install 'llama-cpp-python[server]'"
        )
    flags = as_flags(server_arguments(config))
    return Managed(
        Launch(
            "llamacpp",
            lambda port: [*start, "--model", str(file), "--host", LOOPBACK, "--port", str(port), *flags],
            health,
        ),
        target,
        config,
        spreads=True,
    )
