"""`markscheme mark`: judge stored outputs, again or for the first time; no model is asked.

A run folder keeps its marks. Files of outputs (JSON lines, Parquet, folders of them) are marked by `marking/bulk`.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markscheme.errors import DataError, MarkingError, MarkschemeError, UsageError
from markscheme.reporting.terminal import print_json, print_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from markscheme.marking.bulk.audit import Score
    from markscheme.marking.bulk.campaign import Marked
    from markscheme.marking.bulk.outputs import Outputs
    from markscheme.types import Mark, Verdict


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_source_arguments(parser, "RUN|FILE|DIR", ", or Parquet, or a folder of such files")
    parser.add_argument(
        "--engine",
        choices=("local", "ray"),
        help="where large files are marked: on this machine's cores (the default) or on a Ray cluster",
    )
    parser.add_argument("--ray-address", metavar="ADDRESS", help="the Ray cluster, such as `auto`")
    parser.add_argument(
        "--explain", action="store_true", help="show how each response was read: words, clauses, rules, the answer"
    )
    parser.add_argument("--gold", metavar="G", help="with --explain: the argument is the text of a response")
    parser.add_argument(
        "--limit", type=at_least_one, metavar="N", help="with --explain: so many responses (default: 10)"
    )
    parser.add_argument("--out", metavar="DIR", help="write each protocol's marks there (a run folder keeps its own)")
    add_format_arguments(parser)


def add_format_arguments(parser: argparse.ArgumentParser) -> None:
    """The form of what is printed."""
    parser.add_argument("--format", choices=("table", "markdown", "json"), default="table", help="default: table")
    parser.add_argument("--json", action="store_true", help="the same as --format json")


def add_source_arguments(parser: argparse.ArgumentParser, kinds: str = "RUN|FILE.jsonl", more: str = "") -> None:
    """The arguments that `mark` and `audit` share."""
    add = parser.add_argument
    add("source", metavar=kinds, help=f"a run folder, or stored outputs, one JSON object a line{more}")
    add("-b", "--benchmark", metavar="NAME", help="the problems of a file that has no gold answers of its own")
    add("-p", "--protocol", action="append", metavar="P", help="may be repeated; see `markscheme list`")
    add("--data-dir", metavar="DIR", help="the data folder (default: $MARKSCHEME_DATA, else the user cache)")
    add("--think-end", metavar="TOKEN", default="</think>", help="what ends thinking (default: %(default)s)")
    add("--workers", type=at_least_one, metavar="N", help="answers worked on side by side")


def at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def run(args: argparse.Namespace) -> int:
    if args.explain:
        from markscheme.cli.explanations import explain_responses

        explain_responses(args)
        return 0
    if args.gold is not None or args.limit is not None:
        raise UsageError("--gold and --limit are for --explain; add that, or leave them out.")
    is_run = (Path(args.source) / "manifest.json").exists()
    _check_engine(args, is_run)
    if args.benchmark is not None:
        from markscheme.benchmarks import benchmark

        if reading := benchmark(args.benchmark, args.data_dir).reading:
            _warn(f"{args.benchmark} is read as {reading}")
    return failures(_mark_run(args) if is_run else _mark_files(args))


def failures(scores: Sequence[Score]) -> int:
    """The exit code: 1 where a protocol itself failed, after a line that says on how many responses."""
    from markscheme.marking.marker import FAILED

    for each in (failed := [each for each in scores if FAILED in each.flags]):
        _warn(
            f"{each.protocol} failed on {each.flags[FAILED]:,} of {sum(each.verdicts.values()):,} responses, which count as "
            "unmarkable; their marks say how"
        )
    return int(bool(failed))


def _check_engine(args: argparse.Namespace, is_run: bool) -> None:
    """Refuse options that would do nothing."""
    if args.ray_address is not None and args.engine != "ray":
        raise UsageError("--ray-address is for --engine ray; add that, or leave the address out.")
    if args.workers is not None and args.engine == "ray":
        raise UsageError("--workers is for this machine; on a Ray cluster every core marks, so leave it out.")
    if is_run and args.engine is not None:
        raise UsageError("a run folder is marked in place; --engine is for files of stored outputs.")
    if args.engine == "ray" and args.out is None:
        raise UsageError("on a Ray cluster the marks go to storage that every node sees: say with --out DIR where.")


def _mark_run(args: argparse.Namespace) -> list[Score]:
    from markscheme.marking import get_protocol
    from markscheme.marking.bulk.outputs import Outputs

    outputs = Outputs(args.source, args.benchmark, args.data_dir)
    rules = [get_protocol(name) for name in args.protocol or [outputs.protocol or "math"]]  # a typo stops us here
    scores = [_mark_responses(outputs, rule.name, args) for rule in rules]
    warn_of_unmatched(outputs.unmatched, outputs.benchmark)
    _print(args, outputs.benchmark, str(outputs.path), scores, [{"unmatched": outputs.unmatched}] * len(scores))
    return scores


def _mark_responses(outputs: Outputs, protocol: str, args: argparse.Namespace) -> Score:
    import msgspec

    from markscheme.marking import get_protocol
    from markscheme.marking.bulk.audit import score
    from markscheme.runs.folder import write_atomically
    from markscheme.runs.judging import judge_all

    label, responses, flags = get_protocol(protocol).label, Counter[tuple[str, "Verdict"]](), Counter[str]()

    def marks() -> Iterator[Mark]:
        for mark in judge_all(outputs, protocol, workers=args.workers, think_end=args.think_end):
            responses[mark.key, mark.verdict] += 1
            flags.update(mark.flags)
            yield mark

    if args.out is not None:
        folder = Path(args.out)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot make the folder {folder}: {error.strerror}.") from None
        write_atomically(folder / f"{protocol}.jsonl", (msgspec.json.encode(mark) + b"\n" for mark in marks()))
    elif outputs.run is not None:
        outputs.run.mark_again(label, marks())
    if not responses:
        raise DataError(f"no line of {outputs.path} answers a problem of {outputs.benchmark}.")
    return score(label, responses, flags)


def _mark_files(args: argparse.Namespace) -> list[Score]:
    """Mark whatever is not marked yet in the folder `--out`, and score all of it."""
    from markscheme.marking import get_protocol
    from markscheme.marking.bulk.campaign import default_protocol, mark_in_bulk
    from markscheme.marking.bulk.shards import find

    source = Path(args.source)
    if not source.exists():
        raise DataError(f"{source} is neither a run folder nor a file or folder of stored outputs.")
    if unread := find(source).unread:
        more = f" and {len(unread) - 1:,} more" if len(unread) > 1 else ""
        _warn(f"not read, since it is no .parquet or .jsonl file: {unread[0]}{more}")
    names = args.protocol or [default_protocol(source, args.benchmark, args.data_dir)]
    out = Path(args.out) if args.out is not None else None
    same = {name: getattr(args, name) for name in ("benchmark", "data_dir", "think_end", "workers", "ray_address")}
    done: list[Marked] = []
    failed: list[MarkschemeError] = []
    for protocol in [get_protocol(name).name for name in names]:  # a typo stops us before any work
        try:
            marked = mark_in_bulk(source, protocol, out, engine=args.engine or "local", say=_warn, **same)
        except (DataError, MarkingError) as error:  # of some part, when all others are marked: so with each protocol
            failed.append(error)
            continue
        _print_outcome(marked, args.benchmark)
        done.append(marked)
    if failed:
        raise failed[0]
    about = [{"unmatched": e.outcome.unmatched, "unusable": e.outcome.unusable, "folder": e.folder} for e in done]
    _print(args, args.benchmark or source.name, args.source, [each.score for each in done], about)
    return [each.score for each in done]


def _print_outcome(marked: Marked, benchmark: str | None) -> None:
    """Say where the marks are and what was left out; each protocol by itself, since one may read a gold that another cannot."""
    outcome = marked.outcome
    if marked.folder:
        _warn(f"{outcome.marks:,} marks are in {marked.folder} (parts: {marked.parts}, from before: {marked.earlier})")
    if outcome.unmatched:
        _warn(f"{outcome.unmatched:,} outputs match no problem of {benchmark}")
    if outcome.unusable:
        _warn(f"{outcome.unusable:,} rows could not be used; the first: {outcome.example}")


def warn_of_unmatched(unmatched: int, benchmark: str) -> None:
    """Say how many lines were left out, so that a half-matched file is never mistaken for a whole one."""
    if unmatched:
        _warn(f"{unmatched} outputs match no problem of {benchmark}")


def _warn(text: str) -> None:
    print(f"markscheme: {text}", file=sys.stderr, flush=True)


def _print(
    args: argparse.Namespace, title: str, source: str, scores: list[Score], about: Sequence[Mapping[str, Any]]
) -> None:
    """The scores; what else is known of each stands only in JSON, for people have been told on the way."""
    import msgspec

    from markscheme.reporting.table import markdown_table

    if args.json or args.format == "json":
        protocols = [{**msgspec.to_builtins(score), **more} for score, more in zip(scores, about, strict=True)]
        print_json({"benchmark": title, "source": source, "protocols": protocols})
    elif args.format == "markdown":
        print("\n".join([f"## {title}", "", *markdown_table(score_rows(scores))]))
    else:
        print_table(title, score_rows(scores))


def score_rows(scores: list[Score]) -> list[dict[str, str]]:
    """One row a protocol: the score, its interval, the verdicts."""
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
