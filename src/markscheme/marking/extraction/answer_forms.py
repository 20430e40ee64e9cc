r"""The ways in which an answer is stated: one table, read top to bottom. A new form is one entry here and its cases.

Of the explicit forms the one that stands last in the response wins. Only when there is none is the last line read as
a person would read it; that is a guess, and it is not made for a response that was cut off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Literal, NamedTuple

from markscheme.marking.extraction.boxes import boxed_answer
from markscheme.marking.extraction.conclusions import concluded_answer, emphasised_answer
from markscheme.marking.extraction.declarations import declared_answer, plainly_declared_answer
from markscheme.marking.extraction.endings import is_cut_off
from markscheme.marking.extraction.extracted import ExtractedAnswer
from markscheme.marking.extraction.json_replies import json_answer
from markscheme.marking.extraction.languages import declared_abroad, plainly_declared_abroad
from markscheme.marking.extraction.marked import closed_answer, finished_answer, hashed_answer, tagged_answer
from markscheme.marking.extraction.sections import ResponseSections

Finder = Callable[[str, int, int], ExtractedAnswer | None]
"""Takes a text and the region to look in; gives the last answer of its form there."""


class AnswerForm(NamedTuple):
    """One way to state an answer.

    `typeset` is made for the answer alone, `announced` says in words that it comes, `implied` is what a reader infers.
    `find_later` replaces `find` behind a typeset answer, where a remark ("the answer is easy to check") is likelier
    than a second answer.
    """

    name: str
    strength: Literal["typeset", "announced", "implied"]
    find: Finder
    find_later: Finder | None = None


ANSWER_FORMS: Final = (
    # {"reasoning": "…", "answer": "73"}, also with broken quoting: ZeroEval's prompts and structured outputs. First, for
    # what its reasoning says is not the answer.
    AnswerForm("json", "typeset", json_answer),
    # \boxed{73}, \fbox{73}, \boxed 73, unclosed boxes, a list in several boxes. MATH's own solutions, and what nearly
    # every prompt since Minerva asks for.
    AnswerForm("boxed", "typeset", boxed_answer),
    # <answer>73</answer>, <ans>73</ans>: DeepSeek-R1's and TinyZero's prompts.
    AnswerForm("tagged", "typeset", tagged_answer),
    # Action: Finish[73]: ReAct and Reflexion.
    AnswerForm("finished", "typeset", finished_answer),
    # #### 73: GSM8K's own solutions, and models shown them as examples.
    AnswerForm("hashes", "announced", hashed_answer),
    # "The answer is 73", "ANSWER: 73", "**Final Answer**" above it: Minerva's, Inspect's and simple-evals' prompts.
    AnswerForm("declared", "announced", declared_answer, plainly_declared_answer),
    # 答案是 73, Die Antwort ist 73, Ответ: 73: MGSM's worked examples, GAOKAO-Bench, CMATH.
    AnswerForm("abroad", "announced", declared_abroad, plainly_declared_abroad),
    # "She has 73 apples left." as the last line: chat models that were asked for nothing in particular.
    AnswerForm("concluded", "implied", concluded_answer),
)


class FormTable:
    """The finders of a table by their strength, ready to be asked."""

    def __init__(self, forms: Iterable[AnswerForm]) -> None:
        forms = tuple(forms)
        announced = [form for form in forms if form.strength == "announced"]
        self.typeset = tuple(form.find for form in forms if form.strength == "typeset")
        self.announced = tuple(form.find for form in announced)
        self.later = tuple(form.find_later or form.find for form in announced)
        self.implied = tuple(form.find for form in forms if form.strength == "implied")


ALL_FORMS: Final = FormTable(ANSWER_FORMS)
NUMERIC_FORMS: Final = FormTable(
    form for form in ANSWER_FORMS if form.name in ("boxed", "tagged", "hashes", "declared", "concluded")
)
"""What `gsm8k-numeric` was published with. By name, so that a new form does not change a published protocol."""


def extract_answer(sections: ResponseSections) -> ExtractedAnswer | None:
    """The answer of a response: the last explicit one, else the implied one of a response that ended by itself."""
    answer = explicit_answer(sections.text, sections.start, sections.end)
    return answer if answer is not None or is_cut_off(sections) else implied_answer(sections)


def explicit_answer(text: str, start: int, end: int, forms: FormTable = ALL_FORMS) -> ExtractedAnswer | None:
    """The last answer that is typeset or announced as one."""
    typeset, begin = None, start
    for find in forms.typeset:
        if (answer := find(text, begin, end)) is not None:
            typeset, begin = answer, answer.outer_end
            if end - begin < _SHORTEST:
                break
    if typeset is None:
        return _last(forms.announced, text, start, end) or closed_answer(text, start, end)
    later = None
    if end - typeset.outer_end >= _SHORTEST:
        later = _last(forms.later, text, typeset.outer_end, end)
    if later is None and typeset.form == "tagged":  # <answer>The final answer is 42</answer>
        later = _last(forms.announced, text, typeset.start, typeset.end)
    return later or typeset


_SHORTEST: Final = 6
"""Nothing that states an answer behind another one is shorter."""


def implied_answer(sections: ResponseSections) -> ExtractedAnswer | None:
    """What a reader takes a response to say that marks no answer."""
    emphasised = emphasised_answer(sections.text, sections.start, sections.end)
    return emphasised or _last(ALL_FORMS.implied, sections.text, sections.start, sections.end)


def _last(finders: tuple[Finder, ...], text: str, start: int, end: int) -> ExtractedAnswer | None:
    last = None
    for find in finders:
        answer = find(text, start, end)
        if answer is not None and (last is None or answer.start >= last.start):
            last = answer
    return last
