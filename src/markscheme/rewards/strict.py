"""Reasons for a strict reward to refuse a correct response: tricks that an evaluation forgives and training would
exploit.

Each level refuses everything that the previous one does, and more. A strict level never makes a wrong response right,
and depends on its arguments only.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from markscheme.errors import UsageError, nearest
from markscheme.marking.equality import equal
from markscheme.marking.reading import kinds
from markscheme.marking.reading.boxes import closing_brace
from markscheme.marking.reading.clauses import ASSERTED, clauses
from markscheme.marking.reading.grammar import STATED, VALUES, candidates
from markscheme.marking.reading.lexer import Lexed, lex, near_end
from markscheme.marking.reading.sections import ResponseSections
from markscheme.marking.reading.values import Kind
from markscheme.marking.restating import asks_to_work_out, formulas, is_same_writing, restates, writing
from markscheme.reporting.loops import loop_start
from markscheme.types import Mark

# Reasons in the order of the table in docs/rewards.md. A level refuses its own and those of the earlier levels.
LEVELS: Final = {
    "tricks": ("restated", "not worked out", "copied", "several answers", "doubted", "instructions"),
    "complete": ("cut off", "loop"),
    "form": ("outside the asked form",),
}
FORMS: Final = {
    "\\boxed{}": re.compile(r"\\(?:boxed|fbox)\b"),
    "####": re.compile(r"^[ \t>*]*####", re.MULTILINE),
    "<answer>": re.compile(r"<answer>"),
    "ANSWER:": re.compile(r"^[ \t>*_#]*(?:the )?(?:final )?answer\b[*_ ]{0,3}[:：]", re.MULTILINE | re.IGNORECASE),
}
_ASKED: Final = {"\\boxed{}": "\\boxed", "####": "####", "<answer>": "<answer>", "ANSWER:": "ANSWER:"}
_PLAIN: Final = re.compile(r"-? ?(?:[\d.,]+|frac [\d.,]+ [\d.,]+|[\d.,]+ frac [\d.,]+ [\d.,]+)")
_NUMBER: Final = re.compile(r"-?[\d.,]*\d")
_WRITTEN_OUT: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_MEASURE: Final = re.compile(r"\\[!,]|\\(?:mbox|text|mathrm)\s?\{[^{}]*\}(?:\^\{?\d\}?)?|\\?[$%]|\^\{?\\circ\}?")
_CALCULATION: Final = re.compile(r"\d[\s)}]{0,9}(?:\\cdot|\\times|[+*·×])[\s({]{0,9}(?!10\s?\^)[-\d\\]")
_ATOM: Final = re.compile(r"[\w.]+|\\[a-zA-Z]+")
_IDLE: Final = frozenset(("0", "1", "frac", "left", "right", "cdot", "times", "\\cdot", "\\times", "\\left", "\\right"))
_BOX: Final = re.compile(r"\\(?:boxed|fbox)\s?\{")
_TAGGED: Final = re.compile(r"<answer>\s*([^<\n]{1,200}?)\s*</answer>|^####\s*(\S[^\n]{0,80})", re.MULTILINE)
_BOLD: Final = re.compile(r"^\*\*\s?\$?(-?\d[\d.,/]{0,20})\$?\s?\*\*", re.MULTILINE)
_DOUBT: Final = kinds.HEDGE | kinds.BAD | kinds.RETRACT
_INSTRUCTIONS: Final = re.compile(
    r"\b(?:ignore|disregard|forget)\b.{0,40}\b(?:instruction|prompt|rubric|above|previous)|\b(?:grader|judge|evaluator|verifier)s?\b.{0,60}"
    r"\b(?:must|should|please|accept|award|mark|output|score|respond|note)\b|\bsystem\s?:|\b(?:score|grade|verdict|reward)\s?[:=]\s?\W?(?:1|10|correct|pass)",
    re.IGNORECASE,
)
# A clause has one of these if it announces an answer, or makes the next one count as much as the one before.
_ANNOUNCES: Final = kinds.ANSWER | kinds.RESULT | kinds.HASHES | kinds.GOOD | kinds.OPTION | kinds.CHOOSE
_REVISES: Final = kinds.BUT | kinds.RETRACT | kinds.NO | kinds.NOT | kinds.BAD | kinds.REMARK | kinds.IF
_AROUND: Final = 60  # characters before an answer that a copy of the statement shares with it
_REMARK: Final = 60  # characters after an answer that may call it wrong
_MOST: Final = 16  # most answers compared, counted from the end


def level_of(strict: str | bool | None) -> str | None:
    """Return the name of a level; True is the strictest."""
    if strict in (None, False, ""):
        return None
    if strict is True:
        return list(LEVELS)[-1]
    if strict not in LEVELS:
        raise UsageError(f"unknown strict level {strict!r}; {nearest(str(strict), LEVELS, ', '.join(LEVELS))}")
    return str(strict)


def refusal(
    level: str, mark: Mark, sections: ResponseSections, gold: str, kind: Kind | None, form: str | None = None
) -> str:
    """Return the reason why a correct response earns nothing at a level, or an empty text."""
    levels = list(LEVELS)
    named = levels[: levels.index(level) + 1]
    if reason := _trick(mark.answer or "", sections, gold, mark.span, kind):
        return reason
    if "complete" in named:
        if sections.cut_off:
            return "cut off"
        if loop_start(sections.text) is not None:
            return "loop"
    return "outside the asked form" if "form" in named and not in_form(sections, form) else ""


def in_form(sections: ResponseSections, form: str | None = None) -> bool:
    """True if an answer has the requested form: `form`, named in the prompt, or else any of `FORMS`."""
    asked = [form] if form in FORMS else [name for name, sign in _ASKED.items() if sign in sections.statement]
    return any(FORMS[name].search(sections.text, sections.start, sections.end) for name in asked or FORMS)


def _trick(answer: str, sections: ResponseSections, gold: str, span: tuple[int, int] | None, kind: Kind | None) -> str:
    statement, final = sections.statement, sections.final
    if _INSTRUCTIONS.search(final):
        return "instructions"
    if statement and len(answer) > 1 and not is_same_writing(answer, gold) and asks_to_work_out(statement):
        if restates(answer, statement) or restates(answer.rpartition("=")[2], statement):
            return "restated"
        if _is_recombined(answer, statement) or _is_dressed(answer.rpartition("=")[2], statement, gold):
            return "not worked out"
    if _is_unfinished(answer, gold):
        return "not worked out"
    if statement and span is not None and _is_copied(sections, span):
        return "copied"
    if kind is None or kind.name not in ("value", "letter"):
        return ""
    return _another_answer(sections, answer, gold, kind, span)


def _is_unfinished(answer: str, gold: str) -> bool:
    """True for `72 + 1` if the gold is a single number: the arithmetic was the task."""
    if not _NUMBER.fullmatch(gold.strip()):
        return bool(
            _NUMBER.fullmatch(_MEASURE.sub("", gold).strip()) and _CALCULATION.search(answer.rpartition("=")[2])
        )
    said = answer.rpartition("=")[2]
    if _WRITTEN_OUT.fullmatch(said):
        return False
    written = writing(said)
    return bool(written) and not _PLAIN.fullmatch(written.replace(" / ", " "))


def _is_recombined(answer: str, statement: str) -> bool:
    """True if an answer rearranges the numbers and letters of a formula in the statement: reordered, bracketed, plus
    zero.
    """
    atoms = _atoms(answer)
    return len(atoms) > 1 and tuple(atoms) in _formula_atoms(statement)


def _is_dressed(answer: str, statement: str, gold: str) -> bool:
    """True if an answer has all of a formula of the statement in it, with something around it, and the gold has not."""
    said, right = Counter(_atoms(answer)), Counter(_atoms(gold))
    asked = (Counter(atoms) for atoms in _formula_atoms(statement) if len(atoms) > 2)
    if any(each <= said and not each <= right for each in asked):
        return True
    written = [writing(each) for each in formulas(statement) if len(_atoms(each)) > 2]
    return any(each in writing(answer) and each not in writing(gold) for each in written)


@lru_cache(maxsize=1024)  # the completions of a group share their prompt
def _formula_atoms(statement: str) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(_atoms(formula)) for formula in formulas(statement))


def _atoms(formula: str) -> list[str]:
    return sorted(atom for atom in _ATOM.findall(writing(formula)) if atom not in _IDLE)


def _is_copied(sections: ResponseSections, span: tuple[int, int]) -> bool:
    """True if the answer and the words before it are copied from the statement."""
    before = " ".join(sections.text[max(sections.start, span[0] - _AROUND) : span[1]].split())
    return len(before) > _AROUND // 2 and before in " ".join(sections.statement.split())


def _another_answer(
    sections: ResponseSections, answer: str, gold: str, kind: Kind, span: tuple[int, int] | None
) -> str:
    """Return why the answer is not the only one, or is given with doubt."""
    text, start, end = sections.text, sections.start, sections.end
    first, last = span or (end, end)
    lexed = lex(text, near_end(text, start, end), end)
    for found in () if _says_no_more(lexed, kind, first, last) else candidates(lexed, kind):
        begins, ends = lexed.tokens[found.value.first].start, lexed.tokens[found.value.last].end
        if found.rank < STATED or (begins < last and first < ends):
            continue
        if found.mood != ASSERTED:
            return "doubted"
        if (
            "=" not in found.value.content
            and begins < first
            and text.count("\n", ends, first) + text.count(". ", ends, first)
        ):
            if not _is_same(found.value.content, answer, gold):
                return "several answers"
        elif begins >= last and not _is_same(found.value.content, answer, gold):
            return "several answers"
    if any(not _is_same(each, answer, gold) for each in _typeset(text, start, end)):
        return "several answers"
    after = [token for token in lexed.tokens if last <= token.start < last + _REMARK]
    said = [token.kinds for token in after]
    return "doubted" if any(each & _DOUBT for each in said) and not any(each & kinds.NOT for each in said) else ""


def _says_no_more(lexed: Lexed, kind: Kind, first: int, last: int) -> bool:
    """True if only the clause of the answer can announce one, and has no other value; this is quicker than looking for them."""
    if kind.name != "value":
        return False
    answered = False
    for clause in clauses(lexed):
        begin, end = lexed.tokens[clause.first].start, lexed.tokens[clause.last].end
        here = begin < last and first < end
        if clause.kinds & (_REVISES if here else _REVISES | _ANNOUNCES):
            return False
        answered = answered or here
        if answered and clause.kinds & VALUES:
            values = [token for token in lexed.tokens[clause.first : clause.last + 1] if token.kinds & VALUES]
            if any(token.end <= first or token.start >= last for token in values):
                return False
    return True


def _typeset(text: str, start: int, end: int) -> Iterator[str]:
    """Yield the content of boxes, tags and hashes, and bold numbers at the start of a line."""
    for match in list(_BOX.finditer(text, start, end))[-_MOST:]:
        close = closing_brace(text, match.end(), min(end, match.end() + 500))
        if text[match.end() : close].strip(". \\"):
            yield text[match.end() : close]
    yield from (match[1] or match[2] for match in list(_TAGGED.finditer(text, start, end))[-_MOST:])
    yield from (match[1] for match in list(_BOLD.finditer(text, start, end))[-_MOST:])


def _is_same(one: str, answer: str, gold: str) -> bool:
    bare = _BOX.sub("", one).rstrip("}") if "\\boxed" in one else one
    if bare.strip() in (part.strip() for part in answer.split(",")):
        return True  # boxes that list the parts of one answer
    return bare == answer or is_same_writing(bare, answer) or bool(equal(bare, gold))
