"""Plans from pilot runs: what n samples per problem can show, and the cheapest way to measure one score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from markscheme.errors import UsageError, counted, option
from markscheme.pages.frames import Columns, Result, Rows
from markscheme.pages.parts import Part
from markscheme.reporting.drawing import clustered
from markscheme.reporting.summary import marked_label
from markscheme.runs.folder import Run
from markscheme.statistics import Counts, Population, plan, variances
from markscheme.statistics import Plan as Planned
from markscheme.statistics.planning import Designs, designs
from markscheme.statistics.variances import AnswerVariance

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
) -> Planned:
    """Plan a comparison that detects `detect` points; one pilot gives variance and tokens, two give their difference."""
    problems, counts = _learnt_from(pilots, problems, cluster)
    spread, noise = variances.of_metric(metric, counts, 0.5 if solve_rate is None else solve_rate)
    return plan(
        problems,
        detect / 100,
        power,
        level,
        spread,
        variances.difference_between(counts[0], counts[1], metric) if len(counts) == 2 else None,
        _tokens(pilots[0]) if pilots else None,
        population,
        metric,
        models,
        noise,
    )


def designs_from(
    pilots: Sequence[Run], problems: int | None, half_width: float, level: float, solve_rate: float | None
) -> Designs:
    """Return the cheapest designs that reach a half-width on a whole benchmark; variance from a pilot, or assumed."""
    if problems is None and pilots:  # a pilot on a random part records the size of the whole
        problems = pilots[0].manifest.drawn_from or None
    whole, counts = _learnt_from(pilots, problems, None)
    spread, _ = variances.of_metric("accuracy", counts, 0.5 if solve_rate is None else solve_rate)
    return designs(whole, half_width / 100, spread, level, _tokens(pilots[0]) if pilots else None)


def _learnt_from(pilots: Sequence[Run], problems: int | None, cluster: str | None) -> tuple[int, list[Counts]]:
    """Return the number of problems and the counts of the pilots."""
    if len(pilots) > 2:
        raise UsageError(f"{option('pilot')} takes one run, or one of each of the two models to compare")
    if problems is None:
        if not pilots:
            raise UsageError(
                f"the number of problems is missing: add {option('benchmark', 'NAME')}, {option('problems', 'N')} or "
                f"{option('pilot', 'RUN')}"
            )
        problems = pilots[0].manifest.problems
    snapshots = [pilot.snapshot() for pilot in pilots]
    return problems, [clustered(each.counts(marked_label(each)), each, cluster)[0] for each in snapshots]


def _tokens(pilot: Run) -> float | None:
    """Return the pilot's tokens per response, prompt and completion."""
    usage = pilot.manifest.usage
    if usage is None or not usage.responses or usage.completion_tokens is None:
        return None
    return (usage.completion_tokens + (usage.prompt_tokens or 0)) / usage.responses


class Plan(Result):
    """What n samples per problem can show, or designs that measure one score precisely enough."""

    def __init__(self, plan: Planned | Designs) -> None:
        self.plan = plan

    @property
    def samples(self) -> int | None:
        """Samples per problem that show the difference, or of the cheapest way to measure one score; None if no number does."""
        return self.plan.designs[0].samples if isinstance(self.plan, Designs) else self.plan.samples

    def rows(self) -> Rows:
        """Return one record per number of samples."""
        rows = self.plan.designs if isinstance(self.plan, Designs) else self.plan.rows
        return [msgspec.structs.asdict(row) for row in rows]

    def columns(self) -> Columns:
        """Return the type of each column."""
        return {name: int if name in ("samples", "problems", "requests") else float for name in self.rows()[0]}

    def plot(self) -> Figure:
        """Plot the power against the number of samples."""
        from markscheme.reporting.plots import power_curve

        if isinstance(self.plan, Designs):
            raise UsageError("there is no plot for the precision of one score: plan with detect=")
        return power_curve(self.plan)

    def content(self) -> Planned | Designs:
        """Return what `plan --json` prints."""
        return self.plan

    def page(self) -> Iterator[Part]:
        """Yield the answer, how uncertain it is, and what other numbers of samples can show."""
        plan = self.plan
        if isinstance(plan, Designs):
            yield Part("title", design_line(plan))
            yield Part("text", _variance(plan.spread))
            yield Part("text", "Designs with this width, fewest requests first:")
            yield Part("table", design_rows(plan))
            return
        about = "similar problems" if plan.population == "problems drawn" else "these exact problems"
        several = (
            "" if plan.models == 2 else f" between any two of {plan.models} models (all comparisons hold together)"
        )
        what = "" if plan.metric == "accuracy" else f" in {plan.metric}"
        problems = counted(plan.problems, "problem")
        question = (
            f"a difference of {100 * plan.detect:g} points{what}{several} on {problems}, with power {plan.power:g}, "
            f"about {about}"
        )
        guessed = not plan.pilots and plan.population == "problems drawn"
        if plan.samples is None:
            yield Part("title", f"{'As a guess, no' if guessed else 'No'} number of samples shows {question}.")
            least = f"{100 * plan.limit:.1f} points" if plan.limit < 1 else "no difference"
            yield Part(
                "text",
                f"Unlimited samples would show {least}; {counted(max(16, plan.rows[0].samples), 'sample')} each on "
                f"{counted(plan.problems_needed, 'problem')} would be enough. {option('these_problems')} asks about these "
                "problems only.",
            )
        else:
            cost = "" if plan.tokens is None else f" ({plan.tokens:,.0f} tokens for each model)"
            samples = f"{counted(plan.samples, 'sample')} per problem{cost} {'shows' if plan.samples == 1 else 'show'}"
            yield Part("title", f"{'As a guess, ' * guessed}{samples} {question}.")
        yield from (Part("text", line) for line in plan_range(plan))
        low, high = plan.between_range
        yield Part(
            "text",
            f"{_variance(plan.spread, plan.metric)}; of the difference between problems: {plan.between_difference:.3f}, "
            f"plausible {low:.3f} to {high:.3f}",
        )
        yield Part("text", "What n samples per problem can show:")
        yield Part("table", plan_rows(plan))


def _variance(spread: AnswerVariance, metric: str = "accuracy") -> str:
    what = "one answer" if metric == "accuracy" else f"{metric} of a problem"
    parts = f"{spread.within:.3f} by chance, {spread.between:.3f} between problems"
    return f"variance of {what}: {parts} ({spread.source})"


def plan_range(planned: Planned) -> list[str]:
    """Return how uncertain the plan is: its basis, and the plausible range of samples and power."""
    if planned.population == "these problems":
        return []
    relatives = "the range covers anything from two checkpoints of one run to unrelated models"
    basis = (
        f"without pilots this is a guess: {relatives}; two pilots would narrow it",
        f"one pilot does not show how far the models agree: {relatives}; a second would narrow it",
        "80 % range from two pilots",
    )[planned.pilots]
    fewest, most = planned.samples_range
    if fewest is None:
        need = "no number of samples would do"
    elif most is None:
        need = f"from {fewest} samples up to no number would do"
    else:
        need = f"{fewest} to {most} samples would do" if fewest < most else f"{fewest} samples would do"
    row = next((row for row in planned.rows if row.samples >= 16), planned.rows[-1])
    return [
        f"this is uncertain ({basis}): {need}; {row.samples} samples have a power of "
        f"{100 * row.power_low:.0f} to {100 * row.power_high:.0f} %"
    ]


def plan_rows(planned: Planned) -> list[dict[str, str]]:
    """Return what each number of samples can show, as text."""
    return [
        {
            "samples": str(row.samples),
            "detects, points": _points(row.detectable, 1.0),
            f"power for {100 * planned.detect:g}": f"{100 * row.power:.0f} %",
            "plausible": f"{100 * row.power_low:.0f}–{100 * row.power_high:.0f} %",
            "one score ±": _points(row.half_width, 0.5),
            "on these exact problems ±": _points(row.half_width_these, 0.5),
            "tokens each": "" if row.tokens is None else f"{row.tokens:,.0f}",
        }
        for row in planned.rows
    ]


def _points(share: float, most: float) -> str:
    # A difference is at most 100 points, and a half-width at most 50.
    return f"{100 * share:.1f}" if share < most else "unknown"


def design_rows(made: Designs) -> list[dict[str, str]]:
    """Return the designs that reach a half-width, as text."""
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
    """Return the cheapest way in one sentence."""
    best = made.designs[0]
    how = "all" if best.problems == made.whole else f"{best.problems:,} of them, drawn at random"
    limit = "" if best.problems == made.whole else f" ({option('limit')} {best.problems} {option('limit_seed', '1')})"
    return (
        f"the fewest requests for ± {100 * made.half_width:g} points on all {made.whole:,} problems: "
        f"{counted(best.samples, 'sample')} per problem on {how}{limit}"
    )
