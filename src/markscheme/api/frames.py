"""Rows as the data frames that people work with: pandas, polars, Arrow. None of them is needed until it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from markscheme.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

Rows = Sequence[dict[str, Any]]


class Frames:
    """Whatever has rows can be handed on as a data frame."""

    def rows(self) -> Rows:
        """One flat record each, all with the same columns."""
        raise NotImplementedError

    def to_pandas(self) -> pd.DataFrame:
        """As a pandas data frame."""
        frame: pd.DataFrame = _library("pandas").DataFrame.from_records(list(self.rows()))
        return frame

    def to_polars(self) -> pl.DataFrame:
        """As a polars data frame."""
        # All rows decide a column's type: a figure that is undefined in the first hundred is a number all the same.
        frame: pl.DataFrame = _library("polars").DataFrame(list(self.rows()), infer_schema_length=None)
        return frame

    def to_arrow(self) -> pa.Table:
        """As an Arrow table."""
        return _library("pyarrow").Table.from_pylist(list(self.rows()))


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise UsageError(f"to_{name.removeprefix('py')} needs {name}: pip install {name}") from None
