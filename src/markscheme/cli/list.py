"""`markscheme list`: what can be asked, how it can be marked, and who can answer."""

from __future__ import annotations

import argparse
from typing import Any


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Only the form of the output."""
    parser.add_argument("--json", action="store_true", help="print only JSON")


def run(args: argparse.Namespace) -> int:
    """Print three tables, or one JSON object."""
    from markscheme.benchmarks import benchmarks as all_benchmarks
    from markscheme.marking import get_protocol, protocol_names
    from markscheme.models import backend_names
    from markscheme.reporting.terminal import print_json, print_table

    benchmarks = [
        {
            "name": benchmark.name,
            "protocol": benchmark.protocol,
            "prompts": list(benchmark.templates),
            "summary": benchmark.summary,
        }
        for benchmark in all_benchmarks().values()
    ]
    protocols = [
        {"name": protocol.name, "version": protocol.version, "summary": protocol.description}
        for protocol in map(get_protocol, protocol_names())
    ]
    models = [{"name": name, "summary": summary} for name, summary in backend_names().items()]
    tables: dict[str, list[dict[str, Any]]] = {"benchmarks": benchmarks, "protocols": protocols, "models": models}
    if args.json:
        print_json(tables)
        return 0
    for title, rows in tables.items():
        print_table(title, rows)
    return 0
