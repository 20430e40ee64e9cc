"""The problems of a run: key, id, position of the line, and the few labels worth grouping by. Never a statement."""

from __future__ import annotations

import sys
from array import array
from typing import Any

import msgspec

from markscheme.types import Question

MOST_GROUPS = 40  # a metadata field with more values than this does not group anything
MOST_FIELDS = 20
LONGEST_LABEL = 60
LONGEST_ID = 200

_decoder = msgspec.json.Decoder(Question)


class ProblemTable:
    """Grows line by line. A key that occurs twice counts once."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.ids: list[str] = []
        self.offsets = array("q")
        self.number: dict[str, int] = {}  # key → place in the file
        self.clusters: list[str | None] = []  # the family of each problem, if its benchmark names one
        self.groups: dict[str, list[str | None]] = {}  # metadata field → label of each problem
        self._values: dict[str, set[str]] = {}

    def add_line(self, offset: int, line: bytes) -> None:
        """Add one line of `problems.jsonl`; raises one of `UNREADABLE` if it is not a question."""
        problem = _decoder.decode(line).problem
        if problem.key in self.number:
            return
        index = self.number[problem.key] = len(self.keys)
        self.keys.append(problem.key)
        self.ids.append(problem.id[:LONGEST_ID] or str(index + 1))
        self.offsets.append(offset)
        self.clusters.append(problem.cluster)
        for name, value in problem.metadata.items():
            if (group := label(value)) is not None:
                self._put(name, index, group)

    def fields(self) -> dict[str, list[str | None]]:
        """Return the fields to group by: those with at least two and not too many labels."""
        return {
            name: labels + [None] * (len(self.keys) - len(labels))
            for name, labels in self.groups.items()
            if 2 <= len(self._values[name]) <= MOST_GROUPS
        }

    def _put(self, name: str, index: int, label: str) -> None:
        if name not in self._values and len(self._values) >= MOST_FIELDS:
            return
        values = self._values.setdefault(name, set())
        if len(values) > MOST_GROUPS:
            self.groups[name] = []  # too many already: free the memory
            return
        values.add(label)
        labels = self.groups.setdefault(name, [])
        labels.extend([None] * (index - len(labels)))
        labels.append(sys.intern(label))


def label(value: Any) -> str | None:
    """Return a metadata value as a label to group by; None if it cannot be one."""
    if isinstance(value, str) and 0 < len(value) <= LONGEST_LABEL:
        return value
    return str(value) if isinstance(value, int) else None


def sorted_labels(labels: list[str]) -> list[str]:
    """Sort labels: numbers by size first, then words."""
    return sorted(labels, key=lambda label: (0, float(label), "") if label.isdecimal() else (1, 0.0, label))
