"""Converts LaTeX to MathML, which browsers render without scripts.

latex2mathml parses the formula. Its string output is not safe (`\\text{<img …>}` is passed through), so only its element
tree is used, and written here with known tags and attributes; everything else is escaped or left out. For a formula that
cannot be parsed, or is too long or too deep, the result is None and the caller shows the source.
"""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape, unescape
from xml.etree.ElementTree import Element

from markscheme.view.visible import plain_visible

# characters of a formula; converting costs at most about 30 µs per character
LONGEST = 3_000
DEEPEST = 60  # levels of the tree; the parser is recursive

_TAG = re.compile(
    "math|mrow|mi|mo|mn|mtext|mspace|msup|msub|msubsup|mfrac|msqrt|mroot|mover|munder|munderover|mtable|mtr|mtd"
    "|mstyle|mpadded|mphantom|mmultiscripts|mprescripts|none"
)
# Attributes that only shape a formula, with values that keep it within the page.
_SAFE = (
    re.compile(
        "(stretchy|fence|separator|accent|accentunder|largeop|movablelimits|symmetric|displaystyle)=(true|false)"
    ),
    re.compile(
        r"(width|height|depth|lspace|rspace|minsize|maxsize|linethickness|voffset)"
        r"=[+-]?\d{0,2}(\.\d{1,3})?(em|ex|px|pt|mu|cm|mm)?"
    ),
    re.compile(r"scriptlevel=[+-]?\d|display=(block|inline)|form=(prefix|infix|postfix)|mathvariant=normal"),
)
_CLASSES = {
    ("notation", "box"): "boxed",
    ("notation", "updiagonalstrike"): "struck",
    ("notation", "downdiagonalstrike"): "struck",
    ("notation", "horizontalstrike"): "struck",
    ("columnalign", "left"): "left",
    ("columnalign", "right"): "right",
    ("mathvariant", "bold"): "bold",
}
# Environments of lines. latex2mathml aligns only `align*`, and would run the lines of the others together.
_ALIGNED = re.compile(
    r"(?<!\\)\\(begin|end)\{(?:align|aligned|alignat|alignedat|flalign|gather|gathered|multline|eqnarray|equation|split)"
    r"\*?\}(?:\[[tbc]\])?(?:\{\d\})?"
)
_RENAMED = re.compile(r"(?<!\\)\\(begin|end)\{dcases\}")
# Commands without visible output, which latex2mathml would spell out.
_UNSEEN = re.compile(r"(?<!\\)\\(?:nonumber|notag|hfill|noindent|(?:label|require)\{[^{}]*\})(?![A-Za-z])")
_COMMANDS = re.compile(r"(?:\\[A-Za-z]+\s*){2,}")
_FUNCTION = re.compile("[A-Za-z]{2,}")
_THIN = '<mspace width="0.17em"></mspace>'
_SIGNS, _CLOSING = frozenset("+-−±∓"), frozenset(")]}|!⌋⌉⟩′")
_UPRIGHT = re.compile(r"&#x000[4-7][0-9A-F];")  # a single letter from \mathrm, which `mi` would slant


@lru_cache(maxsize=2048)
def to_mathml(latex: str, display: bool = False) -> str | None:
    """Return a `<math>` element as HTML, or None if the source should be shown."""
    if len(latex) > LONGEST or not latex.strip() or _depth(latex) > DEEPEST:
        return None
    from latex2mathml.converter import convert_to_element

    try:
        tree = convert_to_element(_readable(latex), display="block" if display else "inline")
        return _write(tree, 0)
    except Exception:  # noqa: BLE001 - the parser may fail on hostile text; then the source is shown
        return None


def _readable(latex: str) -> str:
    """Rewrite commands that latex2mathml does not know."""
    latex = _RENAMED.sub(r"\\\1{cases}", _ALIGNED.sub(r"\\\1{align*}", latex))
    return _UNSEEN.sub("", latex)


def _depth(latex: str) -> int:
    """Return an upper bound of the nesting, before the recursive parser sees it."""
    depth = deepest = 0
    for token in re.findall(r"\\(?:left|begin)\b|\\(?:right|end)\b|\\.|[{}^_]", latex):
        if token in ("{", "\\left", "\\begin"):
            depth += 1
            deepest = max(deepest, depth)
        elif token in ("}", "\\right", "\\end"):
            depth -= 1
    # `\\frac\\frac…` nests without braces: each takes the next as its argument.
    chains: list[int] = [run.count("\\") for run in _COMMANDS.findall(latex)]
    return max(deepest, *chains, *(len(run) for run in re.findall(r"[\^_'\s]{2,}", latex)), 0)


def _write(element: Element, depth: int, sign: bool = False) -> str:
    if depth > 2 * DEEPEST:
        raise RecursionError
    tag = element.tag if _TAG.fullmatch(element.tag) else "mrow"
    text = element.text or ""
    attributes = _attributes(element)
    if sign:
        attributes += ' form="prefix"'
    if tag == "mi" and _UPRIGHT.fullmatch(text):
        attributes += ' mathvariant="normal"'
    inside, before = _escaped(text), None
    in_a_row = tag in ("math", "mrow", "mtd", "mstyle")  # elsewhere the position of a child matters
    for child in element:
        if in_a_row and before is not None and _are_apart(before, child):
            inside += _THIN
        inside += _write(child, depth + 1, _is_sign(child, before)) + _escaped(child.tail or "")
        before = child
    return f"<{tag}{attributes}>{inside}</{tag}>"


def _is_sign(element: Element, before: Element | None) -> bool:
    """True if a plus or minus is a sign: it is first, or follows another operator or an opening bracket."""
    if element.tag != "mo" or unescape(element.text or "") not in _SIGNS:
        return False
    return before is None or (before.tag == "mo" and unescape(before.text or "") not in _CLOSING)


def _are_apart(left: Element, right: Element) -> bool:
    """True if a thin space belongs between two elements: around a function name, but not before its parenthesis."""
    return "mo" not in (left.tag, right.tag) and (_is_function(left) or _is_function(right))


def _is_function(element: Element) -> bool:
    if element.tag in ("msub", "msup", "msubsup", "munder") and len(element):
        element = element[0]
    return element.tag == "mi" and _FUNCTION.fullmatch(element.text or "") is not None


def _attributes(element: Element) -> str:
    out, classes = "", []
    for name, value in element.attrib.items():
        if (name, value) in _CLASSES:
            classes.append(_CLASSES[name, value])
        elif any(pattern.fullmatch(f"{name}={value}") for pattern in _SAFE):
            out += f' {name}="{value}"'
    return out + (f' class="{" ".join(classes)}"' if classes else "")


def _escaped(text: str) -> str:
    """Unescape what latex2mathml escaped (`&#x02211;`), then escape everything."""
    return escape(plain_visible(unescape(text)), quote=False)
