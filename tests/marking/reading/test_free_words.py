"""An answer of free words in a sentence, with the question known and without it."""

import pytest

from markscheme.marking import mark
from markscheme.types import Problem

WITH_QUESTION = [
    ("Who built the bridge at Arnholt?", "Ilse Brandt built the bridge at Arnholt. She was an engineer from Basel.", "Ilse Brandt"),
    ("In which town is the glass museum?", "The glass museum is in **Lauscha**. It has two floors.", "Lauscha"),
    ("In which town is the glass museum?", "The glass museum is located in Lauscha, Thuringia.", "Lauscha"),
    ("In which town is the glass museum?", "The glass museum is located in Lauscha, Thuringia.", "Lauscha, Thuringia"),
    ("What is the name of the miller's dog?", "Bello is the name of the miller's dog.", "Bello"),
    ("What gas do the balloons contain?", "The balloons contain helium (He).", "helium"),
    ("Which planet has the most rings?", "Mars does not have the most rings. Saturn has the most rings.", "Saturn"),
    ("Who wrote the opera The Glass Bell?", "**Answer: Ada N. Quill** wrote the opera The Glass Bell.", "Ada N. Quill"),
    ("Which Willy sang at the fair?", "The singer at the fair was Willy Brock.", "Willy Brock"),
    ("What is the capital of Peru?", "The capital of Peru is actually Lima.", "Lima"),
    ("Who won the race?", "To find who won the race, compare the times. Therefore, Ann Lee won the race.", "Ann Lee"),
    ("Which film won the prize?", 'The film that won the prize is "Life is a River" (1998).', "Life is a River"),
]  # fmt: skip
NOT_SAID = [
    ("Which planet has the most rings?", "Saturn does not have the most rings.", "Saturn"),
    ("Who won the race, Ann or Bea?", "Bea lost the race to nobody but Ann.", "Bea"),
    ("Who won the race?", "Cleo said that Ann Lee won the race.", "Bea"),
    ("What is the capital of Peru?", "The capital of Peru is Lima.", "Peru"),
]
ALONE = [
    ("Train A traveled farther.", "Train A"),
    ("Since 60 is more than 50, Train A traveled farther (60 against 50 miles).", "Train A"),
    ("**Answer**: Green box has the most nuts.", "Green box"),
    ("Otto Brand was called the Iron Miller. He ran four mills and was known for his patience.", "Otto Brand"),
    ("The answer is H. G. Wells.", "H.G. Wells"),
    ("The answer is He-Man.", "He-Man"),
    ("The answer is carbon dioxide (CO2).", "carbon dioxide"),
    ("There are seven days in a week.", "seven"),
]


@pytest.mark.parametrize(("question", "response", "gold"), WITH_QUESTION)
def test_answer_when_its_sentence_repeats_the_question_then_it_is_what_is_new(question, response, gold):
    found = mark(response, Problem(id="a", statement=question, gold=gold, protocol="math"))
    assert found.correct, found


@pytest.mark.parametrize(("question", "response", "gold"), NOT_SAID)
def test_words_when_the_sentence_gives_others_then_they_are_no_answer(question, response, gold):
    assert not mark(response, Problem(id="a", statement=question, gold=gold, protocol="math")).correct


@pytest.mark.parametrize(("response", "gold"), ALONE)
def test_answer_when_the_question_is_unknown_then_it_is_the_predicate_or_the_subject(response, gold):
    found = mark(response, gold=gold)
    assert found.correct, found
