r"""The reader of `marking/reading` beside the one that `math` has today, on labelled responses.

    python perf/reading.py ../shared/real_cases.jsonl [FILE.jsonl …] [--show 20]

A line of a file has `response`, `gold` and `correct`; `statement`, `choices` and `finish_reason` if known. Prints, for each
file, how many right answers each reader misses and how many wrong ones it accepts, and the CPU seconds of both.
The new reader replaces the old one once it is at least as good everywhere; this script goes then.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

from markscheme.marking.equality import compare
from markscheme.marking.equality.units import unit_asked
from markscheme.marking.extraction.choices import choice_texts
from markscheme.marking.extraction.endings import is_cut_off
from markscheme.marking.extraction.numbers import ascii_digits
from markscheme.marking.extraction.rounding import places_asked
from markscheme.marking.extraction.sections import ResponseSections
from markscheme.marking.marker import as_gold, judge
from markscheme.marking.protocol import Assessment, Protocol, get_protocol
from markscheme.marking.protocols._closed_answers import gold_letter
from markscheme.marking.protocols._numeric import is_endless
from markscheme.marking.protocols.math import gold_answer
from markscheme.marking.reading.grammar import CHOSEN
from markscheme.marking.reading.reader import Reading, read_answer
from markscheme.marking.reading.values import WORD_CLASSES, Kind
from markscheme.marking.reading.words import BIT, languages
from markscheme.types import Gold, Mark, Problem, Response, Verdict

_LETTERS = re.compile(r"[A-J]{1,6}")
_TEXT = re.compile(r"\\(?:text|mbox|mathrm|textbf)\s?\{([^{}]*)\}")


def word_class(word: str) -> str | None:
    """The small class that a word belongs to: yes, no, true, false, none …"""
    classes = languages()["english"].classes(word.strip().lower())
    return next((name.lower() for name in WORD_CLASSES if classes & BIT[name]), None)


@lru_cache(maxsize=16384)
def kind_of(gold: str) -> Kind:
    """The kind of answer that a gold asks for."""
    bare = _TEXT.sub(r"\1", gold).strip()
    if gold_letter(gold) is not None and not (len(bare) == 1 and bare.islower()):
        return "letter"
    if word_class(gold) is not None:
        return "word"
    if "$" in bare and re.search(r"[a-z]{3,}", re.sub(r"\$[^$]*\$", "", bare)):
        return "text"
    plain = not re.search(r"[\d\\$=+^]", bare)
    return "text" if plain and any(len(word) > 2 and word.isalpha() for word in bare.split()) else "value"


def new_judge(sections: ResponseSections, gold: Gold) -> Assessment:
    """What the new reader's answer earns."""
    right = gold_answer(str(gold))
    kind = kind_of(right)
    if not sections.text.isascii():
        sections = sections.undecorated()
        sections = sections._replace(text=ascii_digits(sections.text))
    reading = read_answer(sections, kind)
    if reading is not None and reading.rank < CHOSEN and is_cut_off(sections):
        reading = None
    reading = by_choices(sections, kind, reading)
    if reading is None:
        return Assessment(Verdict.NO_ANSWER, why="no answer was stated")
    if is_endless(reading.answer):
        return Assessment(Verdict.WRONG, reading.answer, "longer than any answer", reading.span)
    if kind == "letter":
        return Assessment.of(reading.answer.strip() == gold_letter(right), reading.answer, right, reading.span)
    if kind == "word":
        same = reading.answer == word_class(right) or bool(compare(reading.answer, right).equal)
        return Assessment.of(same, reading.answer, right, reading.span)
    same = is_same(sections, reading, right)
    return Assessment(Verdict.CORRECT if same else Verdict.WRONG, reading.answer, reading.rule, reading.span)


def by_choices(sections: ResponseSections, kind: Kind, reading: Reading | None) -> Reading | None:
    """Letter and text of a choice are the same answer, where the choices are known."""
    texts = choice_texts(sections.choices, sections.statement) if sections.statement or sections.choices else {}
    if not texts:
        return reading
    if kind != "letter":
        label = reading.answer.strip("()") if reading is not None else ""
        return reading._replace(answer=texts[label], alternative=label) if reading and label in texts else reading
    if reading is not None and _LETTERS.fullmatch(reading.answer):
        return reading
    other = read_answer(sections, "value")
    for found in (reading, other):
        for said in (found.answer, found.alternative) if found is not None else ():
            named = [letter for letter, text in texts.items() if said and compare(said, text).equal]
            if found is not None and len(named) == 1:
                return found._replace(answer=named[0])
    return reading


def is_same(sections: ResponseSections, reading: Reading, right: str) -> bool:
    """Whether the answer or its alternative is the gold, as the statement asks for it."""
    if reading.parts and all(compare(part, right).equal for part in reading.parts):
        return True
    places = places_asked(sections.statement) if sections.statement else None
    unit = unit_asked(sections.statement) if sections.statement else None
    for said in filter(None, (reading.answer, reading.alternative)):
        said = ascii_digits(said)
        if compare(said, right).equal:
            return True
        if places is not None and compare(said, right, places=places).equal:
            return True
        if unit and compare(said, right, unit=unit).equal:
            return True
    return False


NEW = Protocol("math", "next", "the new reader", "text", new_judge)


def marked(rule: Protocol, row: dict[str, Any]) -> Mark:
    """The mark of one labelled response."""
    problem = None
    if row.get("statement") or row.get("choices"):
        choices = tuple(map(str, row.get("choices") or ()))
        problem = Problem(
            id="x", statement=row.get("statement") or "", gold=str(row["gold"]), choices=choices, protocol="math"
        )
    response: str | Response = row["response"]
    if row.get("finish_reason"):
        response = Response(key="k", sample=0, text=row["response"], finish_reason=row["finish_reason"])
    return judge(rule, response, as_gold(str(row["gold"]), rule), "</think>", problem)


def main() -> None:
    """Both readers over the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N errors of the new reader per file")
    options = parser.parse_args()
    rules = (get_protocol("math"), NEW)
    for file in options.files:
        errors, seconds, shown = [[0, 0], [0, 0]], [0.0, 0.0], options.show
        counts = [0, 0]
        for line in file.read_text("utf-8").splitlines():
            row = json.loads(line)
            label = row.get("correct", row.get("verdict") == "correct")
            if label is None or "AMBIGUOUS" in (row.get("note") or "") or row.get("protocol", "math") != "math":
                continue
            counts[label] += 1
            for which, rule in enumerate(rules):
                began = time.process_time()
                mark = marked(rule, row)
                seconds[which] += time.process_time() - began
                if mark.correct != label:
                    errors[which][label] += 1
                    if which and shown:
                        shown -= 1
                        print(
                            f"  {row['gold']!r:.60} {mark.verdict.value} {mark.answer!r:.60} | …{row['response'][-200:]!r}"
                        )
        print(
            f"{file.name:.44}: {counts[1]} right, {counts[0]} wrong; missed {errors[0][1]} → {errors[1][1]}, accepted "
            f"{errors[0][0]} → {errors[1][0]}; CPU {seconds[0]:.2f} → {seconds[1]:.2f} s"
        )


if __name__ == "__main__":
    main()
