"""`markscheme compare`: two runs problem by problem, or several ranked, with what may be said about the difference."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from markscheme.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from markscheme.reporting.comparing import Compared, MacroCompared
    from markscheme.runs import Run
    from markscheme.statistics import Comparison, Interval, Ranking
    from markscheme.statistics.comparison import Margin

SHOWN = 10
EXIT_WORSE = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which runs, by what."""
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="run folders; the first is A, the one compared against. Two folders of runs, one a benchmark: the mean over "
        "benchmarks too. One folder of an experiment: each benchmark by itself",
    )
    parser.add_argument(
        "--metric", default="accuracy", help="accuracy (default), pass@K, pass^K, g-pass@K:TAU, maj@K, best-of-K:SCORE"
    )
    parser.add_argument(
        "--margin",
        type=float,
        metavar="POINTS",
        help="also: is B not worse than A by more, and are they the same within it",
    )
    parser.add_argument(
        "--cluster", metavar="FIELD", help="problems that share this field (contest, template) are not independent"
    )
    parser.add_argument("--protocol", metavar="NAME", help="of the protocols the runs are marked with")
    parser.add_argument("--level", type=float, default=0.95, metavar="SHARE", help="of the intervals (default: 0.95)")
    parser.add_argument(
        "--these-problems",
        action="store_true",
        help="say nothing about other problems: only the sampling is random, and more samples decide",
    )
    parser.add_argument("--anyway", action="store_true", help="compare runs of different data or protocols too")
    parser.add_argument("--seed", type=int, default=0, help="of p-values that are drawn (default: 0)")
    parser.add_argument("--plot", metavar="FILE", help="also write a forest plot (.png, .svg, .pdf)")
    parser.add_argument(
        "--fail-if-worse",
        action="store_true",
        help=f"exit with {EXIT_WORSE} when B is shown to be worse: the whole interval of B − A lies below 0 (with --margin, "
        "below −POINTS)",
    )
    parser.add_argument("--json", action="store_true", help="print only JSON")


def run(args: argparse.Namespace) -> int:
    """Compare and print."""
    from markscheme.reporting.comparing import Terms, compare_macro, compare_runs, forest_figure
    from markscheme.reporting.terminal import print_json
    from markscheme.runs.folder import find_runs

    terms = Terms(
        metric=args.metric,
        protocol=args.protocol,
        level=args.level,
        seed=args.seed,
        population="these problems" if args.these_problems else "problems drawn",
        anyway=args.anyway,
        cluster=args.cluster,
        margin=None if args.margin is None else args.margin / 100,
    )
    sides = [find_runs([folder]) for folder in args.runs]
    if len(sides) == 2 and max(map(len, sides)) > 1:
        macro = compare_macro(sides[0], sides[1], terms)
        print_json(macro) if args.json else _print_macro(macro)
        return _exit_code(args, [macro])
    if len(sides) == 1 and (pair := _two_sides(sides[0])):
        macro = compare_macro(*pair, terms)
        print_json(macro) if args.json else _print_macro(macro)
        return _exit_code(args, [macro])
    found = [compare_runs(runs, terms) for runs in _groups(args.runs)]
    if args.json:
        print_json(found if len(found) > 1 else found[0])
    else:
        for each in found:
            _print(each)
    if args.plot:
        if len(found) > 1:
            raise UsageError("--plot draws one benchmark; name its runs")
        from markscheme.reporting.plots import save

        save(forest_figure(found[0], find_runs(args.runs)), Path(args.plot))
        print(f"wrote {args.plot}", file=sys.stderr)
    return _exit_code(args, found)


def _exit_code(args: argparse.Namespace, found: Sequence[Compared | MacroCompared]) -> int:
    from markscheme.reporting.comparing import shown_worse

    if not args.fail_if_worse or not any(shown_worse(each) for each in found):
        return 0
    print("markscheme: B is shown to be worse than A", file=sys.stderr)
    return EXIT_WORSE


def _print_macro(macro: MacroCompared) -> None:
    from markscheme.reporting.terminal import console

    screen = console()
    for part in macro.parts:
        _print(part)
    screen.print(f"[bold]mean over {len(macro.parts)} benchmarks, each weighing the same[/] · {macro.metric}")
    screen.print(f"[bold]B − A  {_points(macro.difference)}[/]   p = {macro.p_value:.3g}")
    if macro.margin is not None:
        _print_margin(screen, macro.margin)


def _groups(named: list[str]) -> list[list[Run]]:
    """The runs to compare with each other: all that are named, or those of an experiment's folder by benchmark."""
    from markscheme.runs.folder import find_runs

    runs = find_runs(named)
    if len(named) > 1:
        return [runs]
    benchmarks = dict.fromkeys(run.manifest.benchmark for run in runs)
    groups = [[run for run in runs if run.manifest.benchmark == name] for name in benchmarks]
    return [group for group in groups if len(group) > 1] or [runs]


def _two_sides(runs: list[Run]) -> tuple[list[Run], list[Run]] | None:
    """The runs of an experiment that asks two models, or one in two ways, the same two benchmarks or more; else nothing."""
    import msgspec

    from markscheme.config import fixed_options

    sides: dict[bytes, list[Run]] = {}
    for run in runs:
        asked = {
            name: getattr(run.manifest.config, name) for name in fixed_options() if name not in ("benchmark", "limit")
        }
        sides.setdefault(msgspec.json.encode([run.manifest.config.model, asked], order="sorted"), []).append(run)
    if len(sides) != 2:
        return None
    first, second = sides.values()
    names = [{run.manifest.benchmark for run in side} for side in (first, second)]
    return (first, second) if names[0] == names[1] and len(names[0]) > 1 else None


def _print(found: Compared) -> None:
    from rich.markup import escape

    from markscheme.reporting.terminal import console

    screen = console()
    for difference in found.differences:
        values = " | ".join(f"{name}: {value}" for name, value in difference.values.items())
        screen.print(f"[bold yellow]note[/]: they differ in {difference.what}: {escape(values)}", soft_wrap=True)
    for note in found.notes:
        screen.print(f"[bold yellow]note[/]: {escape(note)}", soft_wrap=True)
    if found.cluster:
        screen.print(f"problems that share their {escape(found.cluster)} are not taken as independent")
    if found.comparison is not None:
        _print_pair(screen, found, found.comparison)
    if found.ranking is not None:
        _print_ranking(screen, found, found.ranking)


def _print_pair(screen: Console, found: Compared, comparison: Comparison) -> None:
    from rich.markup import escape

    name_a, name_b = (escape(name) for name in found.runs)
    about = "problems like these" if comparison.population == "problems drawn" else "exactly these problems"
    screen.print(
        f"[bold]{escape(found.benchmark)}[/] · {comparison.metric} · {comparison.problems} shared problems · percent, for {about}"
    )
    if comparison.unshared:
        screen.print(f"{comparison.unshared} problems are left out: one of the runs has no value for them")
    screen.print(f"A  {escape(_score(comparison.a))}   {name_a}", soft_wrap=True)
    screen.print(f"B  {escape(_score(comparison.b))}   {name_b}", soft_wrap=True)
    screen.print(f"[bold]B − A  {_points(comparison.difference)}[/]")
    if found.corrected is not None:
        screen.print(f"B − A  {_points(found.corrected)}   corrected by what people say of a sample")
    # Never certain: at most 99.9 %, at least 0.1 %.
    better = min(max(comparison.probability_better, 0.001), 0.999)
    screen.print(f"p = {comparison.p_value:.3g} · B is better with probability {100 * better:.1f} %")
    if comparison.margin is not None:
        _print_margin(screen, comparison.margin)
    for caveat in comparison.caveats:
        screen.print(f"[bold yellow]note[/]: {caveat}", soft_wrap=True)
    beyond = sum(each.beyond_chance for each in comparison.moved)
    screen.print(
        f"{comparison.better} problems better, {comparison.worse} worse, "
        f"{comparison.problems - comparison.better - comparison.worse} alike; beyond chance: {beyond}"
    )
    _print_moved(found, comparison)


def _print_margin(screen: Console, margin: Margin) -> None:
    from markscheme.reporting.comparing import margin_line

    screen.print(margin_line(margin), soft_wrap=True)


def _print_moved(found: Compared, comparison: Comparison) -> None:
    from markscheme.reporting.terminal import print_table

    rows = [
        {
            "problem": found.problems[each.key],
            "A": f"{each.a[0]}/{each.a[1]}",
            "B": f"{each.b[0]}/{each.b[1]}",
            "points": f"{100 * each.difference:+.0f}",
            "p": f"{each.p_value:.2g}",
            "beyond chance": "yes" if each.beyond_chance else "",
        }
        for each in comparison.moved[:SHOWN]
    ]
    if rows:
        more = len(comparison.moved) - len(rows)
        print_table("moved most" + (f", and {more} more" if more else ""), rows)


def _print_ranking(screen: Console, found: Compared, ranking: Ranking) -> None:
    from rich.markup import escape

    from markscheme.reporting.comparing import labels
    from markscheme.reporting.terminal import print_table

    label = labels(found)
    screen.print(
        f"[bold]{escape(found.benchmark)}[/] · {ranking.metric} · {ranking.problems} shared problems · "
        f"{'exactly these problems' if ranking.population == 'these problems' else 'problems like these'}"
    )
    screen.print(f"ranks and differences hold all together at {100 * ranking.level:.3g} %")
    for caveat in ranking.caveats:
        screen.print(f"[bold yellow]note[/]: {escape(caveat)}", soft_wrap=True)
    print_table(
        "by score",
        [
            {
                "rank": str(each.best_rank)
                if each.best_rank == each.worst_rank
                else f"{each.best_rank}–{each.worst_rank}",
                f"{ranking.metric}, %": _score(each.score),
                "run": each.name,
            }
            for each in ranking.models
        ],
        fold="run",
    )
    print_table(
        "differences in points",
        [
            {"points": _points(pair.difference, level=False), "pair": f"{label[pair.upper]} − {label[pair.lower]}"}
            for pair in ranking.pairs
        ],
        fold="pair",
    )


def _score(found: Interval) -> str:
    return f"{100 * found.estimate:.1f} [{100 * found.low:.1f}, {100 * found.high:.1f}]"


def _points(found: Interval, level: bool = True) -> str:
    span = f"{100 * found.low:+.1f} to {100 * found.high:+.1f}"
    if not level:
        return f"{100 * found.estimate:+.1f}  ({span})"
    return f"{100 * found.estimate:+.1f} points   {100 * found.level:.3g} % interval {span}"
