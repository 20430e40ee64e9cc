"""The runs of an experiment: models × benchmarks × prompts × settings, from a file or from the command line.

Each combination is a run in its own folder, named by what it asks, so that the same experiment finds what it has already.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from markscheme.config import NO_SETTINGS, RunConfig, fixed_options, make_config, run_options
from markscheme.datasets.small_texts import line_of, read_small_text, read_toml
from markscheme.errors import UsageError
from markscheme.models.secrets import hide_config, hide_spec
from markscheme.redaction import redacted_text
from markscheme.reporting.settings import shown
from markscheme.running.resuming import GROWING

# Options that may have several values, of which each combination is asked. For an option that is a list, a list of lists.
SWEPT = tuple(name for name in fixed_options() if name not in NO_SETTINGS)


class Cell(NamedTuple):
    """One run of an experiment."""

    folder: str
    model: str  # the model's name in the experiment
    variation: str  # the swept values, such as `temperature 0.7`
    config: RunConfig


def is_experiment(path: str, *, alone: bool = False) -> bool:
    """True for the file of an experiment rather than of a benchmark, or for an unreadable file if `alone`.

    A benchmark is named together with a model; reading the file later reports what is wrong with it.
    """
    if not path.endswith(".toml"):
        return False
    try:
        raw = read_toml(Path(path))
    except UsageError:
        return alone
    return "models" in raw or "benchmarks" in raw


def read_cells(path: Path, typed: Mapping[str, Any]) -> list[Cell]:
    """Return the runs of an experiment file; typed options override those of the file."""
    raw = read_toml(path)
    models, named = raw.get("models"), raw.get("benchmarks")
    if not isinstance(models, dict) or not models:
        raise UsageError(f'{path} names no model: add [models.NAME] with `model = "backend/name"`')
    if not named:
        raise UsageError(f'{path} names no benchmark: add `benchmarks = ["gsm8k"]`')
    benchmarks = named if isinstance(named, dict) else {each: {} for each in named}
    shared = _checked(path, "", {key: value for key, value in raw.items() if key not in ("models", "benchmarks")})
    asked = {_beside(path, name): _checked(path, f"benchmarks.{name}", options) for name, options in benchmarks.items()}
    made = {}
    for name, options in models.items():
        if not isinstance(options, Mapping) or not isinstance(options.get("model"), str):
            line = line_of(read_small_text(path), f"models.{name}.model")
            raise UsageError(f'{path}, line {line}: [models.{name}] needs `model`, such as model = "openai/{name}"')
        made[name] = {"name": name, **_checked(path, f"models.{name}", options)}
    return list(_cells(made, asked, shared, typed))


def typed_cells(models: Sequence[str], benchmarks: Sequence[str], typed: Mapping[str, Any]) -> list[Cell]:
    """Return the runs of `--model A B`, several benchmarks, and options with several values."""
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
        swept = {key: options[key] for key in SWEPT if _is_swept(key, options.get(key))}
        for values in product(*swept.values()):
            chosen = dict(zip(swept, values, strict=True))
            config = make_config(**{**options, **chosen})
            variation = redacted_text(", ".join(f"{key} {shown(value)}" for key, value in chosen.items()))
            folder = _folder(name, config, variation)
            if folder not in seen:  # a value that is given twice is asked once
                seen.add(folder)
                yield Cell(folder, name, variation, config)


def _folder(model: str, config: RunConfig, variation: str) -> str:
    """Return the name of a run: readable, and the same for the same questions, however many samples or problems."""
    digest = hashlib.sha256(model.encode() + asked(config)).hexdigest()[:6]
    words = [Path(config.benchmark).stem if "/" in config.benchmark else config.benchmark, model, variation]
    slugs = (re.sub(r"[^A-Za-z0-9.]+", "-", word).strip("-.")[:48] for word in words)
    return "_".join([*(slug for slug in slugs if slug), digest])


def asked(config: RunConfig) -> bytes:
    """Return what identifies the questions and settings of a config, however many samples or problems."""
    hidden = hide_config(config)
    fixed = {name: getattr(hidden, name) for name in fixed_options() if name not in GROWING}
    return msgspec.json.encode(fixed, order="sorted")


def _fields_of(extra: Any) -> Any:
    return [_fields(each) for each in extra] if isinstance(extra, list) else _fields(extra)


def _fields(extra: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a table of extra request fields as options."""
    return tuple(f"{key}={msgspec.json.encode(value).decode()}" for key, value in extra.items())


def _beside(path: Path, name: str) -> str:
    """Return a path relative to the experiment file if it is one, else the name."""
    return str(path.parent / name) if name.startswith((".", "/")) or (path.parent / name).is_file() else name


def _is_swept(name: str, value: object) -> bool:
    """True for a list of values to ask one after the other; for an option that is a list itself, a list of lists."""
    several = isinstance(value, list | tuple)
    if run_options()[name].kind == tuple[str, ...]:
        return several and any(isinstance(each, list | tuple) for each in value)  # type: ignore[attr-defined]
    return several


def _checked(path: Path, table: str, options: object) -> dict[str, Any]:
    """Return the options of a table of the file; a mistake is reported with its line."""
    if not isinstance(options, Mapping):
        raise UsageError(f"{path}: a model or benchmark is a table of options, not {options!r}")
    made = dict(options)
    for name, value in options.items():
        try:
            if name == "extra":
                name, value = "extra_field", _fields_of(made.pop("extra"))
                made[name] = value
            for each in value if name in SWEPT and _is_swept(name, value) else [value]:
                make_config(**{"benchmark": "", "model": "", name: each})
        except (UsageError, AttributeError) as problem:
            reason = problem if isinstance(problem, UsageError) else f"{name} is a table of fields, not {value!r}"
            line = line_of(read_small_text(path), f"{table}.{name.removesuffix('_field')}".lstrip("."))
            raise UsageError(f"{path}, line {line}: {reason}") from None
    return made
