"""A comparison of runs, as it is printed at a terminal."""

from __future__ import annotations

from markscheme.reporting.comparing import Compared, labels, margin_line, ranks
from markscheme.reporting.drawing import looked_line
from markscheme.reporting.family import MacroCompared
from markscheme.reporting.figures import counted
from markscheme.reporting.table import about
from markscheme.reporting.terminal import console, literal, print_notes, print_sentence, print_table
from markscheme.statistics import Comparison, Interval, Ranking

MOST_MOVED = 10  # problems that moved which are named


def print_compared(compared: Compared | MacroCompared) -> None:
    """Two runs, several ranked, or two models over several benchmarks."""
    screen = console()
    if isinstance(compared, MacroCompared):
        for part in compared.parts:
            print_compared(part)
        screen.print(f"[bold]mean over {len(compared.parts)} benchmarks, each weighing the same[/] · {compared.metric}")
        screen.print(f"[bold]B − A  {_points(compared.difference)}[/]   p = {compared.p_value:.3g}")
        adjusted = ", ".join(
            f"{literal(name)} {p:.3g}"
            for name, p in zip([*(part.benchmark for part in compared.parts), "mean"], compared.adjusted, strict=False)
        )
        screen.print(f"p adjusted for these {len(compared.adjusted)} comparisons together: {adjusted}", soft_wrap=True)
        if compared.margin is not None:
            screen.print(margin_line(compared.margin), soft_wrap=True)
        print_sentence(compared.sentence)
        return
    for each in compared.differences:
        values = " | ".join(f"{name}: {value}" for name, value in each.values.items())
        print_notes(screen, [f"they differ in {each.what}: {values}"])
    print_notes(screen, compared.notes)
    if compared.cluster:
        screen.print(f"problems that share their {literal(compared.cluster)} are not taken as independent")
    if compared.comparison is not None:
        _print_pair(compared, compared.comparison)
    if compared.ranking is not None:
        _print_ranking(compared, compared.ranking)
    print_sentence(compared.sentence)


def _print_pair(compared: Compared, pair: Comparison) -> None:
    screen = console()
    name_a, name_b = map(literal, compared.runs)
    what = {"problem": "shared problem", "": "problem"}.get(compared.pairing, compared.pairing.replace("_", " "))
    screen.print(
        f"[bold]{literal(compared.benchmark)}[/] · {pair.metric} · {counted(pair.problems, what)}{', not paired' * (not compared.pairing)} "
        f"· percent, for {about(pair.population)}"
    )
    if pair.unshared:
        screen.print(f"{counted(pair.unshared, 'problem')} left out: one of the runs has no value there")
    screen.print(f"A  {literal(_score(pair.a))}   {name_a}", soft_wrap=True)
    screen.print(f"B  {literal(_score(pair.b))}   {name_b}", soft_wrap=True)
    screen.print(f"[bold]B − A  {_points(pair.difference)}[/]")
    if (unseen := pair.unseen) is not None:
        span = f"{100 * unseen.low:+.1f} to {100 * unseen.high:+.1f}"
        screen.print(f"allowing for a kind of problem that was not seen, one in twenty: {span}")
    if compared.corrected is not None:
        screen.print(f"B − A  {_points(compared.corrected)}   corrected by what people say of a sample")
    # Never certain: at most 99.9 %, at least 0.1 %.
    better = min(max(pair.probability_better, 0.001), 0.999)
    screen.print(f"p = {pair.p_value:.3g} · B is better with probability {100 * better:.1f} %")
    found = (
        "no difference"
        if pair.detectable is None
        else f"a true difference of {100 * pair.detectable:.1f} points or more"
    )
    screen.print(f"with 80 % power this comparison finds {found}")
    if (odds := pair.odds_ratio) is not None:
        screen.print(
            f"odds ratio B : A {odds.estimate:.2f}   {100 * odds.level:.3g} % interval {odds.low:.2f} to {odds.high:.2f}"
        )
    if pair.margin is not None:
        screen.print(margin_line(pair.margin), soft_wrap=True)
    if compared.looked is not None:
        screen.print(f"B against A while it was asked: {looked_line(compared.looked)}", soft_wrap=True)
        print_notes(screen, ["the interval and p above do not allow for having looked; the always-valid one does"])
    print_notes(screen, pair.caveats)
    if not compared.pairing:
        return
    screen.print(
        f"{pair.better} problems better, {pair.worse} worse, {pair.problems - pair.better - pair.worse} alike; "
        f"beyond chance: {sum(each.beyond_chance for each in pair.moved)}"
    )
    rows = [
        {
            "problem": compared.problems[each.key],
            "A": f"{each.a[0]}/{each.a[1]}",
            "B": f"{each.b[0]}/{each.b[1]}",
            "points": f"{100 * each.difference:+.0f}",
            "p": f"{each.p_value:.2g}",
            "beyond chance": "yes" if each.beyond_chance else "",
        }
        for each in pair.moved[:MOST_MOVED]
    ]
    if rows:
        more = len(pair.moved) - len(rows)
        print_table("moved most" + (f", and {more} more" if more else ""), rows)


def _print_ranking(compared: Compared, ranking: Ranking) -> None:
    screen, label = console(), labels(compared)
    screen.print(
        f"[bold]{literal(compared.benchmark)}[/] · {ranking.metric} · {counted(ranking.problems, 'shared problem')} · "
        f"{about(ranking.population)}"
    )
    screen.print(
        f"{counted(ranking.comparisons, 'comparison')} hold all together at {100 * ranking.level:.3g} %, and so do the ranks"
    )
    best = ", ".join(label.get(name, name) for name in ranking.best)
    screen.print(f"[bold]best: {'' if len(ranking.best) == 1 else 'one of '}{literal(best)}[/]", soft_wrap=True)
    print_notes(screen, ranking.caveats)
    scores = [
        {"rank": ranks(each), f"{ranking.metric}, %": _score(each.score), "run": each.name} for each in ranking.models
    ]
    print_table("by score", scores, fold="run")
    pairs = [
        {
            "points": _points(pair.difference, level=False),
            "p, adjusted": f"{pair.p_value:.3g}",
            "pair": f"{label[pair.upper]} − {label[pair.lower]}",
        }
        for pair in ranking.pairs
    ]
    print_table("differences in points", pairs, fold="pair")


def _score(score: Interval) -> str:
    return f"{100 * score.estimate:.1f} [{100 * score.low:.1f}, {100 * score.high:.1f}]"


def _points(difference: Interval, level: bool = True) -> str:
    span = f"{100 * difference.low:+.1f} to {100 * difference.high:+.1f}"
    if not level:
        return f"{100 * difference.estimate:+.1f}  ({span})"
    return f"{100 * difference.estimate:+.1f} points   {100 * difference.level:.3g} % interval {span}"
