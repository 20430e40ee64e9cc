"""Answers as they are said in each language of the lexicon, and the language of a short text.

languages.jsonl has the cases {response, gold, protocol, verdict, source}, short_texts.jsonl has {language, text}.
"""

import json
from pathlib import Path

import pytest

from markscheme.marking import mark
from markscheme.marking.reading.words import language_of, sources

HERE = Path(__file__).parent
CASES, TEXTS = (
    [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]
    for name in ("languages.jsonl", "short_texts.jsonl")
)


@pytest.mark.parametrize("case", CASES, ids=[f"{number}-{case['source']}" for number, case in enumerate(CASES, 1)])
def test_mark_on_an_answer_in_a_language_gives_its_verdict(case):
    found = mark(case["response"], gold=case["gold"], protocol=case["protocol"])
    assert found.verdict == case["verdict"], (case["response"], case["gold"], found)


@pytest.mark.parametrize("case", TEXTS, ids=[f"{number}-{case['language']}" for number, case in enumerate(TEXTS, 1)])
def test_language_of_a_short_text_is_its_language(case):
    assert language_of(case["text"]) == case["language"]


def test_cases_when_counted_then_cover_every_language():
    assert {case["source"].partition(":")[0] for case in CASES} >= set(sources()) - {"english"}
    assert {case["language"] for case in TEXTS} == set(sources())
