"""Answers that look right and are not: two members of one family of notations are equal only if they mean the same."""

import math
import re
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from markscheme.marking.equality import compare, equal

LIGHT = settings(max_examples=80, deadline=None)
MEANINGS = {
    "yes": ["yes", "Yes.", r"\text{Yes}", "(A) yes", "是"],
    "no": ["no", r"\textbf{No}", "(B) no", "否"],
    "true": ["True", "It is true."],
    "false": ["false", r"\text{False}"],
    "even": ["even", "It is an even function.", "偶函数"],
    "odd": ["odd", "an odd function", "奇数"],
    "neither": ["neither", "neither even nor odd"],
    "empty": ["no solution", "none", r"\emptyset", "∅", "there are no real solutions", "无解"],
    "many": ["infinitely many", "infinitely many solutions", r"\infty"],
    "undefined": ["does not exist", "DNE", "undefined"],
    "open": ["cannot be determined", "not enough information"],
    "monday": ["Monday", "on Monday", "Mon"],
    "tuesday": ["Tuesday", r"\text{Tuesday}"],
    "ellipse": ["ellipse", "an ellipse", "It is an ellipse."],
    "circle": ["circle", "The curve is a circle."],
    "zero": ["0", "zero"],
    "one": ["1", "one"],
}
MONTHS = ("January", "February", "March", "April", "June", "July", "August", "September", "October", "November")
SAID = [(meaning, text) for meaning, texts in MEANINGS.items() for text in texts]


@pytest.mark.parametrize("meaning", MEANINGS)
def test_words_when_compared_then_equal_if_and_only_if_they_mean_the_same(meaning):
    pairs = [(a, b, other == meaning) for a in MEANINGS[meaning] for other, b in SAID]
    assert not [(a, b) for a, b, same in pairs if equal(a, b) is not same]


@LIGHT
@given(st.integers(1, 23), st.integers(0, 59), st.integers(1, 23), st.integers(0, 59))
def test_times_when_written_for_twelve_hours_then_equal_only_the_same_time(hour, minute, other_hour, other_minute):
    half = "a.m." if hour < 12 else "P.M."
    spoken = f"{(hour - 1) % 12 + 1}:{minute:02d} {half}"
    assert equal(spoken, f"{hour}:{minute:02d}")
    if (hour, minute) != (other_hour, other_minute):
        other = f"{(other_hour - 1) % 12 + 1}:{other_minute:02d} {'am' if other_hour < 12 else 'pm'}"
        assert not equal(spoken, other)


@LIGHT
@given(st.sampled_from(MONTHS), st.integers(1, 28), st.sampled_from(MONTHS), st.integers(1, 28))
def test_dates_when_day_or_month_differ_then_are_not_equal(month, day, other_month, other_day):
    forms = [f"{month} {day}", f"{day} {month}", f"{month[:3]} {day}", f"{day} {month[:3]} 2021"]
    assert all(equal(form, forms[0]) for form in forms)
    if (month, day) != (other_month, other_day):
        assert not any(equal(form, f"{other_month} {other_day}") for form in forms)


@LIGHT
@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 60), st.integers(1, 60), st.integers(1, 9))
def test_ratios_when_scaled_then_equal_and_else_only_if_they_are_the_same_fraction(a, b, c, d, k):
    assert equal(f"{a}:{b}", f"S_1:S_2 = {k * a}:{k * b}")
    same = Fraction(a, b) == Fraction(c, d)
    if max(a, b, c, d) > 24:  # not a time of day
        assert compare(f"{a}:{b}", f"{c}:{d}").equal is same


@LIGHT
@given(st.integers(-(10**6), 10**6), st.integers(1, 999))
def test_doubles_when_code_prints_them_then_are_the_value_and_rounded_ones_are_not(p, q):
    value = Fraction(p, q)
    noisy = p / q * (1 + 2.0**-51)
    if repr(noisy).replace("-", "").replace(".", "").lstrip("0").__len__() in (16, 17) and "e" not in repr(noisy):
        result = compare(repr(noisy), f"{p}/{q}")
        assert result.equal
        assert result.flags == ("floating point",) or Fraction(repr(noisy)) == value
    rounded = f"{p / q:.6f}"
    assert compare(rounded, f"{p}/{q}").equal is (Fraction(rounded) == value)


@LIGHT
@given(
    st.integers(1, 999), st.integers(1, 999), st.sampled_from(["plums", "t-shirts", "DVDs", "bad apples", "marbles"])
)
def test_counts_when_the_thing_stands_in_brackets_then_only_the_same_number_is_equal(n, other, thing):
    assert equal(f"{n} ({thing})", str(n))
    assert equal(f"{n} {thing}", f"{n} ({thing})")
    assert equal(f"{other} {thing}", f"{n} ({thing})") is (n == other)


@LIGHT
@given(st.lists(st.integers(-5, 5), min_size=4, max_size=4), st.lists(st.integers(-5, 5), min_size=4, max_size=4))
def test_labelled_pairs_when_a_coordinate_differs_then_are_not_the_points(a, b):
    labelled = "p={}, q={}; p={}, q={}".format(*a)
    pairs = {(a[0], a[1]), (a[2], a[3])}
    if len(pairs) == 2:
        assert equal(labelled, "({},{}),({},{})".format(*a))
        other = {(b[0], b[1]), (b[2], b[3])}
        assert equal(labelled, "({},{}),({},{})".format(*b)) is (pairs == other and len(other) == 2)


@LIGHT
@given(st.integers(-9, 9), st.integers(-9, 9), st.booleans())
def test_points_beside_an_interval_when_moved_then_another_set(end, point, closed):
    bracket = "]" if closed else ")"
    gold = rf"(-\infty,{end}{bracket}\cup\{{{point}\}}"
    said_so = f"x{'≤' if closed else '<'}{end} or x={point}"
    assert equal(said_so, gold)
    if point + 1 > end:
        assert not equal(rf"(-\infty,{end}{bracket}\cup\{{{point + 1}\}}", gold)


@settings(max_examples=150, deadline=None)
@given(st.integers(-(2**70), 2**70), st.integers(-(2**70), 2**70), st.sampled_from(["{:#x}", "{:#b}", "{:#o}"]))
def test_numbers_with_a_prefix_when_compared_then_equal_only_with_the_same_value(a, b, spelling):
    assert equal(spelling.format(a), spelling.format(b)) == (a == b)
    assert equal(spelling.format(a), spelling.format(a).upper())


@settings(max_examples=150, deadline=None)
@given(st.text("AB01", min_size=2, max_size=5), st.text("AB01", min_size=2, max_size=5))
def test_codes_of_letters_and_digits_when_a_character_differs_then_are_not_equal(a, b):
    assume(all(re.search("[AB][01]", code) and not code.startswith("0B") for code in (a, b)))
    assert equal(a, b) == (a == b)


@LIGHT
@given(st.permutations(["saint", "sinner", "angel"]), st.permutations(["saint", "sinner", "angel"]))
def test_sentences_when_the_same_is_said_of_others_then_are_not_equal(said, other):
    def sentence(kinds):
        return ", and ".join(f"{name} is a {kind}" for name, kind in zip(["Ann", "Tom", "Kim"], kinds, strict=True))

    assert equal(sentence(said), sentence(other)) == (said == other)


@LIGHT
@given(
    st.integers(1, 99), st.integers(1, 99), st.sampled_from(["oder", "или", "或", "または", "atau", "หรือ", "und", "和"])
)
def test_values_joined_in_another_language_when_compared_then_are_both_and_not_the_first(a, b, joining):
    assume(a != b)
    assert equal(f"{a} {joining} {b}", f"{b}, {a}")
    assert not compare(f"{a} {joining} {b}", str(a)).equal
    assert not compare(f"{a} {joining} {b}", str(b)).equal


@LIGHT
@given(st.integers(1, 99), st.integers(1, 99), st.sampled_from(["মাইল", "ลิตร", "సంవత్సరాలు", "मील", "分", "歳", "時間"]))
def test_amounts_in_any_script_when_the_number_differs_then_are_not_equal(a, b, unit):
    assert bool(compare(rf"{a} \text{{ {unit}}}", str(b)).equal) == (a == b)
    assert not compare(f"{a}{unit}{b}分", str(a)).equal


@LIGHT
@given(st.dates(), st.dates())
def test_dates_in_numbers_when_month_first_then_equal_only_the_same_day_in_words(a, b):
    slashed, said = f"{a.month:02}/{a.day:02}/{a.year:04}", f"{b:%B} {b.day}, {b.year:04}"
    clear = a.day > 12 or a.day == a.month
    assert equal(slashed, said) == (a == b and clear)
    assert equal(slashed, f"{a:%b} {a.day}, {a.year:04}") == clear
    assert equal(a.isoformat(), said) == (a == b)


@LIGHT
@given(st.integers(1, 10), st.integers(1, 10**7))
def test_factorials_when_an_equals_sign_follows_then_the_value_behind_it_counts(n, other):
    assert compare(f"{n}!={math.factorial(n)}", str(math.factorial(n))).equal
    assert bool(compare(f"{n}!={other}", str(math.factorial(n))).equal) == (other == math.factorial(n))


@LIGHT
@given(st.integers(1, 9), st.integers(-9, 9), st.integers(-9, 9), st.integers(0, 3))
def test_antiderivatives_when_they_differ_by_more_than_a_constant_then_are_not_equal(a, b, shift, slope):
    function = f"{a}*x^3 + {b}*x"
    assert bool(compare(f"{function} + {slope}*x + {shift} + C", f"{function} + C").equal) == (slope == 0)
    assert not compare(f"{function} + {shift}", f"{function} + C").equal


@LIGHT
@given(st.lists(st.integers(-9, 9), min_size=4, max_size=4), st.lists(st.integers(-9, 9), min_size=4, max_size=4))
def test_matrices_when_rows_end_in_semicolons_then_equal_only_entry_by_entry(a, b):
    rows = r"\begin{{pmatrix}}{}&{}\\{}&{}\end{{pmatrix}}".format(*b)
    assert equal("[{}, {}; {}, {}]".format(*a), rows) == (a == b)
    assert equal("[{} {}; {} {}]".format(*b), rows)
