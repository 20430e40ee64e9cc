"""Solutions that people wrote, with the mark of the answer taken off: does the marker still find what they say?

    python perf/endings.py        (needs MARKSCHEME_DATA)

GSM8K's own solutions without their last line `#### N`, MATH-500's with and without their box. Some solutions are wrong
themselves or answer in another unit, so that nobody can reach all of them; the figure is for comparing versions.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

from markscheme.benchmarks import benchmark
from markscheme.errors import DataError
from markscheme.marking import mark
from markscheme.marking.reading.boxes import last_box

Case = tuple[str, str]  # response, gold

_NOTE = re.compile(r"<<[^<>]*>>")


def main() -> None:
    try:
        gsm8k = [*_solutions("gsm8k"), *_solutions("gsm8k", train=True)]
        math = list(_solutions("math500"))
    except DataError as problem:
        sys.exit(str(problem))
    plain = [(_NOTE.sub("", solution.partition("####")[0]).strip(), gold) for solution, gold in gsm8k]
    print("| solutions | n | protocol | read as their gold |\n|---|---|---|---|")
    for protocol in ("gsm8k-numeric", "math"):
        _row("GSM8K, without `####`", plain, protocol)
    _row("MATH-500", math, "math")
    _row("MATH-500, without the box", [(_unboxed(solution), gold) for solution, gold in math], "math")


def _solutions(name: str, *, train: bool = False) -> Iterable[Case]:
    found = benchmark(name)
    for problem in found.pool if train else found.problems:
        if problem.solution:
            yield problem.solution, str(problem.gold)


def _row(name: str, cases: list[Case], protocol: str) -> None:
    right = sum(mark(text, gold=gold, protocol=protocol).correct for text, gold in cases)
    print(f"| {name} | {len(cases):,} | {protocol} | {100 * right / len(cases):.1f} % |")


def _unboxed(text: str) -> str:
    while (box := last_box(text, 0, len(text))) is not None and text.startswith("\\boxed", box.outer_start):
        text = text[: box.outer_start] + box.content + text[box.outer_end :]
    return text


if __name__ == "__main__":
    main()
