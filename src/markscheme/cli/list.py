"""`markscheme list`: list benchmarks, protocols and model backends."""

from __future__ import annotations

import argparse

from markscheme.cli.page import show
from markscheme.pages.parts import Part


def run(args: argparse.Namespace) -> int:
    from markscheme.api.exchange import list_benchmarks, list_models, list_protocols

    tables = {"benchmarks": list_benchmarks(), "protocols": list_protocols(), "models": list_models()}
    benchmarks = [{**row, "prompts": row["prompts"].split(", ")} for row in tables["benchmarks"]]
    result = {title: listing.rows() for title, listing in tables.items()} | {"benchmarks": benchmarks}
    parts = ((Part("title", title), Part("table", listing.rows())) for title, listing in tables.items())
    show(args, result, [part for pair in parts for part in pair])
    return 0
