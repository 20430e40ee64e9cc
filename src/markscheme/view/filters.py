"""The filter of a list of responses: read from an address, written to one, applied to the columns.

Unknown or impossible values in an address are ignored, since people edit addresses by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import msgspec
import numpy as np

from markscheme.runs.columns import CODE, Ints, Mask
from markscheme.runs.snapshot import Snapshot
from markscheme.types import Verdict
from markscheme.view.conditions import holds, matching

SORTS = ("problem", "tokens", "length", "latency")
LONGEST_QUERY = 500


class Filter(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that a list can be filtered by; the defaults keep all responses."""

    verdict: str = ""  # one verdict, or `unmarked`
    protocol: str = ""  # whose verdict; empty: the run's own
    q: str = ""  # words in the text
    case: bool = False  # upper and lower case are different
    problem: str = ""  # part of a problem's id
    min_tokens: int | None = None
    max_tokens: int | None = None
    min_length: int | None = None  # bytes of text and reasoning
    max_length: int | None = None
    truncated: bool = False  # cut off by the token limit
    disagree: bool = False  # protocols disagree on it
    group: str = ""  # `field:label`, such as `level:5`
    where: str = ""  # a condition over any field, see `conditions`
    sort: str = ""
    down: bool = False  # largest first
    page: int = 1

    @classmethod
    def parse(cls, query: Mapping[str, str]) -> Filter:
        """Read the query of an address."""
        given: dict[str, Any] = {}
        for field in msgspec.structs.fields(cls):
            raw = query.get(field.name, "").strip()[:LONGEST_QUERY]
            if field.type is bool:
                given[field.name] = raw in ("1", "on", "true", "yes")
            elif field.type is str:
                given[field.name] = raw
            elif raw.isdecimal() and len(raw) < 12:
                given[field.name] = int(raw)
        if given["verdict"] not in (*CODE, "unmarked"):
            given["verdict"] = ""
        if given["sort"] not in SORTS:
            given["sort"] = ""
        return cls(**{**given, "page": max(1, given.get("page", 1))})

    def query(self, **changes: Any) -> str:
        """Return the query of an address without defaults; page 1 unless the page is given."""
        changed = msgspec.structs.replace(self, **{"page": 1, **changes})
        plain = msgspec.to_builtins(changed)
        return urlencode({name: int(value) if isinstance(value, bool) else value for name, value in plain.items()})

    @property
    def active(self) -> bool:
        """True if the filter can leave out responses."""
        kept = msgspec.structs.replace(self, page=1, sort="", down=False, protocol="", case=False)
        return kept != Filter()

    def mask(self, snapshot: Snapshot, protocol: str) -> Mask:
        """Return the rows that pass everything but the text search; a bad condition is a `UsageError`."""
        protocol = self.protocol or protocol
        tests = [("verdict", "=", self.verdict)] if self.verdict else []
        tests += [("id", "~", self.problem)] if self.problem else []
        bounds = {("tokens", ">="): self.min_tokens, ("tokens", "<="): self.max_tokens}
        bounds |= {("bytes", ">="): self.min_length, ("bytes", "<="): self.max_length}
        tests += [(name, sign, str(bound)) for (name, sign), bound in bounds.items() if bound is not None]
        keep = np.ones(len(snapshot), bool)
        for name, sign, value in tests:
            keep &= holds(snapshot, protocol, name, sign, value)
        field, _, label = self.group.partition(":")
        if self.group and field in snapshot.groups:  # the index of a table is a field without a name
            keep &= np.array([value == label for value in snapshot.groups[field]], bool)[snapshot.problem]
        if self.truncated:
            keep &= matching(f"verdict = {Verdict.TRUNCATED} or finish = length", snapshot, protocol)
        if self.disagree:
            keep &= snapshot.disagree
        if self.where:
            keep &= matching(self.where, snapshot, protocol)
        return keep

    def order(self, snapshot: Snapshot, rows: Ints) -> Ints:
        """Return the rows in the order of the list."""
        column = {"tokens": "tokens", "length": "size", "latency": "latency"}.get(self.sort)
        if column is None:
            return rows[::-1] if self.down else rows
        values = np.nan_to_num(snapshot.rows[column][rows].astype(float), nan=-1)
        return rows[np.argsort(-values if self.down else values, kind="stable")]
