"""The lexicon: the classes of each word or phrase of a language.

The words are in `lexicon/*.txt`, one file per language. A text is read with the words of its own language and English,
because models mix the two.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from markscheme.marking.reading import kinds
from markscheme.marking.reading.kinds import CLASSES

# Scripts without spaces between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese.
_UNSPACED: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_LATIN: Final = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff"
# Vowel signs and joiners belong to words in Indic, Thai and Arabic script, though Python does not count them as
# letters.
_SIGNS: Final = (
    "\u0300-\u036f\u064b-\u065f\u0900-\u0963\u0970-\u0dff\u0e31-\u0e4e\u1000-\u109f\u1780-\u17d3\u200c\u200d"
)
WORD_PATTERN: Final = rf"[{_LATIN}]+(?:['’][{_LATIN}]+)*|(?:[^\W\d_{_LATIN}]|[{_SIGNS}])+"
_WORD: Final = re.compile(WORD_PATTERN)
_COMMAND: Final = re.compile(r"\\[a-zA-Z]+")
_PARTS: Final = re.compile(rf"{WORD_PATTERN}|-")
_ENTRY: Final = re.compile(rf"(?:^[A-Z_]+:|\|) ((?>{WORD_PATTERN}))(?!\*)", re.MULTILINE)  # or the first word of one
_ANSWERING: Final = re.compile(r"^(?:YES|NO):.*", re.MULTILINE)
_MAY_BE_SYMBOL: Final = kinds.WORD | kinds.AND | kinds.OR | kinds.UNIT | kinds.NUMERAL
_GREEK_END: Final = "\u0400"  # preceded by Latin and Greek letters
_LEXICON: Final = Path(__file__).with_name("lexicon")
_MARKS: Final[dict[str, Any]] = tomllib.loads((_LEXICON / "marks.toml").read_text("utf-8"))
FUNCTIONS: Final = frozenset(_MARKS["functions"])
_REMEMBERED: Final = 50_000
_ANNOUNCES: Final = kinds.ANSWER | kinds.CHOOSE | kinds.GOOD | kinds.OPTION | kinds.RETRACT


@dataclass
class Vocabulary:
    """The words and phrases of one language, or of a language and English."""

    words: dict[str, int] = field(default_factory=dict)
    phrases: dict[tuple[str, ...], int] = field(default_factory=dict)
    longest: dict[str, dict[str, int]] = field(
        default_factory=dict
    )  # word count of the longest phrase by its first two
    stems: dict[str, int] = field(default_factory=dict)
    values: dict[str, Fraction] = field(default_factory=dict)
    letters: dict[str, str] = field(default_factory=dict)
    groups: list[tuple[str, ...]] = field(default_factory=list)
    decimal: str = "."
    lists: dict[str, list[str]] = field(default_factory=dict)  # named entries that are not word classes
    looked_up: dict[str, int] = field(default_factory=dict)  # kinds of the words that were met

    def kinds_of(self, word: str) -> int:
        """Return WORD with the classes of a lower-case word, and SYMBOL if it may be mathematics: x, sin, cm."""
        found = self.looked_up.get(word)
        if found is None:
            found = self.words.get(word)
            if found is None:
                found = next((self.stems[word[:cut]] for cut in range(len(word), 2, -1) if word[:cut] in self.stems), 0)
            found |= kinds.WORD
            short = len(word) == 1 and word < _GREEK_END
            unknown = len(word) == 2 and word.isascii() and not found & ~_MAY_BE_SYMBOL
            found |= kinds.SYMBOL if short or unknown or word in FUNCTIONS else 0
            if len(self.looked_up) < _REMEMBERED:
                self.looked_up[word] = found
        return found

    def classes(self, word: str) -> int:
        """Return the classes of a lower-case word; 0 if it has none."""
        return self.kinds_of(word) & ~(kinds.WORD | kinds.SYMBOL)

    def add(self, entry: str, bit: int) -> None:
        """Add a word, a phrase or, with `*`, a stem."""
        if entry.isascii() and entry.isalpha():  # most entries
            self.words[entry] = self.words.get(entry, 0) | bit
            return
        if entry.endswith("*") and " " not in entry:
            self.stems[entry[:-1]] = self.stems.get(entry[:-1], 0) | bit
            return
        words = tuple(_WORD.findall(entry)) if not _UNSPACED.search(entry) else (entry,)
        if len(words) < 2:
            self.words[entry] = self.words.get(entry, 0) | bit
            return
        for phrase in {words, tuple(_PARTS.findall(entry))}:  # with and without hyphens
            self.phrases[phrase] = self.phrases.get(phrase, 0) | bit
            seconds = self.longest.setdefault(phrase[0], {})
            seconds[phrase[1]] = max(seconds.get(phrase[1], 0), len(phrase))


@cache
def sources() -> dict[str, str]:
    """Return the data of every language by name."""
    return {path.stem: path.read_text("utf-8") for path in sorted(_LEXICON.glob("*.txt"))}


@cache
def own_words(language: str) -> Vocabulary:
    """Return the words of one language alone."""
    return english() if language == "english" else read_language(sources()[language])


@cache
def english() -> Vocabulary:
    """Return the English words, without reading other languages."""
    return read_language((_LEXICON / "english.txt").read_text("utf-8"))


def read_language(text: str) -> Vocabulary:
    """Parse the vocabulary in a data file: lines `CLASS: entry | entry`."""
    found = Vocabulary()
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        if line.startswith("#") or not (rest := rest.strip()):
            continue
        entries = rest.split(" | ")
        if name == "DECIMAL":
            found.decimal = entries[0]
        elif name == "WORDS":
            found.groups.append(tuple(entries))
        elif name == "OPTION_LETTERS":
            found.letters |= dict(entry.split("=") for entry in entries)
        elif name in CLASSES:
            for entry in entries:
                word, _, value = entry.rpartition("=") if name in ("NUMBER", "SCALE") else (entry, "", "")
                if value:
                    found.values[word] = Fraction(value)
                found.add(word, CLASSES[name])
        else:
            found.lists.setdefault(name, []).extend(entries)
    known = found.phrases | {(word,): classes for word, classes in found.words.items()}
    for words in found.phrases:  # "the correct answer" is used like "correct answer"
        found.phrases[words] |= known.get(words[1:], 0) & kinds.ANSWER
    return found


@cache
def vocabulary(language: str) -> Vocabulary:
    """Return the vocabulary of a language on top of the English one."""
    base, own = english(), own_words(language)
    if own is base:
        return base
    longest = {word: dict(seconds) for word, seconds in base.longest.items()}
    for word, seconds in own.longest.items():
        known = longest.setdefault(word, {})
        known |= {second: max(count, known.get(second, 0)) for second, count in seconds.items()}
    return Vocabulary(
        base.words | own.words,
        base.phrases | own.phrases,
        longest,
        base.stems | own.stems,
        base.values | own.values,
        base.letters | own.letters,
        base.groups,
        own.decimal,
    )


@cache
def unspaced_words(language: str) -> re.Pattern[str] | None:
    """Return a pattern for the words of a language written without spaces, longest first; `None` for the others."""
    entries = sorted((word for word in own_words(language).words if _UNSPACED.search(word)), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, entries))) if entries else None


class _Speakers(NamedTuple):
    """How strongly a word suggests English, the likeliest other language, and each language that has it."""

    english: float
    other: float
    each: tuple[tuple[str, float], ...]


@cache
def _index() -> tuple[dict[str, list[str]], dict[str, frozenset[str]]]:
    """Return the languages of each word, and the words of each language that answer a question.

    Found in the data as text: a few of the languages are ever parsed.
    """
    speakers: dict[str, list[str]] = {}
    for name, text in sources().items():
        for word in set(_ENTRY.findall(text)):
            speakers.setdefault(word, []).append(name)
    return speakers, {
        name: frozenset(word for line in _ANSWERING.findall(text) for word in _ENTRY.findall(line))
        for name, text in sources().items()
    }


def answering(word: str) -> int:
    """Return which of yes, no, true and false a word says in the languages that know it: "ja", "tak", はい."""
    classes = 0
    for name in _index()[0].get(word, ()):
        classes |= own_words(name).classes(word)
    return classes & (kinds.YES | kinds.NO | kinds.TRUE | kinds.FALSE)


@lru_cache(_REMEMBERED)
def _speakers(word: str) -> _Speakers | None:
    """Return the evidence that a word gives for each language; short and shared words count less."""
    speakers, answering = _index()
    known = speakers.get(word)
    if not known:
        return None
    usual = 1.0 if not word.isascii() else min(1.0, len(word) / 6)
    weights = {name: (1.0 if word in answering[name] else usual) / len(known) for name in known}
    other = max((weight for name, weight in weights.items() if name != "english"), default=0.0)
    if "english" not in weights:
        other *= len(known)  # that languages share a word says nothing for English
    return _Speakers(weights.get("english", 0.0), other, tuple(weights.items()))


_SCRIPTS: Final = (
    (re.compile("[\u3040-\u30ff]"), "japanese"),
    (re.compile("[\u0e00-\u0e7f]"), "thai"),
    (re.compile("[\u3400-\u9fff]"), "chinese"),
)
# Least share of letters of its own script for a language that has one; fewer are a foreign word.
_OWN: Final = 0.1
# Another language must know this many times as many words of a text as English: names and loanwords are in both.
_SURE: Final = 1.3


@cache
def _english_words() -> frozenset[str]:
    return frozenset(english().words.keys() | english().longest.keys())


def _is_plain_english(words: list[str]) -> bool:
    """True if English knows nearly all words of a text, so that the other languages need not be read."""
    known = sum(map(_english_words().__contains__, words))
    return known == len(words) or (len(words) > 3 and known * 4 >= len(words) * 3)


def language_of(text: str) -> str:
    """Guess the language of a short text from the words it shares with the lexicon."""
    if not text.isascii():
        for script, name in _SCRIPTS:
            if len(script.findall(text)) > _OWN * len(text) and name in sources():
                return name
    words = _WORD.findall((_COMMAND.sub(" ", text) if "\\" in text else text).lower())
    words = [word for word in words if len(word) > 1 or not word.isascii()]  # a single letter may be a choice
    if text.isascii() and _is_plain_english(words):
        return "english"
    known = [found for word in words if (found := _speakers(word)) is not None]
    likely = 0.3 + sum(each.english for each in known)
    if sum(each.other for each in known) <= _SURE * likely:
        return "english"  # no other language can win
    tally: dict[str, float] = {}
    for each in known:
        for name, weight in each.each:
            tally[name] = tally.get(name, 0.0) + weight
    return max(tally, key=lambda name: (tally[name], name != "english"))


@cache
def _announcing(language: str) -> frozenset[str]:
    """Return the words that announce or choose an answer, and the last word of each such phrase."""
    words = vocabulary(language)
    single = {word for word, classes in words.words.items() if classes & _ANNOUNCES}
    return frozenset(single | {phrase[-1] for phrase, classes in words.phrases.items() if classes & _ANNOUNCES})


def announces(text: str, start: int, end: int) -> bool:
    """True if a stretch has a word that could announce an answer; always true in scripts without spaces."""
    part = text[start:end].lower()
    language = "english" if part.isascii() else language_of(part)
    if unspaced_words(language) is not None or "####" in part:
        return True
    return not _announcing(language).isdisjoint(_WORD.findall(part))


def mark(name: str) -> str:
    """Return a single mark."""
    return str(_MARKS[name])


def listed(name: str) -> tuple[str, ...]:
    """Return a list of words."""
    return tuple(_MARKS[name])


def either(*names: str) -> str:
    """Return a pattern for any entry of some lists, the longest first; a space matches any character."""
    entries = sorted({word for name in names for word in listed(name)}, key=len, reverse=True)
    return f"(?:{'|'.join(re.escape(entry).replace(chr(92) + ' ', '.') for entry in entries)})"


def thinking(name: str) -> tuple[tuple[str, ...], ...]:
    """Return the pairs of opening and closing marks of thinking."""
    return tuple(map(tuple, _MARKS["thinking"][name]))


def places() -> dict[str, int]:
    """Return the decimal places of each rounding word: a tenth is 1."""
    return dict(_MARKS["places"])
