"""A claim: a published table, its stored outputs, and how to read them. One TOML file (`docs/claims.md`).

Keys at the top hold for every row of the table; a row may override them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import msgspec

from markscheme.benchmarks.definition import complaint_of
from markscheme.benchmarks.fields import Expression
from markscheme.datasets.small_texts import read_small_text, read_toml
from markscheme.datasets.stored import OUTPUT_FIELDS, QUESTION_FIELDS, SEVERAL_FIELDS
from markscheme.errors import DataError, nearest, option
from markscheme.marking.protocol import get_protocol

# The mean over samples; the first sample; any of K; the most frequent answer; the sample with the highest `score`.
FIGURES = re.compile(r"accuracy|first|(pass|maj|best)@([1-9]\d{0,5})")


class Between(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A field of a text log: the text of a record after one mark and before the next occurrence of another."""

    after: str
    before: str = "\n"
    last: bool = False  # use the last such mark of the record, not the first


class Columns(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The meaning of the columns of a stored row, in the expressions of a benchmark's `[fields]`."""

    response: Expression = (*OUTPUT_FIELDS[:-1], *SEVERAL_FIELDS)  # a string, or a list of strings for several samples
    gold: Expression = ("gold", "ground_truth", "gt", "target", "answer")
    statement: Expression = (*QUESTION_FIELDS, "query", "position")
    id: Expression = ("id", "unique_id", "question_id", "idx", "position")
    choices: Expression | None = None  # rows without them are open questions
    # The stored verdict; or `A is B` (the same text), `A equals B` (the same mathematics) or `A is close to B`
    # (numbers to four digits, also as percent), where A and B are expressions such as `gold`.
    verdict: Expression | None = None
    answer: Expression | None = None  # the stored extracted answer, over which votes are counted
    score: Expression | None = None  # a number for each sample; `best@K` takes the highest


class Golds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    files: str
    by: Literal["id", "statement"] = "id"
    id: Expression = Columns().id
    statement: Expression = Columns().statement
    gold: Expression = Columns().gold


_Wanted = str | int | float | bool


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    published: str  # as printed, in quotes, since its last digit counts; `348/1000` is a count
    name: str = ""
    files: str | tuple[str, ...]  # patterns below the root; each file holds one or more samples of every problem
    records: str = ""  # path to the rows of a JSON document, such as `results.items`; `*` is every value or element
    separator: str = ""  # the line between two records of a text log
    log: dict[str, Between] = {}
    fields: Columns = Columns()
    where: dict[str, _Wanted | list[_Wanted]] = {}  # rows with other values are skipped
    golds: Golds | None = None  # for rows without golds; without it, `benchmark` has them
    figure: str = "accuracy"
    unit: Literal["percent", "share"] = "percent"
    rule: str | None = None  # the published rule, if it is one of the protocols
    benchmark: str | None = None  # its problems are checked for missing rows and other golds
    problems: int | None = None  # the expected number
    note: str = ""

    @property
    def patterns(self) -> tuple[str, ...]:
        return (self.files,) if isinstance(self.files, str) else self.files


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    source: str
    repository: str
    note: str
    rows: tuple[Entry, ...]


def load_claim(path: Path) -> Claim:
    """Read a claim file. A mistake raises `DataError` with its line."""
    raw = read_toml(path, DataError)
    head = {key: raw.pop(key, "") for key in ("title", "source", "repository", "note")}
    rows = raw.pop("rows", [{"name": raw.pop("name", head["title"]) or path.stem}])
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise DataError(f"{path} claims nothing: add [[rows]], each with `published` and `files`.")
    try:
        made = tuple(_entry(raw, row, number) for number, row in enumerate(rows, start=1))
        claim = msgspec.convert({**head, "rows": ()}, Claim)
        for entry in made:
            _check(entry)
    except msgspec.ValidationError as error:
        raise DataError(f"{path}, {complaint_of(str(error), read_small_text(path), _names)}.") from None
    return msgspec.structs.replace(claim, title=claim.title or path.stem, rows=made)


def _entry(common: dict[str, Any], row: dict[str, Any], number: int) -> Entry:
    given = [each.get("fields", {}) for each in (common, row)]
    fields = {**given[0], **given[1]} if all(isinstance(each, dict) for each in given) else 0
    merged = {"name": f"row {number}", **common, **row, "fields": fields}
    if isinstance(merged.get("published"), int | float):
        raise msgspec.ValidationError(
            'write it in quotes ("84.30"), so that its last digit is known - at `$.published`'
        )
    return msgspec.convert(merged, Entry)


def _names(table: str) -> tuple[str, ...]:
    tables: dict[str, type[msgspec.Struct]] = {"fields": Columns, "log.*": Between, "golds": Golds}
    known = tables.get(table.removeprefix("rows."), Entry)
    more = ("title", "source", "repository", "rows") if known is Entry else ()
    return (*known.__struct_fields__, *more)


def _check(entry: Entry) -> None:
    for complaint in _complaints(entry):
        raise msgspec.ValidationError(complaint)


def _complaints(entry: Entry) -> Iterator[str]:
    """Yield the errors of an entry that types cannot express."""
    try:
        target(entry)
    except (ValueError, ZeroDivisionError):
        yield f"{entry.published!r} is not a figure such as 84.3 or 348/1000 - at `$.published`"
    if not FIGURES.fullmatch(entry.figure):
        yield f"there is no figure {entry.figure!r}; choose accuracy, first, pass@K, maj@K or best@K - at `$.figure`"
    if entry.figure.startswith("best") and entry.fields.score is None:
        yield "best@K needs `score` under [fields] - at `$.figure`"
    if entry.log and not entry.separator:
        yield "a log needs `separator`, the line between its records - at `$.log`"
    if any(not each.after or not each.before for each in entry.log.values()):
        yield "`after` and `before` must not be empty - at `$.log`"
    for pattern in (*entry.patterns, *([entry.golds.files] if entry.golds else [])):
        if Path(pattern).is_absolute() or ".." in Path(pattern).parts or not pattern:
            yield f"{pattern!r} is not below the root; {option('root')} names it - at `$.files`"
    if entry.rule is not None:
        get_protocol(entry.rule)


def target(entry: Entry) -> tuple[Fraction, Fraction]:
    """Return the published figure as a share, and half of its last printed digit."""
    text = entry.published.strip().removesuffix("%").strip()
    if match := re.fullmatch(r"(\d{1,12}) ?/ ?(\d{1,12})", text):
        return Fraction(int(match[1]), int(match[2])), Fraction(0)
    if not re.fullmatch(r"\d{1,6}(\.\d{1,20})?", text):
        raise ValueError(text)
    scale = 100 if entry.unit == "percent" else 1
    half = Fraction(1, 2 * 10 ** len(text.partition(".")[2]) * scale)
    return Fraction(text) / scale, half


def named(claim: Claim, wanted: str | None) -> Claim:
    if wanted is None:
        return claim
    found = tuple(entry for entry in claim.rows if entry.name == wanted)
    if not found:
        raise DataError(f"there is no row {wanted!r}; {nearest(wanted, [entry.name for entry in claim.rows])}.")
    return msgspec.structs.replace(claim, rows=found)
