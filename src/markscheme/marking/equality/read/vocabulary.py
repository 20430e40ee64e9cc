"""The vocabulary of the tokeniser: commands, functions, constants, and which letters make a word."""

from __future__ import annotations

from typing import Final

from markscheme.marking.reading.number_words import NUMBER_WORDS


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


# Function names, as commands and as plain letters, to the name in the program.
FUNCTIONS: Final = {
    "sin": "sin", "cos": "cos", "tan": "tan", "tg": "tan", "cot": "cot", "ctg": "cot", "sec": "sec", "csc": "csc",
    "cosec": "csc", "arcsin": "arcsin", "asin": "arcsin", "arccos": "arccos", "acos": "arccos", "arctan": "arctan",
    "atan": "arctan", "arctg": "arctan", "arccot": "arccot", "acot": "arccot", "sinh": "sinh", "cosh": "cosh",
    "tanh": "tanh", "ln": "ln", "log": "log", "lg": "lg", "exp": "exp", "abs": "abs", "floor": "floor",
    "ceil": "ceil", "factorial": "factorial", "cbrt": "cbrt", "cis": "cis", "asinh": "asinh", "arsinh": "asinh", "arcsinh": "asinh", "acosh": "acosh",
    "arcosh": "acosh", "arccosh": "acosh", "atanh": "atanh", "artanh": "atanh", "arctanh": "atanh",
}  # fmt: skip
INVERSE: Final = {
    "sin": "arcsin", "cos": "arccos", "tan": "arctan", "cot": "arccot", "sinh": "asinh", "cosh": "acosh", "tanh": "atanh",
}  # fmt: skip
# Functions of several arguments; as plain letters they are words, and `min` a unit.
OF_SEVERAL: Final = frozenset({"gcd", "lcm", "max", "min"})
GREEK: Final = words(
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi rho "
    "varrho sigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi "
    "Psi Omega ell hbar "
)
_VARIANTS: Final = {"varepsilon": "epsilon", "vartheta": "theta", "varphi": "phi", "varrho": "rho"}
# What a command means, as (kind, text). Commands that only lay out (`\left`, `\displaystyle`) are in SKIPPED.
COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "pi": ("v", "π"), "infty": ("inf", "∞"), "imath": ("v", "i"), "jmath": ("v", "j"),
    "cdot": ("o", "*"), "times": ("o", "*"), "ast": ("o", "*"), "star": ("o", "*"), "bullet": ("o", "*"), "div": ("o", "/"), "over": ("o", "/"),
    "pm": ("o", "±"), "mp": ("o", "∓"), "circ": ("o", "°"), "degree": ("o", "°"), "degrees": ("o", "°"), "textdegree": ("o", "°"), "top": ("v", "T"), "intercal": ("v", "T"), "textdollar": ("$", "$"), "mathdollar": ("$", "$"), "dollar": ("$", "$"), "surd": ("c", "sqrt"), "deg": ("o", "°"), "prime": ("o", "'"), "choose": ("o", "choose"),
    "%": ("o", "%"), "$": ("$", "$"), "&": ("x", "and"), "#": ("x", "#"), "_": ("o", "_"),
    "le": ("r", "≤"), "leq": ("r", "≤"), "leqslant": ("r", "≤"), "ge": ("r", "≥"), "geq": ("r", "≥"), "geqslant": ("r", "≥"),
    "lt": ("r", "<"), "gt": ("r", ">"), "ne": ("r", "≠"), "neq": ("r", "≠"), "approx": ("r", "≈"), "simeq": ("r", "≈"), "cong": ("r", "≈"),
    "sim": ("r", "≈"), "equiv": ("r", "≡"), "in": ("r", "∈"), "to": ("r", "→"), "rightarrow": ("r", "→"), "implies": ("r", "⇒"),
    "Rightarrow": ("r", "⇒"), "Longrightarrow": ("r", "⇒"), "Leftrightarrow": ("r", "⇒"), "iff": ("r", "⇒"), "therefore": ("r", "⇒"),
    "cup": ("u", "∪"), "bigcup": ("u", "∪"), "cap": ("u", "∩"), "setminus": ("u", "\\"), "backslash": ("u", "\\"), "smallsetminus": ("u", "\\"),
    "emptyset": ("set", "∅"), "oslash": ("set", "∅"), "varnothing": ("set", "∅"),
    "{": ("(", "{"), "}": (")", "}"), "lbrace": ("(", "{"), "rbrace": (")", "}"), "lbrack": ("(", "["), "rbrack": (")", "]"),
    "langle": ("(", "<"), "rangle": (")", ">"), "lfloor": ("(", "⌊"), "rfloor": (")", "⌋"), "lceil": ("(", "⌈"), "rceil": (")", "⌉"), "ulcorner": ("(", "⌈"), "urcorner": (")", "⌉"), "llcorner": ("(", "⌊"), "lrcorner": (")", "⌋"), "lgroup": ("(", "("), "rgroup": (")", ")"),
    "lvert": ("(", "|"), "rvert": (")", "|"), "vert": ("|", "|"), "mid": ("|", "|"), "|": ("|", "||"), "Vert": ("|", "||"), "lVert": ("|", "||"), "rVert": ("|", "||"), "parallel": ("x", "parallel"),
    "\\": ("\\\\", ""), "land": ("x", "and"), "wedge": ("x", "and"), "lor": ("x", "or"), "vee": ("x", "or"), "ldots": ("x", "..."), "cdots": ("x", "..."), "dots": ("x", "..."),
    "angle": ("angle", "∠"), "triangle": ("angle", "△"), "measuredangle": ("angle", "∠"), "colon": (":", ":"), "cent": ("x", "cents"), "textcent": ("x", "cents"), "Re": ("x", "Re"), "Im": ("x", "Im"),
    "pmod": ("mod", "mod"), "bmod": ("x", "mod"), "mod": ("x", "mod"), "bigstar": ("x", "star"), "max": ("x", "max"), "min": ("x", "min"),
}  # fmt: skip
SKIPPED: Final = words(
    "left right mleft mright middle big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr "
    "textstyle scriptstyle limits nolimits quad qquad , ; : ! > enspace thinspace medspace thickspace "
    "negthinspace hfill boldmath unboldmath bf rm it sf tt normalsize large Large small scriptsize tiny "
    "cr hline noindent nobreak allowbreak checkmark blacksquare square qed Box strut mathstrut relax nonumber notag rightarrowfill centering ( "
    ") [ ] / "
) | {" ", "\n", "\t"}
SPACING: Final = frozenset({",", ";", ":", " ", "quad", "qquad", ">", "enspace", "thinspace", "\n", "\t"})
FRACTIONS: Final = frozenset({"frac", "dfrac", "tfrac", "cfrac", "sfrac", "nicefrac", "flatfrac", "xfrac"})
BINOMIALS: Final = frozenset({"binom", "dbinom", "tbinom"})
# Commands whose braces hold what is meant; the command itself only dresses it.
FONTS: Final = words(
    "text textbf textit textrm textsf texttt textup textnormal textmd textsc emph mbox hbox mathrm mathbf "
    "mathit mathsf mathtt num mathnormal mathcal mathscr mathfrak boldsymbol bm pmb bold boxed fbox "
    "operatorname underline overset ensuremath underbrace overbrace vec overrightarrow hat widehat "
    "tilde mathord mathop mathbin mathrel unit si "
)
# Commands that go away with their first argument.
DISCARDED: Final = frozenset({"textcolor", "color", "hspace", "vspace", "phantom", "label", "tag", "style", "class"})
UPRIGHT: Final = frozenset(
    {"text", "textrm", "mathrm", "mbox", "hbox", "textnormal", "textup", "operatorname", "unit", "si"}
)
MATRICES: Final = frozenset(
    {"pmatrix", "bmatrix", "matrix", "Bmatrix", "smallmatrix", "array", "psmallmatrix", "bsmallmatrix"}
)
# Letters that make a word though they could be a product of variables.
SHORT_WORDS: Final = frozenset(
    "kgs kms gms mls a an and as at be by cm dm do ft go he if in is it kg km lb me mg mi ml mm my no nm of on or oz so to up us we yd "
    "chf gbp am pm th st nd rd hr hrs min mins sec secs lbs mph kph kmh sq cu per day yes not all any bits east west north south "
    "way man car bag can jar lap map cap hat gas cents cent dollar dollars base mod gal pt qt yr yrs wk ml cc rad hz pct percent usd".lower().split()
)
_JOINING: Final = {
    "and": "and & und et и та và dan och og 和 以及 と และ এবং और మరియు",
    "or": "or oder ou или либо 或 或者 または もしくは あるいは atau veya hoặc eller lub หรือ অথবা বা या లేదా",
}
# Words between two values of a list, and how they join them.
CONNECTIVES: Final = {word: joined for joined, said in _JOINING.items() for word in said.split()}
_PLAIN_CONSTANTS: Final[dict[str, tuple[str, str]]] = {
    "pi": ("v", "π"), "Pi": ("v", "π"), "PI": ("v", "π"), "infinity": ("inf", "∞"), "Infinity": ("inf", "∞"), "inf": ("inf", "∞"), "infty": ("inf", "∞"),
    "oo": ("inf", "∞"), "sqrt": ("c", "sqrt"), "union": ("u", "∪"), "deg": ("o", "°"), "equals": ("r", "="),
    "frac": ("c", "frac"), "times": ("o", "*"), "cdot": ("o", "*"), "pm": ("o", "±"),
}  # fmt: skip


# From here on a single letter is a word or a measure (或, 分, 歳), which no variable is named after.
_FIRST_SIGN: Final = "\u0900"


def command(name: str) -> tuple[str, str] | None:
    """The token of a command without arguments, or None."""
    known = COMMANDS.get(name)
    if known is not None:
        return known
    if name in FUNCTIONS:
        return ("f", FUNCTIONS[name])
    if name in GREEK:
        return ("v", _VARIANTS.get(name, name))
    return None


def plain(run: str) -> list[tuple[str, str]]:
    """The tokens of letters written together outside `\\text`: a function, a constant, variables, or a word."""
    if len(run) == 1:
        return [("x" if run >= _FIRST_SIGN else "v", run)]
    known = _PLAIN_CONSTANTS.get(run)
    if known is not None:
        return [known]
    if run in FUNCTIONS:
        return [("f", FUNCTIONS[run])]
    if run in GREEK:
        return [("v", _VARIANTS.get(run, run))]
    if is_word(run):
        return [("x", run)]
    for size in (6, 5, 4, 3, 2):
        head, rest = run[:size], run[size:]
        if 0 < len(rest) <= 2 and (head in FUNCTIONS or head in _PLAIN_CONSTANTS):
            return [*plain(head), *plain(rest)]
    return [("v", letter) for letter in run]


_AFTER_PI: Final = frozenset("rhlRHL")


def is_word(run: str) -> bool:
    """Whether letters are a word rather than a product of variables such as `abc` or `xy`."""
    lower = run.lower()
    if lower in SHORT_WORDS or lower in NUMBER_WORDS:
        return True
    if not run.isascii() or len(run) > 6:
        return True
    if len(run) >= 4 and run.islower() and list(run) != sorted(run):
        return True  # a product of that many variables is written in order, `abcd`; "ways" and "balls" are words
    # Three letters or more with e, i, o or u: as variables those would be constants or are hardly ever used.
    if len(run) < 3 or not any(v in lower for v in "eiou") or lower.startswith("sqrt"):
        return False
    if lower.startswith("pi"):
        return len(run) > 3 and not _AFTER_PI.issuperset(run[2:])  # Pine and Pisa, but piRh
    return not any(lower[:size] in FUNCTIONS for size in range(len(run) - 2, len(run) + 1))  # sinxy, but not "single"
