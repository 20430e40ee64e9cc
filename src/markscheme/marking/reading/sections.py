"""Which part of a response is the answer text: thinking set apart, an invented next turn or question cut off.

Only the region is decided here; what the answer in it is, is the protocol's business. Linear in the response length:
one pass of a regular expression over line ends, and `str.find` behind one-character gates, because on 3,000
characters a gate costs 0.05 µs and a needle 2 µs.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from markscheme.types import Problem

THINK_END = "</think>"
# Frames drawn around an answer, stars and emoji beside it; not the triangle, which is a sign of geometry.
_ORNAMENTS: Final = re.compile(
    "[\u2500-\u259f\u25a0-\u25a2\u2605\u2606\u2705\u2720-\u274b\u2756-\u2767\u2770-\u2775\u2b1b\u2b1c\u2b50\ufe0f\U0001f300-\U0001faff]"
)
# How far from its end a response is looked at for them: all of a long trace would cost more than marking it.
_DECORATED: Final = 1_000


class ResponseSections(NamedTuple):
    """A response text and the region `[start, end)` in which its answer is to be looked for."""

    text: str
    start: int
    end: int
    cut_off: bool = False  # generation or thinking did not end: only an explicit answer counts, else `truncated`
    sequel_end: int = 0  # where the text ends that is no thinking, an invented sequel included
    statement: str = ""  # what was asked, where it is known
    choices: tuple[str, ...] = ()  # the options it was asked with
    ended: bool = False  # its server says that the model stopped by itself
    turn: int = 0  # where the last turn begins, in a transcript that echoes the prompt

    @property
    def after_thinking(self) -> int:
        """Where a published rule begins to read: it knows of thinking, but not of transcripts."""
        return 0 if self.start == self.turn else self.start

    @property
    def final(self) -> str:
        """The text in which the answer stands."""
        return self.text[self.start : self.end]

    def undecorated(self) -> ResponseSections:
        """The same with blanks for the ornaments at its end, `│ 23 │` or `✦ 26 ✦`; every place stays where it is."""
        at = max(self.start, self.end - _DECORATED)
        if not _ORNAMENTS.search(self.text, at, self.end):
            return self
        tail = _ORNAMENTS.sub(" ", self.text[at : self.end])
        end = at + len(tail.rstrip())  # the last line of a frame is no line that was begun
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
        start, end, cut_off = _behind_thinking(text, opening, closing, start, end, cut_off)
    if text[-1:] in (">", "]") and text[-2:-1] not in ("\\", ")") and end == len(text):
        marks = _END_MARKS.search(text, max(start, end - 200))
        end = marks.start() if marks else end
    own_end = _own_end(text, start, end)
    if problem is None:
        return ResponseSections(text, start, own_end, cut_off, end, ended=ended, turn=turn)
    return ResponseSections(text, start, own_end, cut_off, end, problem.statement, problem.choices, ended, turn)


# How a text begins that has the prompt in it: with the turn of somebody other than the model.
_OPENS_TRANSCRIPT: Final = re.compile(
    r"\s{0,9}+(?>(?:<s>|<bos>|<\|begin_of_text\|>|<\|endoftext\|>)?)\s{0,9}+(?:<\|im_start\|>\s?(?:system|user)|<\|start_header_id\|>\s?(?:system|user)"
    r"|<start_of_turn>\s?user|<\|(?:system|user)\|>|\[INST\]|(?:#{2,3} )?(?:System|User|Human|USER|Instruction)[*_]{0,2}:\s)"
)
_ASSISTANT_TURN: Final = re.compile(
    r"<\|im_start\|>\s?assistant|<\|start_header_id\|>\s?assistant\s?<\|end_header_id\|>|<start_of_turn>\s?model"
    r"|<\|assistant\|>|\[/INST\]|\n[ \t]{0,4}+(?:#{2,3} )?(?:Assistant|ASSISTANT|Response)[*_]{0,2}:"
)


def _last_turn(text: str) -> int:
    """Where the model's last turn begins in a transcript that echoes the prompt; 0 in any other text."""
    if text[:1] not in "<[SUHI#\n " or _OPENS_TRANSCRIPT.match(text) is None:
        return 0
    turns = [turn.end() for turn in _ASSISTANT_TURN.finditer(text)]
    for begin, finish in zip(reversed(turns), [len(text), *reversed(turns[1:])], strict=False):
        if text[begin:finish].strip():
            return begin
    return 0


def _behind_thinking(
    text: str, opening: str, closing: str, start: int, end: int, cut_off: bool
) -> tuple[int, int, bool]:
    """The region that thinking between two marks leaves for an answer, and whether that thinking did not end."""
    closed = text.rfind(closing, start)
    if closed >= 0:
        behind = closed + len(closing)
        if not cut_off and not text[behind:end].strip():
            return *(_within(text, opening, closing, start, closed) or (behind, end)), False
        start = behind
    opened = text.find(opening, start, end) if opening else -1
    if opened < 0 or (opening in _LOOSE and _TAGGED.search(text, opened)):
        return start, end, cut_off
    forced = text.rfind(_FORCED, opened) if opening == _S1 else -1
    if forced >= 0 and text.find("\\boxed", forced) >= 0 and text.rstrip()[-1] in ".}$)]*>。।":
        return forced, end, cut_off
    if closing == THINK_END and (mistyped := text.rfind(_MISTYPED, opened)) >= 0:
        return mistyped + len(_MISTYPED), end, cut_off
    again = text.rfind(opening, opened + 1, end)
    for finish in () if cut_off else (end, again) if again > 0 else (end,):
        if _ends_with_answer(text, opened + len(opening), finish):
            return opened + len(opening), finish, False
    return start, opened, True  # thinking that never ends; what stands before it may still be an answer


def _ends_with_answer(text: str, start: int, end: int) -> bool:
    from markscheme.marking.reading.ending import ends_with_answer  # the lexicon is read when it is first needed

    return ends_with_answer(text, start, end)


def _within(text: str, opening: str, closing: str, start: int, closed: int) -> tuple[int, int] | None:
    """Where the answer of a response stands that says nothing behind its thinking: at the end of it, or before it."""
    opened = text.rfind(opening, start, closed) if opening else -1
    begin = max(start, opened + len(opening))
    if _ends_with_answer(text, begin, closed):
        return begin, closed
    earlier = text.rfind(closing, start, max(opened, start))
    start = earlier + len(closing) if earlier >= 0 else start
    return (start, opened) if opened > start and _STATED.search(text, start, opened) else None


_TAGGED: Final = re.compile(r"<(?:answer|solution)>")
_MISTYPED: Final = "\\end{think}"
_S1: Final = "<|im_start|>think"
# What s1's budget forcing appends to thinking that is to end, in the place of the mark that closes it. A thought may
# have the same words: the answer has a box, and an end.
_FORCED: Final = "Final Answer:"
MARKS_OF_THINKING: Final = (
    # Opening and closing mark, and where they were seen; of the default `</think>` all are known.
    ("<think>", "</think>"),  # DeepSeek-R1, Qwen3 and most others
    (_S1, "<|im_start|>answer"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),  # Sky-T1
    ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),  # gpt-oss
    ("<|channel>thought", "<channel|>"),  # Gemma 4
    ("<|START_THINKING|>", "<|END_THINKING|>"),  # Command A
    ("<|inner_prefix|>", "<|inner_suffix|>"),  # Apertus
    # Those below open a response.
    ("<thinking>", "</thinking>"),  # prompts for Claude
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<reason>", "</reason>"),
    ("<seed:think>", "</seed:think>"),  # Seed-OSS
    ("[THINK]", "[/THINK]"),  # Magistral
    ("◁think▷", "◁/think▷"),  # Kimi
    # Those below are the very first words of one.
    ("<Thought>", "</Thought>"),  # Marco-o1
    ("<Think>", "</Think>"),
    ("<THINK>", "</THINK>"),
    ("<scratchpad>", "</scratchpad>"),
    ("<analysis>", "</analysis>"),
    ("<longcat_think>", "</longcat_think>"),
    ("<unused94>thought", "<unused95>"),  # MedGemma
)
_WITH_BARS: Final = 7  # so many have `<|` or `|>` in them, the first included
_IN_HEAD: Final = 14  # so many may stand behind a few words
# Marks that models asked for `<answer>` as well forget to close.
_LOOSE: Final = ("<reasoning>", "<reason>", "<thought>", "<thinking>", "<Thought>", "<scratchpad>", "<analysis>")
_HEAD: Final = 200  # thinking opens a response: further in, the rarer marks are not looked for
# What serving software should have cut off: InternLM's `<eoa>`, `<|im_end|>`, `</s>`.
_END_MARKS: Final = re.compile(
    r"(?>(?:\s{0,20}+(?:<eo[a-z]>|<\|[a-z_]{1,30}+\|>|</s>|<end_of_turn>|<eos>|\[/?INST\]|\[UNUSED_TOKEN_\d{1,3}\]))*)\Z"
)


def _marks_of_thinking(text: str, think_end: str) -> tuple[tuple[str, str], ...]:
    """The marks that may stand in this text. A gate of one character costs nothing; a needle costs 1 µs each."""
    if think_end != THINK_END:
        return ((think_end.replace("/", "", 1) if "/" in think_end else "", think_end),) if think_end else ()
    marks: tuple[tuple[str, str], ...] = ()
    if "<" in text:
        marks = MARKS_OF_THINKING[:_WITH_BARS] if "|>" in text or "<|" in text else MARKS_OF_THINKING[:1]
    head = text[:_HEAD].lstrip()
    if head.startswith("Here is my thought process:"):  # Granite 3; anyone may say so, and never close it
        marks += (("", "Here is my response:"),)
    elif "<" in head or "[T" in head or "◁" in head:
        marks += tuple(pair for pair in MARKS_OF_THINKING[len(marks) : _IN_HEAD] if pair[0] in head)
        marks += tuple(pair for pair in MARKS_OF_THINKING[_IN_HEAD:] if head.startswith(pair[0]))
    elif head.startswith("analysis") and head[8:9].isupper():  # gpt-oss, its special tokens left out
        return (("" if "assistantfinal" in text else "analysis", "assistantfinal"),)
    return marks


# The look-ahead turns away nearly every line at its first character, and possessive quantifiers never try a line twice:
# 25 µs for the 800 lines of a 30,000-character trace, where the plain spelling takes 130.
_QUESTION = r"(?:Question|QUESTION|Problem|PROBLEM|Exercise|Q)[ \t]?[#\d]{0,4}[*_]{0,3}[ \t]?:"
_NEXT = re.compile(
    rf"\n(?=[ \t>*#_QPEHU\[])[ \t>*#_]{{0,8}}+(?:(?P<question>{_QUESTION}|\[(?:Question|Problem)\])"
    r"|(?<!\*\s)(?<!\*\s\*\*)(?:Human|User|USER)[*_]{0,3}:|\[INST\])"
)
_OPENS_WITH_QUESTION = re.compile(
    rf"\s*[>*#_ ]{{0,8}}(?:{_QUESTION}|(?:Given|(?:The\s)?(?:[Rr]elevant\s)?[Vv]ariables)\b)"
)
_TURN = re.compile(
    r"<\|(?:im_start\|>\s*user|im_end\|>|endoftext\|>|eot_id\|>|end_of_text\|>|end\|>|user\|>"
    r"|start_header_id\|>\s*user)|</s>|<end_of_turn>"
)
_STATED: Final = re.compile(r"\\boxed|\\fbox|####|<answer>|nswer(?: is|\*{0,2}:)|NSWER")
_DIGIT = re.compile(r"\d")


def _own_end(text: str, start: int, end: int) -> int:
    """Where the model's own answer ends.

    Another turn ends it once anything has been said. An invented question ends it when an answer stands before it;
    a response that opens with a question is reciting examples or restating the problem, so that later questions
    are part of its own structure. Where there is a box, only what follows the first one can be invented: most boxed
    answers end the response, and then nearly nothing is searched.
    """
    first = text.find("\\boxed", start, end)
    begin = first if first >= 0 else start
    if "<" in text:
        turn = _TURN.search(text, begin, end)
        if turn and text[start : turn.start()].strip():
            end = turn.start()
    follow = _NEXT.search(text, begin, end)
    if follow is None:
        return end
    if follow["question"] is None:
        return follow.start() if text[start : follow.start()].strip() else end
    if _OPENS_WITH_QUESTION.match(text, start, end) or _is_own(text, start, follow.start(), end):
        return end
    return follow.start() if first >= 0 or _answered(text, start, follow.start()) else end


def _is_own(text: str, start: int, at: int, end: int) -> bool:
    """Whether a question is the response's own, restated: no answer is marked before it, and one is tagged behind it."""
    return text.find("<answer>", at, end) >= 0 and not _STATED.search(text, start, at)


def _answered(text: str, start: int, end: int) -> bool:
    """Whether an answer may already have been given: stated outright, or a sentence with a number that is no lead-in."""
    if _STATED.search(text, start, end):
        return True
    return bool(_DIGIT.search(text, start, end)) and not text[max(start, end - 80) : end].rstrip(" \n\t*_").endswith(
        ":"
    )
