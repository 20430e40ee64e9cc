"""Find the answer text of a response: without thinking, and without an invented next turn or question.

Only the region is decided here; the protocol finds the answer in it. Time is linear in the length: one pattern pass
over line ends, and `str.find` guarded by one-character checks, which take 0.05 µs on 3,000 characters where a word
takes 2 µs.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from markscheme.marking.reading.words import either, listed, mark, thinking
from markscheme.types import Problem

THINK_END = "</think>"
# Frames around an answer, stars and emoji next to it; not the triangle, which is used in geometry.
_ORNAMENTS: Final = re.compile(
    "[\u2500-\u259f\u25a0-\u25a2\u2605\u2606\u2705\u2720-\u274b\u2756-\u2767\u2770-\u2775\u2b1b\u2b1c\u2b50\ufe0f\U0001f300-\U0001faff]"
)
_DECORATED: Final = 1_000  # characters from the end in which they are searched
_HEAD: Final = 200  # thinking opens a response, so rarer tags are not searched further in


class ResponseSections(Struct, frozen=True, gc=False):
    """A response text and the region `[start, end)` that is searched for its answer."""

    text: str
    start: int
    end: int
    cut_off: bool = False  # generation or thinking did not end: only an explicit answer counts, else `truncated`
    sequel_end: int = 0  # where the text after thinking ends, including an invented sequel
    statement: str = ""  # the problem statement, if known
    choices: tuple[str, ...] = ()  # the choices of the problem
    ended: bool = False  # the server reports a normal stop
    turn: int = 0  # start of the last turn, in a transcript that echoes the prompt

    @property
    def after_thinking(self) -> int:
        """Return where a published rule begins to read: it handles thinking, but not transcripts."""
        return 0 if self.start == self.turn else self.start

    @property
    def final(self) -> str:
        """Return the text that contains the answer."""
        return self.text[self.start : self.end]

    def undecorated(self) -> ResponseSections:
        """Return the same text with trailing ornaments, `│ 23 │` or `✦ 26 ✦`, replaced by spaces, so that positions
        stay the same.
        """
        at = max(self.start, self.end - _DECORATED)
        if not _ORNAMENTS.search(self.text, at, self.end):
            return self
        tail = _ORNAMENTS.sub(" ", self.text[at : self.end])
        end = at + len(tail.rstrip())  # the last line of a frame is not an unfinished line
        sequel_end = end if self.sequel_end == self.end else self.sequel_end
        return replace(self, text=self.text[:at] + tail + self.text[self.end :], end=end, sequel_end=sequel_end)


def read(
    text: str,
    *,
    think_end: str = THINK_END,
    cut_off: bool = False,
    ended: bool = False,
    problem: Problem | None = None,
) -> ResponseSections:
    """Split off thinking at the last `think_end`; drop the text a base model invents after its answer."""
    if text.startswith("<s>"):
        text = "   " + text[3:]  # a token that the server should have removed
    start = turn = _last_turn(text)
    end = len(text)
    for opening, closing in _marks_of_thinking(text, think_end):
        start, end, cut_off = _after_thinking(text, opening, closing, start, end, cut_off)
    if text[-1:] in (">", "]") and text[-2:-1] not in ("\\", ")") and end == len(text):
        marks = _END_MARKS.search(text, max(start, end - 200))
        end = marks.start() if marks else end
    statement, choices = (problem.statement, problem.choices) if problem is not None else ("", ())
    if problem is not None and statement == problem.id:
        statement = ""  # stored outputs without their question are named by their line
    return ResponseSections(
        text, start, _own_end(text, start, end, statement), cut_off, end, statement, choices, ended, turn
    )


# The start of a text that includes the prompt: a turn of anyone but the model.
_OPENS_TRANSCRIPT: Final = re.compile(
    r"\s{0,9}+(?>(?:<s>|<bos>|<\|begin_of_text\|>|<\|endoftext\|>)?)\s{0,9}+(?:<\|(?:im_start|start_header_id)\|>\s?(?:system|user)"
    rf"|<start_of_turn>\s?user|<\|(?:system|user)\|>|\[INST\]|(?:#{{2,3}} )?{either('prompting')}[*_]{{0,2}}:\s)"
)
_ASSISTANT_TURN: Final = re.compile(
    r"<\|im_start\|>\s?assistant|<\|start_header_id\|>\s?assistant\s?<\|end_header_id\|>|<start_of_turn>\s?model"
    rf"|<\|assistant\|>|\[/INST\]|\n[ \t]{{0,4}}+(?:#{{2,3}} )?{either('replying')}[*_]{{0,2}}:"
)
# Tokens that the server should have removed: InternLM's `<eoa>`, `<|im_end|>`, `</s>`.
_END_MARKS: Final = re.compile(
    r"(?>(?:\s{0,20}+(?:<eo[a-z]>|<\|[a-z_]{1,30}+\|>|</s>|<end_of_turn>|<eos>|\[/?INST\]|\[UNUSED_TOKEN_\d{1,3}\]))*)\Z"
)
_TRANSCRIPT_SIGNS: Final = frozenset({"", *"<[#\n ", *(word[0] for word in listed("prompting"))})


def _last_turn(text: str) -> int:
    """Return the start of the model's last turn in a transcript that echoes the prompt; 0 in any other text."""
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
_SPOKEN: Final = listed("spoken_thinking")
_CHANNELS: Final = listed("bare_channels")


def _marks_of_thinking(text: str, think_end: str) -> tuple[tuple[str, ...], ...]:
    """Return the thinking tags that may occur in this text. A one-character check is nearly free; a word takes 1 µs."""
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
    """Return the region outside of thinking between two tags, and whether the thinking is unfinished."""
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
    return start, opened, True  # unclosed thinking; the text before it may still hold an answer


def _ends_with_answer(text: str, start: int, end: int) -> bool:
    from markscheme.marking.reading.ending import ends_with_answer  # load the lexicon only when it is needed

    return ends_with_answer(text, start, end)


def _within(text: str, opening: str, closing: str, start: int, closed: int) -> tuple[int, int] | None:
    """Return the region of the answer in a response with no text after its thinking: at the end of it, or before it."""
    opened = text.rfind(opening, start, closed) if opening else -1
    begin = max(start, opened + len(opening))
    if _ends_with_answer(text, begin, closed):
        return begin, closed
    earlier = text.rfind(closing, start, max(opened, start))
    start = earlier + len(closing) if earlier >= 0 else start
    return (start, opened) if opened > start and _STATED.search(text, start, opened) else None


# The look-ahead rejects nearly every line at its first character, and possessive quantifiers never retry a line: 25 µs
# for the 800 lines of a 30,000-character trace, where the plain pattern takes 130.
_QUESTION: Final = rf"{either('questions')}[ \t]?[#\d]{{0,4}}[*_]{{0,3}}[ \t]?:"
_INITIALS: Final = "".join(sorted({word[0] for word in listed("questions") + listed("people")}))
_NEXT: Final = re.compile(
    rf"\n(?=[ \t>*#_{_INITIALS}\[])[ \t>*#_]{{0,8}}+(?:(?P<question>{_QUESTION}|\[{either('bracketed_questions')}\])"
    rf"|(?<!\*\s)(?<!\*\s\*\*){either('people')}[*_]{{0,3}}:|\[INST\])"
)
_OPENS_WITH_QUESTION: Final = re.compile(rf"\s*[>*#_ ]{{0,8}}(?:{_QUESTION}|(?i:{either('restating')})\b)")
_TURN: Final = re.compile(
    r"<\|(?:im_start\|>\s*user|im_end\|>|endoftext\|>|eot_id\|>|end_of_text\|>|end\|>|user\|>"
    r"|start_header_id\|>\s*user)|</s>|<end_of_turn>"
)
_STATED: Final = re.compile(rf"\\boxed|\\fbox|####|<answer>|{either('stating')}")
_DIGIT: Final = re.compile(r"\d")
_REPEATED: Final = 60  # characters of a question that are looked up in the statement
_BOLD_HEADING: Final = re.compile(r"(?:\A|\n)[ \t>#]{0,8}\*\*[^*\n]{1,80}:?\*\*:?[ \t]*\n")


def _own_end(text: str, start: int, end: int, statement: str) -> int:
    """Return the end of the model's own answer.

    Another turn ends it once there is any text. An invented question ends it if an answer comes first. A response that
    opens with a question recites examples or restates the problem, so its later questions count as its own. If there is
    a box, only text after the first one can be invented; as most boxed answers end the response, little is searched.
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
    # A restated question, with a tagged answer after it and no answer before it, belongs to the response.
    own = text.find("<answer>", at, end) >= 0 and not _STATED.search(text, start, at)
    if own or _OPENS_WITH_QUESTION.match(text, start, end) or _is_section(text, start, follow, statement):
        return end
    return at if first >= 0 or _answered(text, start, at) else end


def _is_section(text: str, start: int, question: re.Match[str], statement: str) -> bool:
    """True if a question is a part of the response: it repeats the statement, or is a heading in bold among others."""
    if _STATED.search(text, start, question.start()):
        return False
    line = text[question.end() : question.end() + _REPEATED].partition("\n")[0].strip(" *_")
    repeated = bool(line) and line in statement
    return repeated or ("**" in question[0] and _BOLD_HEADING.search(text, start, question.start()) is not None)


def _answered(text: str, start: int, end: int) -> bool:
    """True if the text may contain an answer: one stated outright, or a sentence with a number that is not a lead-in."""
    leads = text[max(start, end - 80) : end].rstrip(" \n\t*_").endswith(":")
    return bool(_STATED.search(text, start, end)) or (not leads and bool(_DIGIT.search(text, start, end)))
