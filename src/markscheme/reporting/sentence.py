"""The sentence for a paper: a figure or a difference with its interval, what it stands on, and what it does not show."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib.metadata import version

from markscheme.reporting.comparing import Compared, labels, open_ranks
from markscheme.reporting.estimates import Estimate
from markscheme.reporting.family import MacroCompared
from markscheme.reporting.figures import asked_with, counted, figures_of
from markscheme.reporting.settings import run_names
from markscheme.reporting.summary import Summary
from markscheme.reporting.table import Table, about, escape_latex
from markscheme.statistics import Comparison, Interval, Ranking

CUT_OFF = 0.05  # the share of truncated responses from which on a score says something about the token limit
MOST_NAMED = 3
FORMS: dict[str, Callable[[str], str]] = {
    "text": lambda text: text,
    "markdown": lambda text: text.replace("_", r"\_").replace("*", r"\*"),
    "latex": lambda text: (
        re.sub(r"`([^`]*)`", r"\\texttt{\1}", escape_latex(text))
        .replace(" \\%", r"\,\%")
        .replace("−", "$-$")
        .replace("×", r"$\times$")
    ),
}


def report_sentence(table: Table) -> str:
    """Of one run its score; of several the best of each benchmark is not singled out, so it says the range."""
    if len(table.runs) == 1:
        return _score(table.runs[0])
    if table.macro:
        mean = table.macro["accuracy"]
        if mean.value is not None:
            return (
                f"Averaged over {len(table.runs)} benchmarks that weigh the same, {table.runs[0].model} has an accuracy of "
                f"{_percent(mean)}; marked by {_marked(table.runs)}. {_not_shown(table.runs[0])} It is about these "
                "benchmarks and no others."
            )
    names = dict(
        zip([run.run for run in table.runs], run_names(table.runs, [run.run for run in table.runs]), strict=True)
    )
    told = []
    for benchmark in dict.fromkeys(run.benchmark for run in table.runs):
        mine = [run for run in table.runs if run.benchmark == benchmark and run.accuracy.value is not None]
        if mine:
            best = max(mine, key=lambda run: run.accuracy.value or 0)
            tied = sum(run.accuracy.value == best.accuracy.value for run in mine)
            name = names[best.run].removeprefix(f"{benchmark} · ") if tied == 1 else f"{tied} runs alike"
            told.append(f"{_percent(best.accuracy)} on {benchmark} ({name}, of {counted(len(mine), 'run')})")
    if not told:
        return ""
    return (
        f"The highest accuracy is {', '.join(told)}; marked by {_marked(table.runs)}. The highest of several is partly the "
        "luckiest: `markscheme compare` says which differences are shown."
    )


def _score(run: Summary) -> str:
    name, figure = next(iter(figures_of(run).items()))
    if figure.value is None:
        return ""
    settings = asked_with(run)
    passes = [
        f"pass@{k} is {_percent(each)}" for k, each in run.pass_at_k.items() if k != "1" and each.value is not None
    ]
    text = (
        f"On {run.benchmark} ({counted(run.problems, 'problem')}, {counted(run.samples, 'sample')} per problem"
        f"{f', {settings}' if settings else ''}), {run.model} has an {name} of {_percent(figure)} for {about(run.population)}"
        f"{'; ' + passes[-1] if passes else ''}; marked by {_marked([run])}."
    )
    if run.corrected is not None and run.corrected.accuracy.value is not None:
        text += f" Corrected by what people say of {run.corrected.judged} responses it is {_percent(run.corrected.accuracy)}."
    if (run.truncation.value or 0) >= CUT_OFF:
        text += f" The token limit cut off {100 * (run.truncation.value or 0):.0f} % of the responses before an answer."
    if run.missing:
        text += f" {counted(run.missing, 'response')} did not come back and count as the others of the same problem."
    return f"{text} {_not_shown(run)}"


def _not_shown(run: Summary) -> str:
    left = ["other prompts", "other settings"]
    if run.population == "these problems":
        left.append("other problems")
    if run.corrected is None:
        left.append("errors of the marker")
    return f"The interval does not cover {', '.join(left[:-1])} or {left[-1]}."


def comparison_sentence(compared: Compared | MacroCompared) -> str:
    """Two runs, two models over several benchmarks, or a ranking."""
    if isinstance(compared, MacroCompared):
        first = compared.parts[0]
        a, b = _labels(first)
        head = f"Over {len(compared.parts)} benchmarks that weigh the same, "
        protocols = ", ".join(dict.fromkeys(part.protocol for part in compared.parts))
        told = _told(head, a, b, compared.metric, compared.difference, compared.p_value, "problem")
        return f"{told}, for {about(compared.population)}; marked by {_version(protocols)}. {_rest(compared.parts, compared.difference)}"
    if compared.ranking is not None:
        return _ranked(compared, compared.ranking)
    pair = compared.comparison
    assert pair is not None
    a, b = _labels(compared)
    return (
        f"{_told(_where(compared, pair), a, b, pair.metric, pair.difference, pair.p_value, compared.pairing)}, for "
        f"{about(pair.population)}; marked by {_version(compared.protocol)}. {_rest([compared], pair.difference)}"
    )


def _where(compared: Compared, pair: Comparison) -> str:
    if not compared.pairing:
        return f"On different problems ({compared.benchmark}), "
    what = "problem" if compared.pairing == "problem" else f"{compared.pairing.replace('_', ' ')}"
    return f"On {counted(pair.problems, what)} of {compared.benchmark}, "


def _told(head: str, a: str, b: str, metric: str, difference: Interval, p: float, pairing: str) -> str:
    points, low, high = (100 * each for each in (difference.estimate, difference.low, difference.high))
    how = f"paired by {pairing.replace('_', ' ')}" if pairing else "not paired"
    chance = f"p {f'= {p:.2g}' if p >= 0.001 else '< 0.001'}"
    bounds = f"({100 * difference.level:.3g} % interval {_signed(low)} to {_signed(high)}, {how}, {chance})"
    if low > 0 or high < 0:
        word = "higher" if low > 0 else "lower"
        return f"{head}{b} is {abs(points):.1f} points {word} than {a} in {metric} {bounds}"
    return f"{head}no difference in {metric} between {b} and {a} is shown: {_signed(points)} points {bounds}"


def _rest(parts: Sequence[Compared], difference: Interval | None = None) -> str:
    """What else the runs differ in, and what the difference does not show."""
    others = dict.fromkeys(each.what for part in parts for each in part.differences if each.what != "status")
    said = [f"The runs also differ in {', '.join(others)}, which the difference may be due to."] if others else []
    if not all(part.pairing for part in parts):
        said.append("One of them may have had the easier problems.")
    if difference is not None and difference.low <= 0 <= difference.high:
        worst = max(abs(difference.low), abs(difference.high))
        said.append(f"That does not show that they are the same: {100 * worst:.1f} points remain possible.")
    said.append("It says nothing about other prompts or settings.")
    return " ".join(said)


def _ranked(compared: Compared, ranking: Ranking) -> str:
    best, ranks = ranking.models[0], open_ranks(compared)
    apart = sum(pair.difference.low > 0 or pair.difference.high < 0 for pair in ranking.pairs)
    first = [name for name, rank in ranks.items() if rank.startswith("1")]
    label = labels(compared)
    rest = [label[name] for name in first if name != best.name]
    others = ", ".join(rest) if len(rest) <= MOST_NAMED else f"{len(rest)} others"
    return (
        f"On {counted(ranking.problems, 'problem')} of {compared.benchmark}, {label[best.name]} has the highest {ranking.metric} of "
        f"{len(ranking.models)} runs, {_share(best.score)}; with all differences held at once at {100 * ranking.level:.3g} %, {apart} of "
        f"{len(ranking.pairs)} pairs are told apart{f', and {others} may as well be first' if others else ''}; marked by "
        f"{_version(compared.protocol)}. {_rest([compared])}"
    )


def _labels(compared: Compared) -> tuple[str, str]:
    first, second = labels(compared).values()
    return first, second


def _percent(figure: Estimate) -> str:
    return (
        f"{100 * (figure.value or 0):.1f} % ({100 * figure.level:.3g} % interval {100 * (figure.low or 0):.1f} to "
        f"{100 * (figure.high or 0):.1f})"
    )


def _share(score: Interval) -> str:
    return _percent(Estimate(score.estimate, score.low, score.high, score.level))


def _signed(points: float) -> str:
    return f"{points:+.1f}".replace("-", "−")


def _marked(runs: Sequence[Summary]) -> str:
    return _version(", ".join(dict.fromkeys(run.protocol for run in runs)))


def _version(protocol: str) -> str:
    return f"{protocol} (markscheme {version('markscheme')})"
