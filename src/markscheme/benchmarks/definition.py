"""A benchmark as data: one small TOML file with the prompts, the source of the problems, and the protocol.

A mistake in the file is reported in one sentence with its line and how to fix it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from markscheme.benchmarks.fields import Fields
from markscheme.datasets.folder import SAMPLES
from markscheme.datasets.small_texts import line_of, read_small_text, read_toml
from markscheme.datasets.sources import PLACES, Source, check_kind
from markscheme.errors import DataError, nearest
from markscheme.prompts import Template, check_template
from markscheme.types import Sampling

SHIPPED = Path(__file__).parent / "shipped"

# Keys that a benchmark does not inherit by `like`.
OWN_KEYS = ("name", "summary", "licence", "sample", "unchecked", "default")


class FewShot(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The source and default number of worked examples."""

    pool: str  # the name of one of the data files
    count: int = 0
    disjoint: bool = False  # for the pinned rows it was checked that no question of the pool is evaluated


class Definition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a benchmark's file."""

    name: str = ""
    summary: str = ""
    like: str | None = None  # another benchmark, from which all other keys are inherited
    licence: str = "not stated"
    sample: str | None = None  # a packaged set to suggest if the data is missing
    unchecked: str = ""  # what could not be compared with the original
    default: bool = False  # part of `all`
    protocol: str = "math"
    data: dict[str, Source] = {}
    evaluate: tuple[str, ...] = ()  # the data files to ask, in order (default: all but the pool)
    parts: tuple[str, ...] | None = None  # which of them can be asked alone (default: all, if there are several)
    columns: dict[str, str] = {}
    fields: Fields = Fields()
    prompts: dict[str, Template] = {}
    fewshot: FewShot | None = None
    sampling: Sampling = Sampling()  # defaults, like the tools
    tools: tuple[str, ...] = ()
    typed: str = ""  # what the user types, if that is not the name: `hf/OWNER/NAME`
    plain_prompts: bool = False  # set if the file has no prompts: choices and chats then have their own defaults

    @property
    def evaluated(self) -> tuple[str, ...]:
        pool = self.fewshot.pool if self.fewshot else None
        return self.evaluate or tuple(name for name in self.data if name != pool)

    @property
    def own_parts(self) -> tuple[str, ...]:
        """The data files that can be asked alone as NAME-PART."""
        return self.parts if self.parts is not None else self.evaluated if len(self.evaluated) > 1 else ()


def load_definition(path: Path) -> Definition:
    """Load the definition in a file, with the keys that it inherits."""
    raw = read_toml(path, DataError)
    name = raw.get("name", path.stem)
    try:
        merged = _merged(raw)
        made = msgspec.convert(merged, Definition)
        _check(made)
    except msgspec.ValidationError as problem:
        complaint = complaint_of(str(problem), read_small_text(path))
    except _MistakeError as problem:
        complaint = f"line {line_of(read_small_text(path), problem.where)}: {problem}"
    else:
        like = str(made.like or "") if "columns" not in raw else ""
        placed = {key: _placed(each, f"{name}/{key}.jsonl", made.columns, path) for key, each in made.data.items()}
        data = {key: msgspec.structs.replace(source, like=like) for key, source in placed.items()}
        return msgspec.structs.replace(made, name=name, data=data)
    raise DataError(f"{path}, {complaint}{'' if complaint.endswith('?') else '.'}")


class _MistakeError(ValueError):
    """What is wrong at which key."""

    def __init__(self, where: str, what: object) -> None:
        super().__init__(str(what))
        self.where = where


def _shipped_raw(name: object, where: str) -> dict[str, Any]:
    known = {each.stem: each for each in sorted(SHIPPED.glob("*.toml"))}
    if name not in known:
        raise _MistakeError(where, f"there is no benchmark {str(name)[:60]!r}; {nearest(str(name)[:60], known)}")
    return read_toml(known[str(name)], DataError)


def _merged(raw: dict[str, Any]) -> dict[str, Any]:
    """Fill in the inherited keys, and the files of other benchmarks (`train = "math:train"`)."""
    base = _merged(_shipped_raw(raw["like"], "like")) if "like" in raw else {}
    full = {**{key: value for key, value in base.items() if key not in OWN_KEYS}, **raw}
    if "like" not in raw and "prompts" not in raw:
        full |= {"prompts": _shipped_raw("math500", "prompts")["prompts"], "plain_prompts": True}
    data = full.get("data")
    if isinstance(data, dict):
        full["data"] = {key: _borrowed(value, f"data.{key}") for key, value in data.items()}
        if "fewshot" not in raw and full.get("fewshot", {}).get("pool") not in data:
            # The inherited pool is not among these files, and so prompts with fixed examples from it are of no use.
            full.pop("fewshot", None)
            full["prompts"] = {key: each for key, each in full["prompts"].items() if "examples" not in each}
    return full


def _borrowed(value: object, where: str) -> object:
    if not isinstance(value, str):
        return value
    name, _, part = value.partition(":")
    data = _shipped_raw(name, where)["data"]
    if part not in data:
        raise _MistakeError(where, f"{name} has no data file {part!r}; write BENCHMARK:PART, such as math:train")
    return {"file": f"{name}/{part}.jsonl", **data[part], "borrowed": value}


def _placed(source: Source, default: str, columns: dict[str, str], path: Path) -> Source:
    """Add the columns and the folder: the data folder for what is fetched, else the benchmark's own."""
    folder = None
    if not source.places:
        folder = str(SAMPLES if path.parent == SHIPPED else path.parent.absolute())
    return msgspec.structs.replace(source, file=source.file or default, columns=columns, folder=folder)


def _check(made: Definition) -> None:
    """Check what the types cannot express."""
    for key, source in made.data.items():
        if not source.places and not source.file:
            raise _MistakeError(f"data.{key}", "name a `file`, or the `hub` that has it")
    for key, names in (("evaluate", made.evaluate), ("parts", made.parts or ())):
        for name in names:
            if name not in made.data:
                raise _MistakeError(key, f"there is no [data.{name}]; there are {', '.join(made.data)}")
    if made.fewshot is not None and made.fewshot.pool not in made.data:
        raise _MistakeError("fewshot.pool", f"there is no [data.{made.fewshot.pool}]; there are {', '.join(made.data)}")
    if not made.evaluated:
        raise _MistakeError("data", "there is nothing to ask: add [data.test] with a `file` or `hub`")
    if not made.prompts:
        raise _MistakeError("prompts", "there is no prompt; leave out [prompts] for the default one")
    for key, kind in made.columns.items():
        _checked(f"columns.{key}", check_kind, kind)
    for key, template in made.prompts.items():
        _checked(f"prompts.{key}", check_template, template)


def _checked(where: str, check: Callable[[Any], None], value: object) -> None:
    try:
        check(value)
    except ValueError as problem:
        raise _MistakeError(where, problem) from None


def complaint_of(error: str, text: str, names_at: Callable[[str], tuple[str, ...]] | None = None) -> str:
    """Add to msgspec's sentence the line of the key, and the nearest name for an unknown key."""
    reason, _, path = error.partition(" - at `$")
    where = path.rstrip("`").lstrip(".").replace("[...]", ".*")  # msgspec does not say which key
    where = re.sub(r"\[\d+\]", "", where)  # a list may be on one line
    if match := re.match(r"Object contains unknown field `(.*)`", reason):
        where = f"{where}.{match[1]}".lstrip(".")
        known = (names_at or _names_at)(where.rpartition(".")[0])
        reason = f"there is no `{match[1]}`; {nearest(match[1], known)}"
    elif match := re.match(r"Object missing required field `(.*)`", reason):
        reason = f"`{match[1]}` is missing"
    else:
        reason = f"`{where.removesuffix('.*').rpartition('.')[2]}`: {reason[0].lower()}{reason[1:]}"
    return f"line {line_of(text, where)}: {reason}"


def _names_at(where: str) -> tuple[str, ...]:
    tables: dict[str, Any] = {
        **{"": Definition, "data": Source, "fields": Fields, "prompts": Template, "fewshot": FewShot},
        **{f"data.{key}": kind for key, kind in PLACES.items()},
        "sampling": Sampling,
    }
    table = where.replace(".*", "")
    return tuple(tables[table].__struct_fields__) if table in tables else ()
