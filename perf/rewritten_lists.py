"""Rewritings and near misses of lists, points, intervals and matrices: (form, answer, whether it still earns the mark)."""

from __future__ import annotations

import re

from rewritten_numbers import Made


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
