"""`markscheme errata`: list gold answers known to be wrong, or contradicted by independent runs."""

from __future__ import annotations

import argparse
from typing import Any

from markscheme.cli.page import show
from markscheme.errors import counted
from markscheme.pages.parts import Part


def run(args: argparse.Namespace) -> int:
    made: Any
    if args.action == "list":
        from markscheme.api.reports import errata

        made, parts = (known := errata(args.benchmark)), []
        for name, each in known.items():
            columns = {"problem": "problem", "gold": "gold", "what is wrong": "wrong", "source": "source"}
            rows = [{title: str(getattr(one, field)) for title, field in columns.items()} for one in each]
            parts += [Part("title", f"{name}: {counted(len(each), 'problem')}"), Part("table", rows)]
    else:
        import msgspec

        from markscheme.api.reports import suspects

        made = found = suspects(*args.runs, least=args.least)
        rows = [
            {name: str(value) for name, value in msgspec.to_builtins(each).items() if name != "key"} for each in found
        ]
        parts = [
            Part(
                "text",
                f"problems on which at least {args.least} models agree on an answer other than the gold: {len(rows)}",
            ),
            Part("table", rows),
        ]
    show(args, made, parts)
    return 0
