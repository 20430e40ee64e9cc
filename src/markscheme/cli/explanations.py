"""`markscheme mark --explain`: show how each response was read, instead of the scores."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from markscheme.cli import complain
from markscheme.errors import UsageError
from markscheme.marking import explain, get_protocol, mark
from markscheme.marking.reading.explaining import Explanation
from markscheme.pages.parts import one_line
from markscheme.pages.terminal import print_json
from markscheme.redaction import printable
from markscheme.types import Mark, Problem, Response

DEFAULT_LIMIT = 10


def explain_responses(args: argparse.Namespace) -> None:
    """Explain the marks of one text, or of the first responses of a run or a file."""
    if args.out is not None or args.engine is not None or args.format == "markdown":
        raise UsageError("--explain cannot be used with --out, --engine or --format markdown")
    if len(args.protocol or ()) > 1:
        raise UsageError("--explain takes one protocol: give -p once")
    pairs = _one_text(args) if args.gold is not None else _stored(args)
    limit = args.limit or DEFAULT_LIMIT
    told = [_explained(*pair, args.think_end) for pair in islice(pairs, limit)]
    if args.json or args.format == "json":
        print_json(told)
    else:
        print("\n".join(map(_text, told)))
    if next(pairs, None) is not None:
        complain(f"these are the first {limit:,} responses; --limit N shows more")


def _one_text(args: argparse.Namespace) -> Iterator[tuple[str | Response, Problem | None, str | None, str]]:
    if args.benchmark is not None:
        raise UsageError("with --gold the argument is the text of a response, so leave out -b")
    yield args.source, None, args.gold, _readable((args.protocol or ["math"])[0])


def _stored(args: argparse.Namespace) -> Iterator[tuple[str | Response, Problem | None, str | None, str]]:
    from markscheme.marking.bulk.campaign import default_protocol
    from markscheme.marking.bulk.outputs import Outputs

    outputs = Outputs(args.source, args.benchmark, args.data_dir)
    own = outputs.protocol or default_protocol(Path(args.source), args.benchmark, args.data_dir)
    protocol = _readable((args.protocol or [own])[0])
    for response, problem in outputs:
        yield response, problem, None, protocol


def _readable(name: str) -> str:
    if get_protocol(name).asks is None:
        raise UsageError(
            f"{name} does not read sentences, so there is nothing to explain: use -p math, aime or gsm8k-numeric"
        )
    return name


def _explained(
    response: str | Response, problem: Problem | None, gold: str | None, protocol: str, think_end: str
) -> dict[str, Any]:
    failed = isinstance(response, Response) and response.error is not None
    found = mark(response, problem, gold=gold, protocol=protocol, think_end=think_end)
    how = None if failed else explain(response, problem, gold=gold, protocol=protocol, think_end=think_end)
    return {"problem": None if problem is None else problem.id, "mark": found, "explanation": how}


def _text(told: dict[str, Any]) -> str:
    found: Mark = told["mark"]
    how: Explanation | None = told["explanation"]
    name = f"{told['problem']} sample {found.sample}: " if told["problem"] else ""
    head = f"{name}{found.verdict} ({found.protocol}){f': {found.why}' if found.why else ''}"
    head = printable(one_line(head))
    return f"{head}\n{'-' * min(len(head), 100)}\n{how if how is not None else ''}\n"
