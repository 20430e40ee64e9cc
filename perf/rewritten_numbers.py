"""Rewritings and near misses of numbers and amounts: each yields (form, answer, whether it still earns the mark)."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

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
