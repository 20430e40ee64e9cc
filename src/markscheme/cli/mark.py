"""`markscheme mark`: judge stored outputs, again or for the first time; no model is asked."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from markscheme.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markscheme.marking.audit import Score
    from markscheme.marking.outputs import Outputs
    from markscheme.types import Mark


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is judged, against which problems, by which protocols."""
    add_source_arguments(parser, "RUN|FILE|DIR", ", or Parquet, or a folder of such files (with --out)")
    parser.add_argument(
        "--engine",
        choices=("local", "ray"),
        help="for outputs by the million: mark part by part, on this machine's cores or on a Ray cluster",
    )
    parser.add_argument("--ray-address", metavar="ADDRESS", help="the Ray cluster, such as `auto`")
    parser.add_argument("--out", metavar="DIR", help="write each protocol's marks there (a run folder keeps its own)")
    parser.add_argument("--json", action="store_true", help="print only JSON")


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
    parser.add_argument("--workers", type=int, metavar="N", help="answers worked on side by side")


def run(args: argparse.Namespace) -> int:
    """Judge, keep the marks, and print one row a protocol."""
    from markscheme.marking import get_protocol
    from markscheme.marking.outputs import Outputs
    from markscheme.reporting.terminal import print_json

    if _is_bulk(args):
        return _mark_in_bulk(args)
    outputs = Outputs(args.source, args.benchmark, args.data_dir)
    names = args.protocol or [outputs.protocol or "math"]
    rules = [get_protocol(name) for name in names]  # a typo stops us before any work
    scores = [_mark(outputs, rule.name, args) for rule in rules]
    warn_of_unmatched(outputs)
    if args.json:
        print_json({"benchmark": outputs.benchmark, "source": str(outputs.path), "protocols": scores})
    else:
        print_scores(outputs.benchmark, scores)
    return 0


def _is_bulk(args: argparse.Namespace) -> bool:
    """Whether the source is marked part by part: Parquet, a folder of files, or whenever an engine is asked for."""
    source = Path(args.source)
    if (source / "manifest.json").exists():
        if args.engine is not None:
            raise UsageError("a run folder is marked in place; --engine is for files of stored outputs.")
        return False
    return args.engine is not None or source.is_dir() or source.suffix == ".parquet"


def _mark_in_bulk(args: argparse.Namespace) -> int:
    from markscheme.marking import get_protocol
    from markscheme.reporting.terminal import print_json
    from markscheme.scale.bulk import mark_in_bulk, to_stderr

    source = Path(args.source)
    if not source.exists():
        raise DataError(f"{source} is neither a run folder nor a file or folder of stored outputs.")
    if args.out is None:
        raise UsageError(f"{source} is marked part by part, so say with --out DIR where the marks go.")
    default = "math"
    if args.benchmark is not None:
        from markscheme.benchmarks import benchmark

        default = benchmark(args.benchmark, args.data_dir).protocol
    names = [get_protocol(name).name for name in args.protocol or [default]]
    done = [
        mark_in_bulk(
            source,
            name,
            Path(args.out),
            benchmark=args.benchmark,
            data_dir=args.data_dir,
            think_end=args.think_end,
            engine=args.engine or "local",
            workers=args.workers,
            ray_address=args.ray_address,
            say=to_stderr,
        )
        for name in names
    ]
    first = done[0].outcome
    if first.unmatched:
        print(f"markscheme: {first.unmatched} outputs match no problem of {args.benchmark}", file=sys.stderr)
    if first.unusable:
        print(f"markscheme: {first.unusable} rows could not be used; the first: {first.example}", file=sys.stderr)
    title = args.benchmark or source.name
    if args.json:
        print_json({"benchmark": title, "source": str(source), "protocols": [one.score for one in done], "marks": done})
    else:
        print_scores(title, [one.score for one in done])
    return 0


def _mark(outputs: Outputs, protocol: str, args: argparse.Namespace) -> Score:
    from markscheme.marking import get_protocol, mark_many
    from markscheme.marking.audit import score

    tally = []

    def marks() -> Iterator[Mark]:
        for found in mark_many(outputs, protocol, workers=args.workers, think_end=args.think_end):
            tally.append((found.key, found.verdict))
            yield found

    if args.out is not None:
        _write(Path(args.out) / f"{protocol}.jsonl", marks())
    elif outputs.run is not None:
        outputs.run.save_marks(protocol, marks())
    else:
        for _ in marks():
            pass
    if not tally:
        raise DataError(f"no line of {outputs.path} answers a problem of {outputs.benchmark}.")
    return score(get_protocol(protocol).label, tally)


def _write(file: Path, marks: Iterator[Mark]) -> None:
    import msgspec

    from markscheme.runs import write_atomically

    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {file.parent}: {error.strerror}.") from None
    write_atomically(file, (msgspec.json.encode(found) + b"\n" for found in marks))


def warn_of_unmatched(outputs: Outputs) -> None:
    """Say how many lines were left out, so that a half-matched file is never mistaken for a whole one."""
    if outputs.unmatched:
        print(f"markscheme: {outputs.unmatched} outputs match no problem of {outputs.benchmark}", file=sys.stderr)


def print_scores(title: str, scores: list[Score]) -> None:
    """One row a protocol: the score, its interval, the verdicts."""
    from markscheme.reporting.terminal import print_table

    rows = [
        {
            "protocol": each.protocol,
            "score": shown(each.score),
            "95 % interval": f"{shown(each.low)} to {shown(each.high)}",
            "verdicts": ", ".join(f"{count} {verdict}" for verdict, count in each.verdicts.items()),
        }
        for each in scores
    ]
    print_table(title, rows)


def shown(share: float | None) -> str:
    """A share as a percentage."""
    return "–" if share is None else f"{100 * share:.1f} %"
