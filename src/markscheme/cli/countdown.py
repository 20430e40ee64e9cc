"""`markscheme countdown`: solve a puzzle exactly, or generate fresh ones."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markscheme.countdown import Demand
    from markscheme.types import CountdownGold


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    _add_solve(actions.add_parser("solve", help="one solution, all of them, or the proof that there is none"))
    _add_generate(actions.add_parser("generate", help="fresh, different puzzles as JSON lines"))


def _add_solve(parser: argparse.ArgumentParser) -> None:
    parser.description = "Use every number exactly once, with + - * / and parentheses, to make the target."
    parser.add_argument("numbers", metavar="NUMBER", type=int, nargs="+", help="the 2 to 8 numbers")
    parser.add_argument("--target", metavar="T", type=int, required=True, help="the number to make")
    parser.add_argument("--all", action="store_true", help="all essentially different solutions")
    parser.add_argument("--whole", action="store_true", help="only whole numbers on the way")
    parser.add_argument("--json", action="store_true", help="print JSON only")


def _add_generate(parser: argparse.ArgumentParser) -> None:
    parser.description = "Different puzzles, one JSON object a line; the same seed gives the same puzzles everywhere."
    add = parser.add_argument
    add("--count", metavar="N", type=int, required=True, help="how many puzzles")
    add("--numbers", metavar="N|A-B", type=_span, default=(3, 4), help="how many numbers a puzzle has, 3 to 8 (3-4)")
    add("--range", metavar="A-B", type=_span, default=(1, 99), help="what the numbers range over (1-99)")
    add("--target", metavar="T|A-B", type=_span, default=(10, 100), help="what the target ranges over (10-100)")
    add("--seed", metavar="S", type=int, default=0, help="which puzzles (0)")
    add("-o", "--output", metavar="FILE", default="-", help="where to write; - is the standard output (-)")
    add("--exclude", metavar="FILE", action="append", default=[], help="JSON lines of puzzles that must not come")
    add("--min-solutions", metavar="N", type=int, default=1, help="at least so many different solutions")
    add("--max-solutions", metavar="N", type=int, help="at most so many different solutions")
    for what, meaning in (("division", "a division"), ("fractions", "a step that is not a whole number")):
        text = f"whether every solution has {meaning}"
        add(f"--{what}", choices=("any", "needed", "unneeded"), default="any", help=text)
    add("--unsolvable", action="store_true", help="puzzles that provably have no solution")
    add("--solution", action="store_true", help="write a solution beside each puzzle")
    add("--json", action="store_true", help="print the summary as JSON (with -o FILE)")


def _span(text: str) -> tuple[int, int]:
    """`4` or `3-4` as a pair of lowest and highest."""
    match = re.fullmatch(r"(\d{1,15})(?:\s*(?:-|–|\.\.)\s*(\d{1,15}))?", text.strip())
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor a range such as 3-4")
    low = int(match[1])
    return low, int(match[2]) if match[2] else low


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
        how = " with whole numbers all the way" if args.whole else ""
        print(f"No solution{how}: every essentially different expression was tried.")
    elif args.all:
        print(f"{len(solutions)} essentially different solution{'s' if len(solutions) > 1 else ''}.")
    return 0


def _note_on_long_searches(size: int) -> AbstractContextManager[object]:
    """Show a sign of life on a terminal while a long search runs."""
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
        raise UsageError("an unsolvable puzzle has no --solution to write")
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
        raise DataError(f"cannot write {args.output!r}: it is a folder; -o takes the name of a file")
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
    """The puzzles in these files, which may have other fields beside `nums` and `target`."""
    import msgspec

    from markscheme.datasets import read_rows
    from markscheme.errors import DataError
    from markscheme.types import CountdownGold

    for name in files:
        for number, row in enumerate(read_rows(Path(name)), 1):
            try:
                yield msgspec.convert(row, CountdownGold)
            except msgspec.ValidationError as error:
                raise DataError(f"{name}, row {number} is no puzzle: {error}") from error


def _with_progress(puzzles: Iterable[CountdownGold], count: int) -> Iterable[CountdownGold]:
    """The same puzzles, with a bar on a terminal's standard error."""
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
