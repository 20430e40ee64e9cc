"""`markscheme mark`: mark stored outputs with one or more protocols.

A run folder keeps its marks. Files of outputs (JSON lines, Parquet, folders of them) are marked by `marking/bulk`.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markscheme.cli import complain
from markscheme.cli.page import call, show
from markscheme.errors import DataError, MarkingError, MarkschemeError, UsageError, counted, os_reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from markscheme.marking.bulk.audit import Score
    from markscheme.marking.bulk.campaign import Marked
    from markscheme.marking.bulk.outputs import Outputs
    from markscheme.types import Mark, Verdict


def run(args: argparse.Namespace) -> int:
    if args.explain:
        from markscheme.cli.explanations import explain_responses

        explain_responses(args)
        return 0
    is_run = (Path(args.source) / "manifest.json").exists()
    _check_engine(args, is_run)
    if args.benchmark is not None:
        from markscheme.benchmarks import benchmark

        if reading := benchmark(args.benchmark, args.data_dir).reading:
            complain(f"{args.benchmark} is read as {reading}")
    return exit_code(_mark_run(args) if is_run else _mark_files(args))


def exit_code(scores: Sequence[Score]) -> int:
    """Return 1 if a protocol itself failed, after a message that says on how many responses."""
    from markscheme.marking.marker import FAILED

    for each in (failed := [each for each in scores if FAILED in each.flags]):
        complain(
            f"{each.protocol} failed on {each.flags[FAILED]:,} of {counted(sum(each.verdicts.values()), 'response')}; these "
            "count as unmarkable, and their marks give the reason"
        )
    return int(bool(failed))


def _check_engine(args: argparse.Namespace, is_run: bool) -> None:
    """Refuse options that would do nothing."""
    if args.ray_address is not None and args.engine != "ray":
        raise UsageError("--ray-address needs --engine ray")
    if args.workers is not None and args.engine == "ray":
        raise UsageError("--workers cannot be used with --engine ray, which uses every core of the cluster")
    if is_run and args.engine is not None:
        raise UsageError("--engine is only for files of stored outputs; a run folder is marked in place")
    if args.engine == "ray" and args.out is None:
        raise UsageError("--engine ray needs --out DIR, a folder that every node of the cluster can reach")


def _mark_run(args: argparse.Namespace) -> list[Score]:
    from markscheme.marking import get_protocol
    from markscheme.marking.bulk.outputs import Outputs
    from markscheme.marking.protocol import is_known
    from markscheme.runs.judging import source_to_give

    outputs = Outputs(args.source, args.benchmark, args.data_dir)
    own = outputs.protocol or "math"
    run = None if args.protocol or is_known(own) else outputs.run
    if run is not None and (needed := source_to_give(run.manifest, own)):
        raise UsageError(f"the protocol {needed}")
    rules = [get_protocol(name) for name in args.protocol or [own]]  # a typo stops us here
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
            raise UsageError(f"cannot create {folder}: {os_reason(error)}") from None
        write_atomically(folder / f"{protocol}.jsonl", (msgspec.json.encode(mark) + b"\n" for mark in marks()))
    elif outputs.run is not None:
        outputs.run.mark_again(label, marks())
    if not responses:
        raise DataError(f"no line of {outputs.path} answers a problem of {outputs.benchmark}")
    return score(label, responses, flags)


def _mark_files(args: argparse.Namespace) -> list[Score]:
    """Mark everything in the folder `--out` that is not marked yet, and score all of it."""
    from markscheme.marking import get_protocol
    from markscheme.marking.bulk.campaign import default_protocol, mark_in_bulk
    from markscheme.marking.bulk.shards import find

    source = Path(args.source)
    if not source.exists():
        raise DataError(f"{source} does not exist")
    if unread := find(source).unread:
        more = f" and {len(unread) - 1:,} more" if len(unread) > 1 else ""
        complain(f"skipped, because only .parquet and .jsonl files are read: {unread[0]}{more}")
    names = args.protocol or [default_protocol(source, args.benchmark, args.data_dir)]
    own = {"source": source, "out": Path(args.out) if args.out is not None else None, "engine": args.engine or "local"}
    done: list[Marked] = []
    failed: list[MarkschemeError] = []
    for protocol in [get_protocol(name).name for name in names]:  # a typo stops us before any work
        try:
            marked = call(mark_in_bulk, args, protocol=protocol, say=complain, **own)
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
    """Print the location of the marks and the skipped rows, separately for each protocol, as they may accept different
    golds.
    """
    outcome = marked.outcome
    if marked.folder:
        parts = f"{counted(marked.parts, 'part')}, {marked.earlier} from an earlier command"
        complain(f"{counted(outcome.marks, 'mark', 'is')} in {marked.folder} ({parts})")
    if outcome.unmatched:
        warn_of_unmatched(outcome.unmatched, str(benchmark))
    if outcome.unusable:
        complain(f"{counted(outcome.unusable, 'row')} could not be used; the first: {outcome.example}")


def warn_of_unmatched(unmatched: int, benchmark: str) -> None:
    """Say how many lines were left out, so that a half-matched file is never mistaken for a whole one."""
    if unmatched:
        match = "matches" if unmatched == 1 else "match"
        complain(f"{counted(unmatched, 'output')} {match} no problem of {benchmark}")


def _print(
    args: argparse.Namespace, title: str, source: str, scores: list[Score], about: Sequence[Mapping[str, Any]]
) -> None:
    """Print the scores; `about` is only in the JSON, since standard error has said it already."""
    import msgspec

    from markscheme.marking.bulk.audit import score_rows
    from markscheme.pages.frames import Listing

    protocols = [{**msgspec.to_builtins(score), **more} for score, more in zip(scores, about, strict=True)]
    content = {"benchmark": title, "source": source, "protocols": protocols}
    show(args, Listing(protocols, {}, title, table=score_rows(scores), content=content))
