"""Read an answer: from text to one of the kinds in `kinds.py`, or `Unreadable`.

Lists, relations, unions, brackets and matrices are read first, then the expressions inside. Brackets that only group cost
no recursion.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from functools import partial
from typing import Final

from markscheme.marking.equality.algebra import real_sets as sets
from markscheme.marking.equality.algebra.arithmetic import mul
from markscheme.marking.equality.algebra.exact import TooBig, Undefined, Unreadable, Value
from markscheme.marking.equality.algebra.real_sets import RealSet
from markscheme.marking.equality.kinds import (
    Choice,
    Collection,
    Matrix,
    ParsedAnswer,
    Relation,
    Scalar,
    Sequence,
    Text,
    as_set,
    combine,
)
from markscheme.marking.equality.read.cleaning import clean
from markscheme.marking.equality.read.expressions import evaluate, read_number
from markscheme.marking.equality.read.phrases import read_phrase
from markscheme.marking.equality.read.products import letters_apart
from markscheme.marking.equality.read.relations import Read, joins_conditions, ratio, relation, set_expression, unions
from markscheme.marking.equality.read.tokens import scan
from markscheme.marking.equality.read.tree import Group, Nodes, cut, flat, tree, trimmed
from markscheme.marking.equality.read.values import DENIALS, scalar
from markscheme.marking.equality.read.vocabulary import CONNECTIVES, MATRICES
from markscheme.marking.equality.read.wording import UNDEFINED, in_words, undressed, words_of

MAX_LENGTH: Final = 50_000  # characters of an answer
MAX_CONTENT: Final = 12_500  # characters other than brackets: about 40 ms; no gold of eleven benchmarks has 1,000
MAX_TOKENS: Final = 5_100  # other than brackets
MAX_DEPTH: Final = 12  # of nested lists; brackets that only group do not count
MAX_ITEMS: Final = 100  # pairing items is quadratic
_CUTTING: Final = frozenset({",", ";", "x"})
_SETS: Final = frozenset({"u", "set"})
_EXCEPTION: Final = re.compile(
    r"(?:[a-z]\s*(?:is|can be)\s+)?(?:all|any|every)?\s*real\s+(?:numbers?|values?)(?:\s+of\s+[a-z]|\s+[a-z])?\s+"
    r"(?:except|other than|but|besides|excluding)\s+(?:for\s+)?(?:[a-z]\s*=\s*)?([^a-zA-Z]{1,60})"
)
_LETTERED: Final = re.compile(
    r"(?:\\(?:text|textbf|mathrm|mathbf|textrm)\s*\{\s*)?\(?[A-Z]\s*[).:]{1,2}\s*(?:\}|\\[ ,;:]|~|\\q?quad|\s)*([^\s}].*)",
    re.DOTALL,
)
_IN_TEXT: Final = re.compile(r"\\text\s?\{([^{}\\0-9/]*[0-9/][^{}\\]*)\}")
_PROSE: Final = re.compile(r"[\w\s.,;:!?'’\"$%-]*")
_OUTWARD: Final = re.compile(r"^([\[\]])(.*)([\[\]])$", re.DOTALL)


def read(text: str) -> ParsedAnswer:
    if _is_too_long(text):
        raise Unreadable("too long")
    cleaned = clean(text)
    if not cleaned:
        raise Unreadable("nothing there")
    if _is_too_long(cleaned):
        raise Unreadable("too long")  # some characters are long in LaTeX
    phrase = read_phrase(cleaned)
    if phrase is not None:
        return _with_value(phrase, cleaned) if isinstance(phrase, Choice) and phrase.rest else phrase
    if (cleaned[0] in "[]" and cleaned[-1] in "[]" and cleaned.count("[") != cleaned.count("]")) or cleaned[0] == "]":
        # ]a, b[ is the French way to write (a, b).
        cleaned = _OUTWARD.sub(lambda m: ("[" if m[1] == "[" else "(") + m[2] + ("]" if m[3] == "]" else ")"), cleaned)
    if "&" in cleaned and "matrix" not in cleaned and "array" not in cleaned and "cases" not in cleaned:
        cleaned = cleaned.replace("\\&", " and ").replace("&", "")  # aligned lines
    if m := _IN_TEXT.fullmatch(cleaned):
        cleaned = m[1]
    exception = _EXCEPTION.fullmatch(undressed(cleaned)) if len(cleaned) < 300 else None
    if exception is not None:
        return sets.difference(sets.REALS, as_set(read("\\{" + exception[1] + "\\}")))
    tokens = scan(cleaned)
    if len(tokens) > MAX_TOKENS and sum(t.kind not in "(){}" for t in tokens) > MAX_TOKENS:
        raise Unreadable("too long")
    try:
        answer = _whole(tree(tokens))
    except Unreadable:
        if (product := _as_product(cleaned)) is not None:
            return product
        if len(cleaned) < 300 and _PROSE.fullmatch(cleaned) and any(t.kind == "x" for t in tokens):
            return in_words(words_of(cleaned))
        raise
    if isinstance(answer, Text) and ("_" in cleaned or not _PROSE.fullmatch(cleaned)):
        product = _as_product(cleaned)
        return answer if isinstance(product, Text) or product is None else product
    return answer


def _as_product(cleaned: str) -> ParsedAnswer | None:
    """Read a formula in which short words and units are variables, (ay - by)/2; None if it is not a formula."""
    apart = letters_apart(cleaned)
    try:
        return _whole(tree(scan(apart))) if apart != cleaned else None
    except Unreadable:
        return None


def _is_too_long(text: str) -> bool:
    """True if reading would take more than about 40 ms; brackets that only group are cheap."""
    return len(text) > MAX_CONTENT and (
        len(text) > MAX_LENGTH or len(text) - sum(map(text.count, "(){}[]")) > MAX_CONTENT
    )


def _with_value(choice: Choice, text: str) -> Choice:
    r"""Add the value after the letter of a choice, `\textbf{(A) }\frac12`, if it can be read."""
    m = _LETTERED.fullmatch(text)
    try:
        value = read(m[1]) if m else None
    except (Unreadable, Undefined, TooBig):
        return choice
    return choice if value is None or isinstance(value, Choice) else replace(choice, value=value)


def _whole(nodes: Nodes) -> ParsedAnswer:
    """Read the answer after a label in words: `Area:`, `The answer is`, `x is`."""
    if (
        len(nodes) > 2
        and [node.kind for node in nodes[:2]] == ["v", "x"]
        and nodes[1].text == "is"
        and nodes[2].kind != "x"
    ):
        return _answer(nodes[2:])
    words: list[str] = []
    for k, node in enumerate(nodes[:10]):
        if node.kind == ":" and words:
            if not DENIALS.isdisjoint(words):
                raise Unreadable("said not to be the answer")
            return _answer(nodes[k + 1 :])
        says = node.kind == "x" or (node.text == "a" and len(nodes) > k + 1 and nodes[k + 1].kind == "x")
        follows = words[-1:] in (["is"], ["are"]) and (not says or words[-2:-1] == ["answer"])  # not: Ann is a saint
        if node.kind != "x" or follows:
            return _answer(nodes[k:] if follows else nodes)
        words.append(node.text.lower())
    return _answer(nodes)


def _answer(nodes: Nodes, depth: int = 0) -> ParsedAnswer:
    """Read a level by the sign in it that binds least: a list, ratio, relation, set, matrix, brackets or value."""
    if depth > MAX_DEPTH:
        raise Unreadable("lists nested too deeply")
    nodes = trimmed(nodes)
    if not nodes:
        raise Unreadable("nothing there")
    first, last = nodes[0], nodes[-1]
    if len(nodes) == 1 and first.kind == "n":
        return Scalar(read_number(first.text))
    kinds = {node.kind for node in nodes}
    read = partial(_answer, depth=depth + 1)
    if not kinds.isdisjoint(_CUTTING) and (cuts := _separators(nodes)):
        return _collection(nodes, cuts, read)
    if ":" in kinds and (said := ratio(nodes, read)) is not None:
        return said
    if "r" in kinds and not ("u" in kinds and joins_conditions(nodes)):
        return relation(nodes, read)
    if not kinds.isdisjoint(_SETS) or ("(" in kinds and unions(nodes)):
        return set_expression(nodes, read)
    if "begin" in kinds:
        return _environment(nodes, read)
    if len(nodes) == 1 and isinstance(first, Group) and first.kind in "({":
        return _bracketed(first, read)
    if isinstance(last, Group) and last.kind == "(":
        if [node.kind for node in last.items] == ["begin"]:
            return _scaled(_factor(nodes[:-1]), read([last]))
        if len(nodes) == 2 and first.kind == "v" and first.text.isupper() and last.text == "(" and _commas(last.items):
            return _bracketed(last, read)  # P(2, 4)
    if first.kind == "(" and _is_transposed(nodes):
        return _transposed(read(nodes[:-2]))
    try:
        return scalar(nodes)
    except Undefined:
        if depth:
            raise
        return UNDEFINED


def _commas(nodes: Nodes) -> list[int]:
    return [k for k, node in enumerate(nodes) if node.kind == ","]


def _is_transposed(nodes: Nodes) -> bool:
    return [t.text for t in flat(nodes[-2:])] == ["^", "{", "T", "}"]


def _transposed(answer: ParsedAnswer) -> Matrix:
    if isinstance(answer, Matrix):
        return Matrix(tuple(zip(*answer.rows, strict=True)))
    if isinstance(answer, Sequence):
        return Matrix(tuple((x,) for x in answer.items))
    raise Unreadable("a transpose of something else")


def _separators(nodes: Nodes) -> list[int]:
    """Return the positions of commas, semicolons, and "and" or "or" between two values."""
    return [
        k
        for k, node in enumerate(nodes)
        if node.kind in (",", ";") or (node.kind == "x" and node.text.lower() in CONNECTIVES and _joins(nodes, k))
    ]


def _joins(nodes: Nodes, k: int) -> bool:
    """True if "and" or "or" is between two values and not in a phrase such as "one and a half"."""
    if k == 0 or k + 1 >= len(nodes):
        return k > 0 and nodes[k - 1].kind == ","
    return nodes[k - 1].kind != "x" or nodes[k + 1].kind != "x"


def _items(nodes: Nodes, cuts: list[int], read: Read) -> list[ParsedAnswer]:
    if len(cuts) > MAX_ITEMS:
        raise Unreadable("too many items")
    return [read(part) for part in cut(nodes, cuts) if trimmed(part)]


def _collection(nodes: Nodes, cuts: list[int], read: Read) -> ParsedAnswer:
    items = _items(nodes, cuts, read)
    joined = next((CONNECTIVES[word] for k in cuts if (word := nodes[k].text.lower()) in CONNECTIVES), ",")
    if len(items) == 1:
        return items[0]
    real = [x for x in items if isinstance(x, RealSet) and x.variable]
    if items and len(real) == len(items) and nodes[0].kind != "(":  # else a list of sets
        return combine(real, joined)
    flat_items: list[ParsedAnswer] = []
    for x in items:
        # x = -2 or x = 1 ± √5
        named = x.right if isinstance(x, Relation) and x.left_name and isinstance(x.right, Collection) else x
        flat_items.extend(named.items if isinstance(named, Collection) and not named.braces else [named])
    return Collection(_grouped(flat_items), False, joined)


def _bracketed(group: Group, read: Read) -> ParsedAnswer:
    left, right = group.text, group.close
    if left in "⌊⌈|":
        return scalar([group])
    if left == "{":
        return _braces(group.items, read)
    if left == "[" and (lines := _lines(group.items)):
        return _matrix(lines, read)
    items = _items(group.items, _separators(group.items), read)
    if not items:
        raise Unreadable("brackets with nothing in them")
    if len(items) == 1 and left + right in ("()", "[]"):
        return items[0]
    rows = [x.items for x in items if isinstance(x, Sequence) and x.left == "["]
    if left == "[" and len(rows) == len(items) and len({len(r) for r in rows}) == 1:
        return Matrix(tuple(rows))
    return Sequence(tuple(items), left, right)


def _lines(nodes: Nodes) -> list[list[Nodes]]:
    """Return the cells of the matrix [1, 2; 3, 4] or [1 2; 3 4]; nothing for other lists such as [1; 2]."""
    lines = cut(nodes, [k for k, node in enumerate(nodes) if node.kind == ";"])
    cells = [cut(line, _commas(line)) if _commas(line) else _spaced_numbers(line) for line in lines]
    widths = {len(line) for line in cells}
    return cells if len(cells) > 1 and len(widths) == 1 and widths != {1} else []


def _spaced_numbers(nodes: Nodes) -> list[Nodes]:
    starts = [k for k, node in enumerate(nodes) if node.spaced and k]
    if not all(node.kind == "n" or node.text == "-" for node in nodes):
        return [nodes]
    return [nodes[a:b] for a, b in itertools.pairwise([0, *starts, len(nodes)])]


def _matrix(cells: list[list[Nodes]], read: Read) -> Matrix:
    if not cells or sum(map(len, cells)) > MAX_ITEMS:
        raise Unreadable("a matrix with nothing or too much in it")
    entries = tuple(tuple(map(read, row)) for row in cells)
    if len({len(row) for row in entries}) != 1:
        raise Unreadable("rows of different lengths")
    return Matrix(entries)


def _braces(nodes: Nodes, read: Read) -> ParsedAnswer:
    r"""Read `\{…\}`: a list of elements, or a condition after a bar or colon."""
    if not nodes:
        return sets.EMPTY
    bar = next((k for k, node in enumerate(nodes) if node.kind in ("|", ":")), None)
    if bar is not None and bar + 1 < len(nodes):
        return read(nodes[bar + 1 :])
    inner = read(nodes)
    if isinstance(inner, Collection) and not inner.braces:
        return Collection(inner.items, True)
    return inner if isinstance(inner, RealSet) else Collection((inner,), True)


def _environment(nodes: Nodes, read: Read) -> ParsedAnswer:
    place, begin = next((k, node) for k, node in enumerate(nodes) if isinstance(node, Group) and node.kind == "begin")
    before, after = nodes[:place], nodes[place + 1 :]
    if len(after) == 2 and _is_transposed(after):
        return _transposed(_environment(nodes[:-2], read))
    if after:
        raise Unreadable("something after a matrix")
    name, items = begin.text.rstrip("*"), begin.items
    if name == "array" and items and items[0].kind == "{":
        items = items[1:]
    rows = [row for row in cut(items, [k for k, x in enumerate(items) if x.kind == "\\\\"]) if trimmed(row)]
    if name not in MATRICES:
        if before:
            raise Unreadable("something before a system")
        # cases, aligned and similar: one statement per row.
        statements = tuple(map(read, rows[:MAX_ITEMS]))
        return statements[0] if len(statements) == 1 else Collection(statements, False, "and")
    cells = [[cell for cell in cut(row, [k for k, x in enumerate(row) if x.kind == "&"]) if cell] for row in rows]
    matrix = _matrix(cells, read)
    if before:
        return _scaled(_factor(before), matrix)
    return matrix.rows[0][0] if len(matrix.rows) == len(matrix.rows[0]) == 1 else matrix


def _factor(nodes: Nodes) -> Value:
    if nodes[-1].text == "*":
        nodes = nodes[:-1]
    return -1 if [node.text for node in nodes] == ["-"] else evaluate(nodes)[0]


def _grouped(items: list[ParsedAnswer]) -> tuple[ParsedAnswer, ...]:
    """Group p = 5, q = 2; p = 7, q = 2 into two pairs."""
    names = [x.left_name if isinstance(x, Relation) else "" for x in items]
    width = names.index(names[0], 1) if names[0] in names[1:] else 0
    if width < 2 or "" in names or len(names) % width or names != names[:width] * (len(names) // width):
        return tuple(items)
    return tuple(Collection(tuple(items[k : k + width]), False) for k in range(0, len(items), width))


def _scaled(factor: Value, matrix: ParsedAnswer) -> Matrix:
    rows = matrix.rows if isinstance(matrix, Matrix) else ((matrix,),)
    if not all(isinstance(x, Scalar) for row in rows for x in row):
        raise Unreadable("a factor before a matrix of other things than numbers")
    return Matrix(tuple(tuple(Scalar(mul(factor, x.value)) for x in row if isinstance(x, Scalar)) for row in rows))
