"""Tables and comparisons of several runs, as printed at a terminal."""

from __future__ import annotations

from collections import Counter
from statistics import median

from markscheme.errors import counted, option
from markscheme.pages.terminal import print_notes, print_sentence, print_table, say
from markscheme.reporting.comparing import Compared, labels, margin_line, ranks
from markscheme.reporting.drawing import looked_line
from markscheme.reporting.estimates import bare
from markscheme.reporting.family import MacroCompared
from markscheme.reporting.figures import about, bounds
from markscheme.reporting.sheets import Sheet
from markscheme.reporting.table import Table, below, intervals, named, named_notes, shown_rows
from markscheme.statistics import Comparison, Interval, Ranking, quantiles

MOST_MOVED = 10  # problems listed under `moved most`
MOST_PAIRS = 15  # differences listed below a ranking
MOST_NAMED = 6  # runs whose values of a setting are listed by name


def print_comparison_table(table: Table) -> None:
    """Print several runs side by side, and their macro average."""
    # pass@1 is accuracy by another name; on a screen one of them is enough.
    hidden = {"pass@1"} | ({"missing"} if not any(run.missing for run in table.runs) else set())
    Sheet(
        f"percent, with {intervals(table)}",
        lambda show: [
            {name: cell for name, cell in row.items() if name not in hidden} for row in shown_rows(table, show)
        ],
        len(named(table.runs[0], table)) + 1,
        below(table),
        named_notes(table),
    ).print()


def print_compared(compared: Compared | MacroCompared) -> None:
    """Print a comparison of two runs, a ranking of several, or two models over several benchmarks."""
    if isinstance(compared, MacroCompared):
        for part in compared.parts:
            print_compared(part)
        say((f"unweighted mean over {len(compared.parts)} benchmarks", "bold"), f" · {compared.metric}")
        say((f"B − A  {_points(compared.difference)}", "bold"), f"   p = {compared.p_value:.3g}")
        names = [*(part.benchmark for part in compared.parts), "mean"]
        adjusted = ", ".join(f"{name} {p:.3g}" for name, p in zip(names, compared.adjusted, strict=False))
        say(f"p adjusted for all {len(compared.adjusted)} comparisons: {adjusted}")
        if compared.margin is not None:
            say(margin_line(compared.margin))
        print_sentence(compared.sentence)
        return
    for each in compared.differences:
        values = " | ".join(f"{name}: {value}" for name, value in each.values.items())
        if len(each.values) > MOST_NAMED:
            values = " | ".join(f"{value} ({counted(n, 'run')})" for value, n in Counter(each.values.values()).items())
        print_notes([f"the runs differ in {each.what}: {values}"])
    print_notes(compared.notes)
    if compared.cluster:
        say(f"problems with the same {compared.cluster} are not treated as independent")
    if compared.comparison is not None:
        _print_pair(compared, compared.comparison)
    if compared.ranking is not None:
        _print_ranking(compared, compared.ranking)
    print_sentence(compared.sentence)


def _print_pair(compared: Compared, pair: Comparison) -> None:
    name_a, name_b = compared.runs
    what = {"problem": "shared problem", "": "problem"}.get(compared.pairing, compared.pairing.replace("_", " "))
    say(
        (compared.benchmark, "bold"),
        f" · {pair.metric} · {counted(pair.problems, what)}"
        f"{', not paired' * (not compared.pairing)} · percent, for {about(pair.population)}",
    )
    if pair.unshared:
        say(f"{counted(pair.unshared, 'problem')} left out: one of the runs has no value there")
    say(f"A  {_score(pair.a)}   {name_a}")
    say(f"B  {_score(pair.b)}   {name_b}")
    say(f"B − A  {_points(pair.difference)}", style="bold")
    if (unseen := pair.unseen) is not None:
        span = f"{100 * unseen.low:+.1f} to {100 * unseen.high:+.1f}"
        say(f"if one problem in twenty is of a kind that is absent here: {span}")
    if compared.corrected is not None:
        line = f"B − A  {_points(compared.corrected)}   corrected for marker errors found by people"
        say(line)
    better = min(max(pair.probability_better, 0.001), 0.999)  # never certain
    say(f"p = {pair.p_value:.3g} · B is better with probability {100 * better:.1f} %")
    found = "no difference"
    if pair.detectable is not None:
        found = f"a true difference of {100 * pair.detectable:.1f} points or more"
    say(f"with 80 % power this comparison detects {found}")
    if (odds := pair.odds_ratio) is not None:
        span = f"{100 * odds.level:.3g} % interval {odds.low:.2f} to {odds.high:.2f}"
        say(f"odds ratio B : A {odds.estimate:.2f}   {span}")
    if pair.margin is not None:
        say(margin_line(pair.margin))
    if compared.looked is not None:
        say(f"B against A during the run: {looked_line(compared.looked)}")
        print_notes(["the interval and p above do not allow for having looked; the always-valid one does"])
    print_notes(pair.caveats)
    if compared.pairing:
        _print_moved(compared, pair)


def _print_moved(compared: Compared, pair: Comparison) -> None:
    say(
        f"{counted(pair.better, 'problem')} better, {pair.worse} worse, {pair.problems - pair.better - pair.worse} equal; "
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
    label = labels(compared)
    say(
        (compared.benchmark, "bold"),
        f" · {ranking.metric} · {counted(ranking.problems, 'shared problem')} · {about(ranking.population)}",
    )
    held = counted(ranking.comparisons, "comparison")
    say(f"simultaneous {100 * ranking.level:.3g} % intervals for all {held}, and so for the ranks")
    best = ", ".join(label.get(name, name) for name in ranking.best)
    if len(ranking.best) > MOST_NAMED:
        best = f"the {len(ranking.best)} runs that may have rank 1"
    say(f"best: {'' if len(ranking.best) == 1 else 'one of '}{best}", style="bold")
    if (least := _detected(ranking)) < 1:
        say(f"with 80 % power a typical pair shows a true difference of about {100 * least:.0f} points or more")
    else:
        say("no difference is shown with 80 % power for a typical pair")
    print_notes(ranking.caveats)
    scores = [
        {"rank": ranks(each), f"{ranking.metric}, %": _score(each.score), "run": each.name} for each in ranking.models
    ]
    print_table("by score", scores, fold="run")
    clearest = sorted(ranking.pairs, key=lambda pair: pair.p_value)[:MOST_PAIRS]
    pairs = [
        {
            "points": _points(pair.difference, level=False),
            "p, adjusted": f"{pair.p_value:.3g}",
            "pair": f"{label[pair.upper]} − {label[pair.lower]}",
        }
        for pair in ranking.pairs
        if pair in clearest
    ]
    print_table("differences in points", pairs, fold="pair")
    if more := len(ranking.pairs) - len(pairs):
        say(f"and {counted(more, 'pair')} with larger p; {option('json')} prints all")


def _detected(ranking: Ranking) -> float:
    """Return the true difference that the median pair detects with 80 % power, by the width of its interval."""
    level = ranking.pairs[0].difference.level
    width = median(pair.difference.half_width for pair in ranking.pairs)
    return width / quantiles.normal((1 + level) / 2) * quantiles.detectable(level, 0.8)


def _score(score: Interval) -> str:
    return bounds(bare(score))


def _points(difference: Interval, level: bool = True) -> str:
    span = f"{100 * difference.low:+.1f} to {100 * difference.high:+.1f}"
    if not level:
        return f"{100 * difference.estimate:+.1f}  ({span})"
    return f"{100 * difference.estimate:+.1f} points   {100 * difference.level:.3g} % interval {span}"
