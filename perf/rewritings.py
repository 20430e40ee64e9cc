"""Rewritings and near misses of gold answers, labelled by construction.

Each gold is recognised by patterns of its own (never by the code under test), then spelled in ways a model might use
that do not change the answer, and changed in ways that do. `cases(golds)` yields `Case(form, answer, gold, equal)`.
The golds are read from the data folder at run time; none is kept here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from rewritten_lists import interval, listed, matrix, point
from rewritten_numbers import (
    Made,
    amount,
    based,
    circle,
    complex_number,
    decimal,
    degrees,
    fraction,
    integer,
    measured,
    plus_minus,
    surd,
)


class Case(NamedTuple):
    """An answer to compare with a gold, what was done to it, and whether it still earns the mark."""

    form: str
    answer: str
    gold: str
    equal: bool


def wrapped(text: str) -> Made:
    """Dress that means nothing, around any answer."""
    yield "wrapped", "{" + text + "}", True
    yield "wrapped", r"\displaystyle " + text, True
    yield "wrapped", rf"\boldsymbol{{{text}}}", True
    yield "wrapped", f"${text}$", True
    yield "wrapped", rf"\({text}\)", True
    yield "wrapped", f"  {text}  ", True
    yield "wrapped", rf"\boxed{{{text}}}", True
    yield "full stop", text + ".", True
    yield "full stop", text + " .", True
    if "\\" not in text:
        yield "wrapped", rf"\text{{{text}}}", True
        yield "wrapped", rf"\mathbf{{{text}}}", True
        yield "wrapped", rf"\mathrm{{{text}}}", True
        yield "full stop", rf"\text{{{text}.}}", True
        yield "wrapped", f"**{text}**", True
    if "-" in text and "text" not in text:
        yield "unicode", text.replace("-", "−"), True
    if r"\pi" in text:
        yield "unicode", text.replace(r"\pi", "π"), True
    if r"\infty" in text:
        yield "unicode", text.replace(r"\infty", "∞"), True
    if r"\sqrt" in text:
        plain = re.sub(r"\\sqrt\s*\{?(\d+)\}?", r"√\1", text)
        if "sqrt" not in plain:
            yield "unicode", plain, True
        bracketed = re.sub(r"\\sqrt\s*\{?(\d+)\}?", r"√(\1)", text)
        if "sqrt" not in bracketed:
            yield "unicode", bracketed, True
    if r"^\circ" in text:
        yield "unicode", text.replace(r"^\circ", "°"), True
    plain = ascii_form(text)
    if plain is not None and plain != text:
        yield "ascii", plain, True
        yield "ascii", plain.replace("^", "**"), True
    if r"\frac" in text:
        yield "wrapped", text.replace(r"\frac", r"\dfrac"), True
        yield "wrapped", text.replace(r"\frac", r"\tfrac"), True
        yield "wrapped", text.replace(r"\frac", r"\cfrac"), True


def ascii_form(text: str) -> str | None:
    """sqrt(), pi, ** and / instead of LaTeX, where that is a matter of text."""
    if any(
        word in text for word in (r"\text", r"\mbox", "begin", r"\circ", "cup", r"\in", r"\pm", r"\{", "!", "_", r"\$")
    ):
        return None
    text = text.replace(r"\left", "").replace(r"\right", "").replace("dfrac", "frac")
    text = re.sub(r"\\frac\s*(\d)\s*(\d)", r"(\1)/(\2)", text)
    text = re.sub(r"\\frac(\d)\{", r"\\frac{\1}{", text)
    text = re.sub(r"\\sqrt\s*(\d)", r"\\sqrt{\1}", text)
    for _ in range(3):
        text = re.sub(r"(?<=[\da-z)])\s*\\sqrt\{([^{}]*)\}", r"*sqrt(\1)", text)
        text = re.sub(r"\\sqrt\{([^{}]*)\}", r"sqrt(\1)", text)
        text = re.sub(r"(?<=\d)\s*\\frac\{([^{}]*)\}\{([^{}]*)\}", r" \1/\2", text)
        text = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"(\1)/(\2)", text)
    text = re.sub(r"(?<=[\d)])\s*\\pi", "*pi", text).replace(r"\pi", "pi").replace(r"\cot", "cot")
    text = text.replace(r"\infty", "inf")
    return None if "\\" in text or "{" in text else text


def algebra(text: str) -> Made:
    """Expressions in variables, through sympy's own printing."""
    import sympy
    from sympy.parsing.sympy_parser import implicit_multiplication_application, parse_expr, standard_transformations

    source = text.replace("^", "**").replace(r"\frac{11+9a}{20}", "(11+9*a)/20")
    if "\\" in source:
        return
    rules = (*standard_transformations, implicit_multiplication_application)
    value = parse_expr(source, transformations=rules)
    names = sorted(value.free_symbols, key=str)
    if not names:
        return
    forms = {sympy.latex(f(value)) for f in (sympy.expand, sympy.factor, lambda v: v)}
    forms |= {sympy.latex(sympy.expand(value), order=o) for o in ("lex", "rev-lex", "grlex")}
    for f in sorted(forms):
        yield "expressions", f, True
    yield "expressions", str(sympy.expand(value)).replace("**", "^"), True
    yield "ascii", str(sympy.expand(value)), True
    yield "ascii", str(sympy.factor(value)), True
    yield "expressions", f"f({names[0]}) = {sympy.latex(value)}", True
    yield "expressions", sympy.latex(value).replace(" ", ""), True
    yield "expressions", rf"\frac{{{sympy.latex(sympy.expand(2 * value))}}}{{2}}", True
    x = names[0]
    other = next(sympy.Symbol(c) for c in "txuvw" if sympy.Symbol(c) not in names)
    for wrong in (
        value + 1,
        -value,
        2 * value,
        value + x,
        value.subs(x, other),
        sympy.expand(value * x),
        value.subs(x, x**2),
        value.subs(x, 2 * x),
        value.subs(x, -x),
    ):
        if sympy.expand(wrong - value) != 0:
            yield "near expression", sympy.latex(sympy.expand(wrong)), False


def word(text: str, others: list[str]) -> Made:
    for made in (text, rf"\text{{{text}}}", rf"\textbf{{{text}}}", rf"\mathrm{{{text}}}", text.lower(), text.upper(), text.capitalize(), rf"\text{{ {text} }}", f'"{text}"', rf"\text{{{text}.}}", f"**{text}**", rf"\textit{{{text}}}", rf"\mbox{{{text}}}", f"{text}."):  # fmt: skip
        yield "words", made, True
    for other in others:
        if other.lower() != text.lower():
            yield "other word", other, False
            yield "other word", rf"\text{{{other}}}", False
    yield "other word", text[:-1], False
    yield "other word", rf"\text{{not {text}}}", False
    yield "other word", "7", False


def letter(text: str) -> Made:
    for made in (text, f"({text})", rf"\text{{({text})}}", rf"\text{{{text}}}", rf"\textbf{{({text})}}", rf"\textbf{{{text}}}", rf"\mathrm{{{text}}}", rf"\mathbf{{({text})}}", f"{text}.", f"{text})", text.lower(), f"({text}) something", rf"\text{{({text}) Circle}}", rf"\textbf{{({text})}}\ 12", f"Option {text}", f"Choice ({text})", f"{text}: yes", f"{text}. yes", f"**({text})**"):  # fmt: skip
        yield "choice letters", made, True
    for other in "ABCDE":
        if other != text:
            yield "other letter", other, False
            yield "other letter", rf"\text{{({other})}}", False
            yield "other letter", rf"\textbf{{({other})}} 12", False
    yield "other letter", "5", False


def equation(text: str) -> Made:
    import sympy
    from sympy.parsing.sympy_parser import implicit_multiplication_application, parse_expr, standard_transformations

    rules = (*standard_transformations, implicit_multiplication_application)
    left, right = (parse_expr(side, transformations=rules) for side in text.replace("^", "**").split("="))
    gap = sympy.expand(left - right)
    show = sympy.latex
    for made in (
        f"{show(right)} = {show(left)}",
        f"{show(gap)} = 0",
        f"0 = {show(gap)}",
        f"{show(-gap)} = 0",
        f"{show(2 * left)} = {show(sympy.expand(2 * right))}",
        f"{show(left + 1)} = {show(sympy.expand(right + 1))}",
        f"{show(sympy.expand(3 * gap))} = 0",
        f"{left} = {right}".replace("**", "^"),
    ):
        yield "equations", made, True
    name = sorted(gap.free_symbols, key=str)[0]
    for wrong in (gap + 1, gap + name, gap.subs(name, -name), gap.subs(name, 2 * name), gap.subs(name, name**2)):
        if sympy.expand(wrong - gap) != 0 and sympy.expand(wrong + gap) != 0:
            yield "changed equation", f"{show(sympy.expand(wrong))} = 0", False
    yield "changed equation", f"{show(left)} = {show(right)} + 1", False
    if left != name:
        yield "changed equation", show(gap), False
        if right == 0:
            yield "changed equation", "0", False


CLOCKS = (
    ("4:30 p.m.", [r"\text{4:30 p.m.}", r"4:30 \text{ PM}", "4:30 pm", "16:30", "4:30PM", "4:30"], ["4:30 a.m.", "3:30 p.m.", "4:31 p.m.", "4.5"]),
    ("20:34", ["20:34:00", r"08:34 \text{P.M.}", "8:34 pm"], ["20:35", "8:34 am"]),
    ("3:4", ["6:8", "3 : 4", r"\frac{3}{4}"], ["4:3", "3:5", r"\frac{4}{3}"]),
)  # fmt: skip


def clocks() -> Iterator[Case]:
    for gold, rights, wrongs in CLOCKS:
        yield from (Case("times", text, gold, True) for text in rights)
        yield from (Case("times", text, gold, False) for text in wrongs)


NUMBER = r"-?\d+"


def recognised(gold: str, golds: list[str]) -> Made:
    """All rewritings of one gold, by the first pattern it fits."""
    bare = gold.replace(r",\!", "").replace(" ", "")
    if re.fullmatch(NUMBER, bare) or re.fullmatch(r"\d{1,3}(,\d{3})+", bare):
        yield from integer(int(bare.replace(",", "")))
    elif m := re.fullmatch(r"(-?)\\d?frac\{?(\d+)\}?\{?(\d+)\}?", bare):
        if "{" not in bare and len(m[2] + m[3]) == 2:
            yield from fraction(Fraction(int(m[1] + (m[2] + m[3])[0]), int((m[2] + m[3])[1])))
        elif re.fullmatch(r"-?\\d?frac(\{\d+\}|\d)(\{\d+\}|\d)", bare):
            yield from fraction(Fraction(int(m[1] + m[2]), int(m[3])))
    elif m := re.fullmatch(r"(\d+)\\frac\{(\d+)\}\{(\d+)\}", bare):
        yield from fraction(int(m[1]) + Fraction(int(m[2]), int(m[3])))
    elif re.fullmatch(r"\d*\.\d+", gold):
        yield from decimal(gold)
    elif m := re.fullmatch(r"(-?\d*)\\sqrt\{?(\d+)\}?", bare):
        yield from surd(int(m[1] + "1") if m[1] in ("", "-") else int(m[1]), int(m[2]))
    elif m := re.fullmatch(r"(\d*)\\pi", bare):
        yield from circle(int(m[1] or 1))
    elif m := re.fullmatch(r"(-?\d+)([+-]\d+)i", bare):
        yield from complex_number(int(m[1]), int(m[2]))
    elif m := re.fullmatch(r"(\d+)_\{?(\d+)\}?", bare):
        yield from based(m[1], m[2])
    elif m := re.fullmatch(r"\\text\{\(([A-E])\)\}", gold):
        yield from letter(m[1])
    elif m := re.fullmatch(r"\\text\{(\w+)\}", gold):
        others = [x[1] for g in golds if (x := re.fullmatch(r"\\text\{(\w+)\}", g))]
        yield from word(m[1], [*others, "west", "odd", "parabola", "Angela"])
    elif m := re.fullmatch(r"(?:x\\in)?((?:(?:\\left)?[(\[][^()\[\]]*(?:\\right)?[)\]](?:\\cup)?)+)", bare):
        yield from brackets(m[1])
    elif m := re.fullmatch(r"\\begin\{pmatrix\}(.*)\\end\{pmatrix\}", bare):
        yield from matrix([row.split("&") for row in m[1].split("\\\\")])
    elif m := re.fullmatch(r"(\d+)\\pm(.*)", bare):
        yield from plus_minus(m[1], m[2])
    elif m := re.fullmatch(r"\\\{(\d+)\\pm(.*),(.*)\\\}", bare):
        yield from listed([f"{m[1]}+{m[2]}", f"{m[1]}-{m[2]}", m[3]])
    elif re.fullmatch(r"-?\d+(,-?\d+)+", bare):
        yield from listed(bare.split(","))
    elif m := re.fullmatch(r"(?:\\frac\{270\}7|(\d+))(?:\^\\circ|\\text\{degrees\})", bare):
        yield from degrees(m[1] or r"\frac{270}{7}")
    elif m := re.fullmatch(r"([\d.]+)\\(?:mbox|text)\{(\w+)\}(?:\^2)?", bare):
        yield from measured(m[1], m[2], 2 if "^2" in bare else 1)
    elif m := re.fullmatch(r"\\\$([\d.,]+)", bare):
        yield from amount(m[1].replace(",", ""))
    elif "=" in gold and re.fullmatch(r"x=\d+", bare):
        n = int(bare[2:])
        yield from ((f, a, e) for f, a, e in integer(n) if "m+n" not in a and f != "x = value")
        yield "x = value", f"x = {n}", True
        yield "x = value", f"{n} = x", True
    elif "=" in gold:
        yield from equation(gold)
    else:
        yield from algebra(gold)


def brackets(bare: str) -> Made:
    text = bare.replace(r"\left", "").replace(r"\right", "")
    pieces = [(p[0], *p[1:-1].split(",")[:1], p[1:-1].partition(",")[2], p[-1]) for p in text.split(r"\cup")]
    items = text[1:-1].split(",")
    if r"\cup" in text or "infty" in text or "[" in text or "]" in text or "sqrt" in text:
        yield from interval([(a, low, high, b) for a, low, high, b in pieces])
    else:
        yield from point(items)


def cases(golds: list[str]) -> Iterator[Case]:
    """Every rewriting and near miss of every different gold."""
    for gold in dict.fromkeys(golds):
        seen: set[str] = set()
        for form, answer, right in (*wrapped(gold), *recognised(gold, golds)):
            if answer != gold and answer not in seen:
                seen.add(answer)
                yield Case(form, answer, gold, right)
    yield from clocks()
