"""`markscheme countdown`: generate and solve Countdown puzzles."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markscheme.countdown import Demand
    from markscheme.types import CountdownGold


def run(args: argparse.Namespace) -> int:
    return _solve(args) if args.action == "solve" else _generate(args)


def _solve(args: argparse.Namespace) -> int:
    from markscheme.countdown import solve, solve_all

    with _note_on_long_searches(len(args.numbers)):
        if args.all:
            solutions = solve_all(args.numbers, args.target, whole=args.whole)
        else:
            one = solve(args.numbers, args.target, whole=args.whole)
            solutions = [one] if one else []
    if args.json:
        rows = [{"expression": s.expression, "whole": s.whole, "divides": s.divides} for s in solutions]
        print(json.dumps({"nums": args.numbers, "target": args.target, "all": args.all, "solutions": rows}))
        return 0
    for solution in solutions:
        print(f"{solution.expression} = {args.target}")
    if not solutions:
        how = " with only whole numbers on the way" if args.whole else ""
        print(f"No solution{how}: all essentially different expressions were tried.")
    elif args.all:
        print(f"{len(solutions)} essentially different solution{'s' if len(solutions) > 1 else ''}.")
    return 0


def _note_on_long_searches(size: int) -> AbstractContextManager[object]:
    """Show a spinner on a terminal during a long search."""
    if size < 7 or not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(f"searching all expressions over {size} numbers")


def _generate(args: argparse.Namespace) -> int:
    from time import perf_counter

    from markscheme.countdown import Demand, generate
    from markscheme.errors import DataError, UsageError
    from markscheme.runs.folder import write_atomically

    if args.solution and args.unsolvable:
        raise UsageError("--solution cannot be used with --unsolvable: these puzzles have no solution")
    same = ("min_solutions", "max_solutions", "division", "fractions", "unsolvable")
    named = {name: getattr(args, name) for name in same}
    demand = Demand(sizes=args.numbers, numbers=args.range, targets=args.target, **named)
    started = perf_counter()
    puzzles = generate(args.count, demand, seed=args.seed, exclude=_read(args.exclude))
    lines = (_line(puzzle, with_solution=args.solution) for puzzle in _with_progress(puzzles, args.count))
    if args.output == "-":
        sys.stdout.writelines(lines)
        return 0
    path = Path(args.output)
    if not args.output or path.is_dir():
        raise DataError(f"cannot write {args.output!r}: -o takes the name of a file, not a folder")
    write_atomically(path, (line.encode() for line in lines))
    _summarise(args, demand, perf_counter() - started)
    return 0


def _line(puzzle: CountdownGold, *, with_solution: bool) -> str:
    from markscheme.countdown import solve

    line: dict[str, object] = {"nums": list(puzzle.nums), "target": puzzle.target}
    if with_solution:
        solution = solve(puzzle.nums, puzzle.target)
        line["solution"] = solution.expression if solution else None
    return json.dumps(line) + "\n"


def _read(files: list[str]) -> Iterator[CountdownGold]:
    """Yield the puzzles in these files, which may have other fields besides `nums` and `target`."""
    import msgspec

    from markscheme.datasets import read_rows
    from markscheme.errors import DataError
    from markscheme.types import CountdownGold

    for name in files:
        for number, row in enumerate(read_rows(Path(name)), 1):
            try:
                yield msgspec.convert(row, CountdownGold)
            except msgspec.ValidationError as error:
                raise DataError(f"{name}, row {number} is not a puzzle: {error}") from error


def _with_progress(puzzles: Iterable[CountdownGold], count: int) -> Iterable[CountdownGold]:
    """Add a progress bar if standard error is a terminal."""
    if not sys.stderr.isatty():
        return puzzles
    from rich.console import Console
    from rich.progress import track

    return track(puzzles, "puzzles", total=count, console=Console(stderr=True))


def _summarise(args: argparse.Namespace, demand: Demand, seconds: float) -> None:
    if args.json:
        summary = {"file": args.output, "count": args.count, "seed": args.seed, "seconds": round(seconds, 3)}
        print(json.dumps(summary))
    else:
        print(f"{args.count} puzzles ({demand}, seed {args.seed}) in {args.output}")
