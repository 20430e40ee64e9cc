"""A benchmark as data: one small TOML file says what is asked, where it comes from, and how it is marked.

A mistake in the file is one sentence with its line and what to do about it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from markscheme.benchmarks.fields import Fields
from markscheme.datasets.folder import SAMPLES
from markscheme.datasets.small_texts import read_small_text, read_toml
from markscheme.datasets.sources import PLACES, Source, check_kind
from markscheme.errors import DataError, nearest
from markscheme.prompts import Template, check_template
from markscheme.types import Sampling

SHIPPED = Path(__file__).parent / "shipped"

# What a benchmark does not take over from the one that it is `like`.
OWN_KEYS = ("name", "summary", "licence", "sample", "unchecked", "default")


class FewShot(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where worked examples come from, and how many there are unless the user says otherwise."""

    pool: str  # the name of one of the data files
    count: int = 0
    # No question of the pool is evaluated, as was checked once for the pinned rows: it need not be checked again.
    disjoint: bool = False


class Definition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a benchmark's file holds."""

    name: str = ""
    summary: str = ""
    like: str | None = None  # another benchmark: whatever is not said here is as it is there
    licence: str = "not stated"
    sample: str | None = None  # the packaged set that runs in its place when the data is not there
    unchecked: str = ""  # what could not be compared with the original when this file was written
    default: bool = False  # part of `all`
    protocol: str = "math"
    data: dict[str, Source] = {}
    evaluate: tuple[str, ...] = ()  # the data files that are asked, one after the other (default: all but the pool)
    # Those that are benchmarks of their own, too (default: all that are asked, where they are several).
    parts: tuple[str, ...] | None = None
    columns: dict[str, str] = {}
    fields: Fields = Fields()
    prompts: dict[str, Template] = {}
    fewshot: FewShot | None = None
    sampling: Sampling = Sampling()  # used where the user says nothing; so are the tools that the model may call
    tools: tuple[str, ...] = ()
    typed: str = ""  # how it is typed, where that is not its name: `hf/OWNER/NAME`
    # Set where the file has no prompts of its own: choices and chats are then asked as such.
    plain_prompts: bool = False

    @property
    def evaluated(self) -> tuple[str, ...]:
        """The data files that are asked."""
        pool = self.fewshot.pool if self.fewshot else None
        return self.evaluate or tuple(name for name in self.data if name != pool)

    @property
    def own_parts(self) -> tuple[str, ...]:
        """Data files that can be asked alone, as NAME-PART."""
        return self.parts if self.parts is not None else self.evaluated if len(self.evaluated) > 1 else ()


def load_definition(path: Path) -> Definition:
    """The definition in a file, with whatever it leaves to another one filled in."""
    raw = read_toml(path, DataError)
    name = raw.get("name", path.stem)
    try:
        merged = _merged(raw)
        made = msgspec.convert(merged, Definition)
        _check(made)
    except msgspec.ValidationError as problem:
        complaint = complaint_of(str(problem), read_small_text(path))
    except _MistakeError as problem:
        complaint = f"line {_line(read_small_text(path), problem.where)}: {problem}"
    else:
        like = str(made.like or "") if "columns" not in raw else ""
        placed = {key: _placed(each, f"{name}/{key}.jsonl", made.columns, path) for key, each in made.data.items()}
        data = {key: msgspec.structs.replace(source, like=like) for key, source in placed.items()}
        return msgspec.structs.replace(made, name=name, data=data)
    raise DataError(f"{path}, {complaint}{'' if complaint.endswith('?') else '.'}")


class _MistakeError(ValueError):
    """What is wrong, and at which key."""

    def __init__(self, where: str, what: object) -> None:
        super().__init__(str(what))
        self.where = where


def _shipped_raw(name: object, where: str) -> dict[str, Any]:
    file = SHIPPED / f"{name}.toml"
    if not file.is_file():
        known = sorted(each.stem for each in SHIPPED.glob("*.toml"))
        raise _MistakeError(where, f"there is no benchmark {name!r}; {nearest(str(name), known)}")
    return read_toml(file, DataError)


def _merged(raw: dict[str, Any]) -> dict[str, Any]:
    """With what another benchmark has, key by key, and files of other benchmarks (`train = "math:train"`) in place."""
    base = _merged(_shipped_raw(raw["like"], "like")) if "like" in raw else {}
    full = {**{key: value for key, value in base.items() if key not in OWN_KEYS}, **raw}
    if "like" not in raw and "prompts" not in raw:
        full |= {"prompts": _shipped_raw("math500", "prompts")["prompts"], "plain_prompts": True}
    data = full.get("data")
    if isinstance(data, dict):
        full["data"] = {key: _borrowed(value, f"data.{key}") for key, value in data.items()}
        if "fewshot" not in raw and full.get("fewshot", {}).get("pool") not in data:
            # The pool of the other benchmark is not among these files, so neither are the examples that a prompt fixes.
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
    """With its columns, and where it lies: what the Hub has in the data folder, our own beside the benchmark's file."""
    folder = None
    if not source.places:
        folder = str(SAMPLES if path.parent == SHIPPED else path.parent.absolute())
    return msgspec.structs.replace(source, file=source.file or default, columns=columns, folder=folder)


def _check(made: Definition) -> None:
    """What the types cannot say."""
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
        raise _MistakeError("data", "nothing is asked: add [data.test] with its `file` or `hub`")
    if not made.prompts:
        raise _MistakeError("prompts", "there is no prompt; leave [prompts] out for the usual one")
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
    """msgspec's sentence, with the line of the key it means and the nearest name for one that is unknown."""
    reason, _, path = error.partition(" - at `$")
    where = path.rstrip("`").lstrip(".").replace("[...]", ".*")  # msgspec does not say which
    where = re.sub(r"\[\d+\]", "", where)  # of a list, all of it: it may stand in one line
    if match := re.match(r"Object contains unknown field `(.*)`", reason):
        where = f"{where}.{match[1]}".lstrip(".")
        known = (names_at or _names_at)(where.rpartition(".")[0])
        reason = f"there is no `{match[1]}`; {nearest(match[1], known)}"
    elif match := re.match(r"Object missing required field `(.*)`", reason):
        reason = f"`{match[1]}` is missing"
    else:
        reason = f"`{where.removesuffix('.*').rpartition('.')[2]}`: {reason[0].lower()}{reason[1:]}"
    return f"line {_line(text, where)}: {reason}"


def _names_at(where: str) -> tuple[str, ...]:
    """The names that a table of the file may have."""
    tables: dict[str, Any] = {
        **{"": Definition, "data": Source, "fields": Fields, "prompts": Template, "fewshot": FewShot},
        **{f"data.{key}": kind for key, kind in PLACES.items()},
        "sampling": Sampling,
    }
    table = where.replace(".*", "")
    return tuple(tables[table].__struct_fields__) if table in tables else ()


def _line(text: str, where: str) -> int:
    """The line of a dotted key, or of the nearest table above it that is written down."""
    wanted, table, best = where.split("."), list[str](), (0, 1)
    for number, line in enumerate(text.splitlines(), start=1):
        if header := re.match(r"\s*\[+([^\]]+)\]", line):
            table = [each.strip().strip('"') for each in header[1].split(".")]
            key = table
        elif assigned := re.match(r"\s*([\w.\"-]+)\s*=", line):
            key = [*table, *(each.strip('"') for each in assigned[1].split("."))]
        else:
            continue
        common = min(len(key), len(wanted))
        if all(part in ("*", name) for part, name in zip(wanted, key, strict=False)) and common > best[0]:
            best = (common, number)
    return best[1]
