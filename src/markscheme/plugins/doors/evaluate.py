r"""`evaluate.py`: accuracy and pass@k of a server on JSONL datasets, and the macro average.

Every dataset is an ordinary run without a prompt around the problem. It is marked twice: by `math` and by the script's
`normalize_answer`, which people edit and which decides; `--protocol math` swaps the two. Accuracy is over all samples and
pass@k is the unbiased estimate, each with its interval.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from markscheme.benchmarks import benchmark
from markscheme.config import RunConfig, make_config
from markscheme.datasets import read_rows
from markscheme.errors import DataError, MarkschemeError, UsageError
from markscheme.models.fields import extra_fields
from markscheme.plugins.doors.door_run import (
    OURS,
    add_protocol,
    beside,
    exit_code,
    failed,
    holds,
    interrupted,
    positive,
    report,
    run_or_resume,
    shown,
)
from markscheme.plugins.doors.evaluate_records import (
    SCRIPT_PROTOCOL,
    Normalize,
    first_sample_figures,
    mark_with,
    normalize_answer,
    problem_records,
)
from markscheme.reporting.estimates import Estimate
from markscheme.reporting.figures import figures_of
from markscheme.reporting.summary import Summary
from markscheme.reporting.table import macro_average
from markscheme.running import Prepared, new_folder, prepare
from markscheme.runs.folder import Run, write_atomically

DATASETS = ("math500", "aime-24", "aime-25")
RUN = "run"
KEY_VARIABLES = {"custom": "MARKSCHEME_HTTP_KEY", "openai": "OPENAI_API_KEY", "sglang": "SGLANG_API_KEY"}
OPTIONS = {"temperature": "temperature", "top_p": "top_p", "top_k": "top_k"}
# The names of `max_tokens`, which a manifest should contain. Other options stay extra fields of the request.
LENGTHS = {"openai": "max_tokens", "sglang": "max_new_tokens"}


def main(argv: Sequence[str] | None = None, normalized: Normalize = normalize_answer) -> int:
    """Run the command. Exit codes: 2 for wrong flags, 1 for what cannot be read or reached, 3 for missing answers."""
    parser = _parser()
    args = parser.parse_args(argv)
    started = time.strftime("%Y%m%d-%H%M%S")
    try:
        configs = {name: _config(args, name) for name in dict.fromkeys(args.datasets)}
        summaries: list[Summary] = []
        firsts: list[dict[str, float]] = []
        for name, config in configs.items():
            if interrupted(summaries):
                break
            summary, first = _evaluate(args, name, config, started, normalized)
            summaries.append(summary)
            firsts.append(first)
        if args.output_dir:
            _write_json(
                args.output_dir / "summary.json", {"macro": _published(macro_average(summaries)), "datasets": summaries}
            )
    except MarkschemeError as failure:
        return failed(parser.prog, failure)
    print("\n=== Macro Average Across Datasets ===")
    for name, estimate in _published(macro_average(summaries)).items():
        print(f"{name}: {shown(estimate)}{_original(args, name, firsts)}")
    return exit_code(summaries, "the same command asks only for them" if args.output_dir else None)


def _evaluate(
    args: argparse.Namespace, name: str, config: RunConfig, started: str, normalized: Normalize
) -> tuple[Summary, dict[str, float]]:
    # As in the original: the question, or without one the problem, even if they differ.
    prepared = prepare(config, benchmark(config.benchmark, statement=("question", "problem")))
    folder = (
        _folder(args.output_dir, name, config, prepared, started) if args.output_dir else new_folder(name, config.model)
    )
    run = run_or_resume(config, folder, name, prepared=prepared)
    label = mark_with(run, normalized)
    decides, other = SCRIPT_PROTOCOL, OURS
    if args.protocol:
        decides, other = args.protocol, SCRIPT_PROTOCOL
    summary = report(run, None if args.protocol else label)
    rows = list(read_rows(Path(config.benchmark)))
    records = problem_records(run, rows, args.pass_k, normalized, decides)
    first = first_sample_figures(records, args.pass_k)
    for record in records:
        mark, identity = ("correct" if record["top1_correct"] else "incorrect"), record["problem_id"]
        place = f"{record['index']}/{len(records)}"
        print(f"[{name}{f'#{identity}' if identity else ''}] Problem {place}: top1={mark}")
    print(f"\nDataset={name}")
    for figure, estimate in _published(figures_of(summary)).items():
        print(f"  {figure}: {shown(estimate)}{_original(args, figure, [first])}")
    said = beside(run, decides, other)
    print(f"  {said}")
    if summary.missing:
        print(f"  missing: {summary.missing} of {summary.problems * summary.samples} responses")
    print(f"  run folder: {folder}", flush=True)
    if args.output_dir:
        _write_json(folder.parent / "records.json", records)
        _write_json(folder.parent / "summary.json", {**_summary(args, name, started, summary, first), "beside": said})
    return summary, first


def _original(args: argparse.Namespace, figure: str, firsts: Sequence[dict[str, float]]) -> str:
    """Return the original's figure (the mean over datasets) if several samples make it different."""
    values = [first[figure] for first in firsts if figure in first]
    if args.num_samples == 1 or not values:
        return ""
    return f"; of the first samples alone {sum(values) / len(values):.4f}"


def _folder(output: Path, name: str, config: RunConfig, prepared: Prepared, started: str) -> Path:
    """Return `<dataset>-<time>/run`: the newest unfinished one with this evaluation, else a new one."""
    for earlier in sorted(output.glob(f"{name}-[0-9]*/{RUN}"), reverse=True):
        if holds(config, earlier, prepared) and Run.open(earlier).manifest.status != "complete":
            return earlier
    # Two commands may start in the same second.
    return next(
        path
        for number in count(1)
        if not (path := output / f"{name}-{started}{f'-{number}' if number > 1 else ''}" / RUN).exists()
    )


def _summary(
    args: argparse.Namespace, name: str, started: str, summary: Summary, first: dict[str, float]
) -> dict[str, Any]:
    figures = _published(figures_of(summary))
    return {
        "dataset": name,
        "timestamp": started,
        "num_problems": summary.problems,
        "num_samples": args.num_samples,
        "backend": args.backend,
        "server_url": args.server_url,
        "pass_k": sorted(set(args.pass_k)),
        "metrics": {figure: estimate.value for figure, estimate in figures.items()},
        "intervals": {figure: [estimate.low, estimate.high] for figure, estimate in figures.items()},
        "first_samples": first,
        "missing": summary.missing,
        "protocol": summary.protocol,
    }


def _published(figures: dict[str, Estimate]) -> dict[str, Estimate]:
    return {name: each for name, each in figures.items() if name == "accuracy" or name.startswith("pass@")}


def _write_json(file: Path, value: object) -> None:
    write_atomically(file, msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")


def _config(args: argparse.Namespace, name: str) -> RunConfig:
    file = args.data_dir / f"{name}.jsonl"
    if not file.is_file():
        raise DataError(f"there is no {file}; --data-dir names the folder, one <dataset>.jsonl each")
    if max(args.pass_k) > args.num_samples:
        raise UsageError(f"--pass-k {max(args.pass_k)} is more than --num-samples, which is {args.num_samples}")
    extras = [pair for group in args.extra_field for pair in group]
    options, rest = _options(extras, args.backend)
    model, urls = _model(args)
    return make_config(
        benchmark=str(file),
        model=model,
        base_url=urls,
        prompt="bare",
        system_prompt=args.system_prompt,
        protocol=args.protocol or OURS,
        samples=args.num_samples,
        pass_k=tuple(sorted(set(args.pass_k))),
        extra_field=rest,
        response_field=args.response_field,
        api_key_env=_key_variable(args),
        concurrency=args.concurrency,
        request_interval=args.request_interval,
        max_retries=args.max_retries,
        retry_delay=args.retry_delay,
        request_timeout=args.request_timeout,
        **options,
    )


def _options(extras: Sequence[str], backend: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Split extra fields into our sampling options and the rest. The plain contract has fields only."""
    if backend == "custom":
        extra_fields(extras)  # raises if one is malformed
        return {}, tuple(extras)
    names = {**OPTIONS, LENGTHS[backend]: "max_tokens"}
    options, rest = {}, []
    for extra in extras:
        ((field, value),) = extra_fields([extra]).items()
        if field in names and value is not None:
            options[names[field]] = float(value) if field in ("temperature", "top_p") and type(value) is int else value
        else:
            rest.append(extra)
    return options, tuple(rest)


def _model(args: argparse.Namespace) -> tuple[str, tuple[str, ...]]:
    url = args.server_url.rstrip("/")
    if args.backend == "custom":
        return f"http/{args.server_url}", ()
    if args.backend == "sglang":
        return f"sglang/{url}", ()
    if not args.model:
        raise UsageError("--backend openai needs --model NAME")
    keyed = args.api_key or os.environ.get(KEY_VARIABLES["openai"])
    if urlsplit(url).hostname == "api.openai.com" and not keyed:
        raise UsageError("OpenAI requires a key: give --api-key, or set OPENAI_API_KEY")
    url = url.removesuffix("/chat/completions")
    return f"openai/{args.model}", (url if url.endswith("/v1") else f"{url}/v1",)


def _key_variable(args: argparse.Namespace) -> str:
    """Return the environment variable of the key. A typed key is put there, so that no file contains it."""
    variable = KEY_VARIABLES[args.backend]
    if args.api_key:
        os.environ[variable] = args.api_key
    elif args.backend == "sglang" and variable not in os.environ:
        return KEY_VARIABLES["openai"]
    return variable


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="evaluate.py", description="Accuracy and pass@k of a model server on JSONL data sets."
    )
    data = parser.add_argument_group("data")
    data.add_argument("--datasets", nargs="+", default=DATASETS, metavar="NAME", help=f"default: {' '.join(DATASETS)}")
    data.add_argument(
        "--data-dir", type=Path, default=Path("datasets"), help="holds <dataset>.jsonl with problem, answer"
    )
    data.add_argument(
        "--output-dir",
        type=lambda word: Path(word) if word else None,
        default=Path("outputs"),
        help="records, summaries and runs (outputs); with '' only a run in runs/",
    )
    server = parser.add_argument_group("server")
    server.add_argument("--server-url", required=True, help="where to POST")
    server.add_argument("--backend", choices=tuple(KEY_VARIABLES), default="custom", help="default: custom")
    server.add_argument("--model", help="model name, for --backend openai")
    server.add_argument("--api-key", help="default: $OPENAI_API_KEY or $SGLANG_API_KEY")
    server.add_argument("--system-prompt", help="a message before every problem")
    server.add_argument("--response-field", default="answer", help="where a custom server puts the text (answer)")
    server.add_argument(
        "--extra-field", action="append", nargs="+", default=[], metavar="KEY=VALUE", help="add this to every request"
    )
    add_protocol(parser, "normalize_answer of the script")
    sampling = parser.add_argument_group("sampling")
    sampling.add_argument("--num-samples", type=positive, default=1, help="responses per problem (1)")
    sampling.add_argument(
        "--pass-k", type=positive, nargs="+", default=[1], metavar="K", help="each ≤ --num-samples (1)"
    )
    pace = parser.add_argument_group("requests")
    pace.add_argument("--concurrency", type=positive, default=1, help="requests in flight (1)")
    pace.add_argument("--request-interval", type=float, default=0.0, metavar="SECONDS", help="between two requests (0)")
    pace.add_argument("--max-retries", type=int, default=2, help="tries after the first (2)")
    pace.add_argument("--retry-delay", type=float, default=1.0, metavar="SECONDS", help="before the second try (1)")
    pace.add_argument("--request-timeout", type=float, default=3000.0, metavar="SECONDS", help="of one try (3000)")
    return parser
