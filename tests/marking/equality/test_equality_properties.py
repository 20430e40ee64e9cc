"""What must hold for any answers at all: symmetry, rewriting keeps the verdict, a change changes it, nothing raises."""

import random
from decimal import Decimal, localcontext
from fractions import Fraction

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from markscheme.marking.equality import canonical_key, compare, equal

LIGHT = settings(max_examples=60, deadline=None)

numbers = st.integers(-9, 9)
leaves = st.one_of(
    st.integers(-20, 20).map(lambda n: f"({n})"),
    st.tuples(st.integers(-9, 9), st.integers(1, 9)).map(lambda t: rf"\frac{{{t[0]}}}{{{t[1]}}}"),
    st.sampled_from(["x", "y", r"\pi", r"\sqrt{2}", r"\sqrt{3}", "i", r"\sqrt[3]{5}", "e"]),
)
expressions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda t: f"({t[0]}{t[1]}{t[2]})"),
        st.tuples(inner, st.integers(1, 3)).map(lambda t: f"({t[0]})^{{{t[1]}}}"),
    ),
    max_leaves=6,
)


@LIGHT
@given(expressions, expressions)
def test_expressions_when_swapped_then_the_verdict_is_the_same(a, b):
    assert equal(a, b) == equal(b, a)
    assert equal(a, a + " ")


@LIGHT
@given(expressions, expressions, expressions)
def test_expressions_when_rewritten_by_the_laws_of_algebra_then_stay_equal(a, b, c):
    assert equal(f"{a}+{b}", f"{b}+{a}")
    assert equal(f"{a}*({b}+{c})", f"{a}*{b}+{a}*{c}")
    assert equal(f"({a}-{b})*({a}+{b})", f"({a})^2-({b})^{{2}}")
    assert equal(rf"\frac{{{a}}}{{7}}", f"({a})/7")


@LIGHT
@given(expressions, st.integers(1, 50))
def test_expressions_when_a_number_is_added_then_are_different(a, n):
    assert not equal(f"{a}+{n}", a)
    assert not equal(f"x_9*({n})+{a}", a)


@LIGHT
@given(st.fractions(min_value=-1000, max_value=1000, max_denominator=500))
def test_fractions_when_spelled_in_other_ways_then_stay_equal(value):
    p, q = value.numerator, value.denominator
    spellings = [
        f"{p}/{q}",
        rf"\frac{{{p}}}{{{q}}}",
        rf"-\dfrac{{{-p}}}{{{q}}}",
        rf"\tfrac{{{2 * p}}}{{{2 * q}}}",
        f"({p})/({q})",
    ]
    if value > 1 and q > 1:
        spellings.append(rf"{p // q}\frac{{{p % q}}}{{{q}}}")
    for text in spellings:
        assert equal(text, spellings[0]), text
        assert canonical_key(text) == canonical_key(spellings[0])
    assert not equal(spellings[1], f"{p + 1}/{q}")
    assert not equal(spellings[1], f"{Fraction(p, q) * 100 if p else 1}")


@LIGHT
@given(st.lists(st.integers(-99, 99), min_size=2, max_size=6, unique=True), st.randoms(use_true_random=False))
def test_lists_when_shuffled_then_equal_and_when_a_member_changes_then_not(items, rng):
    gold = ", ".join(map(str, items))
    shuffled = random.Random(rng.random()).sample(items, len(items))
    assert equal(r"\{" + ",".join(map(str, shuffled)) + r"\}", gold)
    assert not equal(", ".join(map(str, items[1:])), gold)
    assert not equal(", ".join(map(str, [items[0] + 200, *items[1:]])), gold)


@LIGHT
@given(st.integers(-99, 99), st.integers(1, 50), st.sampled_from("(["), st.sampled_from(")]"))
def test_intervals_when_written_as_inequalities_then_equal_and_open_is_not_closed(low, width, left, right):
    gold = f"{left}{low}, {low + width}{right}"
    below, above = (r"\le" if left == "[" else "<"), (r"\le" if right == "]" else "<")
    assert equal(rf"{low} {below} x {above} {low + width}", gold)
    assert not equal(f"{'(' if left == '[' else '['}{low}, {low + width}{right}", gold)
    assert not equal(f"{left}{low}, {low + width + 1}{right}", gold)


SCRAPS = [
    "\\frac", "\\sqrt", "{", "}", "(", ")", "[", "]", "\\{", "\\}", "^", "_", "|", ",", ";", ":", "=", "<", "\\le", "\\in", "\\cup",
    "\\text{", "\\text{ cm}", "\\pm", "!", "%", "\\%", "$", "\\$", "°", "^\\circ", "\\pi", "\\infty", "x", "y", "i", "e", "1", "23", "0",
    "0.5", "1,000", "+", "-", "*", "/", "\\cdot", " ", "and", "or", "\\sin", "\\log", "\\log_", "\\begin{pmatrix}", "\\end{pmatrix}",
    "&", "\\\\", "\\left", "\\right", ".", "\\left.", "'", "base", "seven", "cm", "p.m.", "√", "½", "²", "₈", "\\boxed{", "\\binom", "\\mathbb{R}",
    "\\overline", "\\", "~", "\\,", "#", "@", "日", "\x00", "\u200b", "\\mathrm{", "\\sum_{k=1}^{n}", "\\angle", "th", "\\lfloor", "\\rfloor",
]  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(SCRAPS), max_size=14).map("".join),
    st.sampled_from(["7", r"\frac{1}{2}", "x+1", "(1,2)", r"\text{east}"]),
)
def test_scraps_of_latex_when_compared_then_nothing_raises_and_both_directions_agree(text, gold):
    compare(text, gold, time_limit=0.2)
    assert equal(text, gold) == equal(gold, text)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60), st.text(max_size=20))
def test_any_text_when_compared_then_nothing_raises(a, b):
    compare(a, b, time_limit=0.2)
    canonical_key(a)
    assert compare(a, a).equal is True


@LIGHT
@given(
    st.integers(1, 5000), st.sampled_from([3, 7, 11, 13, 17, 21, 37, 99]), st.integers(12, 14), st.sampled_from([1, -1])
)
def test_decimal_when_a_calculator_printed_it_then_equal_and_not_when_its_last_digit_is_raised(p, q, digits, sign):
    """Twelve digits and more, rounded, are the value."""
    with localcontext(prec=60):
        value = Decimal(sign * p) / q
    with localcontext(prec=digits):
        printed = +value
        last = Decimal((0, (1,), printed.as_tuple().exponent))
        raised = printed + sign * last
    assume(p % q and 0 not in (printed.as_tuple().digits[-1], raised.as_tuple().digits[-1]))  # else fewer are shown
    assume(abs(raised - value) > last * Decimal("0.52"))
    gold = rf"\frac{{{sign * p}}}{{{q}}}"
    assert equal(f"{printed:f}", gold)
    assert not equal(f"{raised:f}", gold)
