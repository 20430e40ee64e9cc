r"""Read an arithmetic expression, as a person or a model writes it, into an exact fraction.

Allowed are whole numbers, + - * / and brackets. Nothing is evaluated as code, and no input can make it recurse, hang or
grow. Operators may be LaTeX (`\times`, `\cdot`, `\div`, `\frac{a}{b}`) or Unicode (×, ·, ÷, −), `x` is a multiplication
sign, [ ] and { } are brackets, and `2(3+5)` multiplies with the rank of `*`. A leading minus is an operator: `-3 + 5` uses
3 and 5. Powers, roots, decimals and concatenated digits are refused with the reason.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

MAX_LENGTH = 100_000  # characters; read in linear time, a few tens of milliseconds
MAX_LITERALS = 100
MAX_DIGITS = 30

# A literal, `(operator, left, right)`, or `("neg", operand)`.
Tree = int | tuple[str, "Tree", "Tree"] | tuple[str, "Tree"]


class ExpressionError(ValueError):
    """The text is not an expression that Countdown allows. The message says why."""


class Expression(NamedTuple):
    """The value of an expression and its literals in order. `str()` writes it in plain form."""

    value: Fraction
    literals: tuple[int, ...]
    tree: Tree

    def __str__(self) -> str:
        return _written(self.tree)[0]


_UNICODE = str.maketrans(
    {
        **dict.fromkeys("×✕✖⨯·⋅∙•∗＊", "*"),
        **dict.fromkeys("÷∕⁄／➗", "/"),
        **dict.fromkeys("−–—‐‑－﹣➖", "-"),
        **dict.fromkeys("＋﹢➕", "+"),
        **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff", None),  # zero width
        **{chr(0xFF10 + digit): str(digit) for digit in range(10)},
        **dict(zip("（）［］｛｝＝．", "()[]{}=.", strict=True)),
    }
)
_TOKEN = re.compile(r"\s*(?:([0-9]+)(\.[0-9]+)?|(\*\*|//|\\[A-Za-z]+|\\.|[A-Za-z_]+|\S))", re.DOTALL)
_MEANING = {
    **dict.fromkeys((r"\times", r"\cdot", r"\ast", "x", "X"), "*"),
    **dict.fromkeys((r"\div", r"\slash"), "/"),
    **dict.fromkeys((r"\frac", r"\dfrac", r"\tfrac", r"\cfrac"), "frac"),
    **dict.fromkeys((r"\{", r"\lbrace"), "{"),
    **dict.fromkeys((r"\}", r"\rbrace"), "}"),
    # Layout only: sizes of brackets, spaces, and the marks that open and close a formula.
    **dict.fromkeys((r"\left", r"\right", r"\big", r"\bigl", r"\bigr", r"\Big", r"\Bigl", r"\Bigr"), ""),
    **dict.fromkeys((r"\displaystyle", r"\quad", r"\qquad", r"\,", r"\;", r"\:", r"\!", r"\ ", "~"), ""),
    **dict.fromkeys((r"\(", r"\)", r"\[", r"\]", "$"), ""),
}
_CLOSES = {")": "(", "]": "[", "}": "{"}
_FRACTION_ARGUMENTS = r"\frac needs two arguments in braces"
_RANK = {"+": 1, "-": 1, "*": 2, "/": 2, "neg": 3}


def parse(text: str) -> Expression:
    """Parse an expression. Raises `ExpressionError` with the reason if `text` is not one."""
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"longer than {MAX_LENGTH} characters")
    if not text.isascii():
        text = text.translate(_UNICODE)
    parser = _Parser()
    # Without blanks at the end: looking for a token after many of them would take quadratic time.
    for match in _TOKEN.finditer(text.strip().removesuffix(".").rstrip()):
        digits, decimals, token = match.groups()
        if token:
            parser.symbol(token, _MEANING.get(token, token))
        elif decimals:
            raise ExpressionError(f"{_quoted(digits + decimals)} is not a whole number")
        else:
            parser.number(digits)
    return parser.result()


class _Parser:
    """Operator precedence with explicit stacks: nesting costs memory in proportion to the text, and no recursion."""

    def __init__(self) -> None:
        self.values: list[tuple[int, int, Tree]] = []  # numerator, denominator, tree
        self.pending: list[str] = []  # operators, open brackets, and "frac" / "over" while an argument is awaited
        self.literals: list[int] = []
        self.wants_operand = True
        self.previous = ""

    def number(self, digits: str) -> None:
        if not self.wants_operand:
            if self.previous.isdigit():
                raise ExpressionError(f"no operator between {_quoted(self.previous)} and {_quoted(digits)}")
            self._operator("*")
        while digits and self._in_fraction():  # in TeX, an argument without braces is one digit
            self._literal(digits[0])
            self._end_of_argument()
            digits = digits[1:]
            if digits and not self.wants_operand:
                raise ExpressionError(f"no operator before {_quoted(digits)}")
        if digits:
            self._literal(digits)
        self.previous = digits or ")"

    def symbol(self, token: str, meaning: str) -> None:
        if not meaning:
            return
        if self._in_fraction() and self.wants_operand and meaning != "{":
            raise ExpressionError(_FRACTION_ARGUMENTS)
        if meaning in _RANK:
            self._sign(token, meaning)
        elif meaning in ("(", "[", "{", "frac"):
            self._open(token, meaning)
        elif meaning in _CLOSES:
            self._close(token, _CLOSES[meaning])
        else:
            raise ExpressionError(f"{_quoted(token)} is not allowed")
        self.previous = token

    def result(self) -> Expression:
        if not self.previous:
            raise ExpressionError("there is no expression")
        if self._in_fraction():
            raise ExpressionError(_FRACTION_ARGUMENTS)
        if self.wants_operand:
            raise ExpressionError(f"nothing follows {_quoted(self.previous)}")
        self._apply_down_to(0)
        if self.pending:
            raise ExpressionError(f"{_quoted(self.pending[-1])} is never closed")
        top, bottom, tree = self.values.pop()
        return Expression(Fraction(top, bottom), tuple(self.literals), tree)

    def _in_fraction(self) -> bool:
        return bool(self.pending) and self.pending[-1] in ("frac", "over")

    def _literal(self, digits: str) -> None:
        if len(digits) > MAX_DIGITS:
            raise ExpressionError(f"a number of {len(digits)} digits")
        if len(self.literals) == MAX_LITERALS:
            raise ExpressionError(f"more than {MAX_LITERALS} numbers")
        value = int(digits)
        self.literals.append(value)
        self.values.append((value, 1, value))
        self.wants_operand = False

    def _sign(self, token: str, operator: str) -> None:
        if not self.wants_operand:
            self._operator(operator)
        elif operator == "-":
            if self.pending and self.pending[-1] == "neg":
                self.pending.pop()
            else:
                self.pending.append("neg")
        elif operator != "+":
            raise ExpressionError(f"there is nothing before {_quoted(token)}")

    def _operator(self, operator: str) -> None:
        self._apply_down_to(_RANK[operator])
        self.pending.append(operator)
        self.wants_operand = True

    def _open(self, token: str, meaning: str) -> None:
        if not self.wants_operand:
            if meaning == "frac" and self.previous.isdigit():
                raise ExpressionError(f"'{_short(self.previous + token)}' may be a mixed number or a product")
            self._operator("*")
        self.pending.append(meaning)

    def _close(self, token: str, opening: str) -> None:
        if self.wants_operand:
            raise ExpressionError(f"there is nothing before {_quoted(token)}")
        self._apply_down_to(0)
        if not self.pending:
            raise ExpressionError(f"{_quoted(token)} closes nothing")
        if self.pending[-1] != opening:
            raise ExpressionError(f"{_quoted(self.pending[-1])} is closed by {_quoted(token)}")
        self.pending.pop()
        self._end_of_argument()

    def _end_of_argument(self) -> None:
        if self.pending and self.pending[-1] == "frac":
            self.pending[-1] = "over"
            self.wants_operand = True
        elif self.pending and self.pending[-1] == "over":
            self.pending.pop()
            self._apply("/")

    def _apply_down_to(self, rank: int) -> None:
        """Apply pending operators that bind at least as tightly as `rank`, back to the last open bracket."""
        while self.pending and _RANK.get(self.pending[-1], -1) >= rank:
            self._apply(self.pending.pop())

    def _apply(self, operator: str) -> None:
        yn, yd, right = self.values.pop()
        if operator == "neg":
            self.values.append((-yn, yd, _negated(right)))
            return
        xn, xd, left = self.values.pop()
        if operator == "+":
            top, bottom = xn * yd + yn * xd, xd * yd
        elif operator == "-":
            top, bottom = xn * yd - yn * xd, xd * yd
        elif operator == "*":
            top, bottom = xn * yn, xd * yd
        elif yn:
            top, bottom = xn * yd, xd * yn
        else:
            raise ExpressionError("division by zero")
        self.values.append((top, bottom, (operator, left, right)))


def _negated(tree: Tree) -> Tree:
    # Two signs cancel: a thousand of them in brackets would make a tree as deep.
    return tree[1] if isinstance(tree, tuple) and len(tree) == 2 else ("neg", tree)


def _written(tree: Tree) -> tuple[str, int]:
    """Return the expression with as few brackets as possible, and the rank of its outermost operator."""
    if isinstance(tree, int):
        return str(tree), 4
    if len(tree) == 2:
        text, rank = _written(tree[1])
        return "-" + (text if rank == 4 else f"({text})"), 3
    operator, left, right = tree
    rank = _RANK[operator]
    before, before_rank = _written(left)
    after, after_rank = _written(right)
    if before_rank < rank:
        before = f"({before})"
    if after_rank < rank or after_rank == 3 or (after_rank == rank and operator in "-/"):
        after = f"({after})"
    return f"{before} {operator} {after}", rank


def _short(token: str) -> str:
    return token if len(token) <= 20 else token[:20] + "…"


def _quoted(token: str) -> str:
    return f"'{_short(token)}'"
