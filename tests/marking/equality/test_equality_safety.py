"""Hostile answers: each gets a verdict, none hangs, raises, runs code or takes memory, and the next is marked normally."""

import resource
import threading

import pytest

from markscheme.marking import sandbox
from markscheme.marking.equality import compare, equal

NOT_ONE = {
    "power towers": ["9^{9^{9}}", "9^{9^{9^{9}}}", "2^{2^{2^{49}}}", "10^{10^{10}}", "2^{-10^{10}}", "2" + "^{2" * 1000 + "}" * 1000],
    "factorials": ["(10^{100})!", "100!!!", "(((9!)!)!)!", r"\binom{10^{10}}{10^9}", r"\frac{1}{2004!}"],
    "wide sums": ["(a+b+c+d+f)^{50}", "(x+1)^{1000}", "((x+y+z+1)^{10})^{10}", "+".join(["x"] * 5000), "+".join(f"x_{{{i}}}" for i in range(2000))],
    "wide products": ["*".join(f"(x_{{{i}}}+1)" for i in range(30)), "+".join(rf"\frac{{1}}{{x+{i}}}" for i in range(40))],
    "long numbers": ["1" * 50_000, "1" * 3999 + "+1", "0." + "3" * 5000, rf"\frac{{{'7' * 3000}}}{{{'3' * 3000}}}"],
    "long lists": [",".join(map(str, range(3000))), ",".join(["(1,2)"] * 500), r"\begin{pmatrix}" + r"1&2\\" * 500 + r"\end{pmatrix}"],
    "deep lists": ["(" * 500 + "1,3" + ")" * 500, r"\begin{pmatrix}" * 200 + "1" + r"\end{pmatrix}" * 200],
    "deep functions": [r"\sin(" * 300 + "x" + ")" * 300, r"\log(" * 300 + "10" + ")" * 300, "e^{" * 200 + "x" + "}" * 200, r"\sqrt{" * 2000 + "2" + "}" * 2000],
    "continued fractions": [r"1+\frac{1}{" * 800 + "x" + "}" * 800, r"1+\frac{1}{" * 800 + "1" + "}" * 800],
    "unclosed": ["(" * 5000, r"\frac{" * 3000, ")" * 5000, r"\boxed{", r"\text{" * 1000, "|" * 2000, r"\frac{{{"],
    "noise": ["\\" * 5000, "$" * 5000, "." * 20_000, "," * 20_000, "-" * 5001 + "1", "\x00\x01\x02", "𝟙𝟚𝟛" * 500, "日本" * 1000],
    "not numbers": ["nan", "inf", "-inf", "1/0", "0/0", "0^{-1}", r"\sqrt[0]{5}", r"\ln 0", r"\tan 90^\circ", "null", "None", "True"],
    "code": ["__import__('os').system('true')", "open('x','w')", "(lambda: 1)()", "exec('1')", "eval('1')", "().__class__.__base__", "1 if 1 else 2", "[x for x in (1,)]", "# 1\n", "print(1)"],
    "sums and integrals": [r"\sum_{n=1}^{10^{10}} n", r"\int_0^1 e^{x^2} dx", r"\prod_{k=1}^{10^9} k", r"\lim_{x\to0} \frac{\sin x}{x}"],
    "ambiguous signs": [r"\pm 1" * 10, "1" + r"\pm 1" * 4, r"\pm\pm\pm\pm\pm\pm 1"],
    "hard primes": [rf"\sqrt{{{(2**61 - 1) * (2**89 - 1)}}}", rf"\sqrt{{{1000000007 * 998244353 * 1000003}}}", "2^{1/1000000007}"],
}  # fmt: skip

ONE = [
    "(" * 10_000 + "1" + ")" * 10_000,
    "{" * 10_000 + "1" + "}" * 10_000,
    r"\frac{1}{" * 2000 + "1" + "}" * 2000,
    r"\frac{" * 2000 + "1" + "}{1}" * 2000,
    r"\sqrt{" * 2000 + "1" + "}" * 2000,
    "|" * 500 + "1" + "|" * 500,
    " " * 50_000 + "1",
    "-" * 5000 + "1",
]


@pytest.mark.parametrize("kind", NOT_ONE)
def test_hostile_answers_when_compared_then_are_not_the_gold_and_nothing_breaks(kind):
    for text in NOT_ONE[kind]:
        for gold in ("1", "(x+1, 2)"):
            found = compare(text, gold, time_limit=0.5)
            assert found.equal is not True, (text[:60], gold, found)
            assert "internal error" not in found.why, (text[:60], found)
    assert equal("2/4", r"\frac{1}{2}")


@pytest.mark.parametrize("text", ONE, ids=[t.strip()[:8] + "…" for t in ONE])
def test_nested_answers_when_equal_to_one_then_are_found_so(text):
    assert compare(text, "1").equal is True


def test_ten_megabytes_when_compared_then_are_refused_at_once():
    assert compare("1" + "+1" * 5_000_000, "7").equal is False
    assert compare("7", "x" * 10_000_000).equal is None


def test_memory_when_thousands_of_answers_are_compared_then_stays_flat():
    def work(start):
        for n in range(start, start + 800):
            compare(rf"x_{{{n}}}+\sqrt{{{n}}}\sin({n}y)", f"({n}, {n + 1})")

    work(0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    work(10_000)
    work(20_000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # kilobytes


def test_a_hard_comparison_when_out_of_time_then_is_undecided_and_the_next_is_decided():
    pool = sandbox.default_pool()
    hard = r"\sqrt{1+" * 40 + "2" + "}" * 40
    found = compare(hard, r"\sqrt{1+" * 39 + r"\sqrt{3}" + "}" * 39, time_limit=0.01)
    assert found.equal in (True, None)
    proven = compare(r"\sqrt[3]{2+\sqrt5}+\sqrt[3]{2-\sqrt5}", "1")
    assert (proven.equal, proven.method) == (True, "symbolic")
    assert len(pool._idle) + len(pool._busy) <= pool.size


def test_symbolic_comparison_when_called_from_threads_then_decides_the_same():
    pairs = [
        (r"\sqrt[3]{7+5\sqrt2}+\sqrt[3]{7-5\sqrt2}", "2", True),
        (r"\arctan 2+\arctan 3", r"\frac{3\pi}{4}", True),
        (r"\cos\frac{\pi}{7}-\cos\frac{2\pi}{7}+\cos\frac{3\pi}{7}", r"\frac12", True),
        (r"\sqrt{x^2+2x+1}", "|x+1|", True),
        (r"\ln(x^2-1)", r"\ln(x-1)+\ln(x+1)", True),
    ]
    found = {}

    def work(k):
        answer, gold, _ = pairs[k % len(pairs)]
        found[k] = compare(answer, gold, time_limit=20).equal

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2 * len(pairs))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == {k: pairs[k % len(pairs)][2] for k in range(len(threads))}


def test_nearly_equal_numbers_when_compared_then_are_not_taken_for_equal():
    assert compare(r"[2^{\frac{1}{2^{1000}}}, \infty)", r"[1, \infty)").equal is False
    assert compare(r"\sqrt{10^{40}+1}", "10^{20}").equal is False
    assert compare(r"\sqrt{2+10^{-30}}", r"\sqrt{2}").equal is False
    assert compare("0.99999999999999999999", "1").equal is False
    assert compare("100000000000000000001", "10^{20}").equal is False
    assert compare(r"e^{\pi\sqrt{163}}", "262537412640768744").equal is False
