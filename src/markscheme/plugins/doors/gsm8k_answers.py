"""Asks a model the tasks of `GSM8KBenchmark`, writes an answers file, and scores such a file.

An answers file has one line per question: `{"question_id": "0001", "question": …, "answer": …}`. Its run folder is next to
it, so a second call asks only for what is missing. A question without an answer has no line.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from markscheme.config import RunConfig, make_config
from markscheme.datasets import read_rows
from markscheme.errors import DataError, MarkschemeError
from markscheme.models import backend_names
from markscheme.plugins.doors.door_run import (
    add_protocol,
    exit_code,
    failed,
    own_folder,
    positive,
    report,
    run_or_resume,
)
from markscheme.plugins.doors.gsm8k import OURS, PROTOCOL, GSM8KBenchmark
from markscheme.runs.folder import Run, write_atomically
from markscheme.statistics import interval, tally
from markscheme.types import Verdict

INSTRUCTION = (
    "You solve word problems. Show the steps in a few short lines. "
    "Finish with a line of its own that holds four hashes, a space and the answer as a plain number, such as: #### 42"
)


def ask(benchmark: Callable[[], GSM8KBenchmark], folder: Path, argv: Sequence[str] | None = None) -> int:
    """Ask a model and write the answers file: the command `run_gpt41_on_gsm8k.py`."""
    parser = _ask_parser()
    args = parser.parse_args(argv)
    model = args.model if args.model.partition("/")[0] in backend_names() else f"openai/{args.model}"
    name = model.rpartition("/")[2] or model
    output = Path(args.output) if args.output else folder / f"gsm8k_{name}_answers.jsonl"
    try:
        tasks = benchmark()
        config = _config(args, model, tasks.file)
        finished = run_or_resume(config, own_folder(config, output.with_suffix(".run")), "gsm8k")
        summary = report(finished)
        written = write_answers(finished, tasks, output)
    except MarkschemeError as failure:
        return failed(parser.prog, failure)
    print(f"Done! Saved {written} answers to {output}")
    print(f"run folder: {finished.path}")
    return exit_code([summary], "the same command asks for them")


def write_answers(run: Run, benchmark: GSM8KBenchmark, output: Path) -> int:
    """Write the responses of a run as an answers file, by question id, and return their number."""
    statements = {question.problem.key: question.problem.statement for question in run.questions()}
    ids = {benchmark.get_task(task_id)["question"]: task_id for task_id in benchmark.get_task_ids()}
    lines = {}
    for response in run.responses():
        if response.error is None:
            question = statements[response.key]
            line = {"question_id": ids[question], "question": question, "answer": response.text.strip()}
            lines[ids[question]] = json.dumps(line, ensure_ascii=False).encode() + b"\n"
    write_atomically(output, [lines[task_id] for task_id in sorted(lines)])
    return len(lines)


def score(benchmark: Callable[[], GSM8KBenchmark], folder: Path, argv: Sequence[str] | None = None) -> int:
    """Score an answers file and print the accuracy with its interval: the command `example_gsm8k.py`."""
    parser = argparse.ArgumentParser(description="Score a file of answers to GSM8K.")
    parser.add_argument("answers", nargs="?", type=Path, default=folder / "gsm8k_gpt-4.1_answers.jsonl")
    parser.add_argument("--verbose", action="store_true", help="print a line per question, with the reason")
    add_protocol(parser, PROTOCOL)
    args = parser.parse_args(argv)
    pairs, others = [], []
    try:
        tasks = benchmark()
        tasks.protocol = args.protocol or PROTOCOL
        for number, row in enumerate(read_rows(args.answers), start=1):
            if not {"question_id", "answer"} <= row.keys():
                raise DataError(f"{args.answers}, answer {number}, has no question_id or no answer")
            task_id = str(row["question_id"])
            if row.get("question", question := tasks.get_task(task_id)["question"]) != question:
                raise DataError(
                    f"{args.answers}, answer {number}, has another question than {task_id} of {tasks.file}: score it "
                    "with the data that it was made with"
                )
            result = tasks.evaluate(task_id, row["answer"])
            pairs.append((task_id, Verdict.CORRECT if result.score else Verdict.WRONG))
            others.append(result.beside is not None and result.beside.correct)
            if args.verbose:
                print(f"{task_id}  {result.score:.1f}  {result.score_explanation}")
        if not pairs:
            raise DataError(f"{args.answers} has no answers")
    except MarkschemeError as failure:
        return failed(parser.prog, failure)
    accuracy = interval("accuracy", tally(pairs))
    correct = sum(verdict is Verdict.CORRECT for _, verdict in pairs)
    print(f"Summary: {float(correct)}/{len(pairs)} correct ({accuracy.estimate:.1%} accuracy)")
    differ = sum((verdict is Verdict.CORRECT) != other for (_, verdict), other in zip(pairs, others, strict=True))
    name = OURS if tasks.protocol != OURS else PROTOCOL
    print(f"By {name}: {sum(others)} of {len(pairs)} are right; {differ} differ from {tasks.protocol}")
    print(f"95 % interval: {accuracy.low:.4f} to {accuracy.high:.4f}, over {accuracy.problems} questions")
    return 0


def _ask_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="Ask a model GSM8K and keep its answers. The same command again asks only for what is missing."
    )
    parser.add_argument("--model", default="gpt-4.1", help="a name at OpenAI, or backend/name (default: gpt-4.1)")
    parser.add_argument("--num-questions", type=positive, metavar="N", help="a random subset (default: all questions)")
    parser.add_argument("--seed", type=int, default=42, help="which subset (default: 42)")
    parser.add_argument("--output", metavar="FILE", help="answers file (default: data/gsm8k_<model>_answers.jsonl)")
    parser.add_argument("--base-url", action="append", default=[], metavar="URL", help="an OpenAI-compatible server")
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--max-tokens", type=positive, default=512)
    parser.add_argument("--concurrency", type=positive, metavar="N", help="requests in flight")
    parser.add_argument("--request-interval", type=float, default=0.0, metavar="SECONDS")
    return parser


def _config(args: argparse.Namespace, model: str, file: Path) -> RunConfig:
    # The plain HTTP contract cannot send sampling options.
    sampled = {"temperature": args.temperature, "max_tokens": args.max_tokens} if not model.startswith("http/") else {}
    return make_config(
        benchmark=str(file),
        model=model,
        prompt="bare",
        system_prompt=INSTRUCTION,
        protocol=PROTOCOL,
        limit=args.num_questions,
        limit_seed=args.seed if args.num_questions else None,
        base_url=tuple(args.base_url),
        concurrency=args.concurrency,
        request_interval=args.request_interval,
        **sampled,
    )
