"""Ranges of tokens with their brackets matched once, so that every level is split without looking into its groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from markscheme.marking.equality.algebra.exact import Unreadable
from markscheme.marking.equality.kinds import ParsedAnswer
from markscheme.marking.equality.read.tokens import Token
from markscheme.marking.equality.read.vocabulary import words
from markscheme.marking.equality.read.wording import in_words

_STRAY: Final = frozenset({",", ";", ".", ":", "&", "\\\\"})
_HEDGES: Final = words("either both about approximately roughly exactly around nearly after only just")
_SHORT: Final = words("an as at ax be by do go he if me my so us we")
_PUNCTUATION: Final = frozenset({"{", "}", "(", ")", ",", ";", ".", ":", "$", "&"})


class TokenRanges:
    """One answer's tokens; a range is given by its first position and the one after its last."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.match = _match(tokens)

    def level(self, low: int, high: int) -> Iterator[int]:
        """The positions of a range that are not inside brackets within it; each bracket counts at its start."""
        k = low
        while k < high:
            yield k
            k = self.match.get(k, k) + 1

    def trim(self, low: int, high: int) -> tuple[int, int]:
        """Without braces and brackets around the whole that only group, and without stray punctuation."""
        while low < high:
            kind, text, _ = self.tokens[low]
            if kind in _STRAY or (kind == "x" and text.lower() in _HEDGES and high - low > 1):
                low += 1
            elif self.tokens[high - 1].kind in (",", ";", ".", "&", "\\\\") or self.tokens[high - 1][:2] == ("o", "_"):
                high -= 1
            elif self.match.get(low) == high - 1 and (kind == "{" or (kind == "(" and text in "([")):
                if self.tokens[high - 1].text != {"{": "}", "(": ")", "[": "]"}[text]:
                    break
                if any(self.tokens[k].kind in (",", ";") for k in self.level(low + 1, high - 1)):
                    break
                low, high = low + 1, high - 1
            else:
                break
        return low, high

    def words(self, low: int, high: int) -> ParsedAnswer:
        """A range as words."""
        tokens = [t for t in self.tokens[low:high] if t.kind not in _PUNCTUATION and t.text != "'"]
        return in_words(
            "".join((" " if t.spaced or t.kind in ("x", "mod") else "") + t.text.lower() for t in tokens).strip()
        )

    def name(self, low: int, high: int) -> str:
        r"""What a side only names: `x`, `f(x)`, `AB`, `\angle ABC`, `\text{Area}`; else an empty text."""
        tokens = self.tokens[low:high]
        kinds = {t.kind for t in tokens}
        text = "".join(t.text for t in tokens)
        if not tokens or len(tokens) > 40 or "begin" in kinds:
            return ""
        if len(tokens) == 1 and tokens[0].kind == "v":
            return "" if text in ("π", "e", "i") else text
        if kinds & {"x", "angle", "?"} or tokens[0][:2] == ("c", "bar"):
            return text
        bracket = next((k for k in self.level(low, high) if self.tokens[k][:2] == ("(", "(")), high)
        if tokens[0].kind == "v" and self.match.get(bracket) == high - 1 and self.is_function_name(low, bracket):
            return text
        if tokens[0].kind == "f" and len(kinds) <= 3 and kinds <= {"f", "v", "{", "}", "(", ")"}:
            return text  # \cos A
        if (kinds <= {"v"} and (text.isupper() or text.startswith("Delta"))) or kinds == {"v", ":"}:
            return text  # AB; Δp; S_1 : S_2
        if tokens[0].kind == "|" and tokens[-1].kind == "|" and kinds <= {"|", "v"}:
            return text
        inner = {t.kind for t in tokens[1:-1]}
        if tokens[0][:2] == ("(", "(") and inner <= {"v", ","} and "," in inner:
            return text
        return ""

    def is_function_name(self, low: int, high: int) -> bool:
        """`f` or `f^{-1}` before its bracket."""
        shape = [t.kind for t in self.tokens[low:high]]
        return shape == ["v"] or (shape[:3] == ["v", "o", "{"] and self.tokens[low + 1].text == "^")


def join_thousands(tokens: list[Token]) -> list[Token]:
    """1,234.5 as one number, except inside brackets, where a comma separates."""
    if not any(t.kind == "," for t in tokens):
        return tokens
    joined: list[Token] = []
    depth = 0
    last = 0  # digits of the group that a next one may follow
    for k, token in enumerate(tokens):
        kind, text, spaced = token
        if kind == "n" and last and not spaced and len(text.partition(".")[0]) == 3:
            joined[-2:] = [Token("n", joined[-2].text + text, joined[-2].spaced)]
            last = 3 if text.isdigit() else 0
            continue
        depth += (kind == "(") - (kind == ")")
        joined.append(token)
        starts = kind == "," and not spaced and not depth and k > 0 and tokens[k - 1].kind == "n" and len(joined) > 1
        if starts and last == 0:
            before = joined[-2].text
            last = len(before) if before.isdigit() and len(before) <= 3 and before[0] != "0" else 0
        elif not starts:
            last = 0
    return joined


def letters_for_words(tokens: list[Token]) -> list[Token]:
    """Words of two letters taken for products of variables, as in (ay - by)/2."""
    if not any(t.kind == "x" and t.text in _SHORT for t in tokens):
        return tokens
    return [piece for t in tokens for piece in ([Token("v", c) for c in t.text] if t.text in _SHORT else [t])]


def _match(tokens: list[Token]) -> dict[int, int]:
    """Position of every opening bracket to that of its partner. Round and square ones may pair up: [a, b)."""
    match: dict[int, int] = {}
    stack: list[tuple[int, str]] = []
    for k, (kind, _, _) in enumerate(tokens):
        if kind in ("(", "{", "begin"):
            stack.append((k, kind))
        elif kind in (")", "}", "end"):
            if not stack or stack[-1][1] != {")": "(", "}": "{", "end": "begin"}[kind]:
                raise Unreadable("brackets do not match")
            match[stack.pop()[0]] = k
    if stack:
        raise Unreadable("a bracket is not closed")
    return match
