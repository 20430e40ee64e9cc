"""Protocols, and how to get one by name.

A protocol judges; it never reads files, uses a network or raises on a response. The built-in ones are in
`protocols/table.py`; other packages add theirs through the entry-point group `markscheme.protocols`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from markscheme.errors import UsageError, nearest
from markscheme.marking.reading.sections import ResponseSections
from markscheme.objects import SourceObject, hand_over, is_object_spec, load_object
from markscheme.types import Gold, Verdict

if TYPE_CHECKING:
    from markscheme.marking.reading.values import Kind

# What a protocol judges against: any answer as text, a number, the numbers and target of a puzzle, the problem's gold
# of any type; or nothing, if it reads the reply of a judge.
GoldKind = Literal["text", "number", "countdown", "any", "opinion"]
ENTRY_POINTS = "markscheme.protocols"


class Assessment(Struct, frozen=True, gc=False):
    """A protocol's judgement of a response: the verdict and what a person needs to check it."""

    verdict: Verdict
    answer: str | None = None
    why: str = ""
    span: tuple[int, int] | None = None
    flags: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, same: bool, answer: str, gold: object, span: tuple[int, int], *, shown: str = "", unlike: str = "is not"
    ) -> Assessment:
        """Return `correct` if the answer is the same as the gold, else `wrong`; the reason names both."""
        verdict, relation = (Verdict.CORRECT, "is") if same else (Verdict.WRONG, unlike)
        return cls(verdict, answer, f"{shown or answer[:60]} {relation} {gold}", span)


Judge = Callable[[ResponseSections, Gold], Assessment]


@dataclass(frozen=True, slots=True)
class Protocol:
    """A named, versioned rule. Change what `judge` decides on any response, and `version` goes up."""

    name: str
    version: str
    description: str
    gold: GoldKind
    judge: Judge
    slow: bool = False  # may wait for a worker process, so that many are better judged side by side
    needs: str = ""  # a package that is not part of the core installation
    asks: Callable[[Gold], Kind] | None = None  # what the reader is to look for; None if the protocol does not use it
    source: str = ""  # `file.py:name` or `python:name`, for a protocol that is an object and not a name
    sha256: str = ""  # of that source

    label: str = field(init=False)  # how marks name it: `name@version`

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", f"{self.name}@{self.version}")

    def available(self) -> bool:
        """True if the package that it needs is installed."""
        return not self.needs or find_spec(self.needs) is not None


_loaded: dict[str, Protocol] = {}
_given: dict[str, Protocol] = {}  # objects, by name: the last one of each counts
_lock = threading.Lock()


def protocol_names() -> tuple[str, ...]:
    built_in = [name for name, protocol in _built_in().items() if protocol.gold != "opinion"]
    return (*built_in, *(name for name in sorted(_entry_points()) if name not in built_in))


def is_known(name: str) -> bool:
    """True if a protocol of this name is built in, installed, or given to this program as an object."""
    return name in _given or name in protocol_names()


def get_protocol(name: Any) -> Protocol:
    """Return the protocol of that name, of `name@version` if that is the version here, or made of an object.

    An object is a `Protocol`, a function `(response, gold)`, or something with such a method `judge`; `file.py:name` is one too.
    """
    if not isinstance(name, str):
        return _of_object(hand_over(name, "protocol"))
    known = _loaded.get(name)
    if known is not None:
        return known
    if is_object_spec(name):
        return _of_object(load_object(name, "protocol"))
    bare, _, version = name.partition("@")
    protocol = _given.get(bare) or _load(bare)
    if version and version != protocol.version:
        raise UsageError(
            f"protocol {bare!r} is at version {protocol.version} here, not {version}; ask for {bare!r} or install "
            f"the markscheme that has version {version}."
        )
    with _lock:
        return protocol if bare in _given else _loaded.setdefault(name, protocol)


def _of_object(given: SourceObject) -> Protocol:
    from markscheme.marking.functions import protocol_of

    made = protocol_of(given)
    if isinstance(given.value, Protocol) and given.value is _built_in().get(made.name):
        return given.value
    if made.name in _built_in() or made.name in _entry_points():
        raise UsageError(f"there is a protocol {made.name!r} already; give {given.spec} another name")
    with _lock:
        _given[made.name] = made
    return made


def _load(name: str) -> Protocol:
    if (protocol := _built_in().get(name)) is not None:
        return protocol
    if (point := _entry_points().get(name)) is not None:
        try:
            installed = point()
        except (ImportError, AttributeError) as problem:
            raise UsageError(f"protocol {name!r} is installed but cannot be loaded: {problem}.") from None
    else:
        raise UsageError(f"there is no protocol {name!r}; {nearest(name, protocol_names())}")
    if not isinstance(installed, Protocol):
        raise UsageError(f"the entry point {name!r} in {ENTRY_POINTS} is a {type(installed).__name__}, not a Protocol.")
    return installed


def _built_in() -> dict[str, Protocol]:
    from markscheme.marking.protocols.table import PROTOCOLS  # here, because the table is made of this module's class

    return {protocol.name: protocol for protocol in PROTOCOLS}


def _entry_points() -> dict[str, Callable[[], object]]:
    from importlib.metadata import entry_points

    return {point.name: point.load for point in entry_points(group=ENTRY_POINTS)}
