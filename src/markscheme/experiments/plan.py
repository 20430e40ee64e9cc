"""What an experiment asks: models × benchmarks × prompts × settings, from one file or from the command line.

Each combination is one run with its own folder below the experiment's, named by what it is, so that the same experiment
typed again finds what it has already.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from markscheme.config import RunConfig, fixed_options, make_config
from markscheme.datasets.small_texts import read_toml
from markscheme.errors import UsageError, nearest
from markscheme.models.secrets import hide_config, hide_spec
from markscheme.redaction import redacted_text
from markscheme.running.resuming import GROWING

SWEPT = ("temperature", "prompt", "fewshot", "fewshot_seed", "system_prompt", "top_p", "top_k", "max_tokens", "seed")
"""Options that may have several values: each combination is asked."""

OWN_KEYS = ("models", "benchmarks", "extra")


class Cell(NamedTuple):
    """One run of an experiment."""

    folder: str
    model: str
    """The model's name in the experiment."""
    variation: str
    """The values of what is swept, such as `temperature 0.7`."""
    config: RunConfig


def is_experiment(path: str) -> bool:
    """Whether a file is an experiment's, not a benchmark's."""
    if not path.endswith(".toml"):
        return False
    try:
        raw = read_toml(Path(path))
    except UsageError:
        return False  # complained of by whoever reads it
    return "models" in raw or "benchmarks" in raw


def read_cells(path: Path, typed: Mapping[str, Any]) -> list[Cell]:
    """The runs of an experiment's file; options that were typed come before those of the file."""
    raw = read_toml(path)
    models, named = raw.get("models"), raw.get("benchmarks")
    if not isinstance(models, dict) or not models:
        raise UsageError(f'{path} names no model: add [models.NAME] with `model = "backend/name"`')
    if not named:
        raise UsageError(f'{path} names no benchmark: add `benchmarks = ["gsm8k"]`')
    shared = {key: value for key, value in raw.items() if key not in OWN_KEYS}
    if "extra" in raw:
        shared["extra_field"] = _fields(raw["extra"])
    for options in (shared, *models.values(), *(named.values() if isinstance(named, dict) else ())):
        _check_names(path, options)
    benchmarks = named if isinstance(named, dict) else {each: {} for each in named}
    asked = {_beside(path, name): dict(options) for name, options in benchmarks.items()}
    made = {name: _model_options(path, name, options) for name, options in models.items()}
    return list(_cells(made, asked, shared, typed))


def typed_cells(models: Sequence[str], benchmarks: Sequence[str], typed: Mapping[str, Any]) -> list[Cell]:
    """The runs of `--model A B`, several benchmarks, and options with several values."""
    return list(_cells({hide_spec(each): {"model": each} for each in models}, {b: {} for b in benchmarks}, {}, typed))


def _cells(
    models: Mapping[str, dict[str, Any]],
    benchmarks: Mapping[str, dict[str, Any]],
    shared: Mapping[str, Any],
    typed: Mapping[str, Any],
) -> Iterator[Cell]:
    seen = set()
    for (name, model), (benchmark, own) in product(models.items(), benchmarks.items()):
        options = {**shared, **own, **model, **typed, "benchmark": benchmark}
        swept = {key: options[key] for key in SWEPT if isinstance(options.get(key), list | tuple)}
        for values in product(*swept.values()):
            chosen = dict(zip(swept, values, strict=True))
            config = make_config(**{**options, **chosen})
            variation = redacted_text(", ".join(f"{key} {_short(value)}" for key, value in chosen.items()))
            folder = _folder(name, config, variation)
            if folder not in seen:  # a value that is named twice is asked once
                seen.add(folder)
                yield Cell(folder, name, variation, config)


def _folder(model: str, config: RunConfig, variation: str) -> str:
    """What a run is called: readable, and the same for the same questions, however many samples or problems."""
    digest = hashlib.sha256(model.encode() + asked(config)).hexdigest()[:6]
    words = [Path(config.benchmark).stem if "/" in config.benchmark else config.benchmark, model, variation]
    slugs = (re.sub(r"[^A-Za-z0-9.]+", "-", word).strip("-.")[:48] for word in words)
    return "_".join([*(slug for slug in slugs if slug), digest])


def asked(config: RunConfig) -> bytes:
    """What two configs have in common that ask the same questions in the same way, however many samples or problems."""
    hidden = hide_config(config)
    fixed = {name: getattr(hidden, name) for name in fixed_options() if name not in GROWING}
    return msgspec.json.encode(fixed, order="sorted")


def _short(value: object) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    if len(text) <= 24 and "\n" not in text:
        return text
    return f"{' '.join(text.split())[:16]}… {hashlib.sha256(text.encode()).hexdigest()[:4]}"


def _model_options(path: Path, name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(options.get("model"), str):
        raise UsageError(f'{path}: [models.{name}] needs `model`, such as model = "openai/{name}"')
    made = {key: value for key, value in options.items() if key != "extra"}
    if "extra" in options:
        made["extra_field"] = _fields(options["extra"])
    return made


def _fields(extra: Mapping[str, Any]) -> tuple[str, ...]:
    """A table of further request fields as the options have them."""
    return tuple(f"{key}={msgspec.json.encode(value).decode()}" for key, value in extra.items())


def _beside(path: Path, name: str) -> str:
    """A file that is named in an experiment lies beside it."""
    return str(path.parent / name) if name.startswith((".", "/")) or (path.parent / name).is_file() else name


def _check_names(path: Path, options: object) -> None:
    known = {*RunConfig.__struct_fields__, "extra"}
    if not isinstance(options, Mapping):
        raise UsageError(f"{path}: a model or benchmark is a table of options, not {options!r}")
    for name in options:
        if name not in known:
            line = next((number for number, text in enumerate(path.read_text().splitlines(), 1) if name in text), 1)
            hint = nearest(name, known, "`markscheme run --help` names the options")
            raise UsageError(f"{path}, line {line}: there is no option {name!r}; {hint}")
