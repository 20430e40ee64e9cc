r"""The value in a slot: what a stretch of tokens gives as an answer of the kind that is asked for."""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from markscheme.marking.reading.lexer import (
    CLOSE,
    COLON,
    COMMA,
    EMPHASIS,
    EQUALS,
    FORMULA,
    LETTER,
    NUMBER,
    OPEN,
    OTHER,
    WORD,
    Lexed,
    Token,
)  # fmt: skip
from markscheme.marking.reading.quantities import EDGES, Value, inside, quantity_in
from markscheme.marking.reading.words import BIT

WORD_CLASSES: Final = ("YES", "NO", "TRUE", "FALSE", "NONE", "ALL", "UNKNOWN")


class Kind(NamedTuple):
    """What is asked for: a value (number or expression), a letter (choice), a word of a small class, or free words."""

    name: Literal["value", "letter", "word", "text"]
    classes: int = 0  # of the words that may be the answer
    words: tuple[str, ...] = ()  # the words themselves, where no class of the lexicon holds them

    def word(self, lexed: Lexed, at: int) -> str | None:
        """The word of the small class that a token is."""
        token = lexed.tokens[at]
        if token.kind != WORD:
            return None
        if token.classes & self.classes:
            return next(name for name in WORD_CLASSES if token.classes & self.classes & BIT[name]).lower()
        said = lexed.text[token.start : token.end].lower()
        return said if said in self.words else None


VALUE, LETTERS, TEXT = Kind("value"), Kind("letter"), Kind("text")
_AND, _OR, _IS, _NUMBERS, _SCALE, _UNIT, _ANSWER, _OPTION, _NOT, _BAD, _WITHIN = (
    BIT[name] for name in ("AND", "OR", "IS", "NUMBER", "SCALE", "UNIT", "ANSWER", "OPTION", "NOT", "BAD", "WITHIN")
)
_ARTICLE: Final = BIT["FILLER"] | BIT["WITHIN"]
# Words that may follow the label A; another one follows the article.
_AFTER_LABEL: Final = _IS | _AND | _OR | _NOT | sum(BIT[name] for name in ("BUT", "BECAUSE", "IF", "WITHIN"))
_SMALL: Final = frozenset("abcdefghij")
_TYPESET_LABEL: Final = re.compile(r"(?:\\[a-z]+\s?\{)?[\s(]*[A-J][\s).]*\}?")
_LETTER_INSIDE: Final = re.compile(r"\A.*?([A-J])[\s).]*\}?\Z")
_SET: Final = re.compile(r"A?B?C?D?E?F?G?H?I?J?")
_BRACKETS: Final = ((OPEN, "(["), (CLOSE, ")]"))


def value_in(lexed: Lexed, kind: Kind, first: int, last: int) -> Value | None:
    """The first value of a kind in tokens `first` to `last`."""
    if kind.name == "letter":
        return _letters(lexed, first, last)
    if kind.name == "word":
        return _word(lexed, kind, first, last)
    if kind.name == "text":
        return _words(lexed, first, last)
    return quantity_in(lexed, first, last)


# Choices


def _letters(lexed: Lexed, first: int, last: int) -> Value | None:
    """The choice that a slot names; several of them are one answer."""
    found = [at for at in range(first, last + 1) if is_choice(lexed, at)]
    if not found:
        words = [at for at in range(first, last + 1) if lexed.tokens[at].kind == WORD]
        small = len(words) == 1 and lexed.said(words[0], words[0]) in _SMALL and last - first < 5
        return Value(words[0], words[0], label(lexed, words[0])) if small else None
    begin = end = found[0]
    letters = [label(lexed, begin)]
    listed = _in_brackets(lexed, begin) or _has_text(lexed, begin)
    for at in found[1:]:
        between = lexed.tokens[end + 1 : at]
        joined = len(between) <= 4 and all(_joins(lexed, token) for token in between)
        labelled = listed and (_in_brackets(lexed, at) or _has_text(lexed, at)) and not _divides(lexed, between)
        if (not joined and not labelled) or is_refused(lexed, at, last):
            break
        if label(lexed, at) not in letters:
            letters.append(label(lexed, at))
        end = at
    return Value(begin, end, "".join(letters))


def _in_brackets(lexed: Lexed, at: int) -> bool:
    """Whether a letter is set as a label of its own: `(C)`."""
    text, token = lexed.text, lexed.tokens[at]
    return text[token.start - 1 : token.start] in ("(", "[") and text[token.end : token.end + 1] in (")", "]")


def _has_text(lexed: Lexed, at: int) -> bool:
    """Whether the text of the choice follows its letter in brackets: `B (a wall)`."""
    return lexed.text[lexed.tokens[at].end : lexed.tokens[at].end + 2] == " ("


def _divides(lexed: Lexed, between: list[Token]) -> bool:
    return any(
        token.classes & (_NOT | _BAD | _IS) if token.kind == WORD else lexed.text[token.start] == ";"
        for token in between
    )


def is_refused(lexed: Lexed, at: int, last: int) -> bool:
    """Whether the words right after a label take it out of the list: "(D) is wrong", "(D) does not"."""
    following = lexed.tokens[at + 1 : min(last, at + 4) + 1]
    return any(token.kind == WORD and token.classes & (_NOT | _BAD) for token in following)


def _joins(lexed: Lexed, token: Token) -> bool:
    """Whether a token may be between two labels of a list."""
    if token.kind == WORD:
        return bool(token.classes & (_AND | _OR | _OPTION))
    return token.kind in (COMMA, OPEN, CLOSE, EMPHASIS) or lexed.text[token.start : token.end] in "/&+"


def label(lexed: Lexed, at: int) -> str:
    """The letter that a token names."""
    token = lexed.tokens[at]
    said = lexed.text[token.start : token.end]
    if said in lexed.labels:
        return lexed.labels[said]
    if token.kind in (OTHER, FORMULA):
        said = _LETTER_INSIDE.sub(r"\1", inside(said))
    return lexed.words.letters.get(said.lower() if said > "\u0370" else said, said).upper()


def is_choice(lexed: Lexed, at: int) -> bool:
    """Whether a letter is the label of a choice: not the article, the pronoun or a name in a formula."""
    token = lexed.tokens[at]
    said = lexed.text[token.start : token.end]
    if said in lexed.labels:
        return True
    if token.kind in (OTHER, FORMULA):
        return _TYPESET_LABEL.fullmatch(inside(said)) is not None
    if token.kind != LETTER:
        joined = 1 < len(said) < 6 and _SET.fullmatch(said) is not None
        native = said.lower() in lexed.words.letters and (said != said.lower() or said == said.upper())
        return token.kind == WORD and (native or joined)
    following = lexed.tokens[at + 1] if at + 1 < len(lexed.tokens) else None
    after = token.end + (lexed.text[token.end : token.end + 1] == "}")
    if lexed.text[after : after + 1] in ("*", "^", "_") and not lexed.text.startswith("**", after):
        return False  # E*2
    if following is None or following.kind != WORD or following.start > token.end + 1:
        return True
    before = lexed.tokens[at - 1] if at else None
    if before is not None and before.kind == WORD and before.classes & (_OPTION | _ANSWER):
        return True
    return said not in "AI" or bool(following.classes & _AFTER_LABEL)


# Words


def _word(lexed: Lexed, kind: Kind, first: int, last: int) -> Value | None:
    for at in range(first, last + 1):
        word = kind.word(lexed, at)
        if word is not None and not (kind.classes and _is_determiner(lexed, at, first, last)):
            other = kind.word(lexed, at + 2) if at + 2 <= last and _offers(lexed, at + 1) else None
            return Value(at, at, word) if other in (None, word) else None
    return None


def _offers(lexed: Lexed, at: int) -> bool:
    """Whether a token is the "or" of "yes or no", "yes/no"."""
    token = lexed.tokens[at]
    return lexed.text[token.start : token.end] == "/" or (token.kind == WORD and bool(token.classes & _OR))


def _is_determiner(lexed: Lexed, at: int, first: int, last: int) -> bool:
    """Whether a "no" belongs to the word after it: "no button was pressed"; as the first word of a slot it answers."""
    if not lexed.tokens[at].classes & _NOT or at in (first, last):
        return False
    following = lexed.tokens[at + 1]
    return following.kind == WORD and not following.classes & (_IS | _AND | _OR | _WITHIN)


def _words(lexed: Lexed, first: int, last: int) -> Value | None:
    """Free words: what is set apart or quoted within the slot, else all of it without its articles and label."""
    tokens = lexed.tokens
    letter = next((at for at in range(first, min(last, first + 2) + 1) if tokens[at].kind == LETTER), None)
    if letter is not None and letter < last and lexed.said(letter + 1, letter + 1) in (")", "]", ".", ":"):
        first = letter + 2  # (A) moss
    for kind in (EMPHASIS, OPEN):
        marks = [
            at
            for at in range(first, last + 1)
            if tokens[at].kind == kind and (kind == EMPHASIS or lexed.said(at, at) in EDGES)
        ]
        if len(marks) >= 2 and marks[1] > marks[0] + 1:
            first, last = marks[0] + 1, marks[1] - 1
            break
    if not any(token.kind in (WORD, NUMBER, LETTER, FORMULA) for token in tokens[first : last + 1]):
        return Value(first, last, lexed.said(first, last).strip()) if first <= last else None  # brackets: ) }
    while first < last and (
        tokens[first].kind in (EMPHASIS, COLON, EQUALS, OPEN)
        or (tokens[first].classes & _ARTICLE and tokens[first].end - tokens[first].start < 5)
    ):
        first += 1
    while last >= first and tokens[last].kind in (EMPHASIS, COMMA, CLOSE, OPEN):
        last -= 1
    return Value(first, last, lexed.said(first, last).strip()) if first <= last else None
