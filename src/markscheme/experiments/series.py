"""The checkpoints of a training run as an experiment: found by a pattern, a list or a file, ordered by step."""

from __future__ import annotations

import fnmatch
import glob
import os
import re
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from markscheme.datasets.small_texts import read_small_text
from markscheme.errors import UsageError, first_line
from markscheme.experiments.plan import Cell, typed_cells
from markscheme.models import backend_names
from markscheme.models.secrets import hide_url
from markscheme.redaction import variable

# A checkpoint is complete if nothing in its folder was written for this many seconds.
SETTLED = 10.0


class Checkpoint(NamedTuple):
    """A model at a training step."""

    step: int
    spec: str


def find_checkpoints(
    named: Sequence[str], backend: str | None, options: Mapping[str, Any], *, watch: bool
) -> list[Checkpoint]:
    """Return the checkpoints given by patterns, names and files, by step; with `watch` without those still being saved."""
    found: dict[int, str] = {}
    for step, name in _members(named, options):
        if watch and Path(name).exists() and time.time() - _written(Path(name)) < SETTLED:
            continue
        spec = (
            name
            if name.partition("/")[0] in backend_names() and not Path(name).exists()
            else f"{backend or 'hf'}/{name}"
        )
        number = _step_of(name) if step is None else step
        if found.setdefault(number, spec) != spec:
            raise UsageError(f"{found[number]} and {spec} are both of step {number}: write STEP=NAME to set the step")
    if not found and not watch:
        raise UsageError(f"no checkpoint matches {', '.join(named)}")
    return [Checkpoint(step, found[step]) for step in sorted(found)]


def _members(named: Sequence[str], options: Mapping[str, Any]) -> Iterator[tuple[int | None, str]]:
    for text in named:
        if Path(text).is_file() and text.endswith((".txt", ".list")):
            for line in filter(None, map(str.strip, read_small_text(Path(text)).splitlines())):
                first, _, rest = line.partition(" ")
                yield (int(first), rest.strip()) if first.isdecimal() and rest else (None, line)
            continue
        given = re.fullmatch(r"(\d+)=(.+)", text)
        if given:
            yield int(given[1]), given[2]
        elif not any(sign in text for sign in "*?["):
            yield from ((None, name.strip()) for name in text.split(","))
        elif paths := sorted(glob.glob(text)):  # noqa: PTH207  # a pattern may begin anywhere
            yield from ((None, path) for path in paths)
        elif options.get("base_url"):
            yield from ((None, name) for name in _served_names(options) if fnmatch.fnmatch(name, text))


def _served_names(options: Mapping[str, Any]) -> list[str]:
    """Return the models that a server lists."""
    (address, *_), key = options["base_url"], variable(options.get("api_key_env") or "OPENAI_API_KEY")
    asked = urllib.request.Request(
        f"{address.rstrip('/')}/models", headers={"Authorization": f"Bearer {key}"} if key else {}
    )
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:
            listed = msgspec.json.decode(answer.read(16 << 20))["data"]
            return [str(each["id"]) for each in listed]
    except (OSError, ValueError, KeyError, TypeError, msgspec.MsgspecError) as problem:
        raise UsageError(
            f"the server does not list its models at {hide_url(address)}/models: {first_line(problem)}"
        ) from None


def _step_of(name: str) -> int:
    """Return the last whole number in the last part of a name: `step-4000`, `ckpt_0400`, `checkpoint-12/`."""
    numbers = re.findall(r"\d+", Path(name.rstrip("/")).name) or re.findall(r"\d+", name)
    if not numbers:
        raise UsageError(f"{name} contains no step: write it as STEP={name}")
    return int(numbers[-1])


def _written(path: Path) -> float:
    """Return when anything of a checkpoint was last written."""
    if path.is_file():
        return path.stat().st_mtime
    return max((entry.stat().st_mtime for entry in os.scandir(path)), default=path.stat().st_mtime)


def series_cells(found: Sequence[Checkpoint], benchmarks: Sequence[str], options: Mapping[str, Any]) -> list[Cell]:
    """Return a run for each checkpoint and benchmark, with the same problems, seeds and examples."""
    cells = []
    for step, spec in found:
        for cell in typed_cells([spec], benchmarks, options):
            cells.append(
                cell._replace(config=msgspec.structs.replace(cell.config, step=step), variation=f"step {step}")
            )
    return cells
