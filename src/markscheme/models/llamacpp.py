"""`llamacpp/FILE.gguf`: start llama.cpp's server (`llama-server`, or llama-cpp-python's), ask it and stop it."""

from __future__ import annotations

import sys
from pathlib import Path

from markscheme.config import RunConfig
from markscheme.errors import UsageError
from markscheme.models.fleet.managed import Managed, find_program, is_installed
from markscheme.models.fleet.servers import Program


def create(target: str, config: RunConfig) -> Managed:
    """Create the model, with one llama.cpp server per replica."""
    file = Path(target).expanduser()
    if not target or not file.is_file():
        raise UsageError(f"llamacpp needs the path of a GGUF file, and there is none at {target or '(nothing)'!r}")
    executable = find_program("llama-server")
    model = ["--model", str(file)]
    if executable is not None:
        program = Program("llamacpp", [executable, *model], key_variable="LLAMA_API_KEY", spreads=True)
    elif is_installed("llama_cpp"):
        start = [sys.executable, "-m", "llama_cpp.server", *model]
        program = Program("llamacpp", start, health="/v1/models", spreads=True)
    else:
        raise UsageError(
            "llamacpp/ starts `llama-server`, and there is no such program here: install llama.cpp, "
            "or pip install 'llama-cpp-python[server]'"
        )
    return Managed(program, target, config)
