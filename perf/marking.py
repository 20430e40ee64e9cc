"""What a mark costs, in CPU time of one process, with Math-Verify on the same responses in the same run.

    python perf/marking.py [--quick]

Responses are made here, with a fixed seed. The MATH-500 golds come from the data folder ($MARKSCHEME_DATA) where there
is one, else from the sample set of the package. Math-Verify is called as its documentation shows, gold parsed too.
"""

from __future__ import annotations

import logging
import random
import sys
import time
from collections.abc import Callable, Sequence

from markscheme.benchmarks import benchmark
from markscheme.errors import DataError
from markscheme.marking import mark, mark_many
from markscheme.types import Problem, Response

Case = tuple[str, str]  # response, gold

SENTENCES = (
    "Let $S_{n} = \\sum_{k=1}^{n} \\frac{k^2 + 3}{2k - 1}$, and note that $S_{%d} > 0$.",
    "We consider the case $x = %d$ first, where \\(f(x) = x^2 - \\sqrt{x + 1}\\) is increasing.",
    "Substituting back gives\n\\[\n\\frac{a + b}{c} = \\frac{%d}{7},\n\\]\nso the triangle is acute.",
    "By symmetry the other %d arrangements are counted the same way, and each is counted twice.",
    "Therefore $AB \\cdot CD = %d$, and power of a point finishes this part of the argument.",
    "Hence there are $\\binom{%d}{3}$ choices, of which a third are excluded by the condition.",
)


def main() -> None:
    quick = "--quick" in sys.argv
    chance = random.Random(7)
    first = first_time(60 if quick else 500)
    rows = [
        against_math_verify("AIME, 3,000 characters", aime(chance, 20 if quick else 60), "aime", 100),
        against_math_verify("the same under `math`", aime(chance, 20 if quick else 60), "math", 100),
        against_math_verify("30,000 characters, many boxes", long_trace(chance, 2 if quick else 6), "math", 100),
        against_math_verify(
            "MATH-500 golds, right answer", mixed(chance, right=True, limit=60 if quick else 500), "math", 15
        ),
        against_math_verify(
            "MATH-500 golds, wrong answer", mixed(chance, right=False, limit=60 if quick else 500), "math", 15
        ),
    ]
    print("| responses | n | µs a mark | Math-Verify µs | times as fast | wanted |")
    print("|---|---|---|---|---|---|")
    print("\n".join(rows))
    print()
    print(first)
    print()
    print(growth(chance))
    print()
    print(batch(chance, 10_000 if quick else 100_000))


def against_math_verify(name: str, cases: Sequence[Case], protocol: str, wanted: int) -> str:
    ours = cpu(lambda: [mark(text, gold=gold, protocol=protocol) for text, gold in cases], repeats=25) / len(cases)
    _math_verify(*cases[0])  # its imports and tables are not what is measured
    theirs = cpu(lambda: [_math_verify(text, gold) for text, gold in cases], repeats=2) / len(cases)
    return f"| {name} | {len(cases)} | {ours * 1e6:.1f} | {theirs * 1e6:.0f} | {theirs / ours:.0f} | {wanted} |"


def cpu(work: Callable[[], object], repeats: int) -> float:
    """The least CPU seconds of some repeats, after one that warms caches and imports."""
    if repeats > 1:
        work()
    best = float("inf")
    for _ in range(repeats):
        begun = time.process_time()
        work()
        best = min(best, time.process_time() - begun)
    return best


def _math_verify(text: str, gold: str) -> bool:
    from math_verify import parse, verify

    return bool(verify(parse(f"${gold}$"), parse(text)))


def trace(chance: random.Random, length: int, every: int = 0) -> str:
    """Reasoning of about so many characters; with `every`, a box in each so many sentences."""
    parts: list[str] = []
    size = 0
    while size < length:
        sentence = chance.choice(SENTENCES) % chance.randrange(2, 900)
        if every and len(parts) % every == 0:
            sentence += f" So a first guess is \\boxed{{{chance.randrange(1000)}}}, but wait."
        parts.append(sentence)
        size += len(sentence) + 2
    return "\n\n".join(parts)[:length]


def aime(chance: random.Random, count: int) -> list[Case]:
    cases = []
    for _ in range(count):
        value = chance.randrange(1000)
        gold = value if chance.random() < 0.5 else chance.randrange(1000)
        cases.append((trace(chance, 2940) + f"\n\nTherefore, the answer is $\\boxed{{{value}}}$.", str(gold)))
    return cases


def long_trace(chance: random.Random, count: int) -> list[Case]:
    cases = []
    for _ in range(count):
        value = chance.randrange(1000)
        cases.append((trace(chance, 29_900, every=4) + f"\n\n**Final Answer:** \\(\\boxed{{{value}}}\\)", str(value)))
    return cases


def mixed(chance: random.Random, *, right: bool, limit: int) -> list[Case]:
    """Each gold in a short response, spelt a little differently, or the gold of another problem in its place."""
    try:
        golds = [str(problem.gold) for problem in benchmark("math500").problems]
    except DataError:
        golds = [str(problem.gold) for problem in benchmark("math-sample").problems]
    chosen = golds[:limit]
    respelt = [gold.replace("\\frac", "\\dfrac").replace(",", ", ") + " " for gold in chosen]
    answers = respelt if right else [chance.choice([other for other in golds if other != gold]) for gold in chosen]
    return [
        (f"So we are done.\n\n\\[ \\boxed{{{answer}}} \\]", gold) for answer, gold in zip(answers, chosen, strict=True)
    ]


def first_time(limit: int) -> str:
    """Answers that were never read or compared before, as nothing was yet: later passes find theirs remembered."""
    mark("\\boxed{x + 1}", gold="1 + x", protocol="math")  # its imports are not what is measured
    each = []
    for right in (True, False):
        cases = mixed(random.Random(7), right=right, limit=limit)
        took = cpu(lambda: [mark(text, gold=gold, protocol="math") for text, gold in cases], repeats=1)  # noqa: B023
        each.append(1e6 * took / len(cases))
    return f"MATH-500 golds, read and compared for the first time: right {each[0]:.0f} µs, wrong {each[1]:.0f} µs."


def growth(chance: random.Random) -> str:
    """The same mark on ten and a hundred times the text."""
    lines = ["| characters | µs a mark | µs per 1,000 characters |", "|---|---|---|"]
    for length in (3_000, 30_000, 300_000, 3_000_000):
        text = trace(chance, length) + "\n\nTherefore the answer is $\\boxed{204}$."
        times = max(1, 3_000_000 // length // 10)
        took = cpu(lambda: [mark(text, gold="204", protocol="aime") for _ in range(times)], repeats=3) / times  # noqa: B023
        lines.append(f"| {length:,} | {took * 1e6:.1f} | {took * 1e9 / length:.2f} |")
    return "\n".join(lines)


def batch(chance: random.Random, count: int) -> str:
    """A night's worth of GSM8K outputs through `mark_many`."""
    problem = Problem(id="0", statement="How much?", gold="72", protocol="gsm8k-numeric")
    texts = [
        f"In May she sold 48/2 = <<48/2=24>>24 clips.\nTogether that is 48+24 = {n} clips.\n\nANSWER: {n}"
        for n in (chance.randrange(60, 90) for _ in range(1000))
    ]
    pairs = [(Response(key=problem.key, sample=n, text=texts[n % len(texts)]), problem) for n in range(count)]
    lines = [f"| {count:,} GSM8K responses | CPU seconds |", "|---|---|"]
    for protocol in ("gsm8k-strict", "gsm8k-numeric", "gsm8k-flexible", "math"):
        begun = time.process_time()
        marked = sum(1 for _ in mark_many(pairs, protocol))
        assert marked == count
        lines.append(f"| {protocol} | {time.process_time() - begun:.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)  # Math-Verify logs every timeout
    main()
