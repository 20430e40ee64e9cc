r"""The ways in which an answer is stated: one table, read top to bottom. A new form is one entry here and its cases.

Of the explicit forms the one that stands last in the response wins. Only when there is none is the last line read as
a person would read it; that is a guess, and it is not made for a response that was cut off.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, NamedTuple

from markscheme.marking.extraction.boxes import boxed_answer
from markscheme.marking.extraction.conclusions import concluded_answer
from markscheme.marking.extraction.declarations import declared_answer, plainly_declared_answer
from markscheme.marking.extraction.extracted import ExtractedAnswer
from markscheme.marking.extraction.marked import hashed_answer, tagged_answer
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
    # \boxed{73}, \fbox{73}, \boxed 73, unclosed boxes, a list in several boxes. MATH's own solutions, and what nearly
    # every prompt since Minerva asks for.
    AnswerForm("boxed", "typeset", boxed_answer),
    # <answer>73</answer>: DeepSeek-R1's and TinyZero's prompts.
    AnswerForm("tagged", "announced", tagged_answer),
    # #### 73: GSM8K's own solutions, and models shown them as examples.
    AnswerForm("hashes", "announced", hashed_answer),
    # "The answer is 73", "ANSWER: 73", "**Final Answer**" above it: Minerva's, Inspect's and simple-evals' prompts.
    AnswerForm("declared", "announced", declared_answer, plainly_declared_answer),
    # "She has 73 apples left." as the last line: chat models that were asked for nothing in particular.
    AnswerForm("concluded", "implied", concluded_answer),
)

_TYPESET: Final = tuple(form.find for form in ANSWER_FORMS if form.strength == "typeset")
_ANNOUNCED: Final = tuple(form.find for form in ANSWER_FORMS if form.strength == "announced")
_LATER: Final = tuple(form.find_later or form.find for form in ANSWER_FORMS if form.strength == "announced")
_IMPLIED: Final = tuple(form.find for form in ANSWER_FORMS if form.strength == "implied")


def extract_answer(sections: ResponseSections) -> ExtractedAnswer | None:
    """The answer of a response: the last explicit one, else the implied one of a response that ended by itself."""
    answer = explicit_answer(sections.text, sections.start, sections.end)
    return answer if answer is not None or sections.cut_off else implied_answer(sections)


def explicit_answer(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """The last answer that is typeset or announced as one."""
    typeset = _last(_TYPESET, text, start, end)
    if typeset is None:
        return _last(_ANNOUNCED, text, start, end)
    if end - typeset.outer_end > 5:  # "####1" is the shortest that could follow
        return _last(_LATER, text, typeset.outer_end, end) or typeset
    return typeset


def implied_answer(sections: ResponseSections) -> ExtractedAnswer | None:
    """What a reader takes a response to say that marks no answer."""
    return _last(_IMPLIED, sections.text, sections.start, sections.end)


def _last(finders: tuple[Finder, ...], text: str, start: int, end: int) -> ExtractedAnswer | None:
    last = None
    for find in finders:
        answer = find(text, start, end)
        if answer is not None and (last is None or answer.start >= last.start):
            last = answer
    return last
