"""Which part of a response is the answer text: without thinking, and without an invented next turn or question.

Only the region is decided here; the protocol finds the answer in it. Linear in the length: one pass of a pattern over
line ends, and `str.find` behind gates of one character, which cost 0.05 µs on 3,000 characters where a word costs 2 µs.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from markscheme.marking.reading.marks import either, mark, thinking, words
from markscheme.types import Problem

THINK_END = "</think>"
# Frames drawn around an answer, stars and emoji beside it; not the triangle, which is a sign of geometry.
_ORNAMENTS: Final = re.compile(
    "[\u2500-\u259f\u25a0-\u25a2\u2605\u2606\u2705\u2720-\u274b\u2756-\u2767\u2770-\u2775\u2b1b\u2b1c\u2b50\ufe0f\U0001f300-\U0001faff]"
)
_DECORATED: Final = 1_000  # characters from the end in which they are looked for
_HEAD: Final = 200  # thinking opens a response: further in, the rarer marks are not looked for


class ResponseSections(NamedTuple):
    """A response text and the region `[start, end)` in which its answer is looked for."""

    text: str
    start: int
    end: int
    cut_off: bool = False  # generation or thinking did not end: only an explicit answer counts, else `truncated`
    sequel_end: int = 0  # where the text after thinking ends, with an invented sequel
    statement: str = ""  # what was asked, if it is known
    choices: tuple[str, ...] = ()  # the options it was asked with
    ended: bool = False  # its server says that the model stopped by itself
    turn: int = 0  # where the last turn begins, in a transcript that echoes the prompt

    @property
    def after_thinking(self) -> int:
        """Where a published rule begins to read: it knows of thinking, but not of transcripts."""
        return 0 if self.start == self.turn else self.start

    @property
    def final(self) -> str:
        """The text with the answer."""
        return self.text[self.start : self.end]

    def undecorated(self) -> ResponseSections:
        """The same with blanks for the ornaments at its end, `│ 23 │` or `✦ 26 ✦`; positions do not change."""
        at = max(self.start, self.end - _DECORATED)
        if not _ORNAMENTS.search(self.text, at, self.end):
            return self
        tail = _ORNAMENTS.sub(" ", self.text[at : self.end])
        end = at + len(tail.rstrip())  # the last line of a frame is not a line that was begun
        sequel_end = end if self.sequel_end == self.end else self.sequel_end
        return self._replace(text=self.text[:at] + tail + self.text[self.end :], end=end, sequel_end=sequel_end)


def read(
    text: str,
    *,
    think_end: str = THINK_END,
    cut_off: bool = False,
    ended: bool = False,
    problem: Problem | None = None,
) -> ResponseSections:
    """Set thinking apart at the last `think_end`; drop what a base model invents after its answer."""
    if text.startswith("<s>"):
        text = "   " + text[3:]  # a token that serving software should have left out
    start = turn = _last_turn(text)
    end = len(text)
    for opening, closing in _marks_of_thinking(text, think_end):
        start, end, cut_off = _after_thinking(text, opening, closing, start, end, cut_off)
    if text[-1:] in (">", "]") and text[-2:-1] not in ("\\", ")") and end == len(text):
        marks = _END_MARKS.search(text, max(start, end - 200))
        end = marks.start() if marks else end
    statement, choices = (problem.statement, problem.choices) if problem is not None else ("", ())
    return ResponseSections(text, start, _own_end(text, start, end), cut_off, end, statement, choices, ended, turn)


# How a text begins that has the prompt in it: with the turn of somebody other than the model.
_OPENS_TRANSCRIPT: Final = re.compile(
    r"\s{0,9}+(?>(?:<s>|<bos>|<\|begin_of_text\|>|<\|endoftext\|>)?)\s{0,9}+(?:<\|(?:im_start|start_header_id)\|>\s?(?:system|user)"
    rf"|<start_of_turn>\s?user|<\|(?:system|user)\|>|\[INST\]|(?:#{{2,3}} )?{either('prompting')}[*_]{{0,2}}:\s)"
)
_ASSISTANT_TURN: Final = re.compile(
    r"<\|im_start\|>\s?assistant|<\|start_header_id\|>\s?assistant\s?<\|end_header_id\|>|<start_of_turn>\s?model"
    rf"|<\|assistant\|>|\[/INST\]|\n[ \t]{{0,4}}+(?:#{{2,3}} )?{either('replying')}[*_]{{0,2}}:"
)
# What serving software should have cut off: InternLM's `<eoa>`, `<|im_end|>`, `</s>`.
_END_MARKS: Final = re.compile(
    r"(?>(?:\s{0,20}+(?:<eo[a-z]>|<\|[a-z_]{1,30}+\|>|</s>|<end_of_turn>|<eos>|\[/?INST\]|\[UNUSED_TOKEN_\d{1,3}\]))*)\Z"
)
_TRANSCRIPT_SIGNS: Final = frozenset({"", *"<[#\n ", *(word[0] for word in words("prompting"))})


def _last_turn(text: str) -> int:
    """Where the model's last turn begins in a transcript that echoes the prompt; 0 in any other text."""
    if text[:1] not in _TRANSCRIPT_SIGNS or _OPENS_TRANSCRIPT.match(text) is None:
        return 0
    end = len(text)
    for turn in reversed(list(_ASSISTANT_TURN.finditer(text))):
        if text[turn.end() : end].strip():
            return turn.end()
        end = turn.end()
    return 0


_TAGGED: Final = re.compile(r"<(?:answer|solution)>")
_MISTYPED: Final = "\\end{think}"
_FORCED: Final = mark("forced")
_ENDS_SENTENCE: Final = ".}$)]*>。।"
_ANYWHERE, _WITH_BARS, _IN_HEAD, _AT_START = map(thinking, ("anywhere", "with_bars", "in_head", "at_start"))
_S1: Final = _WITH_BARS[0][0]
_LOOSE: Final = thinking("loose")[0]
_SPOKEN: Final = words("spoken_thinking")
_CHANNELS: Final = words("bare_channels")


def _marks_of_thinking(text: str, think_end: str) -> tuple[tuple[str, ...], ...]:
    """The marks that may be in this text. A gate of one character costs nothing; a word costs 1 µs."""
    if think_end != THINK_END:
        return ((think_end.replace("/", "", 1) if "/" in think_end else "", think_end),) if think_end else ()
    marks: tuple[tuple[str, ...], ...] = ()
    if "<" in text:
        marks = _ANYWHERE + _WITH_BARS if "|>" in text or "<|" in text else _ANYWHERE
    head = text[:_HEAD].lstrip()
    if head.startswith(_SPOKEN[0]):
        return (*marks, ("", _SPOKEN[1]))
    if "<" in head or "[T" in head or "◁" in head:
        marks += tuple(pair for pair in _IN_HEAD if pair[0] in head)
        return marks + tuple(pair for pair in _AT_START if head.startswith(pair[0]))
    if head.startswith(_CHANNELS[0]) and head[len(_CHANNELS[0]) :][:1].isupper():
        return (("" if _CHANNELS[1] in text else _CHANNELS[0], _CHANNELS[1]),)
    return marks


def _after_thinking(
    text: str, opening: str, closing: str, start: int, end: int, cut_off: bool
) -> tuple[int, int, bool]:
    """The region that thinking between two marks leaves for an answer, and whether that thinking did not end."""
    closed = text.rfind(closing, start)
    if closed >= 0:
        after = closed + len(closing)
        if not cut_off and not text[after:end].strip():
            return *(_within(text, opening, closing, start, closed) or (after, end)), False
        start = after
    opened = text.find(opening, start, end) if opening else -1
    if opened < 0 or (opening in _LOOSE and _TAGGED.search(text, opened)):
        return start, end, cut_off
    forced = text.rfind(_FORCED, opened) if opening == _S1 else -1
    if forced >= 0 and text.find("\\boxed", forced) >= 0 and text.rstrip()[-1] in _ENDS_SENTENCE:
        return forced, end, cut_off
    if closing == THINK_END and (mistyped := text.rfind(_MISTYPED, opened)) >= 0:
        return mistyped + len(_MISTYPED), end, cut_off
    again = text.rfind(opening, opened + 1, end)
    for finish in () if cut_off else (end, again) if again > 0 else (end,):
        if _ends_with_answer(text, opened + len(opening), finish):
            return opened + len(opening), finish, False
    return start, opened, True  # thinking that never ends; the text before it may still be an answer


def _ends_with_answer(text: str, start: int, end: int) -> bool:
    from markscheme.marking.reading.ending import ends_with_answer  # the lexicon is read when it is first needed

    return ends_with_answer(text, start, end)


def _within(text: str, opening: str, closing: str, start: int, closed: int) -> tuple[int, int] | None:
    """Where the answer is in a response that says nothing after its thinking: at the end of it, or before it."""
    opened = text.rfind(opening, start, closed) if opening else -1
    begin = max(start, opened + len(opening))
    if _ends_with_answer(text, begin, closed):
        return begin, closed
    earlier = text.rfind(closing, start, max(opened, start))
    start = earlier + len(closing) if earlier >= 0 else start
    return (start, opened) if opened > start and _STATED.search(text, start, opened) else None


# The look-ahead turns away nearly every line at its first character, and possessive quantifiers never try a line twice:
# 25 µs for the 800 lines of a 30,000-character trace, where the plain spelling takes 130.
_QUESTION: Final = rf"{either('questions')}[ \t]?[#\d]{{0,4}}[*_]{{0,3}}[ \t]?:"
_INITIALS: Final = "".join(sorted({word[0] for word in words("questions") + words("people")}))
_NEXT: Final = re.compile(
    rf"\n(?=[ \t>*#_{_INITIALS}\[])[ \t>*#_]{{0,8}}+(?:(?P<question>{_QUESTION}|\[{either('bracketed_questions')}\])"
    rf"|(?<!\*\s)(?<!\*\s\*\*){either('people')}[*_]{{0,3}}:|\[INST\])"
)
_OPENS_WITH_QUESTION: Final = re.compile(rf"\s*[>*#_ ]{{0,8}}(?:{_QUESTION}|{either('restating')}\b)")
_TURN: Final = re.compile(
    r"<\|(?:im_start\|>\s*user|im_end\|>|endoftext\|>|eot_id\|>|end_of_text\|>|end\|>|user\|>"
    r"|start_header_id\|>\s*user)|</s>|<end_of_turn>"
)
_STATED: Final = re.compile(rf"\\boxed|\\fbox|####|<answer>|{either('stating')}")
_DIGIT: Final = re.compile(r"\d")


def _own_end(text: str, start: int, end: int) -> int:
    """Where the model's own answer ends.

    Another turn ends it once anything has been said. An invented question ends it if an answer is before it; a response
    that opens with a question recites examples or restates the problem, so that later questions are its own. If there is
    a box, only what follows the first one can be invented: most boxed answers end the response, and little is searched.
    """
    first = text.find("\\boxed", start, end)
    begin = first if first >= 0 else start
    turn = _TURN.search(text, begin, end) if "<" in text else None
    if turn and text[start : turn.start()].strip():
        end = turn.start()
    follow = _NEXT.search(text, begin, end)
    if follow is None:
        return end
    at = follow.start()
    if follow["question"] is None:
        return at if text[start:at].strip() else end
    # A question with a tagged answer after it and no answer before it is the response's own, restated.
    own = text.find("<answer>", at, end) >= 0 and not _STATED.search(text, start, at)
    if own or _OPENS_WITH_QUESTION.match(text, start, end):
        return end
    return at if first >= 0 or _answered(text, start, at) else end


def _answered(text: str, start: int, end: int) -> bool:
    """True if an answer may have been given: stated outright, or a sentence with a number that is not a lead-in."""
    if _STATED.search(text, start, end):
        return True
    leads = text[max(start, end - 80) : end].rstrip(" \n\t*_").endswith(":")
    return bool(_DIGIT.search(text, start, end)) and not leads
