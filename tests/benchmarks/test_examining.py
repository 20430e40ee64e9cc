"""Golds that cannot be marked."""

from markscheme.benchmarks.examining import unmarkable_golds
from markscheme.countdown import solve
from markscheme.types import CountdownGold, Mark, Problem, Verdict


def problem(gold, protocol="math"):
    return Problem(id=f"p-{gold}", statement="?", gold=gold, protocol=protocol)


def verdict(correct):
    return Mark(verdict=Verdict.CORRECT if correct else Verdict.UNMARKABLE, why="" if correct else "cannot be read")


def test_unmarkable_golds_when_the_marker_refuses_one_then_only_that_is_listed():
    problems = [problem("3"), problem(r"\mystery"), problem("7")]
    (bad,) = unmarkable_golds(problems, lambda text, _: verdict("mystery" not in text))
    assert (bad.problem, bad.gold, bad.verdict) == (r"p-\mystery", r"\mystery", "unmarkable")
    assert bad.why == "cannot be read"


def test_unmarkable_golds_when_a_gold_only_matches_as_text_then_it_is_listed():
    from markscheme.marking import mark

    problems = [problem(gold) for gold in ("@@@###", r"\begin{pmatrix}1\\", r"\frac{1}{2}", "y = 2x + 3")]
    listed = unmarkable_golds(problems, mark)
    assert [bad.gold for bad in listed] == ["@@@###", r"\begin{pmatrix}1\\"]


def test_unmarkable_golds_when_asked_then_each_gold_is_written_as_its_prompt_asks():
    responses = {}
    problems = [
        problem("1/2"),
        problem("18", "gsm8k-numeric"),
        problem("73", "aime"),
        problem(CountdownGold((3, 5, 2), 16), "countdown"),
    ]

    def mark(text, problem):
        responses.setdefault(problem.protocol, text)
        return verdict(True)

    assert unmarkable_golds(problems, mark) == []
    assert responses == {
        "math": r"\boxed{1/2}",
        "gsm8k-numeric": "ANSWER: 18",
        "aime": r"\boxed{73}",
        "countdown": f"<answer>{solve((3, 5, 2), 16).expression}</answer>",
    }


def test_unmarkable_golds_when_a_puzzle_has_no_solution_then_it_is_listed():
    puzzle = problem(CountdownGold((1, 1, 1), 100), "countdown")
    (bad,) = unmarkable_golds([puzzle], lambda *_: verdict(True))
    assert (bad.gold, bad.why) == ("[1, 1, 1] to 100", "the puzzle has no solution")
