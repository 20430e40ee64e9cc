"""Equality beside math-verify: misses, false accepts and CPU time on the same answers, in the same process.

Run as `python perf/equality.py [--sample N]` with MARKSCHEME_DATA set; prints Markdown tables. Rewritings and near
misses of the MATH-500 golds are labelled by construction (see `rewritings.py`).
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import rewritings
from rewritings import Case

from markscheme.marking.equality import compare, comparing

Grader = Callable[[str, str], bool]


def ours(answer: str, gold: str) -> bool:
    return compare(answer, gold).equal is True


def math_verify(answer: str, gold: str) -> bool:
    from math_verify import parse, verify

    try:
        return bool(verify(parse(rf"\boxed{{{gold}}}"), parse(rf"\boxed{{{answer}}}")))
    except Exception:  # noqa: BLE001 - the peer may fail in any way; that is a miss
        return False


def golds() -> list[str]:
    folder = Path(os.environ.get("MARKSCHEME_DATA", Path(__file__).parents[2] / "shared" / "data"))
    path = folder / "math500" / "test.jsonl"
    if not path.is_file():
        sys.exit(f"no data: {path} is missing; set MARKSCHEME_DATA")
    return [json.loads(line)["answer"] for line in path.read_text("utf-8").splitlines()]


def errors(grader: Grader, cases: list[Case]) -> dict[str, list[int]]:
    """By form: right ones, missed, wrong ones, accepted."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for case in cases:
        row = counts[case.form]
        verdict = grader(case.answer, case.gold)
        row[0 if case.equal else 2] += 1
        row[1 if case.equal else 3] += verdict != case.equal
    return counts


def accuracy(cases: list[Case], sample: list[Case]) -> None:
    mine, theirs = errors(ours, cases), errors(math_verify, sample)
    print(f"{len(cases)} answers for markscheme, {len(sample)} of them for math-verify\n")
    print("| form | missed | math-verify | accepted though wrong | math-verify |\n|---|---|---|---|---|")
    for form in sorted(mine):
        print(
            f"| {form} | {share(mine[form], 0)} | {share(theirs[form], 0)} | {share(mine[form], 2)} | {share(theirs[form], 2)} |"
        )
    totals = [[sum(rows[k] for rows in table.values()) for k in range(4)] for table in (mine, theirs)]
    print(
        f"| **all** | {share(totals[0], 0)} | {share(totals[1], 0)} | {share(totals[0], 2)} | {share(totals[1], 2)} |\n"
    )


def share(row: list[int], k: int) -> str:
    return f"{row[k + 1]}/{row[k]} ({100 * row[k + 1] / row[k]:.1f} %)" if row[k] else ""


def mix(cases: list[Case], all_golds: list[str], seed: int) -> list[tuple[str, str]]:
    """Each of the 500 golds against one right and one wrong answer."""
    rng = random.Random(seed)
    by_gold: dict[tuple[str, bool], list[str]] = defaultdict(list)
    for case in cases:
        by_gold[case.gold, case.equal].append(case.answer)
    return [(rng.choice(found), gold) for gold in all_golds for kind in (True, False) if (found := by_gold[gold, kind])]


def cpu(grader: Grader, pairs: list[tuple[str, str]], rounds: int) -> float:
    """CPU microseconds for one comparison, the best of some rounds."""
    best = float("inf")
    for _ in range(rounds):
        comparing._cache.clear()
        start = time.process_time()
        for answer, gold in pairs:
            grader(answer, gold)
        best = min(best, (time.process_time() - start) / len(pairs) * 1e6)
    return best


def speed(name: str, pairs: list[tuple[str, str]], peer_rounds: int = 1) -> None:
    mine, theirs = cpu(ours, pairs, 5), cpu(math_verify, pairs, peer_rounds)
    print(f"| {name} | {len(pairs)} | {mine:.1f} | {theirs:.0f} | {theirs / mine:.0f}× |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=3000, help="cases for math-verify, which takes milliseconds each")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    all_golds = golds()
    cases = list(rewritings.cases(all_golds))
    sample = random.Random(0).sample(cases, min(options.sample, len(cases)))
    accuracy(cases, sample)
    print("How it was settled: " + ", ".join(f"{k} {v}" for k, v in methods(cases).most_common()) + "\n")
    print("| comparisons | pairs | CPU µs | math-verify | ratio |\n|---|---|---|---|---|")
    speed("MATH-500 mix: a right and a wrong answer for each gold", mix(cases, all_golds, 0))
    speed("integers", [(str(n), str(n + n % 2)) for n in range(100, 400)])


def methods(cases: list[Case]) -> Counter[str]:
    return Counter(compare(case.answer, case.gold).method for case in cases)


if __name__ == "__main__":
    main()
