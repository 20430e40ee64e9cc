"""Protocols that compare strings exactly as published programs do; next to ours, they show what a grader costs.

lm-evaluation-harness' `strict-match` and `flexible-extract` (task `gsm8k`, version 3), `GSM8KBenchmark`, nanochat's
AIME tasks, and an exact box. None of them knows that 18.0 is 18; `gsm8k-*` and `aime` are the same ideas without these
quirks.
"""

from __future__ import annotations

import re

from markscheme.marking.protocol import Assessment
from markscheme.marking.reading.boxes import last_box
from markscheme.marking.reading.sections import ResponseSections
from markscheme.types import Gold, Verdict

_STRICT = re.compile(r"#### (\-?[0-9\.\,]+)")
_FLEXIBLE_CHARACTERS = "$.,0123456789"
_SIGNS = re.compile(r"[$.,0-9][$.,]*+")
_LONGEST = 1 << 20  # longest "number"; the start of a longer one is not searched
_BENCHMARK = re.compile(r"####\s*+([\d.\-]++)")
_OPEN = "\\boxed{"
_OTHER = "is not the string"


def lm_eval_strict(sections: ResponseSections, gold: Gold) -> Assessment:
    """Compare the *first* `#### N` after thinking; `#### 18.0` and `####18` are wrong."""
    # The harness does not cut off an invented next question, so this rule does not either; only thinking is removed.
    found = _STRICT.search(sections.text, sections.after_thinking, sections.sequel_end)
    if found is None:
        return Assessment(Verdict.NO_ANSWER, why="no match of '#### N'")
    return _as_the_harness("the first match", found[1], found.span(1), gold)


def lm_eval_flexible(sections: ResponseSections, gold: Gold) -> Assessment:
    """Compare the last match after thinking, which may be `$.`, or `-5` from `18-5`."""
    text, start = sections.text, sections.after_thinking
    stop = _end_of_last_match(text, start, sections.sequel_end)
    if stop == start:
        return Assessment(Verdict.NO_ANSWER, why="no match of a number")
    floor = max(start, stop - _LONGEST)
    begin = floor + len(text[floor:stop].rstrip(_FLEXIBLE_CHARACTERS))
    begin -= begin > start and text[begin - 1] == "-"
    return _as_the_harness("the last match", text[begin:stop], (begin, stop), gold)


def _end_of_last_match(text: str, start: int, end: int) -> int:
    """Return the end of the last match of `(-?[$0-9.,]{2,})|(-?[0-9]+)`, searched from the end; `start` if none.

    Such a match is a whole run of these characters with a digit or more than one character, including a leading minus.
    """
    digit = max(text.rfind(each, start, end) for each in "0123456789") + 1
    behind = _SIGNS.match(text, digit - 1, end) if digit else None
    stop = behind.end() if behind else digit or start
    there = [each for each in "$.," if text.find(each, stop, end) >= 0]
    pairs = (text.rfind(one + other, stop, end) for one in there for other in there)
    return max([stop, *(pair + 2 for pair in pairs if pair >= 0)])


def gsm8k_benchmark(sections: ResponseSections, gold: Gold) -> Assessment:
    """Compare the text after the first `####`, thinking included: digits, points and minus signs only, also in the
    gold.

    So `1,010` is read as `1` and `$18` is nothing; a gold without `####` is the number itself. Without `####` the
    entire output is the answer, as documented, although the published code finds none.
    """
    wanted = _BENCHMARK.search(text if "####" in (text := str(gold)) else f"#### {text}")
    stated = _BENCHMARK.search(sections.text)
    if stated is None:
        whole = sections.text.strip()
        if "####" in whole or whole != str(gold).rpartition("####")[2].strip():
            return Assessment(Verdict.NO_ANSWER, why="no #### <number>, and the entire output is not the number")
        start = sections.text.index(whole)
        return _as_strings(whole, whole, (start, start + len(whole)))
    return _as_strings(stated[1], wanted[1] if wanted else None, stated.span(1))


def nanochat_aime(sections: ResponseSections, gold: Gold) -> Assessment:
    r"""Compare the last `\boxed{…}`, in thinking too; it ends at its first closing brace, and only outer whitespace is
    ignored.
    """
    text, last, at = sections.text, None, sections.text.find(_OPEN)
    while at >= 0:  # from left to right like a regular expression; the length bounds the work
        begin = at + len(_OPEN)
        end = text.find("}", begin)
        if end < 0:
            break
        if end > begin:
            last = (begin, end)
        at = text.find(_OPEN, end if end > begin else begin)
    if last is None:
        return Assessment(Verdict.NO_ANSWER, why="no closed \\boxed{…}")
    return _as_strings(text[slice(*last)].strip(), str(gold), last)


def boxed_exact(sections: ResponseSections, gold: Gold) -> Assessment:
    r"""Require the last `\boxed{…}` to be the gold integer exactly: `073`, `73.0` and `73^\circ` are not 73 here."""
    text = sections.text
    box = last_box(text, sections.after_thinking, sections.end)
    if box is None or not text.startswith("\\boxed", box.outer_start) or box.outer_end == box.end:
        return Assessment(Verdict.NO_ANSWER, why="no closed \\boxed{…}")
    content, right = box.content.strip(), str(gold).strip()
    if right.isdecimal():
        right = str(int(right)) if content != right else right
    return _as_strings(content, right, (box.start, box.end))


def _as_strings(answer: str, right: str | None, span: tuple[int, int]) -> Assessment:
    return Assessment.of(answer == right, answer, right and right[:60], span, unlike=_OTHER)


def _as_the_harness(which: str, answer: str, span: tuple[int, int], gold: Gold) -> Assessment:
    """Compare like the harness' exact_match, which removes `,`, `$` and a final point."""
    right = str(gold)
    right = right[right.rfind("#### ") + 5 :] if "#### " in right else right
    same, shown = _bare(answer) == _bare(right), f"{which}, {answer[:40]!r},"
    return Assessment.of(same, answer, repr(right[:40]), span, shown=shown, unlike=_OTHER)


def _bare(text: str) -> str:
    text = text.replace(",", "").replace("$", "").lower()
    return text[:-1] if text.endswith(".") else text
