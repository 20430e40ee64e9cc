"""`markscheme mark`: judge stored outputs, again or for the first time; no model is asked."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markscheme.cli.marking_parts import add_engine_arguments, is_run, mark_parts
from markscheme.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markscheme.marking.bulk.audit import Score
    from markscheme.marking.bulk.outputs import Outputs
    from markscheme.types import Mark, Verdict


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is judged, against which problems, by which protocols."""
    add_source_arguments(parser, "RUN|FILE|DIR", ", or Parquet, or a folder of such files")
    add_engine_arguments(parser)
    parser.add_argument("--out", metavar="DIR", help="write each protocol's marks there (a run folder keeps its own)")
    add_format_arguments(parser)


def add_format_arguments(parser: argparse.ArgumentParser) -> None:
    """The form of what is printed."""
    parser.add_argument("--format", choices=("table", "markdown", "json"), default="table", help="default: table")
    parser.add_argument("--json", action="store_true", help="the same as --format json")


def add_source_arguments(parser: argparse.ArgumentParser, kinds: str = "RUN|FILE.jsonl", more: str = "") -> None:
    """The arguments that `mark` and `audit` share."""
    parser.add_argument("source", metavar=kinds, help=f"a run folder, or stored outputs, one JSON object a line{more}")
    parser.add_argument(
        "-b", "--benchmark", metavar="NAME", help="the problems of a file that has no gold answers of its own"
    )
    parser.add_argument("-p", "--protocol", action="append", metavar="P", help="may be repeated; see `markscheme list`")
    parser.add_argument(
        "--data-dir", metavar="DIR", help="the data folder (default: $MARKSCHEME_DATA, else the user cache)"
    )
    parser.add_argument(
        "--think-end", metavar="TOKEN", default="</think>", help="what ends thinking (default: %(default)s)"
    )
    parser.add_argument("--workers", type=_at_least_one, metavar="N", help="answers worked on side by side")


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Judge, keep the marks, and print one row a protocol."""
    from markscheme.marking import get_protocol
    from markscheme.marking.bulk.outputs import Outputs

    if not is_run(args):
        done = mark_parts(args)
        title = args.benchmark or Path(args.source).name
        about: list[dict[str, Any]] = [
            {"unmatched": one.outcome.unmatched, "unusable": one.outcome.unusable, "folder": one.folder} for one in done
        ]
        _print(args, title, args.source, [one.score for one in done], about)
        return 0
    outputs = Outputs(args.source, args.benchmark, args.data_dir)
    names = args.protocol or [outputs.protocol or "math"]
    rules = [get_protocol(name) for name in names]  # a typo stops us before any work
    scores = [_mark(outputs, rule.name, args) for rule in rules]
    warn_of_unmatched(outputs)
    _print(args, outputs.benchmark, str(outputs.path), scores, [{"unmatched": outputs.unmatched}] * len(scores))
    return 0


def _print(
    args: argparse.Namespace, title: str, source: str, scores: list[Score], about: Sequence[dict[str, Any]]
) -> None:
    """The scores; what else is known of each stands only in JSON, for people have been told on the way."""
    import msgspec

    from markscheme.reporting.terminal import print_json

    if args.json or args.format == "json":
        protocols = [msgspec.to_builtins(score) | more for score, more in zip(scores, about, strict=True)]
        print_json({"benchmark": title, "source": source, "protocols": protocols})
    elif args.format == "markdown":
        print("\n".join([f"## {title}", "", *score_rows(scores)]))
    else:
        print_scores(title, scores)


def _mark(outputs: Outputs, protocol: str, args: argparse.Namespace) -> Score:
    from markscheme.marking import get_protocol, mark_many
    from markscheme.marking.bulk.audit import score

    responses: Counter[tuple[str, Verdict]] = Counter()

    def marks() -> Iterator[Mark]:
        for mark in mark_many(outputs, protocol, workers=args.workers, think_end=args.think_end):
            responses[mark.key, mark.verdict] += 1
            yield mark

    if args.out is not None:
        _write(Path(args.out) / f"{protocol}.jsonl", marks())
    elif outputs.run is not None:
        outputs.run.mark_again(get_protocol(protocol).label, marks())
    if not responses:
        raise DataError(f"no line of {outputs.path} answers a problem of {outputs.benchmark}.")
    return score(get_protocol(protocol).label, responses)


def _write(file: Path, marks: Iterator[Mark]) -> None:
    import msgspec

    from markscheme.runs.folder import write_atomically

    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {file.parent}: {error.strerror}.") from None
    write_atomically(file, (msgspec.json.encode(mark) + b"\n" for mark in marks))


def warn_of_unmatched(outputs: Outputs) -> None:
    """Say how many lines were left out, so that a half-matched file is never mistaken for a whole one."""
    if outputs.unmatched:
        print(f"markscheme: {outputs.unmatched} outputs match no problem of {outputs.benchmark}", file=sys.stderr)


def print_scores(title: str, scores: list[Score]) -> None:
    """One row a protocol: the score, its interval, the verdicts."""
    from markscheme.reporting.terminal import print_table

    print_table(title, _score_cells(scores))


def score_rows(scores: list[Score]) -> list[str]:
    """The same as a Markdown table."""
    rows = [f"| {' | '.join(cells.values())} |" for cells in _score_cells(scores)]
    return ["| protocol | score | 95 % interval | verdicts |", "|---|---|---|---|", *rows]


def _score_cells(scores: list[Score]) -> list[dict[str, str]]:
    return [
        {
            "protocol": each.protocol,
            "score": shown(each.score),
            "95 % interval": f"{shown(each.low)} to {shown(each.high)}",
            "verdicts": ", ".join(f"{count} {verdict}" for verdict, count in each.verdicts.items()),
        }
        for each in scores
    ]


def shown(share: float | None) -> str:
    """A share as a percentage."""
    return "–" if share is None else f"{100 * share:.1f} %"
