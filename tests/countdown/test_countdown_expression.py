"""Reading expressions: what is accepted, what is refused and why, and that nothing can hurt it."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markscheme.countdown import ExpressionError, essentially_same, parse
from markscheme.countdown.expression import MAX_DIGITS, MAX_LENGTH, MAX_LITERALS


@pytest.mark.parametrize(
    ("text", "plain", "value"),
    [
        ("41+70-18*35", "41 + 70 - 18 * 35", -519),
        ("  ( 3 + 5 ) * 2 ", "(3 + 5) * 2", 16),
        ("7-(5-3)", "7 - (5 - 3)", 5),
        ("8/(4/2)", "8 / (4 / 2)", 4),
        ("1+(2+3)", "1 + 2 + 3", 6),
        ("2(3+5)", "2 * (3 + 5)", 16),
        ("(3+5)2", "(3 + 5) * 2", 16),
        ("(3+5)(2+1)", "(3 + 5) * (2 + 1)", 24),
        ("8/2(2+2)", "8 / 2 * (2 + 2)", 16),
        ("3×5÷2−1", "3 * 5 / 2 - 1", Fraction(13, 2)),
        ("3·5 – 2", "3 * 5 - 2", 13),
        ("（８＋３）＊２", "(8 + 3) * 2", 22),
        ("3 x 5 X 2", "3 * 5 * 2", 30),
        ("[3+5]*{2}", "(3 + 5) * 2", 16),
        (r"3 \times 5 \div 2 \cdot 4", "3 * 5 / 2 * 4", 30),
        (r"\left(3+5\right)\cdot 2", "(3 + 5) * 2", 16),
        (r"\left\{3+5\right\}\,2", "(3 + 5) * 2", 16),
        (r"$\frac{3+5}{2}$", "(3 + 5) / 2", 4),
        (r"\dfrac{\tfrac{1}{2}}{3+4}", "1 / 2 / (3 + 4)", Fraction(1, 14)),
        (r"6 / \frac{3}{2}", "6 / (3 / 2)", 4),
        (r"\frac12 + \frac 3 4 + \frac{5}6 + \frac7{8}", "1 / 2 + 3 / 4 + 5 / 6 + 7 / 8", Fraction(71, 24)),
        (r"\[3+5\]", "3 + 5", 8),
        ("3+5.", "3 + 5", 8),
        ("3 +\n5", "3 + 5", 8),
        ("-3+5", "-3 + 5", 2),
        ("5--3", "5 - (-3)", 8),
        ("2/-3*4", "2 / (-3) * 4", Fraction(-8, 3)),
        ("-(3+5)*2", "-(3 + 5) * 2", -16),
        ("+3", "3", 3),
        ("018", "18", 18),
        ("3+\u200b5", "3 + 5", 8),
    ],
)
def test_parse_when_readable_then_value_and_plain_form(text, plain, value):
    read = parse(text)
    assert (str(read), read.value) == (plain, value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "there is no expression"),
        (" $ $ ", "there is no expression"),
        ("2**3", "'**' is not allowed"),
        ("7//2", "'//' is not allowed"),
        ("3^2", "'^' is not allowed"),
        ("3!", "'!' is not allowed"),
        ("1,000", "',' is not allowed"),
        (r"\sqrt{4}", r"'\sqrt' is not allowed"),
        ("sqrt(4)", "'sqrt' is not allowed"),
        ("__import__('os')", "'__import__' is not allowed"),
        ("3 = 3", "'=' is not allowed"),
        ("3.5*2", "'3.5' is not a whole number"),
        ("5/(3-3)", "division by zero"),
        (r"\frac{1}{0}", "division by zero"),
        ("3 5", "no operator between '3' and '5'"),
        (r"\frac123", "no operator before '3'"),
        (r"2\frac{1}{3}", r"'2\frac' may be a mixed number or a product"),
        (r"\frac{1}", r"\frac needs two arguments in braces"),
        (r"\frac(1)(2)", r"\frac needs two arguments in braces"),
        ("3+", "nothing follows '+'"),
        ("-", "nothing follows '-'"),
        ("*3", "there is nothing before '*'"),
        ("3+*5", "there is nothing before '*'"),
        ("()", "there is nothing before ')'"),
        ("(3", "'(' is never closed"),
        ("3)", "')' closes nothing"),
        ("(3]", "'(' is closed by ']'"),
        ("1" * 31, "a number of 31 digits"),
        ("1" + "+1" * 100, "more than 100 numbers"),
        ("\\", r"'\' is not allowed"),
        ("a" * 99, "'aaaaaaaaaaaaaaaaaaaa…' is not allowed"),
    ],
)
def test_parse_when_not_allowed_then_says_why(text, reason):
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    assert str(caught.value) == reason


def test_parse_when_nested_ten_thousand_deep_then_read():
    assert parse("(" * 10_000 + "1" + ")" * 10_000).value == 1
    assert parse("-" * 50_001 + "1").value == -1
    assert parse(r"\frac{" * 99 + "1" + "}{1}" * 99).value == 1


@pytest.mark.parametrize(
    "text",
    [
        "(" * MAX_LENGTH,
        "1+" * (MAX_LENGTH // 2),
        "9" * MAX_LENGTH,
        "(" * 50_000 + ")" * 50_000,
        "\\frac" * 20_000,
        " " * (MAX_LENGTH + 1),
    ],
)
def test_parse_when_hostile_then_refused(text):
    with pytest.raises(ExpressionError):
        parse(text)


def test_parse_when_full_of_blanks_then_linear():
    assert parse(" " * 30_000 + "3" + " " * 30_000 + "+5" + "\n" * 30_000 + ".").value == 8


def test_parse_when_at_every_limit_then_written_again():
    # The deepest tree there can be: rendering is the only recursion.
    deep = "(".join(["9" * MAX_DIGITS + "-"] * (MAX_LITERALS - 1)) + "1" + ")" * (MAX_LITERALS - 2)
    read = parse(deep)
    assert parse(str(read)) == read


@settings(max_examples=150)
@given(st.text(alphabet="0123456789+-*/()[]{} .=x\\fracdivtimes×÷−^!\n", max_size=40) | st.text(max_size=40))
def test_parse_when_any_text_then_expression_or_reason(text):
    try:
        read = parse(text)
    except ExpressionError:
        return
    assert parse(str(read)).value == read.value
    assert parse(str(read)).literals == read.literals


def trees():
    leaf = st.integers(0, 99)
    return st.recursive(leaf, lambda inner: st.tuples(st.sampled_from("+-*/"), inner, inner), max_leaves=8)


def value_of(tree):
    if isinstance(tree, int):
        return Fraction(tree)
    operator, left, right = tree
    a, b = value_of(left), value_of(right)
    return a + b if operator == "+" else a - b if operator == "-" else a * b if operator == "*" else a / b


SIGNS = {
    "latex": {"+": " + ", "-": " - ", "*": r" \times ", "/": r" \div "},
    "unicode": {"+": "+", "-": "−", "*": "×", "/": "÷"},
}
STYLES = {
    "plain": lambda op, a, b: f"({a}{op}{b})",
    "latex": lambda op, a, b: rf"\left({a}{SIGNS['latex'][op]}{b}\right)",
    "fraction": lambda op, a, b: rf"\frac{{{a}}}{{{b}}}" if op == "/" else f"({a} {op} {b})",
    "unicode": lambda op, a, b: f"[{a}{SIGNS['unicode'][op]}{b}]",
    "implicit": lambda op, a, b: f"(({a})({b}))" if op == "*" else f"{{{a} {op} {b}}}",
}


def written(tree, style):
    if isinstance(tree, int):
        return str(tree)
    operator, left, right = tree
    return STYLES[style](operator, written(left, style), written(right, style))


@settings(max_examples=200)
@given(trees(), st.sampled_from(sorted(STYLES)))
def test_parse_when_written_in_any_style_then_the_exact_value(tree, style):
    try:
        expected = value_of(tree)
    except ZeroDivisionError:
        with pytest.raises(ExpressionError, match="division by zero"):
            parse(written(tree, style))
    else:
        read = parse(written(tree, style))
        assert read.value == expected
        assert read.tree == tree


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("3+5", "5+3", True),
        ("7-(5-3)", "3-5+7", True),
        ("8/(4/2)", "2*8/4", True),
        ("(3-5)*(2-7)", "(7-2)*(5-3)", True),
        ("9-(5-3)*2", "9+(3-5)*2", True),
        ("-3+5", "5-3", True),
        ("6-2*3", "2*3-6", True),  # each other's negative, and both 0
        ("9+(5-5)*7", "9-(5-5)*7", True),  # the fives change places
        ("9+(6-2*3)*7", "9-(6-2*3)*7", False),
        ("5-3", "3-5", False),
        ("6*1", "6/1", False),
        ("2+2", "2*2", False),
        ("(8-2)*3", "8*3-2*3", False),  # not the same numbers
        ("3*8+0*5", "5*0+8*3", True),
    ],
)
def test_essentially_same_when_compared_then_only_laws_of_arithmetic_count(one, other, same):
    assert essentially_same(one, other) is same
    assert essentially_same(other, one) is same
