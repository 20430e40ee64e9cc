"""Units after a number: what they measure and how they convert, exactly. An unknown word stays a word."""

from __future__ import annotations

import re
import tomllib
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from string import ascii_letters
from typing import Final, NamedTuple

from markscheme.marking.equality.letters import WORD

MAX_LENGTH: Final = 200  # characters of a unit that are read: thousands of factors would multiply to millions of digits
ANY: Final = "any"  # the dimension of `units`, an unspecified length


class Unit(NamedTuple):
    """`dimensions` maps base to exponent, sorted; `factor` converts to base units; `word` is set if unknown."""

    dimensions: tuple[tuple[str, int], ...]
    factor: Fraction
    word: str = ""


# By name: the base unit, its power, and the factor to it.
_UNITS: Final = {
    name: (base.rstrip("-13"), int(base.lstrip(ascii_letters) or 1), Fraction(factor))
    for base, rows in tomllib.loads(Path(__file__).with_name("units.toml").read_text("utf-8")).items()
    for factor, names in rows.items()
    for name in names.split()
}
_SI_SYMBOLS: Final = "J|N|Wh|W|V|A|C|T|F|Pa|Hz|eV|mol|bar|cal|m|g|s|L|ohm"
_SI: Final = re.compile(rf"([pnuμmckMG]?)({_SI_SYMBOLS})")
_SI_PREFIXES: Final = {"p": -12, "n": -9, "u": -6, "μ": -6, "m": -3, "c": -2, "": 0, "k": 3, "M": 6, "G": 9}
_SPEEDS: Final = {"mph": ("mile", "hour"), "kph": ("km", "hour"), "kmh": ("km", "hour"), "fps": ("foot", "second")}
_POWERS: Final = {"square": 2, "sq": 2, "squared": 2, "cubic": 3, "cu": 3, "cubed": 3}
_PIECES: Final = re.compile(rf"\^?\{{?\(?(-?\d+)\)?\}}?|{WORD}(?:'s)?|°[cfkCFK]?|/")
_TEMPERATURE: Final = re.compile(r"\bdegrees?\s(?=[cfk])", re.IGNORECASE)
_ASKED: Final = re.compile(
    r"\b(?:how many|how much in|in|number of)\s(?:whole\s|total\s)?([a-z]{3,12}s|[ckm][mg])\b", re.IGNORECASE
)
_FILLERS: Final = "a an the of in and approximately about total long tall wide away old more less each"


@lru_cache(maxsize=1024)
def read_unit(text: str) -> Unit | None:
    """Return the unit that a text names, or None for an empty text. A text that starts with a known unit is that unit."""
    dimensions: dict[str, int] = {}
    factor = Fraction(1)
    sign, pending, known = 1, 1, False
    last: tuple[str, int, Fraction] | None = None
    unknown: list[str] = []
    for m in _PIECES.finditer(_TEMPERATURE.sub("°", text[:MAX_LENGTH])):
        piece = m[0].lower()
        if m[1] is not None or piece in ("squared", "cubed"):
            exponent = int(m[1]) if m[1] is not None else _POWERS[piece]
            if last is None or abs(exponent) > 9:
                break
            base, times, size = last
            dimensions[base] += times * (exponent - 1)
            factor *= size ** (exponent - 1)
            last = None
        elif piece in ("/", "per"):
            sign = -1
        elif piece in _POWERS:
            pending = _POWERS[piece]
        else:
            found = _lookup(m[0])
            if found is None:
                unknown.append(_stem(piece))
                if known:
                    break  # "cm of ribbon"
                continue
            for base, times, size in found:
                power = pending * sign
                dimensions[base] = dimensions.get(base, 0) + times * power
                factor *= size**power
                last = (base, times * power, size**power)
            known, pending = True, 1
            if sign < 0:
                sign = 1
    if known:
        return Unit(tuple(sorted((b, e) for b, e in dimensions.items() if e)), factor)
    word = " ".join(w for w in unknown if w not in _FILLERS.split())
    return Unit((), Fraction(1), word) if word else None


@lru_cache(maxsize=4096)
def unit_asked(statement: str) -> str:
    """Return the unit in which a problem asks for its answer ("how many cents", "in minutes") if it names only one."""
    names = {m[1].lower() for m in _ASKED.finditer(statement[:20_000])}
    known = [name for name in names if _lookup(name) is not None]
    return known[0] if len(known) == 1 else ""


def _lookup(word: str) -> list[tuple[str, int, Fraction]] | None:
    """Return (base, exponent, factor) of one unit word. Case matters only for SI symbols."""
    symbol = _SI.fullmatch(word)
    if symbol is not None:
        base, times, factor = _UNITS.get(symbol[2].lower(), (symbol[2].lower(), 1, Fraction(1)))
        return [(base, times, factor * Fraction(10) ** _SI_PREFIXES[symbol[1]])]
    if word == "Nm":
        return [_UNITS["newton"], _UNITS["m"]]
    lower = word.lower()
    for name in (lower, _stem(lower)):
        if name in _UNITS:
            return [_UNITS[name]]
        if name in _SPEEDS:
            distance, time = (_UNITS[unit] for unit in _SPEEDS[name])
            return [distance, (time[0], -1, 1 / time[2])]
    return None


def _stem(word: str) -> str:
    if word.endswith("ches") or word.endswith("shes"):
        return word[:-2]
    return word[:-1] if len(word) > 2 and word.endswith("s") and not word.endswith("ss") else word


def angle(unit: Unit) -> str | None:
    """Return `deg` or `rad` for a plain angle."""
    return unit.dimensions[0][0] if unit.dimensions in ((("deg", 1),), (("rad", 1),)) else None


def compatible(a: Unit, b: Unit) -> bool:
    """True if amounts in these units can be compared: the same dimensions, or `units` on one side."""
    if a.word or b.word:
        return bool(set(a.word.split()) & set(b.word.split()))
    if a.dimensions == b.dimensions or _price(a, b) or _price(b, a):
        return True
    return _generic(a, b) or _generic(b, a)


def _price(a: Unit, b: Unit) -> bool:
    return b.dimensions in ((("usd", 1),), (("eur", 1),)) and b.dimensions[0] in a.dimensions and all(
        e < 0 for base, e in a.dimensions if (base, e) != b.dimensions[0]
    )  # fmt: skip


def _generic(a: Unit, b: Unit) -> bool:
    return (
        len(a.dimensions) == len(b.dimensions) == 1
        and a.dimensions[0][0] == ANY
        and b.dimensions[0] == ("m", a.dimensions[0][1])
    )


_SYMBOL: Final = (
    rf"(?:[pnumckMG]?(?:{_SI_SYMBOLS}|h)|K|Wb|atm|[Tt]orr|mmHg|psi|min|hr|ft|lbs?|rad|angstrom)(?:\^-?[1-9])?"
)
_IN_LETTERS: Final = re.compile(
    r"([-+]?[\d.,/\s]*\d(?:\s?(?:\\times|\*|x)\s?10\s?\^\s?[-+]?\d+)?|[-+]?\d[\d.]*[eE][-+]?\d+)"
    rf"(?:\s({_SYMBOL}(?:(?:\s?[/*]\s?|(?<=kg) | (?=[^/]*\^-)){_SYMBOL}){{0,4}})|\s*\(([A-Za-z]{{1,3}})\))\s*\.?"
)
_FONT: Final = re.compile(r"\\(?:mathrm|text|textrm|rm|operatorname)(?![a-z])\s?|\\[ ,;]|[{}~]")
_POWER: Final = re.compile(r"\^\s?([-+]?\d+)")
_SPELLED: Final = {"\\cdot": "*", "·": "*", "\\Omega": "ohm", "Ω": "ohm", "\\AA": "angstrom", "Å": "angstrom"}
_MICRO: Final = re.compile(r"(?:\\mu(?![a-zA-Z])|[μµ])(?:[\s{~]|\\[ ,;]|\\(?:mathrm|text|textrm|rm)(?![a-z]))*")
_AROUND_SIGNS: Final = re.compile(r" ?([/*]) ?")
_NAMES: Final = {"T": "tesla", "F": "farad"}


def with_unit_set_apart(text: str) -> str:
    r"""Rewrite an amount with a unit in plain letters so that the unit is text: `5.2 x 10^3 kJ/mol`, `3 m \mathrm{s^{-1}}`, `3 (cm)`.

    Return any other text unchanged: without a space, `5m` is a product.
    """
    head, equals, amount = text.rpartition("=")
    if amount[:1] not in "-+.0123456789 " or len(text) > 100:
        return text
    plain = amount.replace("$", "") if amount.count("$") == 2 else amount
    for symbol, name in _SPELLED.items():
        plain = plain.replace(symbol, name)
    plain = _MICRO.sub("u", plain)
    m = _IN_LETTERS.fullmatch(" ".join(_FONT.sub(lambda mark: "" if mark[0] in "{}" else " ", plain).split()))
    if m is None:
        return text
    symbols = _AROUND_SIGNS.sub(r"\1", m[2] or m[3])
    unit, _, exponent = symbols.partition("^")
    if not unit.isalpha() or not exponent.lstrip("-").isdigit():
        unit, exponent = symbols, ""  # m/s^2 is kept
    amount = _POWER.sub(r"^{\1}", m[1])
    return rf"{head}{equals}{amount}\text{{ {_NAMES.get(unit, unit)}}}" + (f"^{{{exponent}}}" if exponent else "")
