"""Every regular expression of the package takes time in proportion to the text, in the ways in which it is used.

A pattern that backtracks turned one response of 20,000 blanks into eight seconds in which a whole run stood still.
Measured as growth: four times the text may cost four times the processor time of this thread, not sixteen times.
"""

import importlib
import re
import time
from collections import defaultdict
from pathlib import Path

import pytest

import markscheme

SOURCE = Path(markscheme.__file__).parent
CALL = re.compile(r"(?<![\w.])(?:\w+\.)?(\w+)\.(search|finditer|findall|sub|subn|split|match|fullmatch)\(")
UNITS = (
    " ", "\n", "a", "A", "1", "1,", "1.", ".", ",", "$", "(", "{", "[", "\\", "\\(", "-", "*", "_", "#", "=", "a ", "1 ", "<", "'",
    '"', "、", "\\left\\{", "\\begin{array}", "\\frac{1}", "1+", "- ", " .", "a, ", "the ", "answer is ", " \n", "\\boxed{", "(a",
)  # fmt: skip
HEADS = ("", "#### ", "Answer:", "$1", "\\boxed{")
LENGTH = 400


def called(source: str) -> dict[str, set[str]]:
    """In which ways a source calls the patterns it names."""
    ways = defaultdict(set)
    for name, way in CALL.findall(source):
        ways[name].add(way if way in ("match", "fullmatch") else "search")
    return ways


def patterns() -> dict[tuple[str, str], re.Pattern[str]]:
    """Every compiled pattern of the package with each way in which its source calls it, by name."""
    sources = {path: path.read_text(encoding="utf-8") for path in sorted(SOURCE.rglob("*.py"))}
    ways = called("\n".join(sources.values()))
    found = {}
    for path, source in sources.items():
        if "re.compile" not in source:
            continue
        own = called(source)
        module = ".".join(("markscheme", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
        for name, value in vars(importlib.import_module(module)).items():
            for pattern in value if isinstance(value, tuple | list) else [value]:
                if isinstance(pattern, re.Pattern) and isinstance(pattern.pattern, str):
                    for way in (
                        sorted(own[name] or ways[name]) if pattern is value else ["search"]
                    ):  # every worker alike
                        found.setdefault((f"{module}.{name}", way, pattern.pattern), pattern)
    return {(name, f"{way} {number}"): pattern for number, ((name, way, _), pattern) in enumerate(found.items())}


PATTERNS = patterns()


def seconds(call, text: str, repeats: int) -> float:
    best = float("inf")
    for _ in range(repeats):
        begun = time.thread_time()
        call(text)
        best = min(best, time.thread_time() - begun)
    return best


def grows_too_fast(call, head: str, unit: str) -> bool:
    """Whether four times the text takes more than nine times the time, and takes time at all."""
    long = head + (unit * 4 * LENGTH)[: 4 * LENGTH] + "\x00"
    if seconds(call, long, 1) < 1e-3:  # a linear pattern takes a twentieth of this
        return False
    short = head + (unit * LENGTH)[:LENGTH] + "\x00"
    return seconds(call, long, 3) > max(1e-3, 9 * seconds(call, short, 3))


@pytest.mark.parametrize(("name", "way"), sorted(PATTERNS))
def test_pattern_when_the_text_is_four_times_as_long_then_not_much_more_than_four_times_the_work(name, way):
    call = getattr(PATTERNS[name, way], way.split()[0])
    slow = next(((head, unit) for head in HEADS for unit in UNITS if grows_too_fast(call, head, unit)), None)
    assert slow is None, slow


def test_patterns_when_collected_then_those_of_marking_are_among_them():
    assert len(PATTERNS) > 150
    assert any(name == "markscheme.marking.reading.tags._LAST_LINE" for name, _ in PATTERNS)
