"""Text to tokens: LaTeX and ASCII mathematics in one stream, arguments of commands always in braces.

A token is (kind, text, spaced), `spaced` meaning white space before it. Kinds: `n` number, `v` variable or constant,
`f` function, `x` word, `o` operator, `r` relation, `u` set operation, `(` `)` brackets, `{` `}` groups, `|` bar,
`c` command with arguments, `b` base of a number, and single characters for separators. Never raises on odd text.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from markscheme.marking.equality.names import (
    BINOMIALS,
    DISCARDED,
    FONTS,
    FRACTIONS,
    SKIPPED,
    SPACING,
    UPRIGHT,
    command,
    plain,
)


class Token(NamedTuple):
    """One token; see the module."""

    kind: str
    text: str
    spaced: bool = False


_MASTER: Final = re.compile(
    r"(?P<n>\d{1,3}(?: \d{3})+(?![\d])|(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+(?![\w{]))?)"
    r"|(?P<s>\s+|~)"
    r"|(?P<w>[^\W\d_]+)"
    r"|\\(?P<c>[a-zA-Z]+|.|$)"
    r"|(?P<m>\*\*|<=|>=|!=|==|=>|->|:=|=<|\.\.\.)"
    r"|(?P<o>.)",
    re.DOTALL,
)
_CHARACTERS: Final[dict[str, tuple[str, str]]] = {
    "+": ("o", "+"), "-": ("o", "-"), "*": ("o", "*"), "/": ("o", "/"), "^": ("o", "^"), "_": ("o", "_"), "!": ("o", "!"),
    "%": ("o", "%"), "'": ("o", "'"), "=": ("r", "="), "<": ("r", "<"), ">": ("r", ">"), "(": ("(", "("), ")": (")", ")"),
    "[": ("(", "["), "]": (")", "]"), "{": ("{", "{"), "}": ("}", "}"), "|": ("|", "|"), ",": (",", ","), ";": (";", ";"),
    ":": (":", ":"), "&": ("&", "&"), "$": ("$", "$"), ".": (".", "."),
    "**": ("o", "^"), "<=": ("r", "≤"), "=<": ("r", "≤"), ">=": ("r", "≥"), "!=": ("r", "≠"), "==": ("r", "="), "=>": ("r", "⇒"),
    "->": ("r", "→"), ":=": ("r", "="), "...": ("x", "..."),
}  # fmt: skip
_COMPOUND_UNIT: Final = re.compile(r"[a-zA-Z]{1,4}/[a-zA-Z]{1,4}(?:\^?\{?\d\}?)?")
_UNIT_LETTERS: Final = frozenset("mgshLlNJWVKAC")


def tokenise(text: str) -> list[Token]:
    """All tokens of a cleaned text."""
    return _with_arguments(_scan(text, in_text=False))


def _scan(text: str, *, in_text: bool) -> list[Token]:
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
                tokens.append(Token(*pieces[0], spaced))
                tokens.extend(Token(*p) for p in pieces[1:])
        elif group == "c":
            name = m["c"]
            if name in SPACING:
                spaced = True
                continue
            if name in FONTS or name == "mathbb":
                skip_to = _font(text, m.end(), name, tokens, spaced)
            elif name in DISCARDED:
                skip_to = _braced_text(text, m.end())[1]
            elif name in ("begin", "end"):
                environment, skip_to = _braced_text(text, m.end())
                tokens.append(Token(name, environment, spaced))
            elif name in SKIPPED:
                continue
            else:
                tokens.append(_command(name, spaced))
        else:
            kind, meaning = _CHARACTERS.get(found, ("?", found))
            tokens.append(Token(kind, meaning, spaced))
        spaced = False
    return tokens


def _command(name: str, spaced: bool) -> Token:
    if name in FRACTIONS:
        return Token("c", "frac", spaced)
    if name == "sqrt":
        return Token("c", "sqrt", spaced)
    if name in BINOMIALS:
        return Token("c", "binom", spaced)
    if name in ("overline", "bar", "widebar"):
        return Token("c", "bar", spaced)
    known = command(name)
    return Token(*known, spaced) if known else Token("?", "\\" + name, spaced)


def _braced_text(text: str, at: int) -> tuple[str, int]:
    """The text of the braces that start at or after `at`, and where they end."""
    while at < len(text) and text[at].isspace():
        at += 1
    if at >= len(text) or text[at] != "{":
        return "", at
    depth = 0
    for k in range(at, len(text)):
        if text[k] == "{":
            depth += 1
        elif text[k] == "}":
            depth -= 1
            if depth == 0:
                return text[at + 1 : k], k + 1
    return text[at + 1 :], len(text)


def _font(text: str, at: int, name: str, tokens: list[Token], spaced: bool) -> int:
    r"""The tokens inside `\text{…}` and its kin. Returns where the main scan goes on."""
    start = at
    while start < len(text) and text[start].isspace():
        start += 1
    if start >= len(text) or text[start] != "{":
        return at  # `\mathrm x` or `\bf x`: the command is dropped, what follows stands for itself
    end = start + 1
    while end < len(text) and text[end] not in "{}\\":
        end += 1
    if end >= len(text) or text[end] != "}":
        return at  # nested: an ordinary group, scanned like everything else
    content = text[start + 1 : end]
    if name == "mathbb":
        tokens.append(Token("set", content.strip(), spaced))
        return end + 1
    stripped = content.strip()
    after_value = bool(tokens) and tokens[-1].kind in "n})v"
    if len(stripped) == 1 and name in UPRIGHT and stripped in _UNIT_LETTERS and after_value:
        tokens.append(Token("x", stripped, True))
        return end + 1
    known = command(stripped) if name in ("operatorname", "mathrm", "text") else None
    if known is not None and known[0] == "f":
        tokens.append(Token(*known, spaced))
        return end + 1
    inner = _scan(content, in_text=True)
    if _COMPOUND_UNIT.fullmatch(stripped):
        inner = [t._replace(kind="x") if t.kind in "vx" else t for t in inner]
    if inner and (spaced or content[:1].isspace()):
        inner[0] = inner[0]._replace(spaced=True)
    tokens.extend(inner)
    return end + 1


def _with_arguments(raw: list[Token]) -> list[Token]:
    """Braces around every argument, subscripts joined to what they belong to, degree signs and ordinals marked."""
    out: list[Token] = []
    # A frame waits for arguments: [command, how many still, closers to emit when done].
    waiting: list[list[int]] = []
    closers: list[str] = []
    queue = list(reversed(raw))
    while queue:
        token = queue.pop()
        kind, text, _ = token
        if waiting and waiting[-1][0] == len(closers):
            # At the place of an argument.
            if kind == "{":
                closers.append("}")
                out.append(token)
                continue
            if kind == "n" and waiting[-1][2] and len(text) > 1:
                queue.append(Token("n", text[1:]))
                token = Token("n", text[0])
            _wrap_argument(token, out, waiting, closers)
            continue
        if kind == "o" and text in "^_" and queue:
            if text == "^" and _degree_or_ordinal(queue, out):
                continue
            if text == "_" and _subscript(queue, out):
                continue
        out.append(token)
        if kind == "o" and text in "^_":
            waiting.append([len(closers), 1, 0])
        elif kind == "c":
            if text == "sqrt" and queue and queue[-1][:2] == ("(", "["):
                _copy_index(queue, out)
            waiting.append([len(closers), 2 if text in ("frac", "binom") else 1, int(text == "frac")])
        elif kind == "{":
            closers.append("{")
        elif kind in "})" and closers:
            _close(kind, out, waiting, closers)
        elif kind == "(":
            closers.append("(")
    return out


_SIGNS: Final = ("+", "-")


def _wrap_argument(token: Token, out: list[Token], waiting: list[list[int]], closers: list[str]) -> None:
    """Put braces around an argument that has none: one token, a bracket, or a signed number."""
    kind, text, _ = token
    if kind == "(" and text in "([":
        # sqrt(…), x^(…): the bracket is the argument.
        out.append(Token("{", "{"))
        out.append(token)
        closers.append("()")
        return
    out.append(Token("{", "{"))
    out.append(token)
    if kind == "c":
        closers.append("c")
        waiting.append([len(closers), 2 if text in ("frac", "binom") else 1, int(text == "frac")])
        return
    if kind == "o" and text in _SIGNS:
        closers.append("c")
        waiting.append([len(closers), 1, 0])
        return
    if kind == "f":
        closers.append("c")
        waiting.append([len(closers), 1, 0])
        return
    out.append(Token("}", "}"))
    _argument_done(out, waiting, closers)


def _argument_done(out: list[Token], waiting: list[list[int]], closers: list[str]) -> None:
    waiting[-1][1] -= 1
    while waiting and waiting[-1][1] == 0:
        waiting.pop()
        if closers and closers[-1] == "c":
            closers.pop()
            out.append(Token("}", "}"))
            waiting[-1][1] -= 1


def _close(kind: str, out: list[Token], waiting: list[list[int]], closers: list[str]) -> None:
    top = closers[-1]
    if kind == "}" and top in ("{", "}"):
        closers.pop()
        if top == "}":
            _argument_done(out, waiting, closers)
    elif kind == ")" and top in ("(", "()"):
        closers.pop()
        if top == "()":
            out.append(Token("}", "}"))
            _argument_done(out, waiting, closers)


def _copy_index(queue: list[Token], out: list[Token]) -> None:
    r"""The `[3]` of `\sqrt[3]{8}`."""
    while queue:
        token = queue.pop()
        out.append(token)
        if token[:2] == (")", "]"):
            return


_ORDINALS: Final = frozenset({"th", "st", "nd", "rd"})


def _degree_or_ordinal(queue: list[Token], out: list[Token]) -> bool:
    r"""`^\circ`, `^{\circ}` and `^{\text{th}}` become one token each."""
    first = queue[-1]
    if first[:2] in (("o", "°"), ("o", "'")):
        queue.pop()
        out.append(Token("o", first.text))
        return True
    if first.kind == "x" and first.text in _ORDINALS:
        queue.pop()
        out.append(Token("x", first.text))
        return True
    if first.kind == "{" and len(queue) >= 3 and queue[-3].kind == "}":
        middle = queue[-2]
        if middle[:2] in (("o", "°"), ("o", "'")) or (middle.kind == "x" and middle.text in _ORDINALS):
            del queue[-3:]
            out.append(Token(middle.kind, middle.text))
            return True
    return False


def _subscript(queue: list[Token], out: list[Token]) -> bool:
    """Join a subscript to the variable, or mark the base of a number. A logarithm keeps its base as an argument."""
    if not out:
        return False
    last = out[-1]
    if last.kind == "f":
        return False
    pieces: list[str] = []
    if queue[-1].kind in "{(":
        depth = 0
        while queue:
            token = queue.pop()
            if token.kind in "{(":
                depth += 1
            elif token.kind in "})":
                depth -= 1
            if token.kind not in "{}()":
                pieces.append(token.text)
            if depth == 0:
                break
    else:
        pieces.append(queue.pop().text)
    name = "".join(pieces)
    if last.kind in ("v", "x", "?"):
        out[-1] = last._replace(text=f"{last.text}_{{{name}}}")
    else:
        out.append(Token("b", name))
    return True
