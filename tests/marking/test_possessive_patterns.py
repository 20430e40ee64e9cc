"""Patterns mean the same on every Python 3.11.

Before 3.11.5 a possessive quantifier on a group (`(?:a|b)*+`, `(?:\\.\\d+)?+`) keeps characters that the group gave up, so
that an answer lost a digit or a letter. `(?>(?:a|b)*)` says the same and is read alike everywhere.
"""

import re
import re._compiler as compiler
import re._constants as opcodes
import re._parser as parser

import pytest
from test_linear_patterns import PATTERNS, SOURCE

from markscheme.marking import mark

ON_A_GROUP = re.compile(r"\)(?:[*+?]|\{+[\d,]+\}+)\+")


def subpatterns(parsed):
    """Every operation of a parsed pattern, at any depth."""
    for operation, argument in parsed:
        yield operation, argument
        for inner in argument if isinstance(argument, tuple | list) else [argument]:
            for each in inner if isinstance(inner, list) else [inner]:
                if isinstance(each, parser.SubPattern):
                    yield from subpatterns(each)


def misread(pattern):
    """Whether a pattern holds what an older Python misreads: a possessive group, or a capture within an atomic one."""
    for operation, argument in subpatterns(parser.parse(pattern.pattern, pattern.flags)):
        if operation is opcodes.POSSESSIVE_REPEAT and not compiler._simple(argument[2]):
            return True
        if operation is opcodes.ATOMIC_GROUP:
            return any(inner is opcodes.SUBPATTERN and value[0] for inner, value in subpatterns(argument))
    return False


@pytest.mark.parametrize(
    "pattern", [r"(?:ab|b)*+", r"x(?:\.\d++)?+y", r"(?:ab){0,3}+", r"(?>(a)b)", r"(?:x|(?=(?:ab)++))"]
)
def test_misread_when_a_pattern_holds_a_possessive_group_then_it_is_named(pattern):
    assert misread(re.compile(pattern))


def test_patterns_when_compiled_then_none_has_a_possessive_group():
    assert not {name for (name, _), pattern in PATTERNS.items() if misread(pattern)}


def test_source_when_scanned_then_no_quantifier_on_a_group_is_possessive():
    written = [path.name for path in SOURCE.rglob("*.py") if ON_A_GROUP.search(path.read_text(encoding="utf-8"))]
    assert not written


PUZZLE = {"nums": [3, 5, 2], "target": 16}


@pytest.mark.parametrize(
    ("response", "gold", "protocol", "answer"),
    [
        ("5 = 2 + 3 of them.\nThere are 7.  apples", "7", "math", "7"),  # `7.` without the point
        ("#### 18. eggs for 9 pans", "18", "gsm8k-strict", "18. eggs for 9 pans"),
        ("16 = (5 + 3) * 2 xylophones", PUZZLE, "countdown", "16 = (5 + 3) * 2"),  # no operator `x` at the end
    ],
)
def test_mark_when_a_group_gives_up_then_what_it_tried_is_not_kept(response, gold, protocol, answer):
    marked = mark(response, gold=gold, protocol=protocol)
    assert (marked.verdict, marked.answer) == ("correct", answer)
