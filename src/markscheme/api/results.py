"""`Report`, `Comparison` and `Plan`: figures with a repr of one screen, HTML for notebooks, data frames and plots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from markscheme.errors import UsageError, counted, option
from markscheme.pages.frames import Columns, Listing, Result, Rows
from markscheme.pages.parts import Part
from markscheme.reporting.comparing import Compared, differences, margin_line, shown_worse
from markscheme.reporting.estimates import DifferenceEstimate, Estimate
from markscheme.reporting.family import MacroCompared
from markscheme.reporting.figures import drawn, figures_of
from markscheme.reporting.planning import design_line, design_rows, plan_range, plan_rows
from markscheme.reporting.plots import distinct
from markscheme.reporting.sheets import TEXT_FORMATS
from markscheme.reporting.summary import Summary
from markscheme.reporting.table import Table, document, flat_kinds, flat_rows, intervals, named_notes, shown_rows
from markscheme.statistics.designs import Designs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from markscheme.reporting.comparing import Difference
    from markscheme.runs.folder import Run
    from markscheme.statistics import Comparison as Pair
    from markscheme.statistics import Interval, Ranking
    from markscheme.statistics import Plan as Planned
    from markscheme.statistics.comparison import Margin
    from markscheme.statistics.variances import AnswerVariance

MOST_NOTES = 6  # notes in the repr of a report


class Report(Result):
    """The figures of one or several runs, with the macro average if they are of different benchmarks."""

    def __init__(self, table: Table, runs: Sequence[Run]) -> None:
        self.table, self.opened = table, runs

    @property
    def runs(self) -> list[Summary]:
        """One summary per run."""
        return self.table.runs

    @property
    def macro(self) -> dict[str, Estimate]:
        """The mean over benchmarks of each figure that all of them have."""
        return self.table.macro

    @property
    def accuracy(self) -> Estimate:
        """The accuracy of the only run."""
        return self.figures["accuracy"]

    @property
    def figures(self) -> dict[str, Estimate]:
        """Accuracy, pass@k and other metrics of the only run, by name."""
        if len(self.runs) > 1:
            raise UsageError("this report has several runs; use report.runs and report.macro")
        return figures_of(self.runs[0])

    @property
    def sentence(self) -> str:
        """A sentence about the figures for a paper, with interval, protocol and version, and what they do not show."""
        from markscheme.reporting.sentence import report_sentence

        return report_sentence(self.table)

    def groups(self) -> Listing:
        """Return the accuracy by subject, level, contest part … of each run that has them."""
        rows = [
            {"run": each.run, "benchmark": each.benchmark, "model": each.model, "field": field, "group": name}
            | {"problems": part.problems, "accuracy": part.value, "low": part.low, "high": part.high}
            for each in self.runs
            for field, parts in each.groups.items()
            for name, part in parts.items()
        ]
        texts = dict.fromkeys(("run", "benchmark", "model", "field", "group"), str)
        return Listing(rows, {**texts, "problems": int, "accuracy": float, "low": float, "high": float})

    def rows(self) -> Rows:
        """Return the rows of `report --format csv`."""
        return flat_rows(self.table)

    def columns(self) -> Columns:
        """Return the type of each column."""
        return flat_kinds(self.table)

    def content(self) -> Table:
        """Return what `report --json` prints."""
        return self.table

    def text(self, form: str = "markdown", pivot: str | None = None) -> str:
        """Return the report as Markdown, LaTeX, CSV or JSON; `pivot="accuracy"` has one column per benchmark."""
        from markscheme.reporting.pivot import pivot as pivoted

        if form not in TEXT_FORMATS:
            return super().text(form)  # which refuses it
        return (pivoted(self.table, pivot) if pivot else document(self.table)).text(form)

    def plot(self) -> Figure:
        """Plot pass@k against k with its interval, one line per run."""
        from markscheme.reporting.run_plots import pass_at_k_figure

        return pass_at_k_figure(self.opened, self.runs)

    def __iter__(self) -> Iterator[Summary]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    def page(self) -> Iterator[Part]:
        """Yield the figures and the notes, of which a repr has the first."""
        if len(self.runs) == 1:
            (only,) = self.runs
            size = f"{only.problems} problems × {only.samples} samples"
            yield Part("title", f"{only.benchmark} · {only.model} · {size} · {only.protocol}")
            figures = figures_of(only)
            yield Part("table", [{"figure": name, "%": drawn(each)} for name, each in figures.items()])
        else:
            rows = [dict(row) for row in shown_rows(self.table, drawn)]
            for row in rows:  # pass@1 is the accuracy, and a line has little space
                row.pop("pass@1", None)
            yield Part("table", self._told_apart(rows))
        yield Part("text", f"percent, with {intervals(self.table)}")
        notes = named_notes(self.table)
        yield from (Part("text", f"note: {note}") for note in notes[:MOST_NOTES])
        if len(notes) > MOST_NOTES:
            yield Part("text", f"… and {counted(len(notes) - MOST_NOTES, 'more note')}: report.text()")

    def _told_apart(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Add the names of the folders if two runs have the same benchmark and model."""
        if len({(each.benchmark, each.model) for each in self.runs}) == len(self.runs):
            return rows
        names = distinct([Path(each.run).name for each in self.runs], [each.run for each in self.runs])
        return [{"run": name, **row} for name, row in zip([*names, ""], rows, strict=False)]


class Comparison(Result):
    """Two runs problem by problem, several ranked, or two models over several benchmarks."""

    _COLUMNS: ClassVar[Columns] = {
        **dict.fromkeys(("benchmark", "metric", "b", "a"), str),
        **dict.fromkeys(("difference", "low", "high", "level", "p_value"), float),
    }

    def __init__(self, compared: Compared | MacroCompared, parts: tuple[Compared, ...] = ()) -> None:
        self.compared = compared
        self.parts = parts or (compared.parts if isinstance(compared, MacroCompared) else (compared,))
        """The comparison of each benchmark; for several models also of their averages, which come last."""

    @property
    def difference(self) -> Interval:
        """B − A with its interval; for several benchmarks their mean."""
        return self._pair.difference

    @property
    def p_value(self) -> float:
        """The p-value of the hypothesis of no difference."""
        return self._pair.p_value

    @property
    def sentence(self) -> str:
        """Return a sentence about the difference for a paper, including what it does not show."""
        return self.compared.sentence

    @property
    def worse(self) -> bool:
        """True if B is shown to be worse than A."""
        return shown_worse(self._pair)

    @property
    def margin(self) -> Margin | None:
        """Whether B is worse by more than the margin, and whether both are the same within it; None without a margin."""
        return self._pair.margin

    @property
    def ranking(self) -> Ranking | None:
        """The ranking of three or more runs."""
        return None if isinstance(self.compared, MacroCompared) else self.compared.ranking

    @property
    def differences(self) -> list[Difference]:
        """The settings in which the runs differ apart from the model."""
        return [difference for part in self.parts for difference in part.differences]

    @property
    def _pair(self) -> Pair | MacroCompared:
        pair = self.compared if isinstance(self.compared, MacroCompared) else self.compared.comparison
        if pair is None:
            raise UsageError("three or more runs are ranked: see .ranking, or compare two of them")
        return pair

    def rows(self) -> Rows:
        """Return one record per difference: of each benchmark, their mean, or every pair of a ranking."""
        rows: list[dict[str, Any]] = []
        for part in self.parts:
            measured = part.comparison or part.ranking
            assert measured is not None
            p_values = [measured.p_value] if part.comparison else [each.p_value for each in measured.pairs]  # type: ignore[union-attr]
            for (b, a, interval), p_value in zip(differences(part), p_values, strict=True):
                rows.append(_difference(part.benchmark, measured.metric, b, a, interval, p_value))
        if isinstance(self.compared, MacroCompared) and rows:
            b, a = rows[0]["b"], rows[0]["a"]
            rows.append(_difference("macro average", self.compared.metric, b, a, self.difference, self.p_value))
        return rows

    def problems(self) -> Listing:
        """Return every problem whose score changed, the largest change first."""
        rows = [
            {
                "benchmark": part.benchmark,
                "problem": part.problems[each.key],
                "a": f"{each.a[0]}/{each.a[1]}",
                "b": f"{each.b[0]}/{each.b[1]}",
                "difference": each.difference,
                "p_value": each.p_value,
                "beyond_chance": each.beyond_chance,
            }
            for part in self.parts
            if part.comparison is not None
            for each in part.comparison.moved
        ]
        texts = dict.fromkeys(("benchmark", "problem", "a", "b"), str)
        return Listing(rows, {**texts, "difference": float, "p_value": float, "beyond_chance": bool})

    def plot(self) -> Figure:
        """Plot the differences as a forest plot."""
        from markscheme.reporting.comparing import forest_figure

        if isinstance(self.compared, MacroCompared):
            raise UsageError("a forest plot is of one benchmark: compare its two runs")
        return forest_figure(self.compared)

    def content(self) -> Compared | MacroCompared:
        """Return what `compare --json` prints."""
        return self.compared

    def page(self) -> Iterator[Part]:
        """Yield the differences, and what to know about them."""
        rows = self.rows()
        yield Part("title", f"difference in {rows[0]['metric']}, points, {100 * rows[0]['level']:.3g} % interval")
        yield Part("table", [
            {
                "benchmark": row["benchmark"],
                "B − A": f"{row['b']} − {row['a']}",
                "points": drawn(DifferenceEstimate(row["difference"], row["low"], row["high"])),
                "p": "" if row["p_value"] is None else f"{row['p_value']:.3g}",
            }
            for row in rows
        ])  # fmt: skip
        notes = [f"they differ in {each.what}: {' | '.join(each.values.values())}" for each in self.differences]
        notes += [note for part in self.parts for note in part.notes]
        notes += [caveat for part in self.parts if part.comparison is not None for caveat in part.comparison.caveats]
        if self.ranking is None and (margin := self.margin) is not None:
            notes.append(margin_line(margin))
        yield from (Part("text", note) for note in dict.fromkeys(notes))


def _difference(
    benchmark: str, metric: str, b: str, a: str, interval: Interval, p_value: float | None
) -> dict[str, Any]:
    values = (benchmark, metric, b, a, interval.estimate, interval.low, interval.high, interval.level, p_value)
    return dict(zip(Comparison._COLUMNS, values, strict=True))


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
