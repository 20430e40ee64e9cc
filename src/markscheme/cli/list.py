"""`markscheme list`: what can be asked, how it can be marked, and who can answer."""

from __future__ import annotations

import argparse

from markscheme.reporting.terminal import print_json, print_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print only JSON")


def run(args: argparse.Namespace) -> int:
    from markscheme.api.exchange import list_benchmarks, list_models, list_protocols

    tables = {"benchmarks": list_benchmarks(), "protocols": list_protocols(), "models": list_models()}
    if args.json:
        benchmarks = [{**row, "prompts": row["prompts"].split(", ")} for row in tables["benchmarks"]]
        print_json({title: listing.rows() for title, listing in tables.items()} | {"benchmarks": benchmarks})
        return 0
    for title, listing in tables.items():
        print_table(title, listing.rows())
    return 0
