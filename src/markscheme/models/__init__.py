"""Models: one file per backend, a table of them, and the fleet that runs many at once."""

from __future__ import annotations

from markscheme.config import RunConfig
from markscheme.models.backends import STARTED, WITHOUT_GPU, backend_names, checked_options, load_here
from markscheme.models.base import Model

__all__ = ["STARTED", "WITHOUT_GPU", "backend_names", "load_model"]


def load_model(spec: str, config: RunConfig) -> Model:
    """Load the model that a spec such as `openai/Qwen3-8B` or `solver` names, here or on a Ray cluster."""
    if config.engine != "ray":
        return load_here(spec, config)
    from markscheme.models.fleet.ray_model import create as place

    return place(spec, checked_options(spec, config))
