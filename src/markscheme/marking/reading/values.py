"""Read the value in a slot: the answer of the expected kind in a stretch of tokens."""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from markscheme.marking.reading import kinds
from markscheme.marking.reading.lexer import Lexed
from markscheme.marking.reading.quantities import EDGES, LETTERS_IN_WORDS, Value, inside, quantity_in

WORD_CLASSES: Final = {
    name.lower(): kinds.CLASSES[name] for name in ("YES", "NO", "TRUE", "FALSE", "NONE", "ALL", "UNKNOWN")
}


class Kind(NamedTuple):
    """The expected kind: a value (number or expression), a letter (choice), a word of a small class, or free words."""

    name: Literal["value", "letter", "word", "text"]
    classes: int = 0  # classes of the allowed words
    words: tuple[str, ...] = ()  # the allowed words, if no lexicon class contains them
    given: frozenset[str] = frozenset()  # words of the question, if it is known and the answer is free words

    def word(self, lexed: Lexed, at: int) -> str | None:
        """Return the allowed word that a token is, if any."""
        said = lexed.tokens[at].kinds & self.classes
        if said:
            return next(name for name, bit in WORD_CLASSES.items() if said & bit)
        written = lexed.said(at, at).lower() if self.words else ""
        return written if written in self.words else None


VALUE, LETTERS, TEXT = Kind("value"), Kind("letter"), Kind("text")
# Words that may follow the label A; any other word follows the article.
_AFTER_LABEL: Final = (
    kinds.IS | kinds.AND | kinds.OR | kinds.NOT | kinds.BUT | kinds.BECAUSE | kinds.IF | kinds.WITHIN
)  # fmt: skip
_SMALL: Final = frozenset("abcdefghij")
_TYPE: Final = (
    r"\\(?:text[a-z]{0,6}|math(?:rm|bf|sf|it|tt)|mbox|boldsymbol|bm|bf|rm|boxed|fbox|underline|operatorname)\s?\{"
)
_TYPESET_LABEL: Final = re.compile(rf"(?:{_TYPE})?[\s(]*[A-J][\s).]*\}}?")
# What opens mathematics, not type: \mathbb{C}, \overline{A}, \sqrt{B}.
_OPENS_MATHEMATICS: Final = re.compile(rf"(?!{_TYPE})\\[a-z]{{1,12}}\s?\{{\Z")
_LETTER_INSIDE: Final = re.compile(r"\A.*?([A-J])[\s).]*\}?\Z")
_LONGEST_SET: Final = 5  # letters of several choices, or of the name of one
_SET: Final = re.compile(r"A?B?C?D?E?F?G?H?I?J?")
_JOINT: Final = kinds.AND | kinds.OR
_LEADING: Final = kinds.EMPHASIS | kinds.COLON | kinds.EQUALS | kinds.OPEN
_SMALL_WORD: Final = kinds.FILLER | kinds.WITHIN  # an article
_TRAILING: Final = kinds.EMPHASIS | kinds.COMMA | kinds.CLOSE | kinds.OPEN


def value_in(lexed: Lexed, kind: Kind, first: int, last: int) -> Value | None:
    """Return the first value of a kind in tokens `first` to `last`."""
    if kind.name == "letter":
        return _letters(lexed, first, last)
    if kind.name == "word":
        return _word(lexed, kind, first, last)
    if kind.name == "text":
        return _words(lexed, first, last)
    return quantity_in(lexed, first, last)


def _letters(lexed: Lexed, first: int, last: int) -> Value | None:
    """Return the choice named in a slot; several of them are one answer."""
    found = [at for at in range(first, last + 1) if is_choice(lexed, at)]
    if not found:
        words = [at for at in range(first, last + 1) if lexed.tokens[at].kinds & kinds.WORD]
        small = len(words) == 1 and lexed.said(words[0], words[0]) in _SMALL and last - first < 5
        return Value(words[0], words[0], label(lexed, words[0])) if small else None
    begin = end = found[0]
    letters = [label(lexed, begin)]
    listed = _is_label(lexed, begin)
    for at in found[1:]:
        joined = at - end <= 5 and all(_joins(lexed, place) for place in range(end + 1, at))
        apart = lexed.has(kinds.NOT | kinds.BAD | kinds.IS, end + 1, at - 1) or ";" in lexed.said(end, at)
        labelled = listed and _is_label(lexed, at) and not apart
        if (not joined and not labelled) or is_refused(lexed, at, last):
            break
        if label(lexed, at) not in letters:
            letters.append(label(lexed, at))
        end = at
    return Value(begin, end, "".join(letters))


def _is_label(lexed: Lexed, at: int) -> bool:
    """True for a letter in brackets, or followed by its choice text in brackets: `(C)`, `B (a wall)`."""
    text, token = lexed.text, lexed.tokens[at]
    bracketed = text[token.start - 1 : token.start] in ("(", "[") and text[token.end : token.end + 1] in (")", "]")
    return bracketed or text.startswith(" (", token.end)


def is_refused(lexed: Lexed, at: int, last: int) -> bool:
    """True if the words after a label exclude it: "(D) is wrong", "(D) does not"."""
    for place in range(at + 1, min(last, at + 4) + 1):
        if lexed.tokens[place].kinds & (kinds.NOT | kinds.BAD):
            another = lexed.tokens[place - 1].kinds & (kinds.COMMA | kinds.AND | kinds.OPEN)
            return not another or place == last or not lexed.tokens[place + 1].kinds & kinds.LETTER  # "C, not B"
    return False


def _joins(lexed: Lexed, at: int) -> bool:
    """True for a token that may separate two labels of a list."""
    here = lexed.tokens[at].kinds
    if here & kinds.WORD:
        return bool(here & (kinds.AND | kinds.OR | kinds.OPTION))
    return bool(here & (kinds.COMMA | kinds.OPEN | kinds.CLOSE | kinds.EMPHASIS)) or lexed.said(at, at) in "/&+"


def label(lexed: Lexed, at: int) -> str:
    """Return the letter that a token names."""
    said = lexed.said(at, at)
    if said in lexed.labels:
        return lexed.labels[said]
    if lexed.tokens[at].kinds & (kinds.OTHER | kinds.FORMULA):
        said = _LETTER_INSIDE.sub(r"\1", inside(said))
    return lexed.words.letters.get(said.lower() if said > "\u0370" else said, said).upper()


def is_choice(lexed: Lexed, at: int) -> bool:
    """True for a letter that is a choice label: not the article, the pronoun or a name in a formula."""
    token = lexed.tokens[at]
    if token.end - token.start > _LONGEST_SET and token.kinds & kinds.WORD and not lexed.labels:
        return False
    said = lexed.text[token.start : token.end]
    if said in lexed.labels:
        return True
    if token.kinds & (kinds.OTHER | kinds.FORMULA):
        return _TYPESET_LABEL.fullmatch(inside(said)) is not None
    if token.kinds & kinds.WORD:
        joined = 1 < len(said) <= _LONGEST_SET and _SET.fullmatch(said) is not None
        native = said.lower() in lexed.words.letters and (said != said.lower() or said == said.upper())
        attached = lexed.text[token.start - 1 : token.start] if token.start else ""
        return (native and not (attached.isascii() and attached.isalnum())) or joined  # not the particle of B가
    if not token.kinds & kinds.LETTER:
        return False
    opened = token.start and lexed.text[token.start - 1] == "{"
    if opened and _OPENS_MATHEMATICS.search(lexed.text, max(0, token.start - 16), token.start):
        return False
    after = token.end + (lexed.text[token.end : token.end + 1] == "}")
    if lexed.text[after : after + 1] in ("*", "^", "_") and not lexed.text.startswith("**", after):
        return False  # E*2
    following = lexed.tokens[at + 1] if at + 1 < len(lexed.tokens) else None
    if (
        said not in LETTERS_IN_WORDS
        or following is None
        or not following.kinds & kinds.WORD
        or following.start > token.end + 1
    ):
        return True
    before = lexed.tokens[at - 1].kinds if at else 0
    return bool(before & (kinds.OPTION | kinds.ANSWER) or following.kinds & _AFTER_LABEL)


def _word(lexed: Lexed, kind: Kind, first: int, last: int) -> Value | None:
    for at in range(first, last + 1):
        word = kind.word(lexed, at)
        if word is not None and not (kind.classes and _is_determiner(lexed, at, first, last)):
            joint = at + 2 <= last and (lexed.tokens[at + 1].kinds & _JOINT or lexed.said(at + 1, at + 1) == "/")
            other = kind.word(lexed, at + 2) if joint else None  # "yes or no", "yes/no"
            return Value(at, at, word) if other in (None, word) else None
    return None


def _is_determiner(lexed: Lexed, at: int, first: int, last: int) -> bool:
    """True for a "no" that belongs to the next word: "no button was pressed"; as the first word of a slot, it is an
    answer.
    """
    if not lexed.tokens[at].kinds & kinds.NOT or at in (first, last):
        return False
    following = lexed.tokens[at + 1].kinds
    return bool(following & kinds.WORD) and not following & (kinds.IS | kinds.AND | kinds.OR | kinds.WITHIN)


def set_apart(lexed: Lexed, first: int, last: int) -> list[tuple[int, int]]:
    """Return the stretches in bold type, and those in quotes."""
    tokens = lexed.tokens
    bold = [at for at in range(first, last + 1) if tokens[at].kinds & kinds.EMPHASIS]
    marks = (at for at in range(first, last + 1) if tokens[at].kinds & (kinds.OPEN | kinds.CLOSE))
    quotes = [at for at in marks if lexed.said(at, at) in EDGES]
    pairs = [*zip(bold[::2], bold[1::2], strict=False), *zip(quotes[::2], quotes[1::2], strict=False)]
    return [(begin + 1, end - 1) for begin, end in pairs if end > begin + 1]


def _words(lexed: Lexed, first: int, last: int) -> Value | None:
    """Return free words: the emphasized or quoted part of the slot, or all of it without articles and label."""
    tokens, letter = lexed.tokens, first
    while letter < last and tokens[letter].kinds & (kinds.OPEN | kinds.EMPHASIS):
        letter += 1
    lettered = letter < last and tokens[letter].kinds & kinds.LETTER
    if lettered and lexed.said(letter + 1, letter + 1) in (")", "]", ".", ":"):
        following = lexed.said(letter + 2, letter + 2) if letter + 2 <= last else ""
        if len(following) != 1 or not following.isupper():
            first = letter + 2  # (A) moss, but not H. G. Wells
    first, last = next(iter(set_apart(lexed, first, last)), (first, last))
    words = kinds.WORD | kinds.NUMBER | kinds.LETTER | kinds.FORMULA
    for at in range(first + 1, last + 1):
        opens = tokens[at].kinds & kinds.OPEN and tokens[at].start > tokens[at - 1].end and lexed.said(at, at) == "("
        if opens and lexed.has(words, first, at - 1):
            last = at - 1  # "carbon dioxide (CO2)"
            break
    if lexed.has(words, first, last):
        while first < last and (
            tokens[first].kinds & _LEADING
            or (tokens[first].kinds & _SMALL_WORD and tokens[first].end - tokens[first].start < 5)
        ):
            first += 1
        while last >= first and tokens[last].kinds & _TRAILING:
            last -= 1
    return Value(first, last, lexed.said(first, last).strip()) if first <= last else None
