"""Convert rows to data frames of pandas, polars and Arrow. None of these packages is needed until a frame is requested.

Column types are declared, never inferred from the values: a run without responses, or without any token counts, has the
same columns of the same types as any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from markscheme.errors import needed

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

Rows = Sequence[dict[str, Any]]

# Types by column name: `str`, `int`, `float` or `bool`, and `int | None` for whole numbers that may be missing.
Columns = Mapping[str, Any]

POLARS = {str: "String", int: "Int64", int | None: "Int64", float: "Float64", bool: "Boolean"}
ARROW = {str: "string", int: "int64", int | None: "int64", float: "float64", bool: "bool_"}
PANDAS = {int: "int64", int | None: "Int64", float: "float64", bool: "bool"}

MOST_LINES = 20  # rows in a repr


class Frames:
    """Anything with rows. Arguments of `rows` may also be passed to the methods that make frames."""

    _COLUMNS: ClassVar[Columns] = {}

    def rows(self) -> Rows:
        """Return flat records, all with the same columns."""
        raise NotImplementedError

    def columns(self) -> Columns:
        """Return the type of each column."""
        return self._COLUMNS

    def to_pandas(self, **which: Any) -> pd.DataFrame:
        """Return the rows as a pandas data frame. Missing text is `NaN`, missing whole numbers are `NA`."""
        pandas = needed("pandas", "frames")
        text = "str" if int(pandas.__version__.partition(".")[0]) >= 3 else object
        parts = self._parts(which)
        frame: pd.DataFrame = pandas.DataFrame(
            {name: pandas.Series(values, dtype=PANDAS.get(kind, text)) for name, kind, values in parts}
        )
        return frame

    def to_polars(self, **which: Any) -> pl.DataFrame:
        """Return the rows as a polars data frame."""
        polars = needed("polars", "frames")
        parts = self._parts(which)
        frame: pl.DataFrame = polars.DataFrame(
            [polars.Series(name, values, getattr(polars, POLARS[kind])) for name, kind, values in parts]
        )
        return frame

    def to_arrow(self, **which: Any) -> pa.Table:
        """Return the rows as an Arrow table."""
        arrow = needed("pyarrow", "frames")
        parts = self._parts(which)
        return arrow.table({name: arrow.array(values, getattr(arrow, ARROW[kind])()) for name, kind, values in parts})

    def _parts(self, which: Mapping[str, Any]) -> Iterator[tuple[str, Any, list[Any]]]:
        rows = self.rows(**which)
        return ((name, kind, [row[name] for row in rows]) for name, kind in self.columns().items())


class Result(Frames):
    """Rows with a title and notes, shown as text or, in a notebook, as a table with interval bars."""

    def _title(self) -> str:
        return ""

    def _shown(self) -> Sequence[Mapping[str, Any]]:
        """Return the rows to display; their values may be figures with an interval."""
        return self.rows()

    def _notes(self) -> list[str]:
        return []

    def __repr__(self) -> str:
        table = text_table([{name: shown(value) for name, value in row.items()} for row in self._shown()])
        return "\n".join(filter(None, [self._title(), table, *self._notes()])) or "nothing"

    def _repr_html_(self) -> str | None:
        from markscheme.api.notebook import html_table

        return html_table(self._shown(), self._title(), self._notes())


class Listing(Result, Sequence[dict[str, Any]]):
    """A sequence of records."""

    def __init__(self, rows: Iterable[Mapping[str, Any]], columns: Columns, title: str = "") -> None:
        self._rows, self._columns, self.title = [dict(row) for row in rows], dict(columns), title

    def rows(self) -> Rows:
        """Return all records."""
        return self._rows

    def columns(self) -> Columns:
        """Return the type of each column."""
        return self._columns

    def __getitem__(self, place: Any) -> Any:
        return self._rows[place]

    def __len__(self) -> int:
        return len(self._rows)

    def _title(self) -> str:
        return self.title


def shown(value: Any) -> str:
    """Return a value as text of limited length."""
    if value is None:
        return ""
    if not isinstance(value, str | int | float):
        from markscheme.api.notebook import figure_text

        return figure_text(value)
    text = f"{value:.3g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 60 else f"{text[:40]}…{text[-19:]}"


def text_table(rows: Sequence[Mapping[str, str]], most: int = MOST_LINES) -> str:
    """Return the first rows as a table in text."""
    if not rows:
        return ""
    head: Mapping[str, str] = {name: name for name in rows[0]}
    lines = [head, *rows[:most]]
    widths = {name: max(len(line[name]) for line in lines) for name in head}
    left = [f"… and {len(rows) - most} more: .rows(), .to_pandas()"] * (len(rows) > most)
    return "\n".join([*("  ".join(f"{line[name]:{widths[name]}}" for name in head).rstrip() for line in lines), *left])
