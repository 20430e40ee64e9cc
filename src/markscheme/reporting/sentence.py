"""The sentence for a paper: a figure or difference with its interval, its basis, and what it does not show."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

from markscheme.errors import counted
from markscheme.reporting.comparing import Compared, labels, open_ranks
from markscheme.reporting.estimates import Estimate, as_estimate
from markscheme.reporting.family import MacroCompared
from markscheme.reporting.figures import about, asked_with, figures_of
from markscheme.reporting.settings import run_names
from markscheme.reporting.summary import Summary
from markscheme.reporting.table import Table
from markscheme.statistics import Comparison, Interval, Ranking

CUT_OFF = 0.05  # the share of truncated responses above which the sentence mentions the token limit
MOST_NAMED = 3


def report_sentence(table: Table) -> str:
    """Return the score of one run, the macro average, or the highest accuracy on each benchmark."""
    if len(table.runs) == 1:
        return _score(table.runs[0])
    if table.macro and table.macro["accuracy"].value is not None:
        return (
            f"Averaged over {len(table.runs)} benchmarks of equal weight, {table.runs[0].model} has an accuracy of "
            f"{_percent(table.macro['accuracy'])}; marked by {_protocols(table.runs)}. {_limits(table.runs[0])} It is about "
            "these benchmarks and no others."
        )
    folders = [run.run for run in table.runs]
    names = dict(zip(folders, run_names(table.runs, folders), strict=True))
    highest = []
    for benchmark in dict.fromkeys(run.benchmark for run in table.runs):
        mine = [run for run in table.runs if run.benchmark == benchmark and run.accuracy.value is not None]
        if mine:
            best = max(mine, key=lambda run: run.accuracy.value or 0)
            tied = sum(run.accuracy.value == best.accuracy.value for run in mine)
            name = names[best.run].removeprefix(f"{benchmark} · ") if tied == 1 else f"{tied} runs tied"
            highest.append(f"{_percent(best.accuracy)} on {benchmark} ({name}, of {counted(len(mine), 'run')})")
    if not highest:
        return ""
    return (
        f"The highest accuracy is {', '.join(highest)}; marked by {_protocols(table.runs)}. The highest of several scores is "
        "biased upwards by selection: `markscheme compare` says which differences are significant."
    )


def _score(run: Summary) -> str:
    name, figure = next(iter(figures_of(run).items()))
    if figure.value is None:
        return ""
    settings = asked_with(run)
    passes = [
        f"; pass@{k} is {_percent(each)}" for k, each in run.pass_at_k.items() if k != "1" and each.value is not None
    ]
    text = (
        f"On {run.benchmark} ({counted(run.problems, 'problem')}, {counted(run.samples, 'sample')} per problem"
        f"{f', {settings}' if settings else ''}), {run.model} has an {name} of {_percent(figure)}, for "
        f"{about(run.population)}{passes[-1] if passes else ''}; marked by {_protocols([run])}."
    )
    if run.corrected is not None and run.corrected.accuracy.value is not None:
        accuracy = _percent(run.corrected.accuracy)
        text += f" Corrected for marker errors found by people in {run.corrected.judged} responses, it is {accuracy}."
    if (run.truncation.value or 0) >= CUT_OFF:
        text += f" The token limit cut off {100 * (run.truncation.value or 0):.0f} % of the responses before an answer."
    if run.missing:
        text += f" {counted(run.missing, 'response')} did not come back and count as the others of the same problem."
    return f"{text} {_limits(run)}"


def _limits(run: Summary) -> str:
    left = ["other prompts", "other settings"]
    if run.population == "these problems":
        left.append("other problems")
    if run.corrected is None:
        left.append("errors of the marker")
    return f"The interval does not cover {', '.join(left[:-1])} or {left[-1]}."


def comparison_sentence(compared: Compared | MacroCompared) -> str:
    """Return the sentence for two runs, two models over several benchmarks, or a ranking."""
    if isinstance(compared, MacroCompared):
        first = compared.parts[0]
        a, b = labels(first).values()
        head = f"Over {len(compared.parts)} benchmarks of equal weight, "
        protocols = ", ".join(dict.fromkeys(part.protocol for part in compared.parts))
        text = _difference(head, a, b, compared.metric, compared.difference, compared.p_value, "problem")
        rest = _rest(compared.parts, compared.difference)
        return f"{text}, for {about(compared.population)}; marked by {_version(protocols)}. {rest}"
    if compared.ranking is not None:
        return _ranked(compared, compared.ranking)
    pair = compared.comparison
    assert pair is not None
    a, b = labels(compared).values()
    text = _difference(_where(compared, pair), a, b, pair.metric, pair.difference, pair.p_value, compared.pairing)
    rest = _rest([compared], pair.difference)
    return f"{text}, for {about(pair.population)}; marked by {_version(compared.protocol)}. {rest}"


def _where(compared: Compared, pair: Comparison) -> str:
    if not compared.pairing:
        return f"On different problems ({compared.benchmark}), "
    return f"On {counted(pair.problems, compared.pairing.replace('_', ' '))} of {compared.benchmark}, "


def _difference(head: str, a: str, b: str, metric: str, difference: Interval, p: float, pairing: str) -> str:
    points, low, high = (100 * each for each in (difference.estimate, difference.low, difference.high))
    how = f"paired by {pairing.replace('_', ' ')}" if pairing else "not paired"
    chance = f"p {f'= {p:.2g}' if p >= 0.001 else '< 0.001'}"
    bounds = f"({100 * difference.level:.3g} % interval {_signed(low)} to {_signed(high)}, {how}, {chance})"
    if low > 0 or high < 0:
        word = "higher" if low > 0 else "lower"
        return f"{head}{b} is {abs(points):.1f} points {word} than {a} in {metric} {bounds}"
    return f"{head}no significant difference in {metric} between {b} and {a}: {_signed(points)} points {bounds}"


def _rest(parts: Sequence[Compared], difference: Interval | None = None) -> str:
    """Return what else the runs differ in, and what the difference does not show."""
    others = dict.fromkeys(each.what for part in parts for each in part.differences if each.what != "status")
    lines = [f"The runs also differ in {', '.join(others)}, which may explain the difference."] if others else []
    if not all(part.pairing for part in parts):
        lines.append("One of them may have had the easier problems.")
    if difference is not None and difference.low <= 0 <= difference.high:
        worst = max(abs(difference.low), abs(difference.high))
        lines.append(
            f"This does not show that they are equal: a difference of {100 * worst:.1f} points remains possible."
        )
    return " ".join([*lines, "It says nothing about other prompts or settings."])


def _ranked(compared: Compared, ranking: Ranking) -> str:
    best, ranks = ranking.models[0], open_ranks(compared)
    apart = sum(pair.difference.low > 0 or pair.difference.high < 0 for pair in ranking.pairs)
    label = labels(compared)
    rest = [label[name] for name, rank in ranks.items() if rank.startswith("1") and name != best.name]
    others = ", ".join(rest) if len(rest) <= MOST_NAMED else f"{len(rest)} others"
    return (
        f"On {counted(ranking.problems, 'problem')}{', by the' if compared.average else ' of'} {compared.benchmark}, {label[best.name]} has the highest "
        f"{ranking.metric} of {len(ranking.models)} runs, {_percent(as_estimate(best.score))}; at a simultaneous level of "
        f"{100 * ranking.level:.3g} %, {apart} of {len(ranking.pairs)} pairs differ"
        f"{f', and {others} may also be first' if others else ''}; marked by {_version(compared.protocol)}. "
        f"{_rest([compared])}"
    )


def _percent(figure: Estimate) -> str:
    span = f"{100 * (figure.low or 0):.1f} to {100 * (figure.high or 0):.1f}"
    return f"{100 * (figure.value or 0):.1f} % ({100 * figure.level:.3g} % interval {span})"


def _signed(points: float) -> str:
    return f"{points:+.1f}".replace("-", "−")


def _protocols(runs: Sequence[Summary]) -> str:
    return _version(", ".join(dict.fromkeys(run.protocol for run in runs)))


def _version(protocol: str) -> str:
    return f"{protocol} (markscheme {version('markscheme')})"
