"""Which part of a response is the answer text: thinking set apart, a made-up next question cut off.

Only whole regions are decided here; what the answer is inside the region is the protocol's business.
Everything is `str.find`/`rfind`, so the cost is linear with a tiny constant.
"""

from __future__ import annotations

import re
from typing import NamedTuple

THINK_END = "</think>"


class Reading(NamedTuple):
    """A response text and the region `[start, end)` in which its answer is to be looked for."""

    text: str
    start: int
    end: int
    cut_off: bool = False  # generation or thinking did not end: an absent answer is `truncated`, not `no_answer`

    @property
    def final(self) -> str:
        """The text in which the answer stands."""
        return self.text[self.start : self.end]


def read(text: str, *, think_end: str = THINK_END, cut_off: bool = False) -> Reading:
    """Set thinking apart at the last `think_end`, drop what a base model invents after its answer."""
    start, end = 0, len(text)
    if think_end:
        closed = text.rfind(think_end)
        if closed >= 0:
            start = closed + len(think_end)
        if "/" in think_end:
            opened = text.find(think_end.replace("/", "", 1), start)
            if opened >= 0:  # thinking that never ends; what stands before it may still be an answer
                end, cut_off = opened, True
    return Reading(text, start, _before_next_turn(text, start, end), cut_off)


# A turn that is not the model's, or the end of its own.
_TURN = ("<|", "</s>", "\nHuman:", "\nUser:", "[INST]")
_QUESTION = ("Question", "QUESTION", "Problem", "PROBLEM", "\nQ:")
_TURN_TOKEN = re.compile(
    r"<\|(?:im_start\|>\s*user|im_end|endoftext|eot_id|end_of_text|user|end|start_header_id\|>\s*user)"
)
_QUESTION_LINE = re.compile(
    r"(?:^|\n)[ \t>*#]*(?:Next |New )?(?:Question|QUESTION|Problem|PROBLEM|Q)\s*\d{0,3}\s*[*]*:"
)
_STATED = re.compile(r"\\boxed|\\fbox|####|<answer>|answer\s*(?:is|:|\*\*)", re.IGNORECASE)


def _before_next_turn(text: str, start: int, end: int) -> int:
    """Where the model's own answer ends: before the first invented turn or question that follows a stated answer.

    A response that opens with a question is reciting examples, so its later questions are its own structure.
    """
    turn = any(text.find(sign, start, end) >= 0 for sign in _TURN)
    question = any(text.find(sign, start, end) >= 0 for sign in _QUESTION)
    if not turn and not question:
        return end
    stated = _STATED.search(text, start, end)
    if stated is None:
        return end
    cuts = [end]
    if turn:
        for sign in _TURN[1:]:
            at = text.find(sign, stated.end(), end)
            if at >= 0:
                cuts.append(at)
        token = _TURN_TOKEN.search(text, stated.end(), end)
        if token:
            cuts.append(token.start())
    if question and _QUESTION_LINE.search(text, start, stated.start()) is None:
        line = _QUESTION_LINE.search(text, stated.end(), end)
        if line:
            cuts.append(line.start())
    return min(cuts)
