"""Countdown against its limits, in CPU time of this process: `python perf/countdown.py [--quick]`."""

import argparse
import resource
import statistics
import time
from collections.abc import Callable, Iterator
from itertools import islice

from rich.console import Console
from rich.table import Table

from markscheme.countdown import Demand, generate, judge, solve, solve_all
from markscheme.types import CountdownGold

Puzzles = list[CountdownGold]
Row = tuple[str, str, str, bool | None]


def cpu(work: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    started = time.process_time()
    work()
    return time.process_time() - started


def puzzles(count: int, size: int, **demand: object) -> Puzzles:
    """Random puzzles of one size, solvable unless demanded otherwise."""
    return list(generate(count, Demand(sizes=(size, size), **demand), seed=2024))


def solving(count: int) -> Iterator[Row]:
    """All solutions of four numbers, and the first of six, against their limits; the other sizes beside them."""
    four = puzzles(count, 4) + puzzles(count // 5, 4, unsolvable=True)
    solve_all(four[0].nums, four[0].target)  # tables are built on first use
    rate = len(four) / cpu(lambda: [solve_all(p.nums, p.target) for p in four])
    yield "four numbers, all solutions", f"{rate:,.0f} a second", "≥ 2,000", rate >= 2000

    six = puzzles(count // 20, 6)
    first = sorted(1e3 * cpu(lambda p=p: solve(p.nums, p.target)) for p in six)
    median, slow = statistics.median(first), first[int(0.95 * len(first))]
    yield "six numbers, first solution", f"{median:.1f} ms median, {slow:.1f} ms 95 %", "≤ 50 ms", median <= 50

    for name, size, number, call in (
        ("five numbers, all solutions", 5, count // 10, solve_all),
        ("six numbers, all solutions", 6, 40, solve_all),
        ("seven numbers, first solution", 7, 20, solve),
        ("seven numbers, all solutions", 7, 3, solve_all),
        ("eight numbers, first solution", 8, 10, solve),
    ):
        times = [1e3 * cpu(lambda p=p, call=call: call(p.nums, p.target)) for p in puzzles(number, size)]
        yield name, f"{statistics.median(times):.2f} ms median", "", None


def generating(count: int) -> Iterator[Row]:
    """Training puzzles of four numbers: how fast, how much memory, and whether any comes twice."""
    demand = Demand(sizes=(4, 4))
    stream = generate(count, demand, seed=7)
    for _ in islice(stream, 5000):
        pass
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    rest = sum(1 for _ in stream)
    rate = rest / (time.process_time() - started)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    # 450,000 in five minutes.
    measured = f"{count / rate:.0f} s, {rate:,.0f} a second"
    yield f"{count:,} four-number puzzles", measured, "≥ 1,500", rate >= 1500
    yield "… memory growth after the first 5,000", f"{grown:.1f} MB", "≤ 10 MB", grown <= 10
    keys = {(tuple(sorted(p.nums)), p.target) for p in generate(count // 10, demand, seed=7)}
    repeats = count // 10 - len(keys)
    yield f"… repeats in the first {count // 10:,}", str(repeats), "0", repeats == 0


def judging(count: int) -> Iterator[Row]:
    """One answer against its puzzle, as a reward function does it."""
    answers = [(solve(p.nums, p.target).expression + f" = {p.target}", p) for p in puzzles(count, 4)]
    seconds = cpu(lambda: [judge(text, p.nums, p.target) for text, p in answers])
    yield "judging an answer", f"{1e6 * seconds / count:.0f} µs", "", None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the puzzles")
    scale = 1 if parser.parse_args().quick else 10
    table = Table("Countdown", "measured", "limit", "", title="CPU time, one process")
    kept = True
    for rows in (generating(45_000 * scale), solving(500 * scale), judging(500 * scale)):
        for name, measured, limit, holds in rows:
            kept = kept and holds is not False
            table.add_row(name, measured, limit, "" if holds is None else "kept" if holds else "MISSED")
    Console().print(table)
    return 0 if kept else 1


if __name__ == "__main__":
    raise SystemExit(main())
