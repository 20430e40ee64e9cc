"""A plan learnt from pilot runs: what `markscheme plan` and `ms.plan` answer from."""

from __future__ import annotations

from collections.abc import Sequence

from markscheme.errors import UsageError, option
from markscheme.reporting.drawing import clustered
from markscheme.reporting.summary import marked_label
from markscheme.runs.folder import Run
from markscheme.statistics import Counts, Plan, Population, plan, planning
from markscheme.statistics.designs import Designs, designs


def plan_from(
    pilots: Sequence[Run],
    problems: int | None,
    detect: float,
    power: float = 0.8,
    level: float = 0.95,
    solve_rate: float | None = None,
    population: Population = "problems drawn",
    cluster: str | None = None,
    metric: str = "accuracy",
    models: int = 2,
) -> Plan:
    """What shows a difference of `detect` points; variance and tokens come from a pilot, their difference from two."""
    problems, counts = _learnt_from(pilots, problems, cluster)
    spread, noise = planning.of_metric(metric, counts, 0.5 if solve_rate is None else solve_rate)
    return plan(
        problems,
        detect / 100,
        power,
        level,
        spread,
        planning.difference_between(counts[0], counts[1], metric) if len(counts) == 2 else None,
        _tokens(pilots[0]) if pilots else None,
        population,
        metric,
        models,
        noise,
    )


def designs_from(
    pilots: Sequence[Run], problems: int | None, half_width: float, level: float, solve_rate: float | None
) -> Designs:
    """The fewest requests that tell a score on a whole benchmark to so many points; the variance is a pilot's or assumed."""
    if problems is None and pilots:  # a pilot on a random part knows how many there are
        problems = pilots[0].manifest.drawn_from or None
    whole, counts = _learnt_from(pilots, problems, None)
    spread, _ = planning.of_metric("accuracy", counts, 0.5 if solve_rate is None else solve_rate)
    return designs(whole, half_width / 100, spread, level, _tokens(pilots[0]) if pilots else None)


def _learnt_from(pilots: Sequence[Run], problems: int | None, cluster: str | None) -> tuple[int, list[Counts]]:
    """How many problems there are, and the pilots' counts."""
    if len(pilots) > 2:
        raise UsageError(f"{option('pilot')} takes one run, or two of the models to be compared")
    if problems is None:
        if not pilots:
            raise UsageError(
                f"say how many problems there are: {option('benchmark', 'NAME')}, {option('problems', 'N')} or {option('pilot', 'RUN')}"
            )
        problems = pilots[0].manifest.problems
    snapshots = [pilot.snapshot() for pilot in pilots]
    return problems, [clustered(each.counts(marked_label(each)), each, cluster)[0] for each in snapshots]


def _tokens(pilot: Run) -> float | None:
    """Tokens per response, prompt and completion, from the pilot's books."""
    usage = pilot.manifest.usage
    if usage is None or not usage.responses or usage.completion_tokens is None:
        return None
    return (usage.completion_tokens + (usage.prompt_tokens or 0)) / usage.responses


def plan_range(planned: Plan) -> list[str]:
    """How uncertain the plan itself is: what it rests on, the samples and the power that are plausible; nothing if certain."""
    if planned.population == "these problems":
        return []
    relatives = "the range is from two checkpoints of one run to strangers"
    basis = (
        f"without pilots this is a guess, and {relatives}; two pilots would tell",
        f"one pilot says nothing about how far the models agree, so {relatives}; a second would tell",
        "an 80 % range from two pilots",
    )[planned.pilots]
    fewest, most = planned.samples_range
    if fewest is None:
        need = "no number of samples"
    elif most is None:
        need = f"{fewest} samples, or no number"
    else:
        need = f"{fewest} to {most} samples" if fewest < most else f"{fewest} samples"
    row = next((row for row in planned.rows if row.samples >= 16), planned.rows[-1])
    return [
        f"that is uncertain ({basis}): {need} would do, and {row.samples} find it with a chance of "
        f"{100 * row.power_low:.0f} to {100 * row.power_high:.0f} %"
    ]


def plan_rows(planned: Plan) -> list[dict[str, str]]:
    """What each number of samples buys, as a person reads it."""
    return [
        {
            "samples": str(row.samples),
            "finds, points": _told(row.detectable, 1.0),
            f"power for {100 * planned.detect:g}": f"{100 * row.power:.0f} %",
            "… plausible": f"{100 * row.power_low:.0f}–{100 * row.power_high:.0f} %",
            "one score ±": _told(row.half_width, 0.5),
            "… these problems ±": _told(row.half_width_these, 0.5),
            "tokens each": "" if row.tokens is None else f"{row.tokens:,.0f}",
        }
        for row in planned.rows
    ]


def _told(share: float, most: float) -> str:
    """In points, or that so little tells nothing: a difference is at most 100 points, and a score between 0 and 100."""
    return f"{100 * share:.1f}" if share < most else "cannot be told"


def design_rows(made: Designs) -> list[dict[str, str]]:
    """The ways to reach a half-width, as a person reads them."""
    return [
        {
            "samples per problem": str(each.samples),
            "problems": f"{each.problems:,} of {made.whole:,}",
            "requests": f"{each.requests:,}",
            "±, points": f"{100 * each.half_width:.1f}",
            "tokens": "" if each.tokens is None else f"{each.tokens:,.0f}",
        }
        for each in made.designs
    ]


def design_line(made: Designs) -> str:
    """The cheapest, in one sentence."""
    best = made.designs[0]
    how = "all" if best.problems == made.whole else f"{best.problems:,} of them, drawn at random,"
    limit = "" if best.problems == made.whole else f" ({option('limit')} {best.problems} {option('limit_seed', '1')})"
    return (
        f"± {100 * made.half_width:g} points for the score on all {made.whole:,} problems: {best.samples} sample"
        f"{'s' * (best.samples > 1)} per problem on {how} for the fewest requests{limit}"
    )
