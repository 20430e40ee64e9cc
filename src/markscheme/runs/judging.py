"""Marks of responses. In a conversation the last answer decides; earlier answers are judged as well."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from msgspec.structs import replace

from markscheme.marking import mark_many
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
