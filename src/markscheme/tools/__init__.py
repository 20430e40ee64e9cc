"""Tools that a model may call while it answers, one file each. They see neither the gold answer nor the run folder."""

from markscheme.tools.base import TOOLS, Result, Tool, make_tools

__all__ = ["TOOLS", "Result", "Tool", "make_tools"]
