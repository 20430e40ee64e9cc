"""Marks of responses. In a conversation the last answer decides; earlier answers are judged as well."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from msgspec.structs import replace

from markscheme.errors import option
from markscheme.marking import mark_many
from markscheme.objects import is_handed_over
from markscheme.runs.folder import Manifest
from markscheme.types import Mark, Problem, Response

Pair = tuple[Response, Problem]


def judge_all(pairs: Iterable[Pair], protocol: str, **options: Any) -> Iterator[Mark]:
    """Yield one mark per response, in order, with the verdicts of its earlier answers."""
    before: deque[int] = deque()  # how many earlier answers each response in progress has

    def spread() -> Iterator[Pair]:
        for response, problem in pairs:
            earlier = response.earlier_answers
            before.append(len(earlier))
            for turn in earlier:
                same = {"text": turn.text, "reasoning": turn.reasoning, "finish_reason": turn.finish_reason}
                yield replace(response, turns=(), metadata={}, **same), problem
            yield response, problem

    marks = mark_many(spread(), protocol, **options)
    for first in marks:
        several = before.popleft()
        if not several:
            yield first
            continue
        *earlier, last = first, *islice(marks, several)
        yield replace(last, earlier=tuple(mark.verdict for mark in earlier))


def source_to_give(manifest: Manifest, protocol: str) -> str:
    """Return what to give for a protocol that was Python source and not a name; empty for any other protocol.

    The recorded file is not loaded by itself: a run folder may come from anybody, and loading a file runs it.
    """
    spec = manifest.config.protocol
    if "protocol" not in manifest.objects or spec is None or manifest.protocol.partition("@")[0] != protocol:
        return ""
    if is_handed_over(spec):
        return f"{protocol!r} was an object of a Python program; mark from Python, with protocol={protocol}"
    digest = manifest.objects["protocol"]
    return (
        f"{protocol!r} is source code (SHA-256 {digest[:12]}…); if you trust that file, add {option('protocol', spec)}"
    )
