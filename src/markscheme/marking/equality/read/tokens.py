"""Split text into tokens: LaTeX and ASCII mathematics in one stream. Never raises, whatever the text.

Kinds of tokens: `n` number, `v` variable or constant, `f` function, `x` word, `o` operator, `r` relation, `u` set
operation, `(` `)` brackets, `{` `}` groups, `|` bar, `c` command with arguments, `b` base of a number, `h` digits of a
number after 0x, 0b or 0o, and single characters for separators.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from markscheme.marking.equality.letters import WORD
from markscheme.marking.equality.read import vocabulary
from markscheme.marking.equality.read.vocabulary import command, plain


class Token(NamedTuple):
    kind: str
    text: str
    spaced: bool = False  # white space is before it


_MASTER: Final = re.compile(
    r"0(?<!\w0)(?:[xX](?P<h16>[0-9a-fA-F]+)|[bB](?P<h2>[01]+)|[oO](?P<h8>[0-7]+))(?!\w)"
    r"|(?P<n>\d{1,3}(?: \d{3})+(?![\d])|(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+(?![\w{]))?)"
    r"|(?P<s>\s+|~)"
    rf"|(?P<w>[a-zA-Z]+(?![a-zA-Z]|[^\x00-\x7f])|{WORD})"
    r"|\\(?P<c>[a-zA-Z]+|.|$)"
    r"|(?P<m>\*\*|<=|>=|(?<![\d)])!=|==|=>|->|:=|=<|\.\.\.)"
    r"|(?P<o>.)",
    re.DOTALL,
)
_PREFIXED: Final = {"h16": "16", "h2": "2", "h8": "8"}
_CHARACTERS: Final[dict[str, tuple[str, str]]] = {
    **{c: (c, c) for c in "(){}|,;:&$."},
    **{c: ("o", c) for c in "+-*/^_!%'"},
    **{c: ("r", c) for c in "=<>"},
    "[": ("(", "["), "]": (")", "]"), "**": ("o", "^"), "<=": ("r", "≤"), "=<": ("r", "≤"), ">=": ("r", "≥"), "!=": ("r", "≠"),
    "==": ("r", "="), "=>": ("r", "⇒"), "->": ("r", "→"), ":=": ("r", "="), "...": ("x", "..."),
}  # fmt: skip
_COMPOUND_UNIT: Final = re.compile(r"[a-zA-Z]{1,4}(?:[/ *][a-zA-Z]{1,4}(?:\^?\{?-?\d\}?)?)+")
_WORD_NEXT: Final = re.compile(r" (?!sin|cos|tan|log|sqrt|and|or|if)[A-Za-z]{3,}")
_CALL: Final = re.compile(r"\s?(?:\\m?left\s?)?\(")
_GROUP: Final = re.compile(r"\s{0,9}\{([^{}]*)\}")
_LETTER: Final = re.compile(r"\s{0,9}([A-Za-z])")
_ROW_SKIP: Final = re.compile(r"\s*\[[^\[\]]{0,20}\]")
_UNIT_LETTERS: Final = frozenset("mgshLlNJWVKAC")


def scan(text: str, *, in_text: bool = False) -> list[Token]:
    """Return the tokens of a cleaned text. With `in_text`, letters written together are words."""
    tokens: list[Token] = []
    spaced = False
    skip_to = 0
    for m in _MASTER.finditer(text):
        if m.start() < skip_to:
            continue
        group = m.lastgroup
        found = m[0]
        if group == "s":
            spaced = True
            continue
        if group == "n":
            tokens.append(Token("n", found.replace(" ", "") if " " in found else found, spaced))
        elif group == "w":
            if in_text and len(found) > 1:
                tokens.append(Token("x", found, spaced))
            else:
                pieces = plain(found)
                if len(pieces) > 1 and spaced and tokens and tokens[-1].kind == "n" and _counted(found, text, m.end()):
                    pieces = [("x", found)]
                tokens.append(Token(*pieces[0], spaced))
                tokens.extend(Token(*p) for p in pieces[1:])
        elif group == "c":
            name = m["c"]
            if name in vocabulary.SPACING:
                spaced = True
                continue
            if name in vocabulary.FONTS or name == "mathbb":
                skip_to = _font(text, m.end(), name, tokens, spaced)
            elif name in vocabulary.DISCARDED:
                argument = _GROUP.match(text, m.end())
                skip_to = argument.end() if argument else m.end()
            elif name in ("begin", "end"):
                argument = _GROUP.match(text, m.end())
                tokens.append(Token(name, argument[1] if argument else "", spaced))
                skip_to = argument.end() if argument else m.end()
            elif name in vocabulary.SKIPPED:
                continue
            elif name in vocabulary.OF_SEVERAL and _CALL.match(text, m.end()):
                tokens.append(Token("f", name, spaced))
            else:
                tokens.append(_command(name, spaced))
                if name == "\\" and (gap := _ROW_SKIP.match(text, m.end())):
                    skip_to = gap.end()
        elif group in _PREFIXED:
            tokens += [Token("h", m[group], spaced), Token("b", _PREFIXED[group])]
        else:
            kind, meaning = _CHARACTERS.get(found, ("?", found))
            tokens.append(Token(kind, meaning, spaced))
        spaced = False
    return tokens


def _counted(run: str, text: str, end: int) -> bool:
    """True if letters after a number are what is counted and not variables: 4 apps, 8 bad oranges."""
    return (len(run) > 2 and run.endswith("s")) or bool(_WORD_NEXT.match(text, end))


def _command(name: str, spaced: bool) -> Token:
    if name in vocabulary.FRACTIONS:
        return Token("c", "frac", spaced)
    if name == "sqrt":
        return Token("c", "sqrt", spaced)
    if name in vocabulary.BINOMIALS:
        return Token("c", "binom", spaced)
    if name in ("overline", "bar", "widebar"):
        return Token("c", "bar", spaced)
    known = command(name)
    return Token(*known, spaced) if known else Token("?", "\\" + name, spaced)


def _font(text: str, at: int, name: str, tokens: list[Token], spaced: bool) -> int:
    r"""Append the tokens inside `\text{…}` and similar commands. Return the position after them."""
    m = _GROUP.match(text, at)
    if name == "mathbb" and (letter := m or _LETTER.match(text, at)):
        tokens.append(Token("set", letter[1].strip(), spaced))
        return letter.end()
    if m is None or "\\" in m[1]:
        return at  # `\bf x`: the command is dropped; or nested: an ordinary group, scanned like everything else
    content, end = m[1], m.end()
    stripped = content.strip()
    after_value = bool(tokens) and (
        tokens[-1].kind in "n})v" or (tokens[-1].kind == "{" and any(t.kind == "n" for t in tokens[-9:]))
    )
    if len(stripped) == 1 and name in vocabulary.UPRIGHT and stripped in _UNIT_LETTERS and after_value:
        tokens.append(Token("x", stripped, True))
        return end
    known = command(stripped) if name in ("operatorname", "mathrm", "text") else None
    if name == "operatorname" and stripped in vocabulary.OF_SEVERAL and _CALL.match(text, end):
        known = ("f", stripped)
    if stripped == "sec" and tokens and (after_value or tokens[-1][:2] == ("o", "/")):
        known = ("x", "sec")  # rather a second than a secant
    if known is not None and known[0] in "fx":
        tokens.append(Token(*known, spaced))
        return end
    inner = scan(content, in_text=True)
    if after_value and _COMPOUND_UNIT.fullmatch(stripped):
        inner = [t._replace(kind="x") if t.kind in "vx" else t for t in inner]
    if inner and (spaced or content[:1].isspace()):
        inner[0] = inner[0]._replace(spaced=True)
    tokens.extend(inner)
    return end
