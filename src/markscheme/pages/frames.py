"""Convert rows to data frames of pandas, polars and Arrow. None of these packages is needed until a frame is requested.

Column types are declared, never inferred from the values: a run without responses, or without any token counts, has the
same columns of the same types as any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from markscheme.errors import UsageError, needed
from markscheme.pages.forms import csv_text, json_text
from markscheme.pages.parts import Part, html_page, plain_page, written_page

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

FORMS = ("markdown", "latex", "json", "csv")  # CSV, the last, is for what has rows


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


class Printed:
    """What a command prints, as an object: a repr, HTML for notebooks, and text in other forms."""

    def page(self) -> Iterable[Part]:
        """Return the parts of what the command prints. An option of how to print is a parameter of the same name."""
        raise NotImplementedError

    def content(self) -> Any:
        """Return what the command prints with `--json`."""
        return self

    def text(self, form: str = "markdown") -> str:
        """Return what the command prints as Markdown, LaTeX, JSON or CSV."""
        forms = FORMS if isinstance(self, Frames) else FORMS[:-1]
        if form not in forms:
            raise UsageError(f"there is no format {form!r}; there are {', '.join(forms)}")
        if isinstance(self, Frames) and form == "csv":
            return csv_text(self.rows())
        return json_text(self.content()) if form == "json" else written_page(form, self.page())

    def __repr__(self) -> str:
        return plain_page(self.page()) or "nothing"

    def _repr_html_(self) -> str | None:
        return html_page(self.page())


class Result(Printed, Frames):
    """What a command prints, with a data frame of its rows."""

    def page(self) -> Iterable[Part]:
        """Return the parts of what the command prints."""
        return [Part("table", self.rows())]


class Several(Printed):
    """Results under their titles, printed one after the other."""

    def __init__(self, results: Mapping[str, Result], content: Any = None) -> None:
        self.results, self._content = results, content

    def page(self) -> Iterator[Part]:
        """Yield the title and the parts of each result."""
        for title, result in self.results.items():
            yield Part("title", title)
            yield from result.page()

    def content(self) -> Any:
        """Return what the command prints with `--json`."""
        return self._content or {title: result.content() for title, result in self.results.items()}


class Listing(Result, Sequence[dict[str, Any]]):
    """A sequence of records; the table that is shown may be shorter, and what the command prints as JSON longer."""

    def __init__(
        self,
        rows: Iterable[Mapping[str, Any]],
        columns: Columns,
        title: str = "",
        *,
        table: Iterable[Mapping[str, Any]] | None = None,
        notes: Sequence[str] = (),
        content: Any = None,
    ) -> None:
        self._rows, self._columns, self.title = [dict(row) for row in rows], dict(columns), title
        self._table, self.notes, self._content = self._rows if table is None else list(table), notes, content

    def rows(self) -> Rows:
        """Return all records."""
        return self._rows

    def columns(self) -> Columns:
        """Return the type of each column."""
        return self._columns

    def page(self) -> Iterable[Part]:
        """Return the title, the table and the notes."""
        return [Part("title", self.title), Part("table", self._table), *(Part("text", note) for note in self.notes)]

    def content(self) -> Any:
        """Return what the command prints with `--json`."""
        return self._rows if self._content is None else self._content

    def __getitem__(self, place: Any) -> Any:
        return self._rows[place]

    def __len__(self) -> int:
        return len(self._rows)
