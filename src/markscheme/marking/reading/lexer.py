r"""A text as tokens: numbers, letters, formulas, boxes, words with their classes, and what divides them.

One pass from left to right; every position is looked at a bounded number of times.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from markscheme.marking.reading.boxes import closing_brace
from markscheme.marking.reading.words import WORD_PATTERN, Vocabulary, language_of, unspaced_words, vocabulary

# The kinds of token. ASKS is a question mark; STOP any other end of a sentence; HASHES is GSM8K's `####`.
NUMBER, LETTER, FORMULA, BOX, WORD, STOP, LINE, COMMA, COLON, EQUALS, EMPHASIS, OPEN, CLOSE, HASHES, ASKS, OTHER = (
    range(16)
)
KINDS: Final = (
    "number", "letter", "formula", "box", "word", "stop", "line", "comma", "colon", "equals", "emphasis", "open", "close",
    "hashes", "asks", "other",
)  # fmt: skip


class Token(NamedTuple):
    """A piece of a text: its kind, where it is, and for a word its classes."""

    kind: int
    start: int
    end: int
    classes: int = 0


_AMOUNT: Final = r"[-−–+△]?(?:\\?[$€£¥₹₩]\s?|Rs\.?\s?|(?:USD|EUR|GBP|CHF|CAD|AUD|INR|RMB|CNY|SGD|RM)(?=\d))?[-−]?(?:\d{1,2}:\d\d(?::\d\d)?(?:\s?[AaPp]\.?[Mm]\b(?:\.(?!\s+[A-Z]))?)?(?!\d)|\d{1,3}(?>(?:[ \u00a0\u202f]\d{3})+)(?!\d)(?:[.,]\d+)?|\d(?>(?:[,.'’]?\d)*)|\.\d+)[⁻⁰¹²³⁴-⁹]*(?:/\d+){0,2}"
_TOKEN: Final = re.compile(
    rf"(?P<box>\\?boxed\s?\{{|\\fbox\s?\{{|\\boxed(?=\s?[\w\\]))"
    r"|(?P<other>\\(?:begin|end)\s?\{[a-zA-Z]+\*?\})|(?P<inside>\\(?:text|mathrm|mbox|textbf|textrm|operatorname|mathbf)\s?\{)"
    r"|(?P<formula>\\\[|\\\(|\$\$|\$(?=[^\s$\d.]|\.[^\d\s]|\d[^$\n]{0,400}?\$(?!\d)))"
    rf"|(?P<number>(?<![A-Za-z0-9_.\\])(?:{_AMOUNT})(?:\s?(?:%|\\%|°))?)"
    r"|(?P<letter>(?<![^\W_])(?<!\\)[A-J](?![^\W_]|['’]|\.[A-Za-z])|(?<=[\u0e00-\u0eff\u3040-\u9fff\uac00-\ud7af])[A-J](?![A-Za-z0-9'’])|(?<![A-Za-z0-9\\])[A-J](?=[\u0e00-\u0eff\u3040-\u9fff\uac00-\ud7af])|(?<=[(\[])[a-j](?=[)\]]))"
    r"|(?P<comma>(?<![A-Za-z])[a-z]\.[a-z]\.,?)"
    rf"|(?P<word>{WORD_PATTERN})"
    r"|(?P<hashes>####(?=[\s\d$*-])\s?)"
    r"|(?P<line>\s*\n\s*|\\n(?=[A-Z\\\d$*\-#]|\s|\Z))"
    r"|(?P<power>(?<=[A-Za-z0-9)])\*\*(?=[\d(])|(?<=[\d)])\*(?=[\d(])|(?<=[\d)]\s)\*(?=\s[\d(]))"
    r"|(?P<emphasis>\*{1,3}|_{2,3}|`+)"
    r"|(?P<stop>(?<!\\)[.!]+(?=[\s*_)\]\"'”’`$]|\Z)|[。！।؛۔॥።]|[;；](?=\s*[^\W\d_]{2})|\.{3}|…)"
    r"|(?P<asks>[?？؟])"
    r"|(?P<pause>[,，、،;；])"
    r"|(?P<colon>[:：])"
    r"|(?P<equals>[=≈→⇒]|\\approx|\\Rightarrow|\\implies)"
    r"|<<[^<>\n]{0,200}>>|(?P<open>[(\[{（【「『\"“<])|(?P<close>[)\]}）】」』\"”>])"
    r"|\s+|(?P<sign>.)",
    re.DOTALL,
)
_KIND: Final = {name: place for place, name in enumerate(KINDS)} | {"sign": OTHER, "pause": COMMA, "power": OTHER}
_TEXT: Final = re.compile(rf"{WORD_PATTERN}|\d+|\S")
_OPENS_IN_WORDS: Final = re.compile(r"\s*\\(?:text|textbf|mathrm)\s?\{[^{}\n]*[a-z]{3}")
_CLOSES: Final = {"\\[": "\\]", "\\(": "\\)", "$$": "$$", "$": "$"}
NEAR: Final = 500  # characters from the end that are read first
_LONGEST: Final = 2_000  # no formula or box that states an answer has more characters


class Lexed(NamedTuple):
    """The tokens of `text[start:end]`, and the vocabulary that they were read with."""

    text: str
    tokens: list[Token]
    words: Vocabulary
    language: str
    labels: dict[str, str]  # the letter of a choice by its text, as it is written here

    def said(self, first: int, last: int) -> str:
        """The text from one token to another, both included."""
        return self.text[self.tokens[first].start : self.tokens[last].end]


def lex(text: str, start: int, end: int, choices: Mapping[str, str] | None = None) -> Lexed:
    """The tokens of `text[start:end]`; the text of a choice, by its letter in `choices`, is one token."""
    lexed = _lex(text, start, end)
    if not choices:
        return lexed
    labels: dict[str, str] = {}
    return lexed._replace(tokens=_with_choices(text, lexed.tokens, choices, labels), labels=labels)


@lru_cache(maxsize=8)  # the ending of a response is read where its answer was
def _lex(text: str, start: int, end: int) -> Lexed:
    language = language_of(text[start:end])
    if language == "english" and start:  # a line says little: "Answer: 2.750 Euro"
        language = language_of(text[max(0, start - NEAR) : end])
    words = vocabulary(language)
    unspaced = unspaced_words(language)
    tokens: list[Token] = []
    closes: set[int] = set()  # braces that close \\text{…}
    at = start
    match = _TOKEN.match
    while at < end:
        if at in closes:
            at += 1
            continue
        found = match(text, at, end)
        if found is None:
            break
        name = found.lastgroup
        at = found.end()
        if name is None:
            continue
        if name == "formula":
            at = _formula(text, found, end, tokens)
        elif name == "inside":
            closes.add(closing_brace(text, at, min(end, at + _LONGEST)))
        elif name == "box":
            at = _box(text, found, end, tokens)
        elif name == "word":
            if unspaced is not None and not found[0].isascii():
                _unspaced(text, found, unspaced, words, tokens)
            else:
                tokens.append(Token(WORD, found.start(), at, words.classes(found[0].lower())))
        elif name == "letter":
            tokens.append(Token(LETTER, found.start(), at, words.classes(found[0].lower())))
        else:
            kind = _KIND[name]
            if kind == STOP and _follows_label(text, found, end, tokens):
                kind = OTHER  # B. The bottom one
            if (
                name == "power"
                and at - found.start() == 2
                and text.count("**", max(start, found.start() - 80), found.start()) % 2
            ):
                kind = EMPHASIS  # the end of bold type
            tokens.append(Token(kind, found.start(), at))
    return Lexed(text, _with_phrases(text, tokens, words), words, language, {})


def near_end(text: str, start: int, end: int) -> int:
    """Where the last lines of `text[start:end]` begin, which mostly say all that there is to know."""
    begin = max(start, end - NEAR)
    if begin > start:
        line = text.find("\n", begin, end - 1)
        return line if 0 <= line < end - 200 else begin
    return start


def _follows_label(text: str, stop: re.Match[str], end: int, tokens: list[Token]) -> bool:
    """Whether a full stop belongs to the label of a choice at the head of a line, with its text after it."""
    if not tokens or tokens[-1].kind != LETTER or stop.end() - stop.start() > 1 or tokens[-1].end != stop.start():
        return False
    head = all(token.kind in (EMPHASIS, OPEN) for token in tokens[-3:-1]) or tokens[-2].kind in (LINE, EMPHASIS, COLON)
    return (
        head and text[stop.end() : min(end, stop.end() + 3)].strip() != "" and text[stop.end() : stop.end() + 1] == " "
    )


def _with_choices(text: str, tokens: list[Token], choices: Mapping[str, str], labels: dict[str, str]) -> list[Token]:
    """The words of a choice, wherever they are said, joined into one token; `labels` gets its letter."""
    wanted = {tuple(_TEXT.findall(said.lower())): letter for letter, said in choices.items()}
    letters = {letter.lower() for letter in choices}
    lengths = sorted({len(words) for words in wanted if words}, reverse=True)
    said = [text[token.start : token.end].lower() for token in tokens]
    joined: list[Token] = []
    at = 0
    while at < len(tokens):
        for length in lengths:
            letter = wanted.get(tuple(said[at : at + length]))
            if (
                letter is not None
                and at + length <= len(tokens)
                and (tokens[at].kind == WORD or (tokens[at].kind == LETTER and said[at] not in letters))
            ):
                span = Token(WORD, tokens[at].start, tokens[at + length - 1].end)
                labels[text[span.start : span.end]] = letter
                joined.append(span)
                at += length
                break
        else:
            joined.append(tokens[at])
            at += 1
    return joined


def _formula(text: str, opened: re.Match[str], end: int, tokens: list[Token]) -> int:
    """A formula up to the sign that closes it; a box inside it is a token of its own."""
    begin = opened.start()
    closing = _CLOSES[opened[0]]
    limit = min(end, begin + _LONGEST)
    line = text.find("\n", begin, limit) if closing == "$" else -1
    if line >= 0 and text.find("\\begin{", begin, line) >= 0:
        line = -1
    close = text.find(closing, opened.end(), line if line >= 0 else limit)
    if close < 0:
        tokens.append(Token(OTHER, begin, opened.end()))
        return opened.end()
    if (
        _OPENS_IN_WORDS.match(text, opened.end(), close)
        or text.find("boxed", begin, close) >= 0
        or text.find("\\fbox", begin, close) >= 0
    ):
        return opened.end()  # the box is read next, and the sign that closes the formula is an opening one to nobody
    finish = close + len(closing)
    tokens.append(Token(FORMULA, begin, finish))
    if text[close - 1] == "," or (
        text[close - 1] == "." and not text[finish : min(end, finish + 2)].strip(" \n").islower()
    ):
        tokens.append(Token(COMMA if text[close - 1] == "," else STOP, finish, finish))
    return finish


def _box(text: str, opened: re.Match[str], end: int, tokens: list[Token]) -> int:
    if not opened[0].endswith("{"):
        tokens.append(Token(BOX, opened.start(), opened.end()))
        return opened.end()
    close = closing_brace(text, opened.end(), min(end, opened.end() + _LONGEST))
    finish = close + 1 if close >= 0 else opened.end()
    tokens.append(Token(BOX, opened.start(), finish))
    return finish


def _unspaced(text: str, run: re.Match[str], pattern: re.Pattern[str], words: Vocabulary, tokens: list[Token]) -> None:
    """The known words in a run of a script without blanks, and what is between them."""
    at = run.start()
    for word in pattern.finditer(text, run.start(), run.end()):
        if word.start() > at:
            tokens.append(Token(WORD, at, word.start()))
        tokens.append(Token(WORD, word.start(), word.end(), words.words.get(word[0], 0)))
        at = word.end()
    if at < run.end():
        tokens.append(Token(WORD, at, run.end()))


def _with_phrases(text: str, tokens: list[Token], words: Vocabulary) -> list[Token]:
    """Words that are known only together ("at least", "the square of") joined into one token."""
    longest, phrases = words.longest, words.phrases
    said = [text[start:end].lower() if kind in (WORD, LETTER) else "" for kind, start, end, _ in tokens]
    joined: list[Token] = []
    at, count = 0, len(tokens)
    while at < count:
        most = longest.get(said[at], 0) if said[at] else 0
        for length in range(min(most, count - at), 1, -1):
            bits = phrases.get(tuple(said[at : at + length]))
            if bits is not None:
                joined.append(Token(WORD, tokens[at].start, tokens[at + length - 1].end, bits))
                at += length
                break
        else:
            joined.append(tokens[at])
            at += 1
    return joined
