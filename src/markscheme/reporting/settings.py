"""The settings in which runs differ: columns, names and filters."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from markscheme.config import SETTINGS
from markscheme.errors import UsageError, nearest, option
from markscheme.runs.folder import Run

SHOWN_ANYWAY = ("benchmark", "model", "protocol", "samples", "problems")  # every table has these columns
UNSET = "–"
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")  # sort order of reasoning efforts


class Configured(Protocol):
    """The settings of a manifest or a summary."""

    @property
    def benchmark(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def settings(self) -> dict[str, Any]: ...
    @property
    def sampling(self) -> dict[str, Any]: ...
    @property
    def fewshot(self) -> int: ...


def settings_of(run: Configured) -> dict[str, Any]:
    """Return every known setting of a run; as sent, if the benchmark or the model decided it."""
    sent = {name: value for name, value in run.sampling.items() if value not in (None, [], ())}
    known = {**sent, "fewshot": run.fewshot, **run.settings}
    return {name: known.get(name) for name in SETTINGS}


def differing(runs: Sequence[Configured]) -> list[str]:
    """Return the settings in which runs differ, except for the defaults of each benchmark."""
    names = []
    for name in SETTINGS:
        values = [(run.benchmark, str(settings_of(run)[name])) for run in runs]
        typed = any(name in run.settings for run in runs)
        if len({value for _, value in values} if typed else set(values)) > (1 if typed else len(dict(values))):
            names.append(name)
    return names


def heading(name: str) -> str:
    """Return the name of a setting in words."""
    return name.replace("_", " ")


def shown(value: object, longest: int = 24) -> str:
    """Return a value that fits into a table; a long text is shortened and gets a part of its hash."""
    if value is None:
        return UNSET
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        text = f"{value:g}" if isinstance(value, float) else str(value)
    if len(text) <= longest and "\n" not in text:
        return text
    return f"{' '.join(text.split())[:16]}… {hashlib.sha256(text.encode()).hexdigest()[:4]}"


def columns(run: Configured, names: Sequence[str]) -> dict[str, str]:
    """Return the cells of some settings by their headings."""
    values = settings_of(run)
    return {heading(name): shown(values[name]) for name in names}


def run_names(runs: Sequence[Configured], folders: Sequence[str], *, full: bool = False) -> list[str]:
    """Return distinct names made of benchmark, model and the settings that differ; else the folders.

    Parts that all runs share are left out, except for the model if a run would have no name, or with `full`.
    """
    for model in (full, True):
        names = [
            " · ".join(text if head in BARE else f"{head} {text}" for head, text in each.items() if text != UNSET)
            for each in _parts(runs, full, model)
        ]
        if all(names):
            break
    return _distinct(names, folders)


def legend(runs: Sequence[Configured], folders: Sequence[str]) -> tuple[str, list[str]]:
    """Return the headings of the parts of the names once, and short names, for a legend."""
    parts = _parts(runs)
    heads = ("model" if head == "name" else head for head in parts[0])
    return " · ".join(heads) if len(runs) > 1 else "", _distinct([" · ".join(each.values()) for each in parts], folders)


BARE = ("benchmark", "model", "name")  # parts of a name without a heading


def _parts(runs: Sequence[Configured], full: bool = False, model: bool = False) -> list[dict[str, str]]:
    names = differing(runs)
    alike = {part: len({getattr(run, part) for run in runs}) == 1 for part in ("model", "benchmark")}
    alike["model"] |= "name" in names and names_tell_models(runs)
    made = []
    for run in runs:
        parts = {} if alike["benchmark"] and not full else {"benchmark": run.benchmark}
        cells = columns(run, names)
        if not alike["model"] or not (parts or cells) or (model and "name" not in cells):
            parts["model"] = run.model
        made.append(parts | cells)
    return made


def _distinct(names: list[str], folders: Sequence[str]) -> list[str]:
    short = [Path(folder).name for folder in folders]
    return next((each for each in (names, short) if len(set(each)) == len(each)), list(folders))


def names_tell_models(runs: Sequence[Configured]) -> bool:
    """True if every run names its model, and no two models share a name."""
    pairs = {(settings_of(run)["name"], run.model) for run in runs}
    return None not in {name for name, _ in pairs} and len({name for name, _ in pairs}) == len(pairs)


def ordered(runs: Sequence[Run]) -> list[Run]:
    """Sort runs by benchmark, model and settings, numbers by their size."""
    names = differing([run.manifest for run in runs])

    def key(run: Run) -> tuple[Any, ...]:
        values = settings_of(run.manifest)
        if values["reasoning_effort"] in EFFORTS:
            values["reasoning_effort"] = EFFORTS.index(values["reasoning_effort"])
        settings = ((isinstance(value := values[name], str), value) if isinstance(values[name], int | float | str) else
                    (True, str(values[name])) for name in names)  # fmt: skip
        return (run.manifest.benchmark, values["name"] or run.manifest.model, *settings)

    return sorted(runs, key=key)


def chosen(conditions: Sequence[str], runs: Sequence[Run]) -> list[Run]:
    """Return the runs that match every `--where SETTING=VALUE`; values are separated by commas."""
    kept = list(runs)
    for condition in conditions:
        name, sign, wanted = condition.partition("=")
        name = name.strip().replace("-", "_").replace(" ", "_")
        if not sign or name not in (*SETTINGS, *SHOWN_ANYWAY):
            if name in (*SETTINGS, *SHOWN_ANYWAY):
                raise UsageError(f"{option('where')} takes SETTING=VALUE, and {condition!r} has no value: add {name}=…")
            hint = nearest(name, (*SETTINGS, *SHOWN_ANYWAY), f"write it as {option('where')} max_tokens=4096")
            raise UsageError(f"{option('where')} takes SETTING=VALUE, and there is no setting {name!r}; {hint}")
        values = [text.strip() for text in wanted.split(",")]
        # A table shows a model by the name that its experiment gives it.
        names = ("model", "name") if name == "model" else (name,)
        there = {
            str(value) for run in kept for each in names if (value := _value(run, each)) is not None or len(names) == 1
        }
        kept = [run for run in kept if any(_is(_value(run, each), text) for each in names for text in values)]
        if not kept:
            raise UsageError(f"no run has {name} {wanted}; the values are {', '.join(sorted(there)[:12])}")
    return kept


def _value(run: Run, name: str) -> object:
    return getattr(run.manifest, name) if name in SHOWN_ANYWAY else settings_of(run.manifest)[name]


def _is(value: object, text: str) -> bool:
    """True if a setting has the value typed: `0.80` is 0.8, and a part of a long text is enough."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(text) == float(value)
        except ValueError:
            return False
    whole = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text == whole or shown(value) == text or (len(whole) > 24 and text in whole)
