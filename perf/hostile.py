"""Thousands of hostile answers through `math` and its worker processes: does the marker slow down, grow or leak?

    python perf/hostile.py [--count 10000]

Every family of hostile text comes again and again with other numbers, so that no cache answers for it; one in 200
goes straight to the worker processes and has to be killed there. After each block a plain answer is marked.
"""

from __future__ import annotations

import argparse
import random
import resource
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from markscheme.marking import mark
from markscheme.marking.equality import compare
from markscheme.marking.sandbox import default_pool

Maker = Callable[[int], str]

FAMILIES: dict[str, Maker] = {
    "power tower": lambda n: f"{n}^{{9^{{9^{{{n}}}}}}}",
    "factorial of factorials": lambda n: f"((({n}!)!)!)!",
    "10,000 parentheses": lambda n: "(" * 10_000 + str(n) + ")" * 10_000,
    "2,000 fractions": lambda n: r"\frac{1}{" * 2000 + str(n) + "}" * 2000,
    "huge sum": lambda n: rf"\sum_{{k=1}}^{{10^{{{n}}}}} k^k",
    "huge integral": lambda n: rf"\int_0^{{10^{{{n}}}}} e^{{x^{{{n}}}}} dx",
    "code": lambda n: f"__import__('os').system('exit {n}')",
    "comment": lambda n: f"{n} % 1\n# {n}",
    "nan": lambda n: f"nan + {n}",
    "infinity": lambda n: rf"\infty - \infty + {n}",
    "division by zero": lambda n: rf"\frac{{{n}}}{{0}}",
    "wide power": lambda n: f"(a+b+c+d+f+{n})^{{{n}}}",
    "binomial": lambda n: rf"\binom{{10^{{{n}}}}}{{10^{{{n // 2}}}}}",
    "long number": lambda n: "7" * (2000 + n),
    "deep sine": lambda n: r"\sin(" * 300 + str(n) + ")" * 300,
    "nested systems": lambda n: r"\left\{\begin{array}{l}" * 400 + str(n),
    "points": lambda n: "." * 20_000 + str(n),
    "commas": lambda n: "1," * 10_000 + str(n),
    "chain of inequalities": lambda n: "x<" * 5_000 + str(n),
    "native fractions": lambda n: "½" * 5_000 + str(n),
    "unclosed boxes": lambda n: r"\boxed{" * 500 + str(n),
    "a megabyte": lambda n: f"x_{{{n}}}+" * 100_000,
    "nested cube roots": lambda n: r"\sqrt[3]{2+" * 40 + f"x+{n}" + "}" * 40,
    "root of a sum of roots": lambda n: r"\frac{1}{" + "+".join(rf"\sqrt{{{n + k}}}" for k in range(7)) + "}",
    "sum of large roots": lambda n: "+".join(rf"\sqrt{{{10**15 + n + k}}}" for k in range(60)),
    "logarithm of a long number": lambda n: r"\log(" + "7" * (900 + n) + ")",
    "least common multiple": lambda n: r"\lcm(" + ",".join(str(10**40 + n + k) for k in range(60)) + ")",
    "factorials": lambda n: "+".join(f"{k}!" for k in range(2500 + n, 2590 + n)),
    "large power": lambda n: f"2^{{{65_000 + n}}}-1",
    "tower modulo": lambda n: rf"{n}^{{7^{{7}}}} \mod 13",
    "chain of powers": lambda n: "2" + "^2" * 300 + f"+{n}",
    "absolute values": lambda n: "+".join(f"|x-{k}|" for k in range(n, n + 80)),
    "fractions of x": lambda n: f"{n}" + "/(x+1)" * 40,
    "cases": lambda n: r"\begin{cases}" * 200 + str(n) + r"\end{cases}" * 200,
    "units": lambda n: f"{n} " + "m^{9}" * 60,
    "roots without braces": lambda n: r"\sqrt" * 3_000 + str(n),
    "combining marks": lambda n: "a\u0301\u0302" * 3_000 + str(n),
    "primes": lambda n: f"{n}x" + "'" * 3_000,
    "long exponent": lambda n: f"1e{n}9",
}


def nested_radicals(n: int) -> tuple[str, str]:
    """Two values that agree to many digits and that computer algebra works on until it is stopped."""
    return r"\sqrt{1+" * 30 + str(n) + "}" * 30, r"\sqrt{1+" * 30 + f"{n}+10^{{-40}}" + "}" * 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    count = parser.parse_args().count
    chance = random.Random(3)
    pool = default_pool()
    verdicts: Counter[str] = Counter()
    print("| inputs | ms of CPU each, workers included | slowest, s | resident MB | workers alive | plain answer, µs |")
    print("|---|---|---|---|---|---|")
    block = max(1, count // 10)
    for first in range(0, count, block):
        begun, slowest = _cpu(), 0.0
        for n in range(first, min(first + block, count)):
            clock = time.monotonic()
            verdicts[_one(n, chance)] += 1
            slowest = max(slowest, time.monotonic() - clock)
        each = 1000 * (_cpu() - begun) / block
        plain = time.process_time()
        for _ in range(200):
            assert mark("The answer is \\boxed{\\frac{2}{4}}.", gold="1/2", protocol="math").correct
        plain = (time.process_time() - plain) / 200 * 1e6
        print(
            f"| {min(first + block, count):,} | {each:.1f} | {slowest:.1f} | {_resident():.0f} | {_children()} | {plain:.0f} |"
        )
    pool.close()
    print(f"\nProcesses left when the pool was closed: {_children()}.")
    print("Verdicts: " + ", ".join(f"{name} {times:,}" for name, times in verdicts.most_common()))


def _one(n: int, chance: random.Random) -> str:
    if n % 200 == 0:
        found = compare(*nested_radicals(n + 2), time_limit=0.2)
        return {True: "correct", False: "wrong", None: "unmarkable"}[found.equal]
    text = FAMILIES[chance.choice(list(FAMILIES))](chance.randrange(3, 400))
    return str(mark(f"So the answer is \\boxed{{{text}}}.", gold="x+1", protocol="math").verdict)


def _cpu() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _children() -> int:
    """Processes that this one has started and that are not gone, zombies included."""
    return sum(len(file.read_text().split()) for file in Path("/proc/self/task").glob("*/children"))


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


if __name__ == "__main__":
    main()
