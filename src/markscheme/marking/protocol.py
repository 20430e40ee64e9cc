"""What a protocol is, and the register of them: name → the one file that states its rule.

A protocol judges; it never reads files, talks to a network or raises on a response. Built-in protocols load on first
use; another package adds its own through the entry-point group `markscheme.protocols`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Literal, NamedTuple

from markscheme.errors import UsageError
from markscheme.marking.extraction.sections import Reading
from markscheme.types import Gold, Verdict

GoldKind = Literal["text", "countdown"]
ENTRY_POINTS = "markscheme.protocols"


class Finding(NamedTuple):
    """What a protocol found: the verdict and what a person needs to check it. `mark` makes the `Mark` from it."""

    verdict: Verdict
    answer: str | None = None
    why: str = ""
    span: tuple[int, int] | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Protocol:
    """A named, versioned rule. Change what `judge` decides on any response, and `version` goes up."""

    name: str
    version: str
    description: str
    gold: GoldKind
    judge: Callable[[Reading, Gold], Finding]
    slow: bool = False  # may wait for a worker process, so that many are better judged side by side
    needs: str = ""  # a package that is not part of the core installation

    label: str = field(init=False)  # how marks name it: `name@version`

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", f"{self.name}@{self.version}")

    def available(self) -> bool:
        """Whether what it needs is installed."""
        return not self.needs or find_spec(self.needs) is not None


_BUILT_IN = {
    "countdown": "countdown",
    "gsm8k-strict": "gsm8k_strict",
    "gsm8k-numeric": "gsm8k_numeric",
    "gsm8k-flexible": "gsm8k_flexible",
    "gsm8k-lm-eval-strict": "gsm8k_lm_eval_strict",
    "gsm8k-lm-eval-flexible": "gsm8k_lm_eval_flexible",
    "boxed-exact": "boxed_exact",
    "aime": "aime",
    "normalized": "normalized",
    "math": "math",
    "math-verify": "math_verify",
}
_loaded: dict[str, Protocol] = {}
_lock = threading.Lock()


def protocol_names() -> tuple[str, ...]:
    """Every protocol that can be asked for, built-in ones first."""
    return (*_BUILT_IN, *(name for name in sorted(_entry_points()) if name not in _BUILT_IN))


def get_protocol(name: str) -> Protocol:
    """The protocol of that name, or of `name@version` when the version is the one at hand."""
    found = _loaded.get(name)
    if found is not None:
        return found
    bare, _, version = name.partition("@")
    protocol = _load(bare)
    if version and version != protocol.version:
        raise UsageError(
            f"protocol {bare!r} is at version {protocol.version} here, not {version}; ask for {bare!r} or install "
            f"the markscheme that has version {version}."
        )
    with _lock:
        return _loaded.setdefault(name, protocol)


def _load(name: str) -> Protocol:
    if name in _BUILT_IN:
        protocol = import_module("markscheme.marking.protocols." + _BUILT_IN[name]).PROTOCOL
    elif (point := _entry_points().get(name)) is not None:
        try:
            protocol = point()
        except (ImportError, AttributeError) as problem:
            raise UsageError(f"protocol {name!r} is installed but cannot be loaded: {problem}.") from None
    else:
        raise UsageError(f"there is no protocol {name!r}; choose one of {', '.join(protocol_names())}.")
    if not isinstance(protocol, Protocol):
        raise UsageError(f"the entry point {name!r} in {ENTRY_POINTS} is a {type(protocol).__name__}, not a Protocol.")
    return protocol


def _entry_points() -> dict[str, Callable[[], object]]:
    from importlib.metadata import entry_points

    return {point.name: point.load for point in entry_points(group=ENTRY_POINTS)}
