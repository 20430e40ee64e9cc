"""Benchmarks by name, by the other names people type, and by path."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable
from pathlib import Path

from markscheme.benchmarks import aime, countdown, custom, gsm8k, math500
from markscheme.benchmarks.base import Benchmark
from markscheme.errors import UsageError

OFFICIAL = (countdown.COUNTDOWN, gsm8k.GSM8K, math500.MATH500)
"""What `all` means. AIME is not in it: thirty problems are asked for by name or not at all."""

BENCHMARKS: dict[str, Benchmark] = {
    benchmark.name: benchmark
    for benchmark in (
        *OFFICIAL,
        *aime.CONTESTS,
        countdown.COUNTDOWN_SAMPLE,
        gsm8k.GSM8K_SAMPLE,
        math500.MATH_SAMPLE,
        aime.AIME_SAMPLE,
    )
}


def _squash(name: str) -> str:
    """`AIME-2024-I`, `aime_2024_i` and `aime24-I` are one name: case, separators and the century do not count."""
    squashed = "".join(character for character in name.lower() if character.isalnum())
    return squashed.replace("aime20", "aime")


_BY_SQUASHED = {_squash(name): name for name in BENCHMARKS}


def benchmark(name: str, data_dir: str | Path | None = None) -> Benchmark:
    """A benchmark by name, alias (`math-500`, `aime24`, `AIME-2024-I` …) or path of a `.jsonl` file.

    Its `problems` are read on first use, from `data_dir`, else `$MARKSCHEME_DATA`, else the user cache.
    """
    folder = Path(data_dir) if data_dir is not None else None
    if name.endswith(".jsonl"):
        return custom.from_file(Path(name).absolute())
    known = _BY_SQUASHED.get(_squash(name))
    if known is None:
        close = difflib.get_close_matches(name.lower(), BENCHMARKS, n=1)
        hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(BENCHMARKS)}."
        raise UsageError(f"no benchmark {name!r}; {hint} A path to a .jsonl file works too.")
    return dataclasses.replace(BENCHMARKS[known], data_dir=folder)


def expand(names: Iterable[str]) -> list[str]:
    """Names with `all` replaced by the default benchmarks, each once, in order."""
    full = [each for name in names for each in ([b.name for b in OFFICIAL] if name == "all" else [name])]
    return list(dict.fromkeys(full))
