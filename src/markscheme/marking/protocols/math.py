r"""`math`: the final answer equals the gold answer as a mathematician means it.

Looks for the last explicit answer, else (unless the response was cut off) for what its last line concludes. Undecided
is `unmarkable`, never a guess.
"""

from __future__ import annotations

from functools import lru_cache

from markscheme.marking.equality import AnswerComparison, compare
from markscheme.marking.extraction.answer_forms import explicit_answer, extract_answer
from markscheme.marking.extraction.extracted import ExtractedAnswer, trimmed
from markscheme.marking.extraction.rounding import places_asked
from markscheme.marking.extraction.sections import ResponseSections
from markscheme.marking.extraction.sentences import is_prose, stated_value
from markscheme.marking.protocol import Assessment
from markscheme.types import Gold, Verdict


@lru_cache(maxsize=16384)
def gold_answer(gold: str) -> str:
    r"""The answer in a gold that comes as `\boxed{42}` or `<answer>42</answer>`, or with solution text around it."""
    if "\\boxed" in gold or "<answer>" in gold:
        found = explicit_answer(gold, 0, len(gold))
        if found is not None:
            return found.content
    return gold.strip()


def judge(sections: ResponseSections, gold: Gold) -> Assessment:
    """Correct, wrong, or why neither can be said."""
    text = sections.text
    answer = extract_answer(sections)
    if answer is None or not answer.content:
        return Assessment(Verdict.NO_ANSWER, why="no answer was stated")
    right = gold_answer(str(gold))
    if answer.form == "concluded":
        answer = _whole(sections, right) or answer
    result = compare(answer.content, right)
    if not result.equal:
        answer, result = _read_again(text, answer, right, result)
    if not result.equal and (places := places_asked(sections.statement)) is not None:
        rounded = compare(answer.content, right, places=places)
        result = rounded if rounded.equal else result
    verdict = Verdict.UNMARKABLE if result.equal is None else Verdict.CORRECT if result.equal else Verdict.WRONG
    return Assessment(verdict, answer.content, result.why, (answer.start, answer.end), result.flags)


def _whole(sections: ResponseSections, right: str) -> ExtractedAnswer | None:
    """A short response that says just what the gold says is right as it stands, words and all."""
    if sections.end - sections.start > len(right) + 20:
        return None
    whole = trimmed(sections.text, sections.start, sections.end, "concluded")
    return whole if compare(whole.content, right).equal else None


def _read_again(
    text: str, answer: ExtractedAnswer, right: str, result: AnswerComparison
) -> tuple[ExtractedAnswer, AnswerComparison]:
    """Boxes that all say the same thing are one answer; of a sentence, the value it states is the answer."""
    if answer.parts:
        results = [compare(part, right) for part in answer.parts]
        if all(each.equal for each in results):
            return answer, results[-1]
    elif answer.form != "boxed" and is_prose(answer.content):
        meant = stated_value(text, answer.start, answer.end)
        if meant.content and meant.content != answer.content:
            return meant, compare(meant.content, right)
    return answer, result
