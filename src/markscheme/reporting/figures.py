"""How a figure reads: `62.3 ± 4.1`, `62.3 %  95 % interval 58.2 to 66.4`, and `undefined` where it is; a bar to see it by."""

from __future__ import annotations

from markscheme.reporting.estimates import Estimate
from markscheme.reporting.settings import Told, heading, settings_of, shown
from markscheme.reporting.summary import Corrected, Summary, Until
from markscheme.reporting.talks import doubt_line, tool_line
from markscheme.statistics import VarianceTable
from markscheme.statistics.planning import MORE

UNDEFINED = "undefined"  # Too few samples came back. Never 0 in its place.

# The share of a kind of problem, and how often it may be missing by chance before the report says so: up to nine
# problems.
KIND, MISSED = 0.2, 0.125


def counted(number: int, noun: str) -> str:
    """`1 problem`, `2 problems`."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def percent(estimate: Estimate) -> str:
    """A figure with its interval in one line, for a terminal."""
    return (": " if estimate.value is None else "   ").join(value_and_interval(estimate))


def value_and_interval(estimate: Estimate) -> list[str]:
    """What stands in the columns of a figure: the value, then its interval and what else there is to know."""
    if estimate.value is None:
        return [UNDEFINED, "too few samples came back"]
    shown = [f"{100 * estimate.value:.1f} %"]
    if estimate.low is not None and estimate.high is not None:
        shown.append(f"{100 * estimate.level:.3g} % interval {100 * estimate.low:.1f} to {100 * estimate.high:.1f}")
    if estimate.undefined:
        shown.append(stands_on(estimate))
    if estimate.drawn_error:
        shown.append(f"(drawn, standard error {100 * estimate.drawn_error:.2f})")
    return shown


def bar(estimate: Estimate, width: int = 25) -> str:
    """A line of blocks from 0 to 100 %: full up to the interval, half-tone across it."""
    if estimate.low is None or estimate.high is None:
        return ""
    low, high = round(width * estimate.low), round(width * estimate.high)
    # An interval narrower than a block still shows as one.
    low = min(low, max(high - 1, 0))
    return "█" * low + "▒" * max(high - low, 1) + "·" * (width - max(high, low + 1))


def stands_on(estimate: Estimate) -> str:
    """`8 of 12 problems complete`, where others lack samples that the figure needs."""
    return f"{estimate.problems} of {estimate.problems + estimate.undefined} problems complete"


def bounds(estimate: Estimate) -> str:
    """`62.3 [58.2, 66.4]`, for tables; with `(8 of 12 problems complete)` where some lack samples."""
    if estimate.value is None:
        return UNDEFINED
    shown = f"{100 * estimate.value:.1f} [{100 * (estimate.low or 0):.1f}, {100 * (estimate.high or 0):.1f}]"
    return f"{shown} ({stands_on(estimate)})" if estimate.undefined else shown


def figures_of(summary: Summary) -> dict[str, Estimate]:
    """Every headline figure by its name."""
    passes = {f"pass@{k}": figure for k, figure in summary.pass_at_k.items()}
    accuracy = {"accuracy": summary.accuracy}
    if summary.errata is not None:
        accuracy["accuracy with errata"] = summary.errata.accuracy
    if (people := summary.corrected) is not None:
        accuracy["corrected accuracy"] = people.accuracy
        passes |= {f"corrected pass@{k}": figure for k, figure in people.pass_at_k.items()}
    return {**accuracy, **passes, **summary.metrics, "truncation": summary.truncation}


def error_rates(false_positive: Estimate, false_negative: Estimate) -> str:
    """How often the marker errs; of a verdict that it never gave nothing can be rates."""
    rates = []
    if false_positive.value is not None:
        rates.append(f"of those marked correct {bounds(false_positive)} % are wrong")
    if false_negative.value is not None:
        rates.append(f"of {'the others' if rates else 'all'} {bounds(false_negative)} % are right")
    return ", ".join(rates)


def _by_people(people: Corrected) -> str:
    """How wrong the marker is, and how sure people are of it."""
    who = "1 person" if people.people == 1 else f"{people.people} people"
    agreed = f", who say the same in {100 * people.agreement:.0f} % of pairs" if people.agreement is not None else ""
    left = [f"{n} {what}" for n, what in ((people.unsure, "unsure or divided"), (people.skipped, "skipped")) if n]
    unsure = f" (and {', '.join(left)}: intervals hold whatever these are)" if left else ""
    if people.picked:
        unsure += f" ({counted(people.picked, 'label')} picked, not drawn by the order, left out)"
    return (
        f"{who} judged {people.judged} responses{unsure}{agreed}: {error_rates(people.false_positive, people.false_negative)}; "
        f"corrected for that, the accuracy is {bounds(people.accuracy)} %"
        + "".join(
            f"; pass@{k} is {100 * low:.1f} % if errors in a problem come together and {100 * high:.1f} % if apart, and its "
            "interval holds for both"
            for k, (low, high) in people.pass_ranges.items()
        )
    )


def caveats(summary: Summary) -> list[str]:
    """What a reader must know before quoting a figure, as far as the figures tell it; the same in every format."""
    notes = [tool_line(summary.tools)] if summary.tools is not None else []
    notes += [doubt_line(summary.doubted)] if summary.doubted is not None else []
    if summary.corrected is not None:
        notes.append(_by_people(summary.corrected))
    if (known := summary.errata) is not None:
        notes.append(
            f"golds known to be wrong: accuracy with errata corrects {counted(known.corrected, 'gold')} and leaves out "
            f"{counted(known.left_out, 'problem')}, by {'; '.join(known.sources)}"
        )
    if summary.cluster:
        notes.append(f"problems that share their {summary.cluster} are not taken as independent")
    if summary.population == "problems drawn" and (unseen := (1 - KIND) ** summary.problems) > MISSED:
        notes.append(
            f"{counted(summary.problems, 'problem')} can say little about problems like these: a kind that makes up one in "
            f"{1 / KIND:.0f} is missing among so few with a chance of {100 * unseen:.0f} %"
        )
    if summary.population == "these problems" and summary.samples == 1:
        notes.append(
            "one sample does not show how often a problem is solved: the interval for exactly these problems is no narrower "
            "than for problems like these (two samples per problem would show it)"
        )
    if summary.samples > 1 and summary.sampling.get("temperature") == 0:
        notes.append(
            f"at temperature 0 the {summary.samples} samples of a problem are the same answer, or differ only as the server "
            "is not exact: pass@k says nothing more than accuracy"
        )
    if summary.until is not None:
        notes.append(_until(summary.until))
    if summary.missing and summary.status == "running":
        notes.append(
            f"{counted(summary.missing, 'response')} still to come: the run is going on, or was killed and `markscheme resume` "
            "asks for them"
        )
        return notes
    if summary.missing:
        notes.append(
            f"{summary.missing} responses are missing: figures and intervals take those of a problem for like the others "
            "of it that came back"
        )
        notes += [f"{each.count:,} × {kind}, such as: {each.example}" for kind, each in summary.failures.items()]
    for name, each in figures_of(summary).items():
        # pass@1 is accuracy by another name.
        if name == "pass@1" or each.lowest is None or each.highest is None:
            continue
        part = (
            f"has {stands_on(each)}, and of the others what their samples let one expect; it " if each.undefined else ""
        )
        if each.value is None:
            part = "is undefined, since fewer than half of the problems have all the samples it needs; it "
        notes.append(
            f"{name} {part}would be {100 * (each.if_wrong or 0):.1f} if all missing are wrong, "
            f"{100 * (each.if_right or 0):.1f} if right; whatever they are, {100 * each.lowest:.1f} to "
            f"{100 * each.highest:.1f}"
        )
    return notes


def _until(until: Until) -> str:
    each = f"{until.fewest}" if until.fewest == until.most else f"{until.fewest} to {until.most}"
    rounds = f"{until.rounds} round{'s' * (until.rounds != 1)}, {each} samples per problem"
    half = 50 * ((until.score.high or 0) - (until.score.low or 0))
    return (
        f"until ± {until.points:g}: {'yes' if until.reached else 'no'}, {rounds}; stopped because {until.stopped}; "
        f"on exactly these problems: {percent(until.score)} (± {half:.1f})"
    )


def variance_rows(variance: VarianceTable) -> list[dict[str, str]]:
    """The variance table in points: what is uncertain, and how wide the intervals of accuracy would be."""
    columns = ("now", f"{MORE} more samples a problem", "endless")
    like = (variance.half_width, variance.half_width_more, variance.half_width_endless)
    these = (variance.these_half_width, variance.these_half_width_more, 0.0)
    rows = (("problems like these", like, f"{100 * variance.from_problems:.1f}"), ("exactly these", these, "–"))
    return [
        {"interval for": name}
        | {column: f"± {100 * width:.1f}" for column, width in zip(columns, widths, strict=True)}
        | {"s.e. from problems": problems, "from sampling": f"{100 * variance.from_sampling:.1f}"}
        for name, widths, problems in rows
    ]


def size(summary: Summary) -> str:
    """`30 problems × 16 samples`, or what they are on average."""
    average = " on average" if summary.until and summary.until.fewest < summary.until.most else ""
    return f"{summary.problems:,} problems × {summary.samples} sample{'s' * (summary.samples != 1)}{average}"


def conditions(summary: Summary) -> str:
    """How it was asked and what it took: `temperature 0.8, 10 examples, 12,345 tokens, $0.12, 41 s`."""
    parts = [asked_with(summary)]
    usage = summary.usage
    if usage is not None and usage.completion_tokens is not None:
        parts.append(f"{(usage.prompt_tokens or 0) + usage.completion_tokens:,} tokens")
    if usage is not None and usage.cost is not None:
        parts.append(f"${usage.cost:,.2f}")
    if summary.seconds is not None:
        parts.append(f"{summary.seconds:,.0f} s")
    return ", ".join(filter(None, parts))


def asked_with(run: Told) -> str:
    """Everything that was set, as one line: `temperature 0.8, max tokens 4096, reasoning effort high`."""
    values = {
        name: value for name, value in settings_of(run).items() if value not in (None, 0) or name == "temperature"
    }
    return ", ".join(f"{heading(name)} {shown(value)}" for name, value in values.items() if value is not None)


def plus_minus(estimate: Estimate) -> str:
    r"""`62.3 \pm 4.1` in LaTeX, or `98.0_{-5.2}^{+1.6}` where the interval is not symmetric to the printed digit."""
    if estimate.value is None:
        return "--"
    below, above = (100 * abs((bound or 0.0) - estimate.value) for bound in (estimate.low, estimate.high))
    if f"{below:.1f}" == f"{above:.1f}":
        return rf"${100 * estimate.value:.1f} \pm {above:.1f}$"
    return rf"${100 * estimate.value:.1f}_{{-{below:.1f}}}^{{+{above:.1f}}}$"
