r"""Build the tree of tokens: brackets hold their contents and commands their arguments, so that every level is a list.

Later steps need not know that `\frac43`, `x^2` and `sqrt(2)` omit braces. No step recurses, since answers nest thousands
of brackets.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from markscheme.marking.equality.algebra.exact import Unreadable
from markscheme.marking.equality.read.tokens import Token
from markscheme.marking.equality.read.vocabulary import words


@dataclass(slots=True)
class Group:
    r"""The contents of brackets (kind `(`, also `\{`), in braces that only group (`{`), or between `\begin` and `\end`
    (`begin`); or a command (`c`) with its arguments and no closing bracket."""

    kind: str
    text: str
    items: list[Node]
    close: str = ""
    spaced: bool = False


Node = Token | Group
Nodes = Sequence[Node]

_CLOSER: Final = {"(": ")", "{": "}", "begin": "end"}
_CLOSING: Final = frozenset(_CLOSER.values())
_PAIRED: Final = {"{": "}", "(": ")", "[": "]"}
_ARGUMENTS: Final = {"frac": 2, "binom": 2}
_DEGREES: Final = frozenset({("o", "°"), ("v", "o")})
_ORDINALS: Final = frozenset({"th", "st", "nd", "rd"})
_ARRANGED: Final = frozenset({"c", "o", "{"})
_STRAY: Final = frozenset({",", ";", ".", "&", "\\\\"})
HEDGES: Final = words("either both about approximately roughly exactly around nearly after only just")
_START: Final = Token("", "")


def tree(tokens: Sequence[Token]) -> list[Node]:
    """Return the top level of the tree. Round and square brackets may pair up: [a, b)."""
    waiting: list[tuple[Token, list[Node]]] = []
    level: list[Node] = []
    round_ones = 0  # number of brackets around this level; inside them a comma separates items, not thousands
    for token in tokens:
        kind = token.kind
        if kind in _CLOSER:
            waiting.append((token, level))
            level = []
            round_ones += kind == "("
        elif kind in _CLOSING:
            if not waiting or _CLOSER[waiting[-1][0].kind] != kind:
                raise Unreadable("brackets do not match")
            opening, outside = waiting.pop()
            items = _arranged(level) if round_ones else _join_thousands(_arranged(level))
            outside.append(Group(opening.kind, opening.text, items, token.text, opening.spaced))
            level = outside
            round_ones -= kind == ")"
        else:
            level.append(token)
    if waiting:
        raise Unreadable("a bracket is not closed")
    return _join_thousands(_arranged(level))


def flat(nodes: Iterable[Node]) -> list[Token]:
    tokens: list[Token] = []
    waiting: list[Node] = [*nodes][::-1]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Token):
            tokens.append(node)
            continue
        tokens.append(Token(node.kind, node.text, node.spaced))
        if node.close:
            waiting.append(Token(_CLOSER[node.kind], node.close))
        waiting += reversed(node.items)
    return tokens


def cut(nodes: Nodes, marks: Iterable[int]) -> list[Nodes]:
    """Return the pieces before, between and after the nodes at these positions."""
    return [nodes[a + 1 : b] for a, b in itertools.pairwise([-1, *marks, len(nodes)])]


def trimmed(nodes: Nodes) -> Nodes:
    """Remove braces and brackets that only group around the whole, and stray punctuation."""
    low, high = 0, len(nodes)
    while low < high:
        first, last = nodes[low], nodes[high - 1]
        hedge = first.kind == "x" and high - low > 1 and first.text.lower() in HEDGES
        if hedge or first.kind in _STRAY or first.kind == ":":
            low += 1
        elif last.kind in _STRAY or last.text == "_":
            high -= 1
        elif high - low == 1 and isinstance(first, Group) and _only_groups(first):
            nodes, low, high = first.items, 0, len(first.items)
        else:
            break
    return nodes[low:high]


def _only_groups(group: Group) -> bool:
    plain = group.kind == "{" or (group.kind == "(" and group.text in "([")
    return plain and group.close == _PAIRED[group.text] and all(node.kind not in (",", ";") for node in group.items)


def _arranged(nodes: list[Node]) -> list[Node]:
    """Group what belongs together on one level. From right to left, so that what follows is already grouped."""
    if _ARRANGED.isdisjoint([node.kind for node in nodes]):
        return nodes
    right: list[Node] = []  # what follows, the nearest last
    for k in range(len(nodes) - 1, -1, -1):
        node, before = nodes[k], nodes[k - 1] if k else _START
        if isinstance(node, Group):
            if node.items or node.kind != "{" or before.kind == "c" or before.text in ("^", "_"):
                right.append(node)  # else an empty `{}`
        elif node.kind == "c":
            right.append(_command(node, right))
        elif node.kind == "o" and node.text in "^_" and right:
            _script(node, before.kind, right)
        else:
            # The prime of x_1' belongs to x.
            right.append(node if before.text == "_" else _with_marks(node, right))
    right.reverse()
    return right


def _command(token: Token, right: list[Node]) -> Group:
    arguments: list[Node] = []
    if token.text == "sqrt" and right and right[-1].text == "[":
        arguments.append(right.pop())  # the [3] of `\sqrt[3]{8}`
    arguments += [_argument(right, digits=token.text == "frac") for _ in range(_ARGUMENTS.get(token.text, 1))]
    return Group("c", token.text, arguments, "", token.spaced)


def _argument(right: list[Node], *, digits: bool = False) -> Group:
    r"""Take the next argument and put it in braces. `\frac43` takes 4 and 3, but `\sqrt13` and `2^10` whole numbers."""
    signs: list[Node] = []
    while right and (right[-1].kind == "f" or (right[-1].kind == "o" and right[-1].text in "+-")):
        signs.append(right.pop())  # `x^-1`: with the argument that follows
    node = right.pop() if right else None
    if digits and node is not None and node.kind == "n" and len(node.text) > 1 and node.text.isdigit():
        right.append(Token("n", node.text[1:]))
        node = Token("n", node.text[0])
    argument = node if isinstance(node, Group) and node.kind == "{" else _braced([node] if node is not None else [])
    for sign in reversed(signs):
        argument = _braced([sign, argument])
    return argument


def _braced(nodes: list[Node]) -> Group:
    return Group("{", "{", nodes, "}")


def _script(token: Token, before: str, right: list[Node]) -> None:
    """Group a power or a subscript. A logarithm keeps its base as an argument."""
    node = right[-1]
    inner = node.items if isinstance(node, Group) and node.kind == "{" else [node]
    only = inner[0] if len(inner) == 1 and token.text == "^" else None
    if token.text == "_" and before not in ("", "f"):
        right[-1] = Token("b", "".join(t.text for t in flat([node]) if t.kind not in "{}()"))
    elif token.text == "^" and inner and all(x.text == "'" for x in inner):
        right[-1:] = inner  # x^{\prime}
    elif only is not None and (only.kind, only.text) in _DEGREES:
        right[-1] = Token("o", "°")
    elif only is not None and only.kind == "x" and only.text in _ORDINALS:
        right[-1] = only
    else:
        power = _argument(right)
        base = right.pop() if right and right[-1].kind == "b" else None
        right += [power, token] if base is None else [power, token, base]  # v^2_0 is v_0^2


def _with_marks(token: Token, right: list[Node]) -> Token:
    """Append primes and a subscript to a name."""
    while right:
        if right[-1].text == "'" and token.kind == "v":
            token = token._replace(text=token.text + "'")
        elif right[-1].kind == "b" and token.kind in ("v", "x", "?"):
            token = token._replace(text=f"{token.text}_{{{right[-1].text}}}")
        else:
            break
        right.pop()
    return token


def _join_thousands(nodes: list[Node]) -> list[Node]:
    if not any(node.kind == "," for node in nodes):
        return nodes
    joined: list[Node] = []
    k = 0
    while k < len(nodes):
        node = nodes[k]
        k += 1
        if isinstance(node, Token) and node.kind == "n" and len(node.text) <= 3 and node.text[0] != "0":
            while node.text.isdigit() and _is_thousands(nodes[k : k + 2]):
                node = node._replace(text=node.text + nodes[k + 1].text)
                k += 2
        joined.append(node)
    return joined


def _is_thousands(nodes: Nodes) -> bool:
    shape = [node.kind for node in nodes] == [",", "n"] and not any(node.spaced for node in nodes)
    return shape and len(nodes[1].text.partition(".")[0]) == 3
