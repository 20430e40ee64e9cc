"""The protocol `math-verify`: the library's own verdicts, from threads too, and a hostile answer does not stop it."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from markscheme.errors import UsageError
from markscheme.marking import mark
from markscheme.marking.protocol import Protocol
from markscheme.types import Verdict

pytestmark = pytest.mark.needs("math_verify")


@pytest.mark.parametrize(
    ("response", "gold", "verdict"),
    [
        ("The answer is $\\boxed{\\frac{2}{4}}$.", "\\frac{1}{2}", "correct"),
        ("The answer is $\\boxed{3}$.", "\\frac{1}{2}", "wrong"),
        ("<think>$\\boxed{3}$</think> $\\boxed{4}$", "4", "correct"),
        ("no idea", "4", "no_answer"),
        ("$\\boxed{52_9}$", "52_8", "correct"),  # as it comes: it drops the base
        ("First \\boxed{12}. Then \\boxed{73}.", "73", "wrong"),  # as it comes: boxes close together are one set
    ],
)
def test_math_verify_protocol_gives_the_librarys_own_verdict(response, gold, verdict):
    assert mark(response, gold=gold, protocol="math-verify").verdict == verdict


def test_math_verify_protocol_from_many_threads_gives_the_same():
    with ThreadPoolExecutor(4) as pool:
        marks = list(pool.map(lambda n: mark(f"$\\boxed{{{n}}}$", gold="7", protocol="math-verify"), range(12)))
    assert [found.verdict for found in marks] == [Verdict.CORRECT if n == 7 else Verdict.WRONG for n in range(12)]


def test_math_verify_protocol_without_the_library_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(Protocol, "available", lambda self: False)
    with pytest.raises(UsageError, match="pip install"):
        mark("1", gold="1", protocol="math-verify")
