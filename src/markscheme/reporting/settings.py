"""What tells runs apart: the settings that differ between them become columns, names and filters; the others stay out."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from markscheme.config import SETTINGS
from markscheme.errors import UsageError, nearest, option
from markscheme.runs.folder import Run

SHOWN_ANYWAY = ("benchmark", "model", "protocol", "samples", "problems")  # what every table has a column for
UNSET = "–"
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")  # reasoning efforts in the order of a table


class Told(Protocol):
    """A manifest or a summary, as far as it says how the run was asked."""

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


def settings_of(run: Told) -> dict[str, Any]:
    """Every setting that is known of a run: as it was sent where the benchmark or the model decided."""
    sent = {name: value for name, value in run.sampling.items() if value not in (None, [], ())}
    known = {**sent, "fewshot": run.fewshot, **run.settings}
    return {name: known.get(name) for name in SETTINGS}


def differing(runs: Sequence[Told]) -> list[str]:
    """The settings in which these runs differ. What each benchmark has a default of its own for is no difference."""
    names = []
    for name in SETTINGS:
        values = [(run.benchmark, str(settings_of(run)[name])) for run in runs]
        typed = any(name in run.settings for run in runs)
        if len({value for _, value in values} if typed else set(values)) > (1 if typed else len(dict(values))):
            names.append(name)
    return names


def heading(name: str) -> str:
    """A setting as people write it."""
    return name.replace("_", " ")


def shown(value: object, longest: int = 24) -> str:
    """A value that fits into a table; a long text is told apart by a piece of its hash."""
    if value is None:
        return UNSET
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        text = f"{value:g}" if isinstance(value, float) else str(value)
    if len(text) <= longest and "\n" not in text:
        return text
    return f"{' '.join(text.split())[:16]}… {hashlib.sha256(text.encode()).hexdigest()[:4]}"


def columns(run: Told, names: Sequence[str]) -> dict[str, str]:
    """The cells of some settings, with their headings."""
    values = settings_of(run)
    return {heading(name): shown(values[name]) for name in names}


def run_names(runs: Sequence[Told], folders: Sequence[str], *, full: bool = False) -> list[str]:
    """Names that tell runs apart by what they are: benchmark, model, settings that differ; else by their folders.

    What all runs share is left out, but for the model where nothing else is left; `full` names benchmark and model always.
    """
    parts = _parts(runs, full)
    names = [
        " · ".join(text if head in BARE else f"{head} {text}" for head, text in each.items() if text != UNSET)
        for each in parts
    ]
    return _told_apart(names, folders)


def legend(runs: Sequence[Told], folders: Sequence[str]) -> tuple[str, list[str]]:
    """The same for a legend, where every letter counts: what the parts of a name are, said once, and the names."""
    parts = _parts(runs, False)
    return " · ".join(parts[0]) if len(runs) > 1 else "", _told_apart(
        [" · ".join(each.values()) for each in parts], folders
    )


BARE = ("benchmark", "model", "name")  # parts of a name that need no heading


def _parts(runs: Sequence[Told], full: bool) -> list[dict[str, str]]:
    names = differing(runs)
    alike = {part: len({getattr(run, part) for run in runs}) == 1 for part in ("model", "benchmark")}
    alike["model"] |= "name" in names and names_tell_models(runs)
    made = []
    for run in runs:
        parts = {} if alike["benchmark"] and not full else {"benchmark": run.benchmark}
        cells = columns(run, names)
        if not alike["model"] or not (parts or cells) or (full and "name" not in cells):
            parts["model"] = run.model
        made.append(parts | cells)
    return made


def _told_apart(names: list[str], folders: Sequence[str]) -> list[str]:
    short = [Path(folder).name for folder in folders]
    return next((each for each in (names, short) if len(set(each)) == len(each)), list(folders))


def names_tell_models(runs: Sequence[Told]) -> bool:
    """Whether every run has a name of its own for its model, so that the spec adds nothing."""
    pairs = {(settings_of(run)["name"], run.model) for run in runs}
    return None not in {name for name, _ in pairs} and len({name for name, _ in pairs}) == len(pairs)


def ordered(runs: Sequence[Run]) -> list[Run]:
    """The runs of a folder as a table wants them: by benchmark, model and settings, numbers by their size."""
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
    """The runs that `--where SETTING=VALUE` keeps; several values with commas; every condition must hold."""
    kept = list(runs)
    for condition in conditions:
        name, sign, wanted = condition.partition("=")
        name = name.strip().replace("-", "_").replace(" ", "_")
        if not sign or name not in (*SETTINGS, *SHOWN_ANYWAY):
            hint = nearest(name, (*SETTINGS, *SHOWN_ANYWAY), f"such as {option('where')} max_tokens=4096")
            raise UsageError(f"{option('where')} takes SETTING=VALUE, and {condition!r} names none; {hint}")
        values = [text.strip() for text in wanted.split(",")]
        there = {str(_value(run, name)) for run in kept}
        kept = [run for run in kept if any(_is(_value(run, name), text) for text in values)]
        if not kept:
            raise UsageError(f"no run has {name} {wanted}; there are {', '.join(sorted(there)[:12])}")
    return kept


def _value(run: Run, name: str) -> object:
    return getattr(run.manifest, name) if name in SHOWN_ANYWAY else settings_of(run.manifest)[name]


def _is(value: object, text: str) -> bool:
    """Whether a setting has the value that was typed: `0.80` is 0.8, and a part of a long text is enough."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(text) == float(value)
        except ValueError:
            return False
    whole = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text == whole or shown(value) == text or (len(whole) > 24 and text in whole)
