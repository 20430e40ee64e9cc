r"""Tokens with the arguments of commands in braces, subscripts joined to what they belong to, degrees marked.

After this pass the grammar need not know that `\frac43`, `x^2` and `sqrt(2)` leave braces out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from markscheme.marking.equality.read.tokens import Token, scan

_OPEN: Final = Token("{", "{")
_CLOSE: Final = Token("}", "}")
_SIGNS: Final = ("+", "-")
_DEGREES: Final = (("o", "°"), ("v", "o"))
_ORDINALS: Final = frozenset({"th", "st", "nd", "rd"})
# What an open bracket is closed for.
_GROUP, _ARGUMENT, _BRACKET, _BRACKET_ARGUMENT, _ADDED = "group", "argument", "bracket", "bracket argument", "added"


def tokenise(text: str) -> list[Token]:
    """All tokens of a cleaned text. Never raises: what is not closed stays open."""
    return _Arranger(scan(text)).arranged()


@dataclass(slots=True)
class _Wait:
    """A command that still takes arguments, at a depth of open brackets."""

    depth: int
    left: int
    single_digits: bool  # `\frac43` takes 4 and 3, but `\sqrt13` and `2^10` mean whole numbers


class _Arranger:
    def __init__(self, tokens: list[Token]) -> None:
        self.queue = tokens[::-1]
        self.out: list[Token] = []
        self.open: list[str] = []
        self.waits: list[_Wait] = []

    def arranged(self) -> list[Token]:
        while self.queue:
            token = self.queue.pop()
            if self.waits and self.waits[-1].depth == len(self.open):
                self.argument(token)
            else:
                self.plain(token)
        return self.out

    def plain(self, token: Token) -> None:
        """A token that is not an argument."""
        kind, text, _ = token
        if kind == "o" and self.attached(text):
            return
        if kind == "{" and self.queue and self.queue[-1].kind == "}":
            self.queue.pop()  # `{}` stands for nothing
            return
        self.out.append(token)
        if kind == "c" or (kind == "o" and text in "^_"):
            self.wait(token)
        elif kind == "{":
            self.open.append(_GROUP)
        elif kind == "(":
            self.open.append(_BRACKET)
        elif kind in "})" and self.open:
            self.close(kind)

    def attached(self, text: str) -> bool:
        """Primes, degrees, ordinals and subscripts, which belong to the token before them."""
        if text == "'" and self.out and self.out[-1].kind == "v":
            self.out[-1] = self.out[-1]._replace(text=self.out[-1].text + "'")
            return True
        if not self.queue:
            return False
        return (text == "^" and self.degree_or_ordinal()) or (text == "_" and self.subscript())

    def wait(self, command: Token) -> None:
        _, text, _ = command
        if text == "sqrt" and self.queue and self.queue[-1][:2] == ("(", "["):
            while self.queue:  # the [3] of `\sqrt[3]{8}`
                self.out.append(self.queue.pop())
                if self.out[-1][:2] == (")", "]"):
                    break
        self.waits.append(_Wait(len(self.open), 2 if text in ("frac", "binom") else 1, text == "frac"))

    def argument(self, token: Token) -> None:
        """A token where an argument should stand: a group, or what gets braces put around it."""
        kind, text, _ = token
        if kind == "{":
            self.open.append(_ARGUMENT)
            self.out.append(token)
            return
        if kind == "n" and self.waits[-1].single_digits and len(text) > 1 and text.isdigit():
            self.queue.append(Token("n", text[1:]))
            token = Token("n", text[0])
        self.out += (_OPEN, token)
        if kind == "(" and text in "([":
            self.open.append(_BRACKET_ARGUMENT)  # sqrt(…), x^(…)
        elif kind in "cf" or (kind == "o" and text in _SIGNS):
            self.open.append(_ADDED)  # `x^-1`, `x^\frac12`: with the argument that follows
            self.wait(token if kind == "c" else Token("o", "^"))
        else:
            self.out.append(_CLOSE)
            self.done()

    def done(self) -> None:
        """One argument is complete, and perhaps with it the command, and what the command was the argument of."""
        self.waits[-1].left -= 1
        while self.waits and self.waits[-1].left == 0:
            self.waits.pop()
            if self.open and self.open[-1] == _ADDED:
                self.open.pop()
                self.out.append(_CLOSE)
                self.waits[-1].left -= 1

    def close(self, kind: str) -> None:
        top = self.open[-1]
        if kind == "}" and top in (_GROUP, _ARGUMENT):
            self.open.pop()
            if top == _ARGUMENT:
                self.done()
        elif kind == ")" and top in (_BRACKET, _BRACKET_ARGUMENT):
            self.open.pop()
            if top == _BRACKET_ARGUMENT:
                self.out.append(_CLOSE)
                self.done()

    def degree_or_ordinal(self) -> bool:
        r"""`^\circ`, `^{\circ}`, `^o` and `^{\text{th}}` become one token each."""
        queue = self.queue
        first = queue[-1]
        if first[:2] == ("o", "'"):
            return True  # the prime itself comes next
        width, middle = 1, first
        if first.kind == "{" and len(queue) >= 3 and queue[-3].kind == "}":
            width, middle = 3, queue[-2]
        if middle[:2] in _DEGREES:
            self.out.append(Token("o", "°"))
        elif middle.kind == "x" and middle.text in _ORDINALS:
            self.out.append(middle)
        else:
            return False
        del queue[-width:]
        return True

    def subscript(self) -> bool:
        """Join a subscript to the variable, or mark the base of a number. A logarithm keeps its base as an argument."""
        if not self.out or self.out[-1].kind == "f":
            return False
        pieces: list[str] = []
        depth = 0
        while self.queue:
            token = self.queue.pop()
            depth += (token.kind in "{(") - (token.kind in "})")
            if token.kind not in "{}()":
                pieces.append(token.text)
            if depth <= 0:
                break
        name = "".join(pieces)
        last = self.out[-1]
        if last.kind in ("v", "x", "?"):
            self.out[-1] = last._replace(text=f"{last.text}_{{{name}}}")
        else:
            self.out.append(Token("b", name))
        return True
