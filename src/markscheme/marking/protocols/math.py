r"""`math`: the final answer equals the gold answer as a mathematician means it.

Looks for the last explicit answer, else (unless the response was cut off) for what its last line concludes. Undecided
is `unmarkable`, never a guess.
"""

from __future__ import annotations

from functools import lru_cache

from markscheme.marking.equality import Comparison, compare
from markscheme.marking.extraction.conclusions import concluded_answer
from markscheme.marking.extraction.rounding import places_asked
from markscheme.marking.extraction.sections import Reading
from markscheme.marking.extraction.sentences import is_prose, stated_value
from markscheme.marking.extraction.stated import Answer, explicit_answer, trimmed
from markscheme.marking.protocol import Finding, Protocol
from markscheme.types import Gold, Verdict


@lru_cache(maxsize=16384)
def gold_answer(gold: str) -> str:
    r"""The answer in a gold that comes as `\boxed{42}` or `<answer>42</answer>`, or with solution text around it."""
    if "\\boxed" in gold or "<answer>" in gold:
        found = explicit_answer(gold, 0, len(gold))
        if found is not None:
            return found.content
    return gold.strip()


def judge(reading: Reading, gold: Gold) -> Finding:
    """Correct, wrong, or why neither can be said."""
    text = reading.text
    answer = explicit_answer(text, reading.start, reading.end)
    if answer is None and not reading.cut_off:
        answer = concluded_answer(text, reading.start, reading.end)
    if answer is None or not answer.content:
        return Finding(Verdict.NO_ANSWER, why="no answer was stated")
    right = gold_answer(str(gold))
    if answer.way == "concluded":
        answer = _whole(reading, right) or answer
    result = compare(answer.content, right)
    if not result.equal:
        answer, result = _read_again(text, answer, right, result)
    if not result.equal and (places := places_asked(reading.statement)) is not None:
        rounded = compare(answer.content, right, places=places)
        result = rounded if rounded.equal else result
    verdict = Verdict.UNMARKABLE if result.equal is None else Verdict.CORRECT if result.equal else Verdict.WRONG
    return Finding(verdict, answer.content, result.why, (answer.start, answer.end), result.flags)


def _whole(reading: Reading, right: str) -> Answer | None:
    """A short response that says just what the gold says is right as it stands, words and all."""
    if reading.end - reading.start > len(right) + 20:
        return None
    whole = trimmed(reading.text, reading.start, reading.end, "concluded")
    return whole if compare(whole.content, right).equal else None


def _read_again(text: str, answer: Answer, right: str, result: Comparison) -> tuple[Answer, Comparison]:
    """Boxes that all say the same thing are one answer; of a sentence, the value it states is the answer."""
    if answer.parts:
        results = [compare(part, right) for part in answer.parts]
        if all(each.equal for each in results):
            return answer, results[-1]
    elif answer.way != "boxed" and is_prose(answer.content):
        meant = stated_value(text, answer.start, answer.end)
        if meant.content and meant.content != answer.content:
            return meant, compare(meant.content, right)
    return answer, result


PROTOCOL = Protocol("math", "1", "mathematical equality with the final answer", "text", judge, slow=True)
