"""`Comparison`: what a comparison found as a result, with a repr of one screen, HTML, data frames and a plot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from markscheme.errors import UsageError
from markscheme.pages.frames import Columns, Listing, Result, Rows
from markscheme.pages.parts import Part
from markscheme.reporting.comparing import Compared, differences, margin_line, shown_worse
from markscheme.reporting.estimates import DifferenceEstimate
from markscheme.reporting.family import MacroCompared
from markscheme.reporting.figures import drawn

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from markscheme.reporting.comparing import Difference
    from markscheme.statistics import Comparison as Pair
    from markscheme.statistics import Interval, Ranking
    from markscheme.statistics.comparison import Margin


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
