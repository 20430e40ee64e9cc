"""Experiments: models × benchmarks × prompts × settings in one folder, which can grow and never asks twice."""

from markscheme.experiments.plan import Cell, is_experiment, read_cells, typed_cells
from markscheme.experiments.run import STOPS_ONE_RUN, Forecast, begin_or_extend, forecast, forecasts, run_cells

__all__ = [
    "STOPS_ONE_RUN", "Cell", "Forecast", "begin_or_extend", "forecast", "forecasts", "is_experiment", "read_cells",
    "run_cells", "typed_cells",
]  # fmt: skip
