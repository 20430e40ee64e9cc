r"""Tokens with the arguments of commands in braces, subscripts joined to what they belong to, degrees marked.

After this pass the grammar need not know that `\frac43`, `x^2` and `sqrt(2)` leave braces out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from markscheme.marking.equality.read.tokens import Token, scan

_OPEN: Final = Token("{", "{")
_CLOSE: Final = Token("}", "}")
_CLOSER: Final = {"{": "}", "(": ")"}
_ARGUMENTS: Final = {"frac": 2, "binom": 2}
_DEGREES: Final = (("o", "°"), ("v", "o"))
_ORDINALS: Final = frozenset({"th", "st", "nd", "rd"})


@dataclass(slots=True)
class _Group:
    """Brackets with what stands in them, or a command with its arguments, which has none of its own."""

    items: list[_Unit]
    open: Token | None = None
    close: Token | None = None


_Unit = Token | _Group


def tokenise(text: str) -> list[Token]:
    """All tokens of a cleaned text. Never raises: what is not closed stays open."""
    return _Arranger(scan(text)).arranged()


class _Arranger:
    """Goes from right to left: when a command is met, what follows it is in order already."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.units: list[_Unit] = []  # what stands to the right, the nearest last
        self.closers: list[int] = []  # where in `units` brackets wait for their other half

    def arranged(self) -> list[Token]:
        for k in range(len(self.tokens) - 1, -1, -1):
            token = self.tokens[k]
            kind, text, _ = token
            before = self.tokens[k - 1] if k else Token("", "")
            if kind in "})":
                self.closers.append(len(self.units))
                self.units.append(token)
            elif kind in "{(":
                self.bracket(token, takes_argument=before.kind == "c" or before.text in ("^", "_"))
            elif kind == "c":
                self.command(token)
            elif kind == "o" and text in "^_" and self.has_next():
                self.script(token, before.kind)
            else:
                # The prime of x_1' belongs to x.
                self.units.append(token if before.text == "_" else self.joined(token))
        return _flat(self.units)

    def bracket(self, token: Token, *, takes_argument: bool) -> None:
        at = self.closers[-1] if self.closers else 0
        close = self.units[at] if self.closers else None
        if not isinstance(close, Token) or close.kind != _CLOSER[token.kind]:
            self.units.append(token)
            return
        self.closers.pop()
        inside = self.units[at + 1 :]
        del self.units[at:]
        if inside or token.kind == "(" or takes_argument:
            self.units.append(_Group(inside, token, close))  # else `{}`, which stands for nothing

    def command(self, token: Token) -> None:
        units: list[_Unit] = [token]
        if token.text == "sqrt" and self.next_is_bracket("["):
            units.append(self.units.pop())  # the [3] of `\\sqrt[3]{8}`
        units += [self.argument(single_digits=token.text == "frac") for _ in range(_ARGUMENTS.get(token.text, 1))]
        self.units.append(_Group(units[::-1]))

    def next_is_bracket(self, text: str) -> bool:
        unit = self.units[-1] if self.units else None
        return isinstance(unit, _Group) and unit.open is not None and unit.open.text == text

    def argument(self, *, single_digits: bool = False) -> _Group:
        r"""What follows, in braces. `\frac43` takes 4 and 3, but `\sqrt13` and `2^10` mean whole numbers."""
        signs: list[Token] = []
        unit = self.next_unit()
        while isinstance(unit, Token) and (unit.kind == "f" or (unit.kind == "o" and unit.text in "+-")):
            signs.append(unit)  # `x^-1`: with the argument that follows
            unit = self.next_unit()
        if (
            isinstance(unit, Token)
            and unit.kind == "n"
            and single_digits
            and len(unit.text) > 1
            and unit.text.isdigit()
        ):
            self.units.append(Token("n", unit.text[1:]))
            unit = Token("n", unit.text[0])
        if unit is None:
            argument = _Group([])
        elif isinstance(unit, _Group) and unit.open is not None and unit.open.kind == "{":
            argument = unit
        else:
            argument = _Group([unit], _OPEN, _CLOSE)
        for sign in reversed(signs):
            argument = _Group([argument, sign], _OPEN, _CLOSE)
        return argument

    def next_unit(self) -> _Unit | None:
        """What follows, taken off; None at the end, or where a bracket closes that opens further left."""
        return self.units.pop() if self.has_next() else None

    def has_next(self) -> bool:
        return bool(self.units) and self.closers[-1:] != [len(self.units) - 1]

    def script(self, token: Token, before: str) -> None:
        """A power or a subscript. A logarithm keeps its base as an argument."""
        unit = self.units[-1]
        inner = unit.items if isinstance(unit, _Group) and unit.open == _OPEN else [unit]
        only = inner[0] if len(inner) == 1 and token.text == "^" else None
        if token.text == "_" and before not in ("", "f"):
            name = "".join(t.text for t in _flat(self.units[-1:]) if t.kind not in "{}()")
            self.units[-1] = Token("b", name)
        elif token.text == "^" and inner and all(isinstance(x, Token) and x[:2] == ("o", "'") for x in inner):
            self.units[-1:] = inner  # x^{\prime}
        elif isinstance(only, Token) and only[:2] in _DEGREES:
            self.units[-1] = Token("o", "°")
        elif isinstance(only, Token) and only.kind == "x" and only.text in _ORDINALS:
            self.units[-1] = only
        else:
            power = _Group([self.argument(), token])
            after = self.units[-1:]
            first = isinstance(after[0], Token) and after[0].kind == "b" if after else False
            self.units[-1:] = [power, *after] if first else [*after, power]  # v^2_0 is v_0^2

    def joined(self, token: Token) -> Token:
        """A name with the primes and the subscript behind it."""
        while self.units and isinstance(unit := self.units[-1], Token):
            if unit[:2] == ("o", "'") and token.kind == "v":
                token = token._replace(text=token.text + "'")
            elif unit.kind == "b" and token.kind in ("v", "x", "?"):
                token = token._replace(text=f"{token.text}_{{{unit.text}}}")
            else:
                break
            self.units.pop()
        return token


def _flat(units: list[_Unit]) -> list[Token]:
    """The tokens of units that stand from right to left, in reading order."""
    tokens: list[Token] = []
    waiting: list[_Unit] = list(units)
    while waiting:
        unit = waiting.pop()
        if isinstance(unit, Token):
            tokens.append(unit)
        else:
            if unit.open is not None:
                tokens.append(unit.open)
            if unit.close is not None:
                waiting.append(unit.close)
            waiting += unit.items
    return tokens
