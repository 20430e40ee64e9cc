"""Tools that a model may call while it answers: a file each, found by name. None sees a gold answer or the run folder."""

from markscheme.tools.base import TOOLS, Result, Tool, make_tools

__all__ = ["TOOLS", "Result", "Tool", "make_tools"]
