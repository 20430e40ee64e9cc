"""`transformers/NAME`: start `transformers serve NAME`, ask it and stop it."""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from markscheme.config import RunConfig
from markscheme.errors import UsageError
from markscheme.models.fleet.managed import Managed, find_program
from markscheme.models.fleet.servers import Program

OLDEST = (5, 5)  # first version whose `serve` takes the model as an argument
ADVICE = f"pip install 'transformers[serving]>={OLDEST[0]}.{OLDEST[1]}'"


def create(target: str, config: RunConfig) -> Managed:
    """Create the model, with one `transformers serve` per replica."""
    if not target:
        raise UsageError("transformers needs a model: transformers/Qwen/Qwen3-0.6B, or the path of a checkpoint")
    executable = find_program("transformers")
    if executable is None:
        raise UsageError(
            f"transformers/ starts `transformers serve`, but the program `transformers` is not installed here: {ADVICE}"
        )
    _check_version(executable)
    return Managed(Program("transformers", [executable, "serve", target], spreads=True), target, config)


def _check_version(program: str) -> None:
    """Refuse a version that is too old if it is this Python's; checking any other would take seconds."""
    if Path(program).parent != Path(sys.executable).parent:
        return
    try:
        there = version("transformers")
    except PackageNotFoundError:
        return
    if tuple(int(number) for number in re.findall(r"\d+", there)[:2]) < OLDEST:
        raise UsageError(
            f"transformers/ starts `transformers serve NAME`, and transformers {there} is too old: {ADVICE}"
        )
