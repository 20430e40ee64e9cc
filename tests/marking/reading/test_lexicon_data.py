"""The lexicon's files: each has every class, and each entry can be read."""

from __future__ import annotations

import unicodedata
from fractions import Fraction
from importlib.resources import files

import pytest

CLASSES = frozenset(
    """ANSWER IS SO CHOOSE GOOD BAD NOT HEDGE LIKELY IF BECAUSE BUT RETRACT AND OR OPTION BOUND OPERATE APPROX ASK REMARK YES NO
    TRUE FALSE NONE ALL BOTH UNKNOWN QUESTION ROLE STEP LABEL FINAL THIS UNIT SCALE NUMBER MINUS POINT CONNECT THINK REFUSE
    RESCALE WITHIN FILLER RESULT OTHERS WOULD DECIMAL THOUSANDS""".split()  # noqa: SIM905
)
WHERE_GIVEN = frozenset(("OPTION_LETTERS", "WORDS", "SPELLED_AND", "SPELLED_ONE", "SPELLED_ALONE", "ABBREVIATIONS"))
VALUED = ("NUMBER", "SCALE", "OPTION_LETTERS")
LANGUAGES = {
    file.name.removesuffix(".txt"): file.read_text(encoding="utf-8")
    for file in (files("markscheme") / "marking" / "reading" / "lexicon").iterdir()
    if file.name.endswith(".txt")
}


def _lines(language: str) -> list[tuple[str, list[str]]]:
    lines = [line for line in LANGUAGES[language].splitlines() if line.strip() and not line.startswith("#")]
    return [(name, entries.split(" | ")) for name, _, entries in (line.partition(": ") for line in lines)]


def _classes(language: str) -> dict[str, list[str]]:
    classes: dict[str, list[str]] = {}
    for name, entries in _lines(language):
        classes.setdefault(name, []).extend(entries)
    return classes


def test_lexicon_when_counted_then_has_every_language_so_far():
    assert len(LANGUAGES) >= 36


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_language_when_read_then_has_every_class_and_no_other(language):
    names = set(_classes(language))
    assert names >= CLASSES
    assert names <= CLASSES | WHERE_GIVEN


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_entries_when_read_then_are_lower_case_and_single_spaced(language):
    for name, entries in _lines(language):
        for entry in entries:
            word = entry.rpartition("=")[0] if name in VALUED else entry
            assert word, (name, entry)
            assert word == word.lower() == " ".join(word.split()) == unicodedata.normalize("NFC", word), (name, entry)
            assert "*" not in word[:-1], (name, entry)
            assert word != "*", name


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_class_when_read_then_has_no_entry_twice(language):
    for name, entries in _classes(language).items():
        words = [entry.rpartition("=")[0] if name in VALUED else entry for entry in entries]
        assert len(words) == len(set(words)), (name, sorted({word for word in words if words.count(word) > 1}))


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_values_when_read_then_are_fractions_letters_and_marks(language):
    classes = _classes(language)
    numbers = {Fraction(entry.rpartition("=")[2]) for entry in classes["NUMBER"]}
    assert numbers >= {*map(Fraction, range(21)), *map(Fraction, range(30, 101, 10)), Fraction(1, 2)}
    assert all(Fraction(entry.rpartition("=")[2]) >= 10 for entry in classes["SCALE"])
    assert {entry.rpartition("=")[2] for entry in classes.get("OPTION_LETTERS", ())} <= set("ABCDEFGHIJ")
    assert classes["DECIMAL"][0] in (".", ",")
    assert classes["THOUSANDS"][0] in (".", ",", "space")
    assert classes["DECIMAL"] != classes["THOUSANDS"]
