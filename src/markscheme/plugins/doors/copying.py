"""Writes a published layout into a folder: `markscheme doors copy NAME DIR`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from markscheme.errors import DataError, UsageError, os_reason

_PACKAGED = Path(__file__).parent / "files"
# The doors at their documented paths, in an installed package or in this repository.
FILES = _PACKAGED if _PACKAGED.is_dir() else Path(__file__).parents[4] / "compat"


class Door(NamedTuple):
    """The files of a published system, and the command to type."""

    paths: tuple[str, ...]
    command: str


DOORS = {
    "countdown": Door(("countdown",), "lm_eval --tasks countdown --model hf …"),
    "inspect": Door(("gsm8k",), "inspect eval gsm8k/task.py --model …"),
    "evaluate": Door(("evaluate.py", "datasets"), "python3 evaluate.py --server-url …"),
    "gsm8k-benchmark": Door(("benchmarks", "examples"), "python benchmarks/gsm8k/run_gpt41_on_gsm8k.py"),
    "nanochat": Door(
        ("dev-aime", "tasks/aime_2024.py", "tasks/aime_2025.py", "scripts/chat_eval.py"),
        "python -m scripts.chat_eval -i sft -a AIME-2024",
    ),
}


def copy_door(name: str, folder: Path, *, replace: bool = False) -> list[Path]:
    """Write the files of a door below `folder` and return those that were written.

    A different file of the same name is refused before anything is written, or with `replace` kept as `FILE.before`.
    """
    sources = {folder / file.relative_to(FILES): file for file in _files(name)}
    try:
        missing = {target: file for target, file in sources.items() if not _same(target, file)}
        there = [target for target in missing if target.exists()]
        if there and not replace:
            raise UsageError(
                f"{', '.join(map(str, there))} is there already, with other content; nothing was written. --replace writes ours "
                "and keeps yours beside it as FILE.before"
            )
        for target, file in missing.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.exists():
                _keep(target)
            shutil.copyfile(file, target)
    except OSError as error:
        raise DataError(
            f"cannot write to {error.filename or folder}: {os_reason(error)}; name another folder"
        ) from None
    return list(missing)


def _files(name: str) -> Iterator[Path]:
    for path in DOORS[name].paths:
        source = FILES / path
        found = sorted(source.rglob("*")) if source.is_dir() else [source]
        yield from (file for file in found if file.is_file() and file.suffix != ".pyc")


def _same(target: Path, file: Path) -> bool:
    return target.is_file() and target.read_bytes() == file.read_bytes()


def _keep(target: Path) -> None:
    kept = target.with_name(f"{target.name}.before")
    if kept.exists():
        raise UsageError(f"{kept} already exists: move it away first")
    target.rename(kept)
