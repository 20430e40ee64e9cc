"""Split a text into tokens: numbers, letters, formulas, boxes, words with their classes, and separators.

One pass from left to right. The current character limits the possible forms, so that most tokens take one match; each
position is examined a bounded number of times.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Mapping
from functools import cache, lru_cache
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from markscheme.marking.reading import kinds
from markscheme.marking.reading.boxes import closing_brace
from markscheme.marking.reading.words import (
    WORD_PATTERN,
    Vocabulary,
    either,
    english,
    language_of,
    unspaced_words,
    vocabulary,
)


class Token(Struct, frozen=True, gc=False):
    """A piece of text: its bits in `kinds`, and its position."""

    kinds: int
    start: int
    end: int


_CURRENCY: Final = rf"(?:\\?[$€£¥₹]\s?|{either('currency_marks')}\.?\s?|{either('currencies')}(?=\d))?"
_CLOCK: Final = rf"\d{{1,2}}:\d\d(?::\d\d)?(?:\s?{either('half_days')}\b(?:\.(?!\s+[A-Z]))?)?(?!\d)"
_GROUPS: Final = r"\d{1,3}(?>(?:[ \u00a0\u202f]\d{3})+)(?!\d)(?:[.,]\d+)?"
_DIGITS: Final = r"\d(?>(?:[,.'’]?\d)*)|\.\d+"
_CJK: Final = "\u0e00-\u0eff\u3040-\u9fff\uac00-\ud7af"
_AMOUNT: Final = rf"[-−–+△]?{_CURRENCY}[-−]?(?:{_CLOCK}|{_GROUPS}|{_DIGITS})[⁻⁰¹²³⁴-⁹]*(?:/\d+){{0,2}}"
_LETTER: Final = (
    rf"(?<![^\W_])(?<!\\)[A-J](?![^\W_]|['’]|\.[A-Za-z])|(?<=[{_CJK}])[A-J](?![A-Za-z0-9'’])"
    rf"|(?<![A-Za-z0-9\\])[A-J](?=[{_CJK}])|(?<=[(\[])[a-j](?=[)\]])"
)
# The start of `\text{…}`, whose words are read as if outside of the formula.
_TEXT, _SKIP = -1, 0
# The forms of a token, in the order they are tried, with the characters each may begin with.
_FORMS: Final = (
    (kinds.BOX, r"[\\b]", r"\\?boxed\s?\{|\\fbox\s?\{|\\boxed(?=\s?[\w\\])"),
    (kinds.OTHER, r"\\", r"\\(?:begin|end)\s?\{[a-zA-Z]+\*?\}"),
    (_TEXT, r"\\", r"\\(?:text|mathrm|mbox|textbf|textrm|operatorname|mathbf)\s?\{"),
    (kinds.FORMULA, r"[\\$]", r"\\\[|\\\(|\$\$|\$(?=[^\s$\d.]|\.[^\d\s]|\d[^$\n]{0,400}?\$(?!\d))"),
    (kinds.NUMBER, r"[-−–+△\\$€£¥₹A-Z\d.]", rf"(?<![A-Za-z0-9_.\\])(?:{_AMOUNT})(?:\s?(?:%|\\%|°))?"),
    (kinds.LETTER, "[A-Ja-j]", _LETTER),
    (kinds.COMMA, "[a-z]", r"(?<![A-Za-z])[a-z]\.[a-z]\.,?"),  # i.e.
    (kinds.WORD, WORD_PATTERN, WORD_PATTERN),
    (kinds.HASHES, "#", r"####(?=[\s\d$*-])\s?"),
    (kinds.LINE, r"\s", r"\s*\n\s*(?:> )*"),  # a block quote is layout
    (kinds.LINE, r"\\", r"\\n(?=[A-Z\\\d$*\-#]|\s|\Z)"),
    (kinds.OTHER, r"\*", r"(?<=[A-Za-z0-9)])\*\*(?=[\d(])|(?<=[\d)])\*(?=[\w(\\])|(?<=[\d)]\s)\*(?=\s[\d(])"),
    (kinds.EMPHASIS, "[*_`]", r"\*{1,3}|_{2,3}|`+"),
    (kinds.OTHER, r"[.…]", r"(?:\.{3}|…)(?=\s?[-+*×])"),  # 1 + 2 + … + 10
    (kinds.STOP, r"[.!…]", r"(?<!\\)[.!]+(?=[\s*_)\]\"'”’`$]|\Z)|\.{3}|…"),
    (kinds.STOP, "[。！।؛۔॥።;；]", r"[。！।؛۔॥።]|[;；](?=\s*[^\W\d_]{2})"),
    (kinds.ASKS, "[?？؟]", "[?？؟]"),
    (kinds.COMMA, "[,，、،;；]", "[,，、،;；]"),
    (kinds.COLON, "[:：]", "[:：]"),
    (kinds.EQUALS, r"[=≈→⇒\\]", r"[=≈→⇒]|\\approx|\\Rightarrow|\\implies"),
    (_SKIP, "<", r"<<[^<>\n]{0,200}>>"),  # GSM8K's calculator annotations
    (kinds.OPEN, r"[(\[{（【「『\"“<]", r"[(\[{（【「『\"“<]"),
    (kinds.CLOSE, r"[)\]}）】」』\"”>]", r"[)\]}）】」』\"”>]"),
    (_SKIP, r"\s", r"\s+"),
    (kinds.OTHER, ".", "."),
)
_Match = Callable[[str, int, int], re.Match[str] | None]
_PATTERNS: Final = [(form, re.compile(first, re.DOTALL), re.compile(body, re.DOTALL)) for form, first, body in _FORMS]
_OPENS_IN_WORDS: Final = re.compile(r"\s*\\(?:text|textbf|mathrm)\s?\{[^{}\n]*[a-z]{3}")
_BOXED: Final = re.compile(r"boxed|\\fbox")
_PIECE: Final = re.compile(rf"{WORD_PATTERN}|\d+|\S")
_CLOSES: Final = {"\\[": "\\]", "\\(": "\\)", "$$": "$$", "$": "$"}
_WORD: Final = re.compile(WORD_PATTERN).match
_RUN: Final = re.compile(r"(?:(?!boxed \{)[a-z]++ )+").match  # plain words, which are most of a text
_SAID: Final = kinds.WORD | kinds.LETTER | kinds.OTHER
_ABBREVIATED: Final = 5
_SURNAME: Final = re.compile(r"\s?((?:[A-Z]\.\s?){0,3})([A-Z][a-z]{2,})")
_GREEK_END: Final = "\u0400"  # preceded by Latin and Greek letters
NEAR: Final = 500  # characters from the end that are read first
_LITTLE: Final = 200
_LONGEST: Final = 2_000  # longest formula or box that states an answer


@cache
def _forms_at(character: str) -> tuple[tuple[int, _Match], ...]:
    """Return the forms of a token that may begin with a character."""
    return tuple((form, body.match) for form, first, body in _PATTERNS if first.match(character))


class Lexed(Struct, frozen=True, gc=False):
    """The tokens of `text[start:end]` and the vocabulary used to read them."""

    text: str
    tokens: list[Token]
    words: Vocabulary
    language: str
    labels: dict[str, str]  # choice letters by their text, as written here
    made: dict[Hashable, Any]  # clauses and candidates, computed on first use

    def said(self, first: int, last: int) -> str:
        """Return the text from one token to another, inclusive."""
        return self.text[self.tokens[first].start : self.tokens[last].end]

    def union(self, first: int, last: int) -> int:
        """Return the combined kinds of the tokens `first` to `last`."""
        found = 0
        for token in self.tokens[first : last + 1]:
            found |= token.kinds
        return found

    def has(self, wanted: int, first: int, last: int) -> bool:
        """True if one of the tokens `first` to `last` is of a wanted kind."""
        return bool(self.union(first, last) & wanted)


def lex(text: str, start: int, end: int, choices: Mapping[str, str] | None = None, language: str = "") -> Lexed:
    """Split `text[start:end]` into tokens; the text of a choice, by letter in `choices`, is one token.

    The language is guessed from the text unless given.
    """
    lexed = _lex(text, start, end, language)
    if not choices:
        return lexed
    labels: dict[str, str] = {}
    return replace(lexed, tokens=_with_choices(text, lexed.tokens, choices, labels), labels=labels, made={})


@lru_cache(maxsize=8)  # the ending of a response is read at its answer
def _lex(text: str, start: int, end: int, language: str) -> Lexed:
    language = language or language_of(text[start:end])
    # a single line gives little evidence: "Answer: 2.750 Euro"
    if language == "english" and start and end - start < _LITTLE:
        language = language_of(text[max(0, start - NEAR) : end])
    words = vocabulary(language)
    unspaced = unspaced_words(language)
    longest, known, kinds_of = words.longest, words.looked_up, words.kinds_of
    tokens: list[Token] = []
    phrases: list[int] = []  # tokens that open a phrase with the next one
    seconds: Collection[str] = ()  # the second words of phrases that the last token opens
    closes: set[int] = set()  # braces that close \\text{…}
    at, found, form = start, None, 0
    while at < end:
        character = text[at]
        if character == " " or at in closes:
            at += 1
            continue
        if "a" <= character <= "z" and (found := _RUN(text, at, end)) is not None and text[at - 1 : at] != "\\":
            for said in found[0].split():
                if said in seconds:
                    phrases.append(len(tokens) - 1)
                seconds = longest.get(said, ())
                tokens.append(Token(known.get(said) or kinds_of(said), at, at + len(said)))
                at += len(said) + 1
            continue
        for form, match in _forms_at(character):  # noqa: B007
            if (found := match(text, at, end)) is not None:
                break
        if found is None:
            break
        begin, at, count = at, found.end(), len(tokens)
        said = found[0].lower() if form & _SAID else ""
        if said in seconds:
            phrases.append(count - 1)
        if form == kinds.WORD:
            if unspaced is not None and not character.isascii():
                _unspaced(found, unspaced, words, tokens)
            else:
                command = kinds.SYMBOL if text[begin - 1 : begin] == "\\" else 0
                tokens.append(Token(kinds_of(said) | command, begin, at))
        elif form == kinds.FORMULA:
            at = _formula(text, found, end, tokens)
        elif form == kinds.BOX:
            close = closing_brace(text, at, min(end, at + _LONGEST)) if found[0].endswith("{") else -1
            at = close + 1 if close >= 0 else at
            tokens.append(Token(kinds.BOX, begin, at))
        elif form == _TEXT:
            closes.add(closing_brace(text, at, min(end, at + _LONGEST)))
        elif form != _SKIP:
            if form & (kinds.STOP | kinds.OTHER):
                form = _in_context(form, found, start, end, tokens, words)
            tokens.append(Token(form, begin, at))
        if len(tokens) > count:
            seconds = longest.get(said, ())
    return Lexed(text, _with_phrases(text, tokens, phrases, words), words, language, {}, {})


def _in_context(form: int, found: re.Match[str], start: int, end: int, tokens: list[Token], words: Vocabulary) -> int:
    """Return what a full stop or a sign is where it was found: the stop of a label or an initial ends no sentence."""
    text, at = found.string, found.start()
    if form == kinds.STOP:
        # "B. The bottom one", "H. G. Wells"
        within = _follows_label(text, found, end, tokens, words) or _is_initial(text, found, tokens, words)
        return kinds.OTHER if within else form
    known = words.words.get(found[0], 0)
    if known & (kinds.GOOD | kinds.BAD):
        return kinds.WORD | known  # ✓
    if found[0] == "**" and text.count("**", max(start, at - 80), at) % 2:
        return kinds.EMPHASIS  # the end of bold type
    return form


def near_end(text: str, start: int, end: int) -> int:
    """Return the start of the last lines of `text[start:end]`, which usually suffice."""
    begin = max(start, end - NEAR)
    if begin > start:
        line = text.find("\n", begin, end - 1)
        return line if 0 <= line < end - 200 else begin
    return start


def _follows_label(text: str, stop: re.Match[str], end: int, tokens: list[Token], words: Vocabulary) -> bool:
    """True if a full stop belongs to a choice label at the start of a line, with its text after it.

    After a colon, "B. This is wrong" and "B. Actually, …" begin a sentence about B.
    """
    if not tokens or not tokens[-1].kinds & kinds.LETTER or tokens[-1].end != stop.start() or len(stop[0]) > 1:
        return False
    before = [token.kinds for token in tokens[-3:-1]]
    head = all(each & (kinds.EMPHASIS | kinds.OPEN) for each in before)
    head = head or bool(before and before[-1] & (kinds.LINE | kinds.EMPHASIS | kinds.COLON))
    following = text[stop.end() : min(end, stop.end() + 3)]
    if not following.startswith(" ") or following.isspace():
        return False
    if not head:
        return following[1:2].islower()  # "the answer is B. the bottom one"
    word = _WORD(text, stop.end() + 1, end) if before and before[-1] & kinds.COLON else None
    return word is None or not words.classes(word[0].lower()) & (kinds.THIS | kinds.RETRACT)


def _is_initial(text: str, stop: re.Match[str], tokens: list[Token], words: Vocabulary) -> bool:
    """True if a full stop follows an abbreviation or the initial of a name."""
    at = stop.start()
    if not tokens or tokens[-1].end != at:
        return False
    said = text[tokens[-1].start : at]
    if len(said) > 1 or not said.isupper():
        short = len(said) < _ABBREVIATED and said.lower() in english().lists["ABBREVIATIONS"]
        return short and bool(_WORD(text, stop.end() + 1, len(text)))
    following = _SURNAME.match(text, stop.end())
    if following is None or words.classes(following[2].lower()):
        return False
    before = tokens[-2] if len(tokens) > 1 and not following[1] else None
    edge = before is None or before.kinds & (kinds.LINE | kinds.EMPHASIS | kinds.OPEN) or text[before.start] == "."
    return bool(edge) or (before is not None and before.kinds == kinds.WORD and text[before.start].isupper())


def _with_choices(text: str, tokens: list[Token], choices: Mapping[str, str], labels: dict[str, str]) -> list[Token]:
    """Join the words of a choice into one token wherever they occur; `labels` gets its letter."""
    wanted = {tuple(_PIECE.findall(said.lower())): letter for letter, said in choices.items()}
    letters = {letter.lower() for letter in choices}
    lengths = sorted({len(words) for words in wanted if words}, reverse=True)
    said = [text[token.start : token.end].lower() for token in tokens]
    joined: list[Token] = []
    at = 0
    while at < len(tokens):
        begins = tokens[at].kinds & kinds.WORD or (tokens[at].kinds & kinds.LETTER and said[at] not in letters)
        length = next((each for each in lengths if begins and tuple(said[at : at + each]) in wanted), 0)
        length = min(length, len(tokens) - at)  # the text may end with a shorter choice
        token = tokens[at]
        if length:
            token = Token(kinds.WORD, token.start, tokens[at + length - 1].end)
            labels[text[token.start : token.end]] = wanted[tuple(said[at : at + length])]
        joined.append(token)
        at += length or 1
    return joined


def _formula(text: str, opened: re.Match[str], end: int, tokens: list[Token]) -> int:
    """Add a formula up to its closing sign; a box inside it becomes a token."""
    begin = opened.start()
    closing = _CLOSES[opened[0]]
    limit = min(end, begin + _LONGEST)
    line = text.find("\n", begin, limit) if closing == "$" else -1
    if line >= 0 and text.find("\\begin{", begin, line) >= 0:
        line = -1
    limit = line if line >= 0 else limit
    close = text.find(closing, opened.end(), limit)
    while close > 0 and closing == "$" and text[close - 1] == "\\":
        close = text.find(closing, close + 1, limit)  # a dollar sign in a formula: $\$104$
    if close < 0:
        tokens.append(Token(kinds.OTHER, begin, opened.end()))
        return opened.end()
    if _OPENS_IN_WORDS.match(text, opened.end(), close) or _BOXED.search(text, begin, close):
        return opened.end()  # the box or the words are read next
    finish = close + len(closing)
    tokens.append(Token(kinds.FORMULA, begin, finish))
    last = text[close - 1]
    if last == "," or (last == "." and not text[finish : min(end, finish + 2)].strip(" \n").islower()):
        tokens.append(Token(kinds.COMMA if last == "," else kinds.STOP, finish, finish))
    return finish


def _unspaced(run: re.Match[str], known: re.Pattern[str], words: Vocabulary, tokens: list[Token]) -> None:
    """Add the known words in a run of a script without spaces, and the text between them."""
    text, at = run.string, run.start()
    for word in (*known.finditer(text, *run.span()), None):
        finish = word.start() if word is not None else run.end()
        if finish > at:
            symbol = kinds.SYMBOL if finish - at == 1 and text[at] < _GREEK_END else 0
            tokens.append(Token(kinds.WORD | symbol, at, finish))
        if word is not None:
            tokens.append(Token(kinds.WORD | words.words.get(word[0], 0), word.start(), word.end()))
            at = word.end()


def _with_phrases(text: str, tokens: list[Token], begin: list[int], words: Vocabulary) -> list[Token]:
    """Join words that are only known together, such as "at least", into one token; `begin` has their first ones."""
    joined: list[Token] = []
    done = 0

    def said(first: int, count: int) -> list[str]:
        near = tokens[first : first + count]
        return [text[token.start : token.end].lower() if token.kinds & _SAID else "" for token in near]

    for at in begin:
        opening, second = said(at, 2)
        parts = said(at, words.longest.get(opening, {}).get(second, 0)) if at >= done else []
        while len(parts) > 1:
            if (bits := words.phrases.get(tuple(parts))) is not None:
                joined += tokens[done:at]
                done = at + len(parts)
                joined.append(Token(kinds.WORD | bits, tokens[at].start, tokens[done - 1].end))
                break
            parts.pop()
    return joined + tokens[done:]
