"""`python -m scripts.chat_eval`: nanochat checkpoints on AIME, GSM8K, MATH-500 and Countdown.

Multiple-choice tasks stay with nanochat's own script. Under torchrun each rank generates its share of the problems.
"""

from __future__ import annotations

import argparse
import runpy
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from markscheme.config import RunConfig, make_config
from markscheme.errors import MarkschemeError, UsageError
from markscheme.models.fleet.ranks import current, join
from markscheme.models.nanochat import SOURCES
from markscheme.plugins.data import ready
from markscheme.plugins.doors.door_run import (
    OURS,
    add_protocol,
    beside,
    exit_code,
    failed,
    interrupted,
    marked_by,
    own_folder,
    positive,
    report,
    run_or_resume,
    shown,
)
from markscheme.plugins.doors.nanochat_tasks import INSTRUCTION, question_id
from markscheme.reporting.summary import Summary
from markscheme.running import new_folder
from markscheme.runs.answers import marked_responses
from markscheme.runs.folder import Run, write_atomically


class Task(NamedTuple):
    """The benchmark, prompt and protocol of a task."""

    benchmark: str
    prompt: str
    protocol: str
    default: bool = False


_PUBLISHED = "{statement}" + INSTRUCTION
LETTER = "nanochat-aime"  # the documented rule of nanochat's own AIME tasks

TASKS = {
    "GSM8K": Task("gsm8k", "bare", "gsm8k-strict", default=True),
    "MATH-500": Task("math500", "boxed", "math", default=True),
    "Countdown": Task("countdown", "instruct", "countdown", default=True),
    "AIME-2024-I": Task("aime-2024-I", _PUBLISHED, LETTER),
    "AIME-2024-II": Task("aime-2024-II", _PUBLISHED, LETTER),
    "AIME-2024": Task("aime-2024", _PUBLISHED, LETTER),
    "AIME-2025": Task("aime-2025", _PUBLISHED, LETTER),
}
ELSEWHERE = ("ARC-Easy", "ARC-Challenge", "MMLU", "HumanEval", "SpellingBee")


def main(argv: Sequence[str] | None = None, original: Path | None = None) -> int:
    """Evaluate a checkpoint on each task. Only rank 0 prints. nanochat's own tasks go to its `original` script."""
    parser = _parser()
    words = list(sys.argv[1:] if argv is None else argv)
    if original is not None and original.is_file() and _elsewhere(words):
        runpy.run_path(str(original), run_name="__main__")
        return 0
    # `torchrun … -m scripts.chat_eval -- -i sft` passes the two dashes on.
    args = parser.parse_args(words[1:] if words[:1] == ["--"] else words)
    try:
        join()
        tasks = _tasks(args.task_name)
        summaries: list[Summary] = []
        for name in tasks:
            if interrupted(summaries):
                break
            summary = _evaluate(args, name)
            if summary is not None:  # only rank 0 has one
                summaries.append(summary)
    except MarkschemeError as failure:
        return failed(parser.prog, failure)
    return exit_code(summaries)


def _elsewhere(words: Sequence[str]) -> bool:
    """True if only tasks of nanochat's own script are named. Its flags may differ from ours."""
    flags = argparse.ArgumentParser(add_help=False)
    flags.add_argument("-a", "--task-name", default="")
    return set(flags.parse_known_args(list(words))[0].task_name.split("|")) <= set(ELSEWHERE)


def _tasks(typed: str | None) -> list[str]:
    if typed is None:
        return [name for name, task in TASKS.items() if task.default]
    names = typed.split("|")
    for name in names:
        if name in ELSEWHERE:
            raise UsageError(
                f"{name} is a task of nanochat's own scripts.chat_eval: run it in nanochat's checkout without these tasks, "
                f"{', '.join(TASKS)}"
            )
        if name not in TASKS:
            raise UsageError(f"there is no task {name!r}; there are {', '.join(TASKS)}")
    return names


def _evaluate(args: argparse.Namespace, name: str) -> Summary | None:
    config, ranks = _config(args, name), current()
    if ranks.first:
        ready(config.benchmark)  # fetch once, before the other ranks look for it
    wanted = Path(args.out) / name if args.out else new_folder(name, config.model)
    folder = ranks.agreed(own_folder(config, wanted) if ranks.first else wanted)
    run = run_or_resume(config, folder, name)
    if not ranks.first:
        return None
    summary = report(run)
    _print(name, run, summary, _ks(args) if args.passatk else None)
    if args.save_results:
        file = Path(args.save_results)
        file = file.with_stem(f"{file.stem}_{name}")  # even for a single task, as the original does
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, _lines(run))
        print(f"\nSaved detailed results to {file}")
    return summary


def _config(args: argparse.Namespace, name: str) -> RunConfig:
    task = TASKS[name]
    given = {"model_tag": args.model_tag, "step": args.step, "device_type": args.device_type, "dtype": args.dtype}
    return make_config(
        benchmark=task.benchmark,
        model=f"nanochat/{args.source}",
        prompt=task.prompt,
        fewshot=0,
        protocol=args.protocol or task.protocol,
        samples=args.num_samples,
        temperature=args.temperature,
        top_k=args.top_k,
        max_tokens=args.max_new_tokens,
        limit=args.max_problems,
        pass_k=_ks(args),
        # As JSON, so that a tag which looks like a number stays text.
        extra_field=tuple(
            f"{field}={msgspec.json.encode(value).decode()}" for field, value in given.items() if value is not None
        ),
    )


def _ks(args: argparse.Namespace) -> tuple[int, ...]:
    """Return the k of up to n, as the original does."""
    if not args.passatk:
        return ()
    try:
        ks = sorted({int(word) for word in args.passatk_ks.split(",")})
    except ValueError:
        raise UsageError(f"--passatk-ks {args.passatk_ks!r} is not a list such as 1,2,4,8,16") from None
    if ks[0] < 1:
        raise UsageError("--passatk-ks must be 1 or more")
    return tuple(k for k in ks if k <= args.num_samples)


def _print(name: str, run: Run, summary: Summary, ks: Sequence[int] | None) -> None:
    solved, asked = _solved(run)
    share = solved / asked if asked else 0.0
    print("=" * 50)
    print(f"Final: {solved}/{asked} ({100 * share:.2f}%)")
    decides = summary.protocol.partition("@")[0]
    other = OURS if decides != OURS else TASKS[name].protocol
    if other != decides and name != "Countdown":
        marked_by(run, other)
        letter, _ = _solved(run, other)
        print(f"{beside(run, decides, other)}; Final would be {letter}/{asked}")
    print(f"Per sample: {shown(summary.accuracy)}")
    if ks is not None:
        print("\nPass@k scores:" if ks else "\nPass@k scores: none, since every k is larger than -n")
        for k in ks:  # a summary may have others
            print(f"  Pass@{k}: {shown(summary.pass_at_k[str(k)])}")
    print(f"{name} accuracy: {100 * share:.2f}%")
    print(f"run folder: {run.path}", flush=True)


def _solved(run: Run, protocol: str | None = None) -> tuple[int, int]:
    """Return the numbers of problems with a right sample and with any: nanochat's accuracy."""
    samples = defaultdict(list)
    for mark in run.marks(protocol or run.manifest.protocol):
        if mark.score is not None:
            samples[mark.key].append(mark.correct)
    return sum(any(correct) for correct in samples.values()), len(samples)


def _lines(run: Run) -> Iterator[bytes]:
    for problem, response, mark in marked_responses(run.snapshot(), run.manifest.protocol):
        if mark is None or mark.score is None:
            continue
        line = {
            "question_id": question_id(run.manifest.benchmark, problem.id),
            "sample_idx": response.sample,
            "label": int(mark.correct),
            "completion": response.text,
            "verdict": mark.verdict,
            "why": mark.why,
        }
        yield msgspec.json.encode(line) + b"\n"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="chat_eval", description="A nanochat checkpoint on AIME, GSM8K, MATH-500 and Countdown."
    )
    default = ", ".join(name for name, task in TASKS.items() if task.default)
    parser.add_argument("-i", "--source", required=True, choices=SOURCES, help="which checkpoint")
    parser.add_argument("-a", "--task-name", help=f"tasks, with | between them (default: {default})")
    parser.add_argument("-n", "--num-samples", type=positive, default=1, help="samples per problem (1)")
    parser.add_argument("-t", "--temperature", type=float, default=0.0, help="0.0 is greedy, the default")
    parser.add_argument("-k", "--top-k", type=positive, default=50, help="sample from the K likeliest tokens (50)")
    parser.add_argument("-m", "--max-new-tokens", type=positive, default=512, help="longest response (512)")
    parser.add_argument("-g", "--model-tag", help="which model, such as d20 (default: the largest)")
    parser.add_argument("-s", "--step", type=int, help="which step (default: the last)")
    parser.add_argument("-x", "--max-problems", type=positive, help="only the first N problems")
    parser.add_argument("-d", "--dtype", default="bfloat16", choices=["float32", "bfloat16"], help="on a GPU")
    parser.add_argument("-b", "--batch-size", type=int, default=8, help="ignored here: for multiple choice")
    parser.add_argument("--device-type", choices=["cuda", "cpu", "mps"], help="default: the best there is")
    parser.add_argument("--passatk", action="store_true", help="report pass@k")
    parser.add_argument(
        "--passatk-ks", default="1,2,4,8,16", help="values of k; those above -n are left out (1,2,4,8,16)"
    )
    parser.add_argument(
        "--save-results", metavar="FILE", help="one JSON line per sample; the task's name is added to FILE"
    )
    add_protocol(parser, f"{LETTER} for AIME")
    parser.add_argument("--out", metavar="DIR", help="run folders; the same command resumes there")
    return parser


if __name__ == "__main__":  # in nanochat's folder `-m scripts.chat_eval` is nanochat's own script
    raise SystemExit(main())
