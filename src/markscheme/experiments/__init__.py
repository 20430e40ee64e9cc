"""Many runs as one: models × benchmarks × prompts × settings in one folder, which grows and never asks twice."""

from markscheme.experiments.plan import Cell, is_experiment, read_cells, typed_cells
from markscheme.experiments.run import Estimate, estimate, run_cells

__all__ = ["Cell", "Estimate", "estimate", "is_experiment", "read_cells", "run_cells", "typed_cells"]
