"""How `math` judges golds out of a few: a letter of a multiple-choice question, or a word such as yes, odd or Monday.

Knowing the kind of the gold says what to look for in a response; it never says which one to find.
"""

from __future__ import annotations

import re
from typing import Final

from markscheme.marking.equality import compare
from markscheme.marking.extraction.answer_forms import explicit_answer, extract_answer
from markscheme.marking.extraction.choice_letters import (
    announced_letter,
    bracketed_letters,
    letter_in,
    letter_of_lines,
    listed_letters,
    lone_letter,
    with_capitals,
)
from markscheme.marking.extraction.choices import choice_texts
from markscheme.marking.extraction.endings import is_cut_off
from markscheme.marking.extraction.extracted import ExtractedAnswer
from markscheme.marking.extraction.sections import ResponseSections
from markscheme.marking.extraction.sentences import stated_value
from markscheme.marking.extraction.value_spans import value_span
from markscheme.marking.extraction.word_answers import said_word, word_answer
from markscheme.marking.protocol import Assessment
from markscheme.types import Verdict

_GOLD_LETTER: Final = re.compile(
    r"\$?\\(?:text|textbf|mathrm|mathbf)\{\s?\(?([A-J])\)?\s?\}\$?|\$([A-J])\$\.?|\(?([A-J])\)?[.:)]?|([A-J]{2,5})|\(([a-j])\)|([a-e])"
)


def gold_letter(gold: str) -> str | None:
    """The letter of a gold that is one: `B`, `(b)`, `b`, `$B$`, `\\text{(B)}`."""
    letter = _GOLD_LETTER.fullmatch(gold)
    return letter[letter.lastindex or 0].upper() if letter else None


def by_letter(sections: ResponseSections, letter: str) -> Assessment | None:
    """The verdict on a response to a multiple-choice question; `None` when it names no choice in any way."""
    texts = choice_texts(sections.choices, sections.statement)
    if f"({letter.lower()})" in texts.values():
        return None  # the text of a choice, which has a letter of its own
    start, end = sections.start, sections.end
    text = with_capitals(sections.text, start, end)
    lone = None if sections.cut_off else lone_letter(text, start, end)
    if lone is not None:
        return _chosen(lone, lone.content, letter)
    explicit = explicit_answer(text, start, end)
    if explicit is not None and (final := _FINAL_LETTER.search(text, max(explicit.end, end - 60), end)) is not None:
        return _chosen(ExtractedAnswer(final[1], *final.span(1), "chosen"), final[1], letter)
    if explicit is not None and (listed := listed_letters(text, explicit.start, end)) is not None:
        return _chosen(listed, listed.content, letter)
    named = None if explicit is None else _letter_in(explicit.content, texts)
    if explicit is not None and explicit.form in ("json", "boxed", "tagged", "hashes"):
        named = named or _choice_of(explicit.content, texts)
        if named is not None:
            return _chosen(explicit, named, letter)
        if explicit.form == "json":
            return None
    # What other options lack may stand behind the choice, without a word of conclusion.
    cut_off = (
        explicit is None and is_cut_off(sections) and (sections.cut_off or not _ENDED.search(text[start:end][-240:]))
    )
    chosen = None if sections.cut_off and explicit is None else announced_letter(text, start, end, weak=named is None)
    if chosen is not None and cut_off and end - chosen.end > _FAREWELL:
        chosen = None  # what the working says of an option, not what it comes to
    if explicit is not None and (chosen is None or chosen.start < explicit.start):  # the last word counts
        line = text.find("\n", explicit.start, end)
        finish = end if line < 0 else line
        listed = None if named else bracketed_letters(text, explicit.start, finish)
        several = listed is not None and len(listed.content) > 1 and finish - listed.end < _FAREWELL
        chosen = listed if several else None if named else chosen
    if named and chosen is not None and _OF_AN_OPTION.search(text[max(start, chosen.start - 24) : chosen.start]):
        chosen = None  # "- **D** is correct: …", of one option after the other, behind "Answer: C"
    if chosen is not None and _NONE_FITS.search(text, max(chosen.end, end - _LAST_LINES), end):
        return Assessment(Verdict.WRONG, why="chooses none")
    if chosen is None and named is None and not cut_off:
        chosen = letter_of_lines(text, start, end)
    if chosen is not None and (not texts or set(chosen.content) <= set(texts)):
        return _chosen(chosen, chosen.content, letter)
    answer = explicit if explicit is not None else extract_answer(sections)
    named = None if answer is None else _letter_in(answer.content, texts) or _choice_of(answer.content, texts)
    if named is None and explicit is None and not cut_off:
        answer = last_sentence(sections)
        said = [
            each
            for each, words in texts.items()
            if re.search(rf"(?<!\w){re.escape(words)}(?!\w)", answer.content, re.IGNORECASE)
        ]
        named = said[0] if len(said) == 1 and _ends_in(answer.content, texts[said[0]], r"\s") else None
    return None if named is None or answer is None else _chosen(answer, named, letter)


def _letter_in(content: str, texts: dict[str, str]) -> str | None:
    """The letter of a content; of choices I to IV, I is none."""
    letter = letter_in(content)
    return letter if letter is not None and (not texts or set(letter) <= set(texts)) else None


def text_of_choice(sections: ResponseSections, content: str, own: str | None = None) -> str | None:
    """What stands behind the letter that an answer names, where the problem's choices are known; its own words (`own`)
    count more than its letter where they are those of another choice."""
    texts = choice_texts(sections.choices, sections.statement)
    letter = letter_in(content) if texts else None
    if letter is None:
        return None
    return texts.get((_choice_of(own, texts) if own else None) or letter)


def _choice_of(content: str, texts: dict[str, str]) -> str | None:
    """The letter of the one choice that says the same as the content."""
    same = [letter for letter, text in texts.items() if compare(content, text).equal]
    return same[0] if len(same) == 1 else None


def _chosen(answer: ExtractedAnswer, named: str, letter: str) -> Assessment:
    span = (answer.start, answer.end)
    return Assessment.of(set(named) == set(letter), answer.content, letter, span, shown=f"choice {named}")


def by_words_of_letter(sections: ResponseSections, right: str) -> Assessment | None:
    """A choice that is right because its text, as the problem or the response gives it, is the gold; else `None`."""
    letter = announced_letter(sections.text, sections.start, sections.end)
    if letter is None:
        return None
    stated = text_of_choice(sections, letter.content)
    if stated is None:
        same = said_with_letter(sections, letter, right, before=not right[:1].isdigit())
    else:
        same = compare(stated, right).equal is True
    span = (letter.start, letter.end)
    return Assessment(Verdict.CORRECT, letter.content, "the text of its letter", span, ("choice",)) if same else None


def said_with_letter(sections: ResponseSections, answer: ExtractedAnswer, right: str, *, before: bool = True) -> bool:
    """Whether an answer is a bare letter and its text, which is the gold, stands behind it, beside its letter further up,
    or in the sentence before: "It begins at 11:55 A.M. The answer is D." """
    bare = _BARE_LETTER.fullmatch(answer.content)
    if bare is None or choice_texts(sections.choices, sections.statement):
        return False
    text, start, end = sections.text, sections.start, sections.end
    marks = _BEHIND_LETTER.match(text, answer.end, end)
    behind = text[slice(*value_span(text, marks.end() if marks else answer.end, end))]
    listed = re.findall(_LISTED.format(bare[1]), text[max(start, answer.start - 4_000) : answer.start])
    if any(said.strip() and compare(said.strip(" ()"), right).equal for said in (behind, *listed[-2:])):
        return True
    if not before or end - answer.end > _FAREWELL:
        return False
    if marks and "." in marks[0] and _is_said_of(text[marks.end() : end], right, by_itself=True):
        return True  # "The answer is A. Ivo is the youngest."
    near = text[max(start, answer.start - 400) : answer.start].replace("\\n", "\n").rstrip()
    sentences = [each for each in _SENTENCE.split(near) if each.strip()]
    if len(sentences) < 2:
        return False
    said = sentences[-2]
    if _is_said_of(said, right, by_itself=len(sentences) <= 3):
        return True
    ending = (
        re.search(rf"(?<!\w){re.escape(right)}(?:\s\w+){{0,2}}\W*\Z", said, re.IGNORECASE) if len(right) > 2 else None
    )
    if ending is not None:
        return _DENIED.search(said, 0, ending.start()) is None
    return compare(stated_value(said, 0, len(said)).content, right).equal is True


_BARE_LETTER: Final = re.compile(r"[\s(\[*_]*(?:choice\s\(?|option\s\(?)?([A-J])[\s)\].*_]*")
_BEHIND_LETTER: Final = re.compile(r"[\s*_)\]}.:,]{0,6}")
_LISTED: Final = r"(?<![A-Za-z]){0}[).:]\s+([^\n.]{{1,80}})"
_SENTENCE: Final = re.compile(r"(?<=[.!?*`])\s+(?=[A-Z])|\n")
_ENDED: Final = re.compile(
    r"[.!?。][\s*_)\"']*\Z|:[*_ ]{0,4}\n{1,2}[(\[][A-J][)\]]\s[^\n]{1,200}\s*\Z"
    r"|(?::|=>|→|⇒)\s?[*_(]{0,3}[A-J][)*_]{0,3}\s*\Z"
)
"""A full stop, or a line with a choice below one that leads to it, or `Conclusion: C`."""
_OF_AN_OPTION: Final = re.compile(r"\n\s{0,4}(?:[-*•]|\d\.)\s[*_]{0,2}(?:Option\s|Choice\s|选项\s?)?[(\[]?\Z")
_FINAL_LETTER: Final = re.compile(r"(?i:final\sanswer)[\s*_:]{1,8}(?:is\s)?[(\[]?([A-J])[)\]]?[.*_\s]{0,6}\Z")
"""At the very end, whatever was quoted before: `the <answer>I</answer> of the hint … FINAL ANSWER: G`."""
_NONE_FITS: Final = re.compile(
    r"(?:[.!?:;\n]\s{0,3}|\b(?:[Hh]owever|[Bb]ut|[Ss]o|that),?\s|\A\s{0,3})"
    r"[Nn]one\sof\s(?:the|these)\s(?:(?!other|remaining|rest|incorrect|wrong)[a-z]+\s){0,2}(?:choices|options|answers|alternatives)\b(?![^.\n]*\bexcept\b)"
    r"|\b(?:Solution|Answer):\s[Nn]one\b"
    r"|\bnot\s(?:appear|listed|included)\s(?:among\b|in\sthe\s(?:options|choices|list|answers)\b)"
)
"""In a sentence of its own, for it may be the text of a choice."""
_LAST_LINES: Final = 300
_FAREWELL: Final = 100
"""Characters that may follow a letter whose text stands before it: a longer text says something else."""


def by_word(sections: ResponseSections, gold: str, members: tuple[str, ...]) -> Assessment | None:
    """The verdict on a response to a question that has a few words for answers; `None` when it says none of them."""
    right = said_word(gold, members)
    text, start, end = sections.text, sections.start, sections.end
    explicit = explicit_answer(text, start, end)
    said = None if explicit is None else said_word(explicit.content, members)
    undecided = (
        (_CONDITIONAL.match(text, explicit.end, end) if said else _UNDECIDED.match(explicit.content))
        if explicit
        else None
    )
    if explicit is not None and undecided is not None:
        finish = text.find("\n", explicit.end, end)
        if said_word(text[explicit.start : finish if finish >= 0 else end], members) is None:
            return Assessment(Verdict.WRONG, explicit.content, f"not {right}", (explicit.start, explicit.end))
    if explicit is None or said is None:
        explicit = None if sections.cut_off else word_answer(text, start, end, members)
        said = None if explicit is None else explicit.content.lower()
    if explicit is None or said is None or right is None:
        return None
    return Assessment.of(said == right, explicit.content, right, (explicit.start, explicit.end), shown=said)


_CONDITIONAL: Final = re.compile(r"[\"'”\])*]{0,3}\s(?:if|when|in\scase)\b")
"""`"[Yes]" if it is a prime or "[No]" if it is not`."""
_UNDECIDED: Final = re.compile(
    r"\W{0,3}(?:un(?:known|clear|certain|determined|decided)|in(?:determinate|conclusive)|cannot\s|can't\s|ambiguous|it\sdepends|maybe|N/A)",
    re.IGNORECASE,
)
"""An answer that chooses none of the words, whatever the working said of them."""


def by_last_word(sections: ResponseSections, right: str) -> Assessment | None:
    """Right if the gold is a word and the last sentence ends in it, set apart or as what something is, or says of it that it
    is the most of something; else `None`."""
    answer = last_sentence(sections) if _WORDS.fullmatch(right) else None
    if answer is None or not (
        _ends_in(answer.content, right, _SET_APART)
        or ends_in_word(answer.content, right)
        or _is_said_of(answer.content, right)
    ):
        return None
    return Assessment(Verdict.CORRECT, answer.content, "its last word", (answer.start, answer.end))


def last_sentence(sections: ResponseSections) -> ExtractedAnswer:
    """The last sentence of a response, or the end of a longer one."""
    begin = max(sections.start, sections.end - 300)
    text = sections.text[begin : sections.end].rstrip()
    ends = [stop.end() for stop in _SENTENCE.finditer(text)]
    at = ends[-1] if ends else 0
    return ExtractedAnswer(text[at:], begin + at, begin + len(text), "concluded")


def ends_in_word(content: str, right: str) -> bool:
    """Whether a short sentence ends in the gold as what something is: `[Ann] is [Cy]'s niece.` for `niece`."""
    return _WORDS.fullmatch(right) is not None and _ends_in(content, right, rf"\s(?:is|are|was|were)\s{_OWNER}")


def _is_said_of(content: str, right: str, *, by_itself: bool = False) -> bool:
    """Whether a sentence says of the gold, as its subject, that it surpasses others, "The chess club has the fewest members.";
    one that stands `by_itself` may say anything else of it."""
    if len(content) > 300 or not 2 < len(right) < 100:
        return False
    subject = re.match(
        rf"\W*(?:(?:So|Thus|Therefore|Hence),?\s)?(?:the\s)?{re.escape(right)}\s(?!(?:to|of|and|in|at|past|with|for|versus)\b)(?=[a-z])",
        content,
        re.IGNORECASE,
    )
    surpasses = subject is not None and (by_itself or len(set(_SURPASSES.findall(content, subject.end()))) == 1)
    last = re.search(
        rf"[,;]\s(?:so|thus|therefore|hence)\s(?:the\s)?{re.escape(right)}\s[^,;]*\Z", content, re.IGNORECASE
    )
    return surpasses and (last is not None or not (_QUALIFIED.search(content) or _OTHER_SUBJECT.search(content)))


_SURPASSES: Final = re.compile(
    r"\b(?:most|least|fewest|more|less|fewer|(?:clos|furth|farth|great|high|low|long|short|larg|small|old|young|fast|slow|cheap)(?:er|est))\b"
)
_OTHER_SUBJECT: Final = re.compile(
    r"[,;]\s(?:so|and|thus|therefore|hence|making)\b"
    r"|\s(?:has|have|is|are|costs?|charges?)\b(?:(?!,\s(?:as|because|since|which)\b).)*\s(?:has|have|is|are|costs?|charges?)\b"
)
"""Of `Ann has 8 and Ben has 11, so Ben has more` the first subject is not what is said to surpass."""
_QUALIFIED: Final = re.compile(
    r"\b(?:not?|nor|neither|never|or|if|whether|while|whereas|but|than|except|cannot)\b|,\sand\b|;|n't|\?",
    re.IGNORECASE,
)


def _ends_in(content: str, words: str, before: str) -> bool:
    """Whether a short sentence of one clause that denies nothing ends in the words, behind what must stand before them."""
    if len(content) > 300 or not 2 < len(words) < 100 or len(_COPULA.findall(_RELATIVE.sub("", content))) > 1:
        return False
    ending = rf"{before}{re.escape(words)}[\s.!*_\"'”’`)]*\Z"
    return re.search(ending, content, re.IGNORECASE) is not None and not _DENIED.search(content)


_WORDS: Final = re.compile(r"[A-Za-z][A-Za-z' -]{2,40}")
_SET_APART: Final = r"[\s:](?:\"|“|'|\*\*|`)"
_OWNER: Final = r"(?:(?:the|an?|[^\s.,;]{1,30}['’]s?)\s)?[*_]{0,2}"
_COPULA: Final = re.compile(r"\b(?:is|are|was|were)\b")
_RELATIVE: Final = re.compile(r"\b(?:where|that|which|who)\s(?:\w+\s){0,6}?(?:is|are|was|were)\b")
"""`The largest city of the country where it is made is Oslo.`"""
_DENIED: Final = re.compile(
    r"\b(?:no|not|or|nor|neither|never|nobody|cannot|if(?!\swe)|whether|while|whereas|but|than|less|eliminate[sd]?|exclud(?:es?|ed|ing)"
    r"|rul(?:es?|ed|ing)\sout|reject(?:s|ed)?|except|without|impossible|opposite|unlike|instead|incorrect|wrong|false)\b|,\sand\b|;|n't|\?",
    re.IGNORECASE,
)
