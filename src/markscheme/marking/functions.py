"""Protocols made of Python objects: a `Protocol`, a function `(response, gold)`, or an object with such a method `judge`.

The function gets the text of the response and the gold, and returns True or False, a number (1 is correct), a `Mark`,
a `Verdict`, or None where it cannot judge.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from markscheme.errors import UsageError
from markscheme.marking.protocol import Assessment, Judge, Protocol
from markscheme.marking.reading.sections import ResponseSections
from markscheme.objects import SourceObject
from markscheme.types import Gold, Mark, Verdict

_NAME = re.compile(r"[A-Za-z][\w.-]{0,99}")  # it names a file in a run folder


def protocol_of(given: SourceObject) -> Protocol:
    """Return the protocol that an object is."""
    value = given.value
    if isinstance(value, Protocol):
        _check_name(value.name)
        return value if value.source or not given.sha256 else replace(value, source=given.spec, sha256=given.sha256)
    judge = getattr(value, "judge", value)
    if not callable(judge) or isinstance(value, type):
        raise UsageError(
            f"{given.spec} is a {type(value).__name__}; a protocol is a function (response, gold), an object with such a "
            "method `judge`, or a markscheme.marking.Protocol"
        )
    name = _check_name(str(getattr(value, "name", None) or given.name))
    about = (getattr(value, "__doc__", None) or "").strip().partition("\n")[0]
    return Protocol(
        name=name,
        version=str(getattr(value, "version", "") or given.sha256[:8]),
        description=about or f"the function {given.name}",
        gold="any",
        judge=_judging(judge),
        source=given.spec,
        sha256=given.sha256,
    )


def _check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot be the name of a protocol: use letters, digits, `_`, `-` and `.`")
    return name


def _judging(function: Callable[[str, Gold], Any]) -> Judge:
    def judge(sections: ResponseSections, gold: Gold) -> Assessment:
        return assessment_of(function(sections.text, gold))

    return judge


def assessment_of(value: Any) -> Assessment:
    """Return what a function said of a response as an assessment; raises `TypeError` for what says nothing."""
    if isinstance(value, Assessment):
        return value
    if isinstance(value, Mark):
        return Assessment(value.verdict, value.answer, value.why, value.span, value.flags)
    if isinstance(value, Verdict):
        return Assessment(value)
    if value is None:
        return Assessment(Verdict.UNMARKABLE, why="the function does not judge it")
    if hasattr(value, "item"):  # numpy's and torch's numbers
        value = value.item()
    if isinstance(value, bool | int | float):
        verdict = Verdict.CORRECT if value >= 1 else Verdict.WRONG
        return Assessment(verdict, why="" if isinstance(value, bool) or value in (0, 1) else f"scores {value:g}")
    raise TypeError(f"the function returned a {type(value).__name__}, not True, False, a number or a Mark")
