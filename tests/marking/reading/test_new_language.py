"""A language is data: one block of words, and letters, numbers, words, denials and endings are read in it."""

import pytest

from markscheme.marking import explain, mark
from markscheme.marking.reading import lexer, words

BLOCK = """
# Velmi, which nobody speaks
ANSWER: vorlat | drenek vorlat
RESULT: summek
IS: zul | zulen | =
SO: tamoral | ergun
CHOOSE: pelik | mi pelik
GOOD: korvek
BAD: fallek
NOT: nopel
HEDGE: mogel
IF: ifel
BECAUSE: cauzel
BUT: butel
RETRACT: haltek
AND: anel
OR: orel
OPTION: optel
BOUND: minstel
OPERATE: dubel
ASK: quvel
REMARK: notel
YES: javel
NO: nevel
THIS: dizel
FILLER: la | justel
CONNECT: la | zul | anel | von | tamoral
THINK: hmel
UNIT: pomek
SCALE: hundrel=100
NUMBER: unel=1 | duvel=2 | trivel=3 | septel=7
OPTION_LETTERS: ћ=A | љ=B
DECIMAL: ,
"""


@pytest.fixture(autouse=True)
def velmi(monkeypatch):
    """The lexicon with one more language, and none of it remembered afterwards."""
    known = {**words.sources(), "velmi": BLOCK}
    caches = (words.vocabulary, words.own_words, words._index, words._speakers, words.unspaced_words, lexer._lex)
    for each in caches:
        each.cache_clear()
    monkeypatch.setattr(words, "sources", lambda: known)
    yield
    for each in caches:
        each.cache_clear()


@pytest.mark.parametrize(
    ("response", "gold"),
    [
        ("La vorlat zul 42.", "42"),
        ("Drenek vorlat: 42", "42"),
        ("Tamoral la summek zul 42 pomek.", "42"),
        ("La vorlat zul septel.", "7"),
        ("La vorlat zul duvel hundrel.", "200"),
        ("La vorlat zul 2,5.", "2.5"),
        ("La vorlat zul $x^2+1$.", "x^2+1"),
        ("La korvek optel zul B.", "B"),
        ("Mi pelik C.", "C"),
        ("Vorlat: Љ", "B"),
        ("D zul korvek, cauzel A zul fallek.", "D"),
        ("Tamoral la vorlat zul javel.", "yes"),
        ("Tamoral la vorlat zul nevel.", "no"),
    ],
)
def test_answer_in_a_new_language_when_stated_then_is_read(response, gold):
    assert mark(response, gold=gold).correct, explain(response, gold=gold)


@pytest.mark.parametrize(
    ("response", "mood"),
    [
        ("La vorlat zul nopel 42.", "denied"),
        ("La vorlat zulen mogel 42.", "hedged"),
        ("La vorlat zul minstel 42.", "bounded"),
        ("La vorlat zul dubel 42.", "operated"),
        ("Ifel la vorlat zul 42.", "conditional"),
        ("Zul la vorlat 42?", "asked"),
        ("La vorlat zul 42. Dizel zul fallek.", "retracted"),
    ],
)
def test_value_in_a_new_language_when_not_asserted_then_is_no_answer(response, mood):
    assert not mark(response, gold="42").correct
    assert mood in {each.mood for each in explain(response, gold="42").candidates}


def test_value_in_a_new_language_when_another_replaces_it_then_the_later_one_counts():
    assert mark("La vorlat zul 41. Haltek, dizel zul 42.", gold="42").correct
    assert mark("La vorlat zul nopel 41, butel la vorlat zul 42.", gold="42").correct


def test_text_in_a_new_language_when_it_stops_after_a_word_that_connects_then_is_cut_off():
    begun = "Ergun pomek zul 40 anel 2 pomek zul dizel, cauzel la pomek zul korvek. Tamoral la vorlat "
    assert mark(begun + "zul", gold="42").verdict == "truncated"
    assert mark(begun + "zul 42.", gold="42").verdict == "correct"


def test_text_in_a_new_language_when_explained_then_its_language_is_named():
    assert explain("Tamoral la vorlat zul 42.", gold="42").language == "velmi"
