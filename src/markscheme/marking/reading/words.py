"""The lexicon as the lexer needs it: which classes a word or phrase of a language has.

The words are in `lexicon/*.txt`, one file per language; nothing else in the reader knows a word of any language.
A text is read with the vocabulary of its own language on top of the English one, because models mix the two.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Final

CLASSES: Final = (
    "ANSWER", "IS", "SO", "CHOOSE", "GOOD", "BAD", "NOT", "HEDGE", "LIKELY", "IF", "BECAUSE", "BUT", "RETRACT", "AND",
    "OR", "OPTION", "BOUND", "OPERATE", "RESCALE", "APPROX", "ASK", "REMARK", "YES", "NO", "TRUE", "FALSE", "NONE", "ALL",
    "UNKNOWN", "QUESTION", "ROLE", "STEP", "LABEL", "FINAL", "THIS", "UNIT", "WITHIN", "FILLER", "NUMBER", "SCALE", "CONNECT",
    "THINK", "REFUSE", "MINUS", "RESULT", "OTHERS", "WOULD",
)  # fmt: skip
BIT: Final = {name: 1 << place for place, name in enumerate(CLASSES)}
# Scripts without blanks between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese.
_UNSPACED: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_LATIN: Final = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff"
# Vowel signs and joiners are parts of words in Indic, Thai and Arabic script, though Python does not count them as letters.
_SIGNS: Final = (
    "\u0300-\u036f\u064b-\u065f\u0900-\u0963\u0970-\u0dff\u0e31-\u0e4e\u1000-\u109f\u1780-\u17d3\u200c\u200d"
)
WORD_PATTERN: Final = rf"[{_LATIN}]+(?:['’][{_LATIN}]+)*|(?:[^\W\d_{_LATIN}]|[{_SIGNS}])+"
_WORD: Final = re.compile(WORD_PATTERN)


@dataclass
class Vocabulary:
    """The words and phrases of one language, or of two."""

    words: dict[str, int] = field(default_factory=dict)
    phrases: dict[tuple[str, ...], int] = field(default_factory=dict)
    longest: dict[str, int] = field(default_factory=dict)  # words of the longest phrase that begins with a word
    stems: dict[str, int] = field(default_factory=dict)
    values: dict[str, Fraction] = field(default_factory=dict)
    letters: dict[str, str] = field(default_factory=dict)
    groups: list[tuple[str, ...]] = field(default_factory=list)
    decimal: str = "."
    looked_up: dict[str, int] = field(default_factory=dict)  # what the stems say of words that were asked for

    def classes(self, word: str) -> int:
        """The classes of one word, in lower case; 0 if it has none."""
        found = self.words.get(word)
        if found is None and self.stems and (found := self.looked_up.get(word)) is None:
            found = next((self.stems[word[:cut]] for cut in range(len(word), 2, -1) if word[:cut] in self.stems), 0)
            if len(self.looked_up) < _REMEMBERED:
                self.looked_up[word] = found
        return found or 0

    def announces(self, words: tuple[str, ...]) -> int:
        """The class ANSWER where words are in it: "the correct answer" announces what "correct answer" does."""
        bits = self.words.get(words[0], 0) if len(words) == 1 else self.phrases.get(words, 0)
        return bits & BIT["ANSWER"]

    def add(self, entry: str, bit: int) -> None:
        """One entry of the data: a word, a phrase or, with `*`, a stem."""
        if entry.endswith("*") and " " not in entry:
            self.stems[entry[:-1]] = self.stems.get(entry[:-1], 0) | bit
            return
        words = tuple(_WORD.findall(entry)) if not _UNSPACED.search(entry) else (entry,)
        if len(words) < 2:
            self.words[entry] = self.words.get(entry, 0) | bit
        else:
            self.phrases[words] = self.phrases.get(words, 0) | bit
            self.longest[words[0]] = max(self.longest.get(words[0], 0), len(words))


_REMEMBERED: Final = 50_000


@cache
def languages() -> dict[str, Vocabulary]:
    """Every language of the lexicon."""
    folder = files("markscheme.marking.reading.lexicon")
    return {
        path.name.removesuffix(".txt"): read_language(path.read_text("utf-8"))
        for path in sorted(folder.iterdir(), key=lambda path: path.name)
        if path.name.endswith(".txt")
    }


def read_language(text: str) -> Vocabulary:
    """The vocabulary in a data file: `CLASS: entry | entry`, one class per line."""
    found = Vocabulary()
    for line in text.splitlines():
        name, colon, entries = line.partition(":")
        if line.startswith("#") or not colon:
            continue
        name = name.strip()
        group: list[str] = []
        for entry in filter(None, (each.strip() for each in entries.split(" | " if name != "IS" else "|"))):
            if name == "DECIMAL":
                found.decimal = entry
            elif name == "WORDS":
                group.append(entry)
            elif name == "OPTION_LETTERS":
                label, _, letter = entry.partition("=")
                found.letters[label] = letter
            elif name in ("NUMBER", "SCALE"):
                word, _, value = entry.partition("=")
                found.values[word] = Fraction(value)
                found.add(word, BIT[name])
            elif name in BIT:
                found.add(entry, BIT[name])
        if group:
            found.groups.append(tuple(group))
    found.phrases = {words: bits | found.announces(words[1:]) for words, bits in found.phrases.items()}
    return found


@cache
def vocabulary(language: str) -> Vocabulary:
    """The vocabulary of a language on top of the English one."""
    english, own = languages()["english"], languages()[language]
    if own is english:
        return english
    firsts = english.longest.keys() | own.longest.keys()
    return Vocabulary(
        {**english.words, **own.words},
        {**english.phrases, **own.phrases},
        {word: max(english.longest.get(word, 0), own.longest.get(word, 0)) for word in firsts},
        {**english.stems, **own.stems},
        {**english.values, **own.values},
        {**english.letters, **own.letters},
        english.groups,
        own.decimal,
    )


@cache
def _speakers() -> dict[str, tuple[tuple[str, float], ...]]:
    """Which languages have a word, and how much it tells for each: a short word less, one of few languages more."""
    speakers: dict[str, list[str]] = {}
    for name, language in languages().items():
        for word in language.words.keys() | language.longest.keys():
            speakers.setdefault(word, []).append(name)
    return {word: tuple((name, _told(word, name) / len(names)) for name in names) for word, names in speakers.items()}


def _told(word: str, language: str) -> float:
    answers = languages()[language].words.get(word, 0) & (BIT["YES"] | BIT["NO"])
    return 1.0 if answers or not word.isascii() else min(1.0, len(word) / 6)


@cache
def _unspaced_entries(language: str) -> re.Pattern[str]:
    entries = sorted((word for word in languages()[language].words if _UNSPACED.search(word)), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, entries)) or r"(?!)")


def unspaced_words(language: str) -> re.Pattern[str] | None:
    """The words of a language that is written without blanks, longest first; `None` for the others."""
    pattern = _unspaced_entries(language)
    return None if pattern.pattern == r"(?!)" else pattern


_SCRIPTS: Final = (
    (re.compile("[\u3040-\u30ff]"), "japanese"),
    (re.compile("[\u0e00-\u0e7f]"), "thai"),
    (re.compile("[\u3400-\u9fff]"), "chinese"),
)
# The least share of its own signs in a text of a language with a script of its own: less is a word among others.
_OWN: Final = 0.1
# A language other than English must know this many times as many words of a text: names and loans are in both.
_SURE: Final = 1.3


def language_of(text: str) -> str:
    """The language of a short text, by the words that it shares with the lexicon."""
    if not text.isascii():
        for script, name in _SCRIPTS:
            if len(script.findall(text)) > _OWN * len(text) and name in languages():
                return name
    speakers, tally = _speakers(), {"english": 0.3}
    for word in _WORD.findall(text.lower()):
        for name, told in speakers.get(word, ()):
            tally[name] = tally.get(name, 0.0) + told
    best = max(tally, key=lambda name: tally[name])
    return best if tally[best] > _SURE * tally["english"] else "english"


@cache
def _announcing(language: str) -> frozenset[str]:
    """The words with which an answer is announced or chosen; of phrases the last words."""
    bits = BIT["ANSWER"] | BIT["CHOOSE"] | BIT["GOOD"] | BIT["OPTION"] | BIT["RETRACT"]
    words = vocabulary(language)
    single = {word for word, classes in words.words.items() if classes & bits}
    return frozenset(single | {phrase[-1] for phrase, classes in words.phrases.items() if classes & bits})


def announces(text: str, start: int, end: int) -> bool:
    """Whether a stretch has a word that could announce an answer; scripts without blanks always may."""
    part = text[start:end].lower()
    language = "english" if part.isascii() else language_of(part)
    if unspaced_words(language) is not None or "####" in part:
        return True
    return not _announcing(language).isdisjoint(_WORD.findall(part))
