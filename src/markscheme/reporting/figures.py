"""Figures as text: `62.3 ± 4.1`, `62.3 %  95 % interval 58.2 to 66.4` or `undefined`; and the notes about them."""

from __future__ import annotations

from markscheme.errors import counted
from markscheme.pages.parts import Drawn
from markscheme.reporting.estimates import Estimate
from markscheme.reporting.settings import Configured, heading, settings_of, shown
from markscheme.reporting.summary import Corrected, Summary, Until
from markscheme.reporting.talks import doubt_line, tool_line
from markscheme.statistics import Population, VarianceTable
from markscheme.statistics.planning import MORE

UNDEFINED = "undefined"  # too few samples came back; never 0 instead
POPULATIONS: dict[Population, str] = {
    "problems drawn": "the benchmark as a sample of similar problems",
    "these problems": "these exact problems",
    "the whole benchmark": "the whole benchmark",
}

# The report warns about few problems if a kind that makes up this share of all is missing among them with at least
# this chance: up to nine problems.
KIND, MISSED = 0.2, 0.125


def about(population: Population) -> str:
    """Return what an interval is about."""
    return POPULATIONS[population]


def percent(estimate: Estimate) -> str:
    """Return a figure with its interval in one line, for a terminal."""
    return (": " if estimate.value is None else "   ").join(value_and_interval(estimate))


def value_and_interval(estimate: Estimate) -> list[str]:
    """Return the columns of a figure: its value, its interval, and anything else worth knowing."""
    if estimate.value is None:
        return [UNDEFINED, "too few samples came back"]
    columns = [f"{100 * estimate.value:.1f} %"]
    if estimate.low is not None and estimate.high is not None:
        columns.append(f"{100 * estimate.level:.3g} % interval {100 * estimate.low:.1f} to {100 * estimate.high:.1f}")
    if estimate.undefined:
        columns.append(completeness(estimate))
    if estimate.drawn_error:
        columns.append(f"(Monte Carlo standard error {100 * estimate.drawn_error:.2f})")
    return columns


def bar(estimate: Estimate, width: int = 25) -> str:
    """Return blocks from 0 to 100 %: full up to the interval, half-tone across it."""
    if estimate.low is None or estimate.high is None:
        return ""
    low, high = round(width * estimate.low), round(width * estimate.high)
    low = min(low, max(high - 1, 0))  # an interval narrower than a block still shows as one
    return "█" * low + "▒" * max(high - low, 1) + "·" * (width - max(high, low + 1))


def completeness(estimate: Estimate) -> str:
    """Return `8 of 12 problems complete`, if others lack samples that the figure needs."""
    return f"{estimate.problems} of {estimate.problems + estimate.undefined} problems complete"


def bounds(estimate: Estimate) -> str:
    """Return `62.3 [58.2, 66.4]`, and `(8 of 12 problems complete)` if some lack samples; a difference has signs."""
    if estimate.value is None:
        return UNDEFINED
    parts = (estimate.value, estimate.low or 0, estimate.high or 0)
    value, low, high = (f"{100 * part:{'+' * estimate.signed}.1f}" for part in parts)
    return f"{value} [{low}, {high}]" + (f" ({completeness(estimate)})" if estimate.undefined else "")


def drawn(estimate: Estimate) -> Drawn:
    """Return a figure as a cell of a page."""
    return Drawn.of(bounds(estimate), estimate.value, estimate.low, estimate.high, signed=estimate.signed)


def plus_minus(estimate: Estimate) -> str:
    r"""Return `62.3 \pm 4.1` for LaTeX, or `98.0_{-5.2}^{+1.6}` if the interval is not symmetric as printed."""
    if estimate.value is None:
        return "--"
    value = f"{100 * estimate.value:{'+' * estimate.signed}.1f}"
    below, above = (f"{100 * abs((bound or 0.0) - estimate.value):.1f}" for bound in (estimate.low, estimate.high))
    return rf"${value} \pm {above}$" if below == above else rf"${value}_{{-{below}}}^{{+{above}}}$"


def figures_of(summary: Summary) -> dict[str, Estimate]:
    """Return every headline figure by its name."""
    passes = {f"pass@{k}": figure for k, figure in summary.pass_at_k.items()}
    accuracy = {"accuracy": summary.accuracy}
    if summary.errata is not None:
        accuracy["accuracy with errata"] = summary.errata.accuracy
    if (people := summary.corrected) is not None:
        accuracy["corrected accuracy"] = people.accuracy
        passes |= {f"corrected pass@{k}": figure for k, figure in people.pass_at_k.items()}
    return {**accuracy, **passes, **summary.metrics, "truncation": summary.truncation}


def error_rates(false_positive: Estimate, false_negative: Estimate) -> str:
    """Return how often the marker is wrong, for each kind of verdict that it gave."""
    rates = []
    if false_positive.value is not None:
        rates.append(f"of those marked correct {bounds(false_positive)} % are wrong")
    if false_negative.value is not None:
        rates.append(f"of {'the others' if rates else 'all'} {bounds(false_negative)} % are right")
    return ", ".join(rates)


def _labels_note(people: Corrected) -> str:
    who = "1 person" if people.people == 1 else f"{people.people} people"
    agreed = f" (pairs of people agree on {100 * people.agreement:.0f} %)" if people.agreement is not None else ""
    left = [f"{n} {what}" for n, what in ((people.unsure, "unsure or divided"), (people.skipped, "skipped")) if n]
    unsure = f" (and {', '.join(left)}: the intervals hold whatever these are)" if left else ""
    if people.picked:
        unsure += f" ({counted(people.picked, 'label')} left out: picked by hand, not drawn at random)"
    ranges = "".join(
        f"; pass@{k} is {100 * low:.1f} % if errors fall on the same problems and {100 * high:.1f} % if they are spread "
        "out, and its interval holds for both"
        for k, (low, high) in people.pass_ranges.items()
    )
    rates = error_rates(people.false_positive, people.false_negative)
    return (
        f"{who} judged {people.judged} responses{unsure}{agreed}: {rates}; "
        f"corrected for that, the accuracy is {bounds(people.accuracy)} %{ranges}"
    )


def caveats(summary: Summary) -> list[str]:
    """Return what a reader must know before quoting a figure, as far as the figures show it."""
    notes = [tool_line(summary.tools)] if summary.tools is not None else []
    notes += [doubt_line(summary.doubted)] if summary.doubted is not None else []
    if summary.corrected is not None:
        notes.append(_labels_note(summary.corrected))
    if (known := summary.errata) is not None:
        notes.append(
            f"known wrong golds: accuracy with errata corrects {counted(known.corrected, 'gold')} and leaves out "
            f"{counted(known.left_out, 'problem')}, following {'; '.join(known.sources)}"
        )
    if summary.cluster:
        notes.append(f"problems with the same {summary.cluster} are not treated as independent")
    if summary.population == "problems drawn" and (unseen := (1 - KIND) ** summary.problems) > MISSED:
        notes.append(
            f"{counted(summary.problems, 'problem')} say{'s' * (summary.problems == 1)} little about similar problems: a kind that makes up one problem "
            f"in {1 / KIND:.0f} has a {100 * unseen:.0f} % chance of being absent here"
        )
    if summary.population == "these problems" and summary.samples == 1:
        notes.append(
            "one sample does not show how often a problem is solved, so the interval for these exact problems is no "
            "narrower than that for similar problems (two samples per problem would show it)"
        )
    if summary.samples > 1 and summary.sampling.get("temperature") == 0:
        notes.append(
            f"at temperature 0 the {summary.samples} samples of a problem are the same answer, or differ only because the "
            "server is not deterministic: pass@k says nothing more than accuracy"
        )
    if summary.until is not None:
        notes.append(_until_note(summary.until))
    if summary.missing and summary.status == "running":
        return [
            *notes,
            f"{counted(summary.missing, 'response')} still to come: the run is in progress, or it was killed and "
            "`markscheme resume` continues it",
        ]
    return notes + _missing_notes(summary) if summary.missing else notes


def _missing_notes(summary: Summary) -> list[str]:
    missing = "1 response is missing" if summary.missing == 1 else f"{summary.missing:,} responses are missing"
    notes = [f"{missing}: figures and intervals assume they are like the other responses to the same problem"]
    notes += [f"{each.count:,} × {kind}, such as: {each.example}" for kind, each in summary.failures.items()]
    for name, each in figures_of(summary).items():
        # pass@1 is accuracy by another name.
        if name == "pass@1" or each.lowest is None or each.highest is None:
            continue
        how = f" has {completeness(each)} and estimates the rest from their samples; it" if each.undefined else ""
        if each.value is None:
            how = " is undefined, since fewer than half of the problems have all the samples it needs; it"
        notes.append(
            f"{name}{how} would be {100 * (each.if_wrong or 0):.1f} if all missing responses are wrong, "
            f"{100 * (each.if_right or 0):.1f} if right; whatever they are, between {100 * each.lowest:.1f} and "
            f"{100 * each.highest:.1f}"
        )
    return notes


def _until_note(until: Until) -> str:
    each = f"{until.fewest}" if until.fewest == until.most else f"{until.fewest} to {until.most}"
    half = 50 * ((until.score.high or 0) - (until.score.low or 0))
    return (
        f"until ± {until.points:g}: {'reached' if until.reached else 'not reached'} after {counted(until.rounds, 'round')} "
        f"with {each} samples per problem; stopped because {until.stopped}; "
        f"on these exact problems: {percent(until.score)} (± {half:.1f})"
    )


def variance_rows(variance: VarianceTable) -> list[dict[str, str]]:
    """Return the sources of uncertainty in points: interval half-widths, and their standard errors."""
    columns = ("now", f"{MORE} more samples per problem", "unlimited samples")
    similar = (variance.half_width, variance.half_width_more, variance.half_width_endless)
    exact = (variance.these_half_width, variance.these_half_width_more, 0.0)
    rows = (("similar problems", similar, f"{100 * variance.from_problems:.1f}"), ("these exact problems", exact, "–"))
    return [
        {"95 % interval for": name}
        | {column: f"± {100 * width:.1f}" for column, width in zip(columns, widths, strict=True)}
        | {"s.e. from problems": problems, "s.e. from sampling": f"{100 * variance.from_sampling:.1f}"}
        for name, widths, problems in rows
    ]


def size(summary: Summary) -> str:
    """Return `30 problems × 16 samples`, or their average."""
    average = " on average" if summary.until and summary.until.fewest < summary.until.most else ""
    samples = f"{summary.samples} sample{'s' * (summary.samples != 1)}"
    return f"{counted(summary.problems, 'problem')} × {samples}{average}"


def conditions(summary: Summary) -> str:
    """Return the settings and what the run used: `temperature 0.8, 10 examples, 12,345 tokens, $0.12, 41 s`."""
    parts = [asked_with(summary)]
    usage = summary.usage
    if usage is not None and usage.completion_tokens is not None:
        parts.append(f"{(usage.prompt_tokens or 0) + usage.completion_tokens:,} tokens")
    if usage is not None and usage.cost is not None:
        parts.append(f"${usage.cost:,.2f}")
    if summary.seconds is not None:
        parts.append(f"{summary.seconds:,.0f} s")
    return ", ".join(filter(None, parts))


def asked_with(run: Configured) -> str:
    """Return every setting in one line: `temperature 0.8, max tokens 4096, reasoning effort high`."""
    values = {
        name: value for name, value in settings_of(run).items() if value not in (None, 0) or name == "temperature"
    }
    return ", ".join(f"{heading(name)} {shown(value)}" for name, value in values.items() if value is not None)
