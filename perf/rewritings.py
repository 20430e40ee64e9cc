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


class Case(NamedTuple):
    """An answer to compare with a gold, what was done to it, and whether it still earns the mark."""

    form: str
    answer: str
    gold: str
    equal: bool


Made = Iterator[tuple[str, str, bool]]

# Spelled here and not by the package's own tables, which are what is measured.
SMALL = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
]  # fmt: skip
TENS = ["_", "_", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def spelled(n: int) -> str:
    """A whole number below a million in English words."""
    if n < 0:
        return "negative " + spelled(-n)
    if n < 20:
        return SMALL[n]
    if n < 100:
        return TENS[n // 10] + (f"-{SMALL[n % 10]}" if n % 10 else "")
    if n < 1000:
        return f"{SMALL[n // 100]} hundred" + (f" {spelled(n % 100)}" if n % 100 else "")
    return f"{spelled(n // 1000)} thousand" + (f" {spelled(n % 1000)}" if n % 1000 else "")


def grouped(n: int, mark: str) -> str:
    return f"{n:,}".replace(",", mark)


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


def integer(n: int) -> Made:
    a = abs(n)
    for name in ("x", "n", "k", "N", "a_5", "AB", "f(3)", "m+n"):
        yield "x = value", f"{name} = {n}", True
    yield "x = value", rf"\text{{Area}} = {n}", True
    yield "x = value", f"x={n}", True
    yield "x = value", f"{n} = x", True
    if a >= 1000:
        sign = "-" if n < 0 else ""
        for mark in (",", r",\!", "{,}", r"\,", " ", r"\ ", "\u2009", "~", r",\! "):
            yield "thousands", sign + grouped(a, mark), True
        yield "last digit", str(n + 1), False
        yield "last digit", str(n - 1), False
        yield "last digit", str(n + (1 if n % 10 < 9 else -9)), False
        yield "last digit", grouped(n + 2, ","), False
    if n >= 0:
        for unit in (
            r"\text{ cm}",
            r"\text{ units}",
            r" \text{ square units}",
            r"\text{ cm}^2",
            r"\ \mathrm{m}^3",
            " cm",
            " inches",
            r"\,\text{m/s}",
            " apples",
            r"\text{ ways}",
            r"\text{ km}^{2}",
            r"\mbox{ inches}^2",
            " ft^3",
            " square feet",
            " hours",
            r"\text{ meters per second}",
        ):
            yield "units", f"{n}{unit}", True
        for degree in (
            r"^\circ",
            r"^{\circ}",
            "°",
            r"\text{ degrees}",
            " degrees",
            r"\degree",
            r" ^\circ",
        ):
            yield "degrees", f"{n}{degree}", True
        for money in (rf"\${n}", rf"\${n}.00", f"{n} dollars", rf"{n}\text{{ dollars}}", f"${n}"):
            yield "money", money, True
        if n < 1_000_000:
            word = spelled(n)
            yield "number words", word, True
            yield "number words", rf"\text{{{word}}}", True
            yield "number words", word.capitalize(), True
            if n > 2:
                yield "number words", spelled(n + 1), False
        yield "ordinal", rf"{n}^{{\text{{th}}}}", True
        if n > 1:
            yield "same value", rf"\sqrt{{{n * n}}}", True
            yield "same value", f"{n - 1} + 1", True
    yield "decimal", f"{n}.0", True
    yield "decimal", f"{n}.00", True
    yield "fraction", rf"\frac{{{2 * n}}}{{2}}", True
    yield "fraction", f"{3 * n}/3", True
    yield "brackets", rf"\left( {n} \right)", True
    yield "brackets", f"({n})", True
    yield "unicode", "".join(chr(ord(c) - ord("0") + 0xFF10) if c.isdigit() else c for c in str(n)), True
    yield "unicode", f"\u200b{n}\u200b", True
    for wrong in {n + 1, n - 1, -n, 10 * n, 100 * n, n + 10} - {n}:
        yield "near number", str(wrong), False
    if n:
        yield "factor 100", f"{Fraction(n, 100).numerator}/{Fraction(n, 100).denominator}", False
        yield "factor 100", f"{n / 100}", False
        yield "wrong kind", rf"{n}\pi", False
        yield "wrong kind", f"{n}x", False
    yield "changed equation", f"x^2 = {n}" if n != 0 else "x^2 = 1", False
    yield "list", f"{n}, {n + 1}", False
    yield "list", rf"{n} \text{{ or }} {n + 1}", False
    yield "wrong kind", f"({n}, {n + 1})", False
    if a > 1:
        yield "wrong kind", rf"\sqrt{{{a}}}", False
        yield "base", f"{a}_{{{9 if any(d in str(a) for d in '89') is False else 12}}}", False


def fraction(value: Fraction) -> Made:
    p, q = value.numerator, value.denominator
    sign, a = ("-" if p < 0 else ""), abs(p)
    for text in (rf"\frac{{{p}}}{{{q}}}", rf"{sign}\frac{{{a}}}{{{q}}}", rf"\dfrac{{{p}}}{{{q}}}", f"{p}/{q}", rf"\frac{{{2 * p}}}{{{2 * q}}}",
                 f"({p})/({q})", rf"\frac{{{-p}}}{{{-q}}}", rf"{sign}{a} \div {q}", rf"{sign}{a}/{q}", rf"\left(\frac{{{p}}}{{{q}}}\right)", rf"{p} \cdot \frac{{1}}{{{q}}}"):  # fmt: skip
        yield "fraction", text, True
    if a < 10 and q < 10:
        yield "fraction", rf"{sign}\frac{a}{q}", True
        yield "fraction", rf"{sign}\frac {a} {q}", True
    yield "x = value", rf"x = \frac{{{p}}}{{{q}}}", True
    yield "x = value", f"x = {p}/{q}", True
    yield "x = value", rf"\frac{{m}}{{n}} = \frac{{{p}}}{{{q}}}", True
    rest = q
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest == 1:
        exact = f"{float(value):.12f}".rstrip("0")
        yield "decimal", exact, True
        yield "decimal", exact + "0", True
        if a < q:
            yield "decimal", exact.replace("0.", ".", 1), True
    else:
        yield "rounded", f"{float(value):.3f}", False
        yield "rounded", f"{float(value):.2f}", False
        yield "rounded", f"{float(value):.6f}", False
    if a > q:
        whole, part = divmod(a, q)
        yield "mixed number", rf"{sign}{whole}\frac{{{part}}}{{{q}}}", True
        yield "mixed number", rf"{sign}{whole} \frac{{{part}}}{{{q}}}", True
        yield "mixed number", f"{sign}{whole} {part}/{q}", True
        yield "mixed number", rf"{sign}{whole}\tfrac{{{part}}}{{{q}}}", True
        yield "mixed number", rf"{sign}{whole + 1}\frac{{{part}}}{{{q}}}", False
        if part + 1 < q:
            yield "mixed number", rf"{sign}{whole}\frac{{{part + 1}}}{{{q}}}", False
    for wrong in (Fraction(q, p), value + 1, -value, Fraction(p + 1, q), Fraction(p, q + 1), value * 100, value / 100):
        if wrong != value:
            yield "near number", rf"\frac{{{wrong.numerator}}}{{{wrong.denominator}}}", False
    yield "wrong kind", f"({p}, {q})", False
    yield "wrong kind", f"{p}, {q}", False


def decimal(text: str) -> Made:
    value = Fraction(text if text[0] != "." else "0" + text)
    tidy = f"{float(value):.10f}".rstrip("0")
    yield "decimal", tidy, True
    yield "decimal", tidy + "0", True
    yield "decimal", tidy.replace("0.", ".", 1) if value < 1 else tidy, True
    yield "fraction", rf"\frac{{{value.numerator}}}{{{value.denominator}}}", True
    yield "fraction", f"{value.numerator}/{value.denominator}", True
    mantissa, power = f"{float(value):.8e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".")
    yield "decimal", rf"{mantissa} \times 10^{{{int(power)}}}", True
    yield "decimal", f"{mantissa}e{int(power)}", True
    yield "decimal", f"{mantissa}×10^{int(power)}", True
    yield "x = value", f"x = {tidy}", True
    step = Fraction(1, 10 ** len(text.partition(".")[2]))
    for wrong in (value + step, value - step, value * 10, value / 10, value * 100, -value):
        yield "near number", f"{float(wrong):.10f}".rstrip("0"), False
    if len(text.partition(".")[2]) > 1:
        yield (
            "rounded",
            f"{float(value):.{len(text.partition('.')[2]) - 1}f}",
            round(value, len(text.partition(".")[2]) - 1) == value,
        )


def surd(a: int, b: int) -> Made:
    """a√b."""
    lead = "" if a == 1 else "-" if a == -1 else str(a)
    sign = "-" if a < 0 else ""
    for text in (rf"{sign}\sqrt{{{a * a * b}}}", rf"{lead}\sqrt {{{b}}}", rf"{a} \cdot \sqrt{{{b}}}", rf"{a} \times \sqrt{{{b}}}", rf"{a}\cdot {b}^{{1/2}}",
                 rf"{a}\cdot {b}^{{\frac{{1}}{{2}}}}", rf"\frac{{{a * b}}}{{\sqrt{{{b}}}}}", rf"\frac{{{2 * a}\sqrt{{{b}}}}}{{2}}", rf"\sqrt{{{b}}} \cdot ({a})", rf"{lead}\sqrt{{{b}}}", rf"{sign}({a * a * b})^{{1/2}}"):  # fmt: skip
        yield "surds", text, True
    if b < 10:
        yield "surds", rf"{lead}\sqrt{b}", True
        yield "surds", rf"{lead}\sqrt {b}", True
    yield "x = value", rf"x = {lead}\sqrt{{{b}}}", True
    yield "ascii", f"{a}*sqrt({b})", True
    yield "ascii", f"{a}sqrt({b})" if abs(a) > 1 else f"{lead}sqrt({b})", True
    yield "ascii", f"{a}*{b}**(1/2)", True
    yield "ascii", f"{a}*{b}^(1/2)", True
    yield "unicode", f"{lead}√{b}", True
    for text in (rf"{lead}\sqrt[3]{{{b}}}", rf"{a + 1}\sqrt{{{b}}}" if a != -1 else "0", rf"{lead}\sqrt{{{b + 1}}}", rf"{a}+\sqrt{{{b}}}", f"{a * b}",
                 rf"\sqrt{{{abs(a) * b}}}" if abs(a) != 1 else rf"\sqrt{{{b - 1}}}", rf"{-a}\sqrt{{{b}}}", rf"{lead}\sqrt[4]{{{b}}}", f"{a * float(b) ** 0.5:.2f}", f"{a * float(b) ** 0.5:.4f}"):  # fmt: skip
        yield "near surd", text, False


def circle(a: int) -> Made:
    """aπ."""
    for text in (rf"{a} \pi", rf"\pi \cdot {a}", rf"{a} \cdot \pi", rf"{a}\times\pi", rf"\frac{{{2 * a}\pi}}{{2}}", f"{a} pi" if a != 1 else "pi", f"{a}*pi", f"{a}π" if a != 1 else "π", rf"\pi({a})"):  # fmt: skip
        yield "surds", text, True
    for text in (
        rf"{a + 1}\pi",
        rf"{a}\pi^2",
        f"{a}",
        f"{a * 3.14:.2f}",
        f"{a * 3.14159265:.4f}",
        rf"\frac{{{a}}}{{\pi}}",
        rf"-{a}\pi",
        rf"{100 * a}\pi",
    ):
        yield "near surd", text, False


def complex_number(a: int, b: int) -> Made:
    plus, size = ("+" if b > 0 else "-"), abs(b)
    for text in (f"{a} {plus} {size}i", f"{a}{plus}{size} i", rf"{a} {plus} {size}\mathrm{{i}}", f"{b}i + {a}" if a > 0 else f"{b}i - {-a}", f"{a}{plus}i{size}", f"i{size} + {a}" if b > 0 else f"{a} - i{size}",
                 f"{a} {plus} {size}*i", rf"{a} {plus} {size} \cdot i", f"({a}) + ({b})i", rf"{a} {plus} {size}\,i", f"{a}{plus}{size}𝑖", rf"{a} {plus} i \cdot {size}", rf"{a}{plus}{size}\text{{i}}", rf"{a}{plus}{size}\imath"):  # fmt: skip
        yield "complex", text, True
    yield "x = value", f"z = {a}{plus}{size}i", True
    minus = "-" if b > 0 else "+"
    for text in (
        f"{a} {minus} {size}i",
        f"{b} {'+' if a > 0 else '-'} {abs(a)}i",
        f"{-a} {plus} {size}i",
        f"{a} {plus} {size}",
        f"{a} {plus} {size + 1}i",
        f"{a + 1} {plus} {size}i",
        f"{a}i {plus} {size}" if a != b else "0",
        f"({a}, {b})",
        f"{a} {plus} {size}x",
    ):
        yield "near complex", text, False


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


def listed(items: list[str]) -> Made:
    back = list(reversed(items))
    for order in (items, back):
        yield "set or list", ", ".join(order), True
        yield "set or list", ",".join(order), True
        yield "set or list", r"\{" + ", ".join(order) + r"\}", True
        yield "set or list", r"\left\{" + ", ".join(order) + r"\right\}", True
        yield "set or list", r", ".join(order[:-1]) + r" \text{ and } " + order[-1], True
        yield "set or list", ", ".join(order[:-1]) + " and " + order[-1], True
        yield "set or list", ", ".join(order[:-1]) + r" \text{ or } " + order[-1], True
        yield "set or list", ", ".join(order[:-1]) + " or " + order[-1], True
        if len(order) > 2:
            yield "set or list", ", ".join(order[:-1]) + ", and " + order[-1], True
            yield "set or list", ", ".join(order[:-1]) + r",\text{ and }" + order[-1], True
        yield "set or list", ", ".join(f"x = {v}" for v in order), True
        yield "set or list", r" \text{ or } ".join(f"x = {v}" for v in order), True
        yield "set or list", "x = " + ", ".join(order), True
        yield "set or list", r"x \in \{" + ", ".join(order) + r"\}", True
        yield "set or list", "; ".join(order), True
        yield "set or list", r",\ ".join(order), True
    yield "near list", ", ".join(items[:-1]), False
    yield "near list", ", ".join([*items, "99"]), False
    yield "near list", ", ".join([*items[:-1], "99"]), False
    yield "near list", r"\{" + ", ".join(items[1:]) + r"\}", False
    yield "near list", ", ".join(f"-({v})" for v in items), False
    yield "near list", items[0], False


def point(items: list[str]) -> Made:
    body = ", ".join(items)
    for text in (
        f"({body})",
        f"({','.join(items)})",
        rf"\left({body}\right)",
        rf"\left( {body} \right)",
        f"( {body} )",
        rf"\big({body}\big)",
        "(" + r",\ ".join(items) + ")",
        rf"\bigl({body}\bigr)",
    ):
        yield "tuples", text, True
    yield (
        "tuples",
        "(" + ", ".join(rf"\frac{{2 \cdot {v}}}{{2}}" if re.fullmatch(r"\d+", v) else v for v in items) + ")",
        True,
    )
    if len(items) in (2, 3):
        yield "tuples", ", ".join(f"{n} = {v}" for n, v in zip("xyz", items, strict=False)), True
        yield "tuples", rf"({','.join('xyz'[: len(items)])}) = ({body})", True
        yield "tuples", rf"(x,y) = \left({body}\right)" if len(items) == 2 else f"({body})", True
        if len(set(items[:2])) == 2:
            yield "swapped", f"({', '.join([items[1], items[0], *items[2:]])})", False
    yield "near tuple", f"({', '.join(items[:-1])})", False
    yield "near tuple", f"({', '.join([*items[:-1], items[-1] + '+1'])})", False
    yield "near tuple", f"({', '.join(['-(' + items[0] + ')', *items[1:]])})", items[0] == "0"
    yield "near tuple", f"({body}, 0)", False
    if len(items) == 2:
        yield "near tuple", f"[{body}]", False
    yield "near tuple", r"\{" + body + r"\}", False


def interval(pieces: list[tuple[str, str, str, str]]) -> Made:
    """Pieces are (bracket, low, high, bracket)."""

    def show(
        parts: list[tuple[str, str, str, str]], comma: str = ", ", left: str = "", right: str = "", cup: str = r" \cup "
    ) -> str:
        return cup.join(f"{left}{a}{low}{comma}{high}{right}{b}" for a, low, high, b in parts)

    yield "intervals", show(pieces), True
    yield "intervals", show(pieces, ","), True
    yield "intervals", show(pieces, left=r"\left", right=r"\right"), True
    yield "intervals", show(pieces, left=r"\left", right=r" \right"), True
    yield "intervals", show(pieces, r",\ "), True
    yield "intervals", r"x \in " + show(pieces), True
    yield "intervals", show(pieces, cup="∪"), True
    if len(pieces) > 1:
        yield "intervals", show(list(reversed(pieces))), True
        yield "intervals", show(pieces, cup=" U "), True
        yield "near interval", show(pieces[:-1]), False
        yield "near interval", show(pieces[1:]), False
    if any(high == r"\infty" for _, _, high, _ in pieces):
        yield "intervals", show(pieces).replace(r"\infty", r"+\infty").replace("-+", "-"), True
        yield "intervals", show(pieces).replace(r"\infty", "∞"), True
        yield "intervals", show(pieces).replace(r"\infty", "infinity"), True
    for signs in ((r"\le", r"\ge", r"\leq", r"\geq"), ("≤", "≥", "<=", ">=")):
        for name in ("x",):
            for le, ge in (signs[:2], signs[2:]):
                described = [describe(p, name, le, ge) for p in pieces]
                yield "interval as inequality", r" \text{ or } ".join(described), True
                if len(described) > 1:
                    yield "interval as inequality", " or ".join(described), True
    described = [describe(p, "x", r"\le", r"\ge") for p in pieces]
    if len(described) == 1:
        yield "interval as inequality", rf"\{{x \mid {described[0]}\}}", True
        yield "interval as inequality", rf"\{{x : {described[0]}\}}", True
    for k, (a, low, high, b) in enumerate(pieces):
        others = (pieces[:k], pieces[k + 1 :])
        if "infty" not in low:
            yield "open for closed", show([*others[0], ("[" if a == "(" else "(", low, high, b), *others[1]]), False
            yield (
                "open for closed",
                r" \text{ or } ".join(
                    describe(p, "x", r"\le", r"\ge")
                    for p in [*others[0], ("[" if a == "(" else "(", low, high, b), *others[1]]
                ),
                False,
            )
            yield "near interval", show([*others[0], (a, low + "-1", high, b), *others[1]]), False
        if "infty" not in high:
            yield "open for closed", show([*others[0], (a, low, high, "]" if b == ")" else ")"), *others[1]]), False
            yield "near interval", show([*others[0], (a, low, high + "+1", b), *others[1]]), False
    if len(pieces) == 1 and "infty" not in show(pieces):
        a, low, high, b = pieces[0]
        yield "near interval", f"{a}{high}, {low}{b}", False


def describe(piece: tuple[str, str, str, str], name: str, le: str, ge: str) -> str:
    a, low, high, b = piece
    if "infty" in low:
        return f"{name} {le if b == ']' else '<'} {high}"
    if "infty" in high:
        return f"{name} {ge if a == '[' else '>'} {low}"
    return f"{low} {le if a == '[' else '<'} {name} {le if b == ']' else '<'} {high}"


def based(digits: str, base: str) -> Made:
    word = SMALL[int(base)]
    for text in (f"{digits}_{base}", f"{digits}_{{{base}}}", rf"{digits}_{{\text{{{word}}}}}", rf"{digits}_\text{{{word}}}", rf"({digits})_{{{base}}}", rf"{digits}_{{({base})}}", rf"{digits} \text{{ base }} {base}", f"{digits} base {base}",
                 f"{digits} (base {base})", f"{digits}{chr(0x2080 + int(base))}", rf"\text{{{digits}}}_{{{base}}}", rf"{digits}_{{\mathrm{{{word}}}}}", rf"\mathbf{{{digits}}}_{{{base}}}", rf"{digits}\,_{{{base}}}"):  # fmt: skip
        yield "base", text, True
    for other in (int(base) + 1, int(base) - 1, 10):
        if other > 2:
            yield "base", f"{digits}_{{{other}}}", False
    yield "base", f"{digits}{base}", False
    yield "base", f"{int(digits) + 1}_{base}", False
    yield "base", f"{digits[::-1]}_{base}", digits == digits[::-1]
    if int(digits, int(base)) != int(digits):
        yield "base", str(int(digits, int(base))), False


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


def matrix(rows: list[list[str]]) -> Made:
    def show(entries: list[list[str]], name: str = "pmatrix", cut: str = r" \\ ") -> str:
        return rf"\begin{{{name}}} " + cut.join(" & ".join(r) for r in entries) + rf" \end{{{name}}}"

    yield "matrices", show(rows), True
    yield "matrices", show(rows, "bmatrix"), True
    yield "matrices", show(rows, cut=r"\\"), True
    yield "matrices", show(rows, cut=" \\\\\n"), True
    yield "matrices", rf"\left({show(rows, 'matrix')}\right)", True
    yield "matrices", rf"\left[{show(rows, 'matrix')}\right]", True
    split = [[re.sub(r"(-?)(\d+)/(\d+)", r"\1\\frac{\2}{\3}", v) for v in r] for r in rows]
    yield "matrices", show(split), True
    yield "matrices", show([[v.replace("frac", "dfrac") for v in r] for r in split]), True
    yield "matrices", show([[re.sub(r"(-?)(\d+)/(\d+)", r"\\frac{\1\2}{\3}", v) for v in r] for r in rows]), True
    yield "matrices", show([[f"{v}.0" if re.fullmatch(r"-?\d+", v) else v for v in r] for r in rows]), True
    columns = "c" * len(rows[0])
    yield (
        "matrices",
        rf"\left(\begin{{array}}{{{columns}}} " + r" \\ ".join(" & ".join(r) for r in rows) + r" \end{array}\right)",
        True,
    )
    if len(rows[0]) == 1:
        yield "matrices", rf"\mathbf{{v}} = {show(rows)}", True
        swapped = [rows[1], rows[0], *rows[2:]]
        if swapped != rows:
            yield "near matrix", show(swapped), False
        yield "near matrix", show(rows[:-1]), False
    flat = [v for r in rows for v in r]
    changed = [list(r) for r in rows]
    changed[0][0] = changed[0][0] + "+1"
    yield "near matrix", show(changed), False
    changed = [[f"-({v})" for v in r] for r in rows]
    yield "near matrix", show(changed), all(v == "0" for v in flat)
    yield "near matrix", show([*rows, ["0"] * len(rows[0])]), False


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


def plus_minus(a: str, b: str) -> Made:
    for made in (rf"{a} + {b}, {a} - {b}", rf"{a} - {b}, {a} + {b}", rf"\{{{a} + {b}, {a} - {b}\}}", rf"x = {a} \pm {b}", rf"{a}\pm{b}", rf"{a} + {b} \text{{ and }} {a} - {b}", rf"{a} - {b} \text{{ or }} {a} + {b}", rf"x = {a} + {b}, x = {a} - {b}", rf"x = {a} + {b} \text{{ or }} x = {a} - {b}", f"{a} ± {b}", rf"\pm {b} + {a}", rf"{a} \mp {b}"):  # fmt: skip
        yield "plus-minus", made, True
    for made in (
        rf"{a} + {b}",
        rf"{a} - {b}",
        rf"-{a} \pm {b}",
        rf"{a} \pm 2{b}" if b[0] == "\\" else rf"{a} \pm {b} + 1",
        rf"\pm {b}",
        rf"{a} + {b}, {a} + {b}",
        rf"{a} \pm {b} i",
        rf"{a} + {b}, {a} - {b}, 0",
    ):
        yield "near list", made, False


def measured(number: str, unit: str, power: int) -> Made:
    long = {"cm": "centimeters", "inches": "inches", "cents": "cents"}[unit]
    raised = {1: "", 2: "^2", 3: "^3"}[power]
    yield "units", number, True
    for made in (
        rf"{number} \text{{ {unit}}}{raised}",
        rf"{number}\ \mathrm{{{unit}}}{raised}",
        f"{number} {unit}{raised}",
        rf"{number}\,\text{{{unit}}}{raised}",
        rf"{number}\text{{ {unit}}}" + ("" if power == 1 else "^{" + str(power) + "}"),
        rf"{number} \mbox{{ {unit}}}{raised}",
        rf"{number}.0\text{{ {unit}}}{raised}" if "." not in number else number,
    ):
        yield "units", made, True
    if power == 2:
        yield "units", rf"{number} \text{{ square {long}}}", True
        yield "units", f"{number} square {long}", True
        yield "units", f"{number} {unit}²", True
        yield "units", f"{number} sq {unit}", True
        yield "wrong unit", rf"{number} \text{{ {unit}}}", False
        yield "wrong unit", rf"{number} \text{{ {unit}}}^3", False
        yield "wrong unit", rf"{number} \text{{ m}}^2", False
        yield "wrong unit", f"{number} cubic {long}", False
        yield "wrong unit", f"{number} square feet", False
    else:
        yield "wrong unit", rf"{number} \text{{ dollars}}", False
        yield "wrong unit", rf"\${number}", False
        yield "wrong unit", rf"{number} \text{{ m}}", False
    yield "near number", rf"{number}1 \text{{ {unit}}}{raised}", False
    yield "near number", f"{number}1", False


def amount(text: str) -> Made:
    value = Fraction(text)
    plain = f"{float(value):.2f}"
    short = plain.removesuffix(".00")
    for made in (rf"\${plain}", rf"\$ {plain}", f"${plain}", plain, short, f"{short} dollars", rf"{plain}\text{{ dollars}}", rf"\$\,{plain}", rf"\$\text{{{plain}}}", rf"x = \${plain}", rf"{plain} \text{{ USD}}", rf"{int(value * 100)} \text{{ cents}}"):  # fmt: skip
        yield "money", made, True
    if value >= 1000:
        for mark in (",", r",\!", "{,}", r"\,"):
            yield "money", rf"\${grouped(int(value), mark)}", True
    yield "near number", rf"\${float(value) + 1:.2f}", False
    yield "near number", rf"\${float(value) * 10:.2f}", False
    yield "wrong unit", rf"{short}\text{{ cents}}", False
    yield "wrong unit", f"€{short}", False


def degrees(value: str) -> Made:
    for made in (rf"{value}^\circ", rf"{value}^{{\circ}}", f"{value}°", rf"{value}\text{{ degrees}}", f"{value} degrees", value, rf"{value}\degree", rf"{value} ^\circ", rf"\angle ABC = {value}^\circ", rf"x = {value}^\circ", rf"{value}\,^\circ", rf"{value}^{{\,\circ}}", rf"{value}\textdegree", f"{value} deg", rf"{value}\mathrm{{ degrees}}", rf"m\angle A = {value}^\circ"):  # fmt: skip
        yield "degrees", made, True
    yield "near number", rf"{value}^\circ + 1^\circ", False
    yield "near number", rf"-{value}^\circ", False
    yield "wrong unit", rf"{value}\text{{ radians}}", False
    yield "wrong unit", rf"{value}\text{{ cm}}", False
    yield "wrong unit", rf"{value}\%", False


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
