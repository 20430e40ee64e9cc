"""Hostile texts of 20,000 and 200,000 characters under every protocol: none may take long, and ten times the text may
cost about ten times the time.

    python perf/hostile_texts.py [--quick]

Seconds of this thread; worker processes (and with them `math-verify`) have limits of their own. Wanted: none over 0.05 s.
"""

from __future__ import annotations

import argparse
import itertools
import time

from markscheme.marking import get_protocol, mark, protocol_names

UNITS = (
    " ", "\n", "\t ", ".", ",", "1,", "1.", "$", "(", "{", "[", "\\", "\\(", "\\[", "-", "*", "#", "=", "a ", "1 ", "<", '"', "'",
    "\\left\\{\\begin{array}", "\\frac{1}", "\\boxed{", "answer is ", "Answer:", "####", "{\"answer\": ", "1+", "(A) ", "答案", "x=1, ",
    "Jj ", "½leq", "٪", "^", "_{", "yes they are!.", "{,}", "|", "1e9007$-1.1", "\\1_{BAR} ", "A ", "(A ", ", so a", "5 in ", "∪(1,2)", "\u0301", "<answer>", "</ans>", "│", "1-1; ", "-(",
    "错误的", "উত্তর ", "Solution: ",
)  # fmt: skip
FRAMES = (
    "{}", "#### {}", "Answer: {}", "The answer is {}", "\\boxed{{{}}}", "<answer>{}</answer>", "<think>{}", '{{"answer": "{}"}}',
    "So {} = 5.",
)  # fmt: skip
GOLDS = {"text": ("B", "x+1", "yes"), "number": ("5",), "countdown": ({"nums": [3, 5, 2], "target": 16},)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="every ninth text")
    quick = parser.parse_args().quick
    texts = list(itertools.product(FRAMES, UNITS))[:: 9 if quick else 1]
    print(
        f"{len(texts)} texts at two lengths\n\n| protocol | slowest at 20,000, s | at 200,000, s | on |\n|---|---|---|---|"
    )
    for name in protocol_names():
        if name == "math-verify":  # runs in a worker process, under its own limits
            continue
        golds = GOLDS[get_protocol(name).gold]
        mark("\\boxed{2+3}", gold=golds[0], protocol=name)  # its imports are not what is measured
        slowest = {20_000: (0.0, ""), 200_000: (0.0, "")}
        for (frame, unit), length, gold in itertools.product(texts, slowest, golds):
            response = frame.format((unit * (length // len(unit) + 1))[:length])
            begun = time.thread_time()
            mark(response, gold=gold, protocol=name)
            slowest[length] = max(slowest[length], (time.thread_time() - begun, f"{frame[:12]!r} {unit!r}"))
        short, long = slowest.values()
        print(f"| {name} | {short[0]:.3f} | {long[0]:.3f} | `{long[1]}` |", flush=True)


if __name__ == "__main__":
    main()
