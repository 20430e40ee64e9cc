"""The whole job: from a config to a complete run folder, and from a broken-off one to the rest of it."""

from __future__ import annotations

import asyncio
import platform
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import msgspec

from markscheme.benchmarks import benchmark as find_benchmark
from markscheme.config import RunConfig, check_pass_k, make_config
from markscheme.marking import get_protocol, mark
from markscheme.models import load_model
from markscheme.models.base import Model, Request
from markscheme.prompts import prompts_sha256
from markscheme.reporting.summary import save_report, summarize
from markscheme.running.journal import Journal
from markscheme.running.scheduler import ask
from markscheme.running.seeds import derive_seed
from markscheme.runs import Manifest, Run
from markscheme.types import Mark, Problem, Question, Response, Sampling

SEVERAL_SAMPLES_TEMPERATURE = 0.8
"""One sample is greedy by default; several greedy samples would be the same text several times."""

OnMark = Callable[[Response, Mark], None]
"""Told of each response with its mark, as it arrives: the progress display."""


def run(benchmark: str, *, model: str, out: str | Path | None = None, **options: Any) -> Run:
    """Ask a model every question of a benchmark, mark every response, and return the run.

    `options` are those of `RunConfig`, by the same names as the command line's: `samples=16`, `temperature=0.8`,
    `limit=100` … The run folder is `out`, or a new one below `runs/`.
    """
    config = make_config(benchmark=benchmark, model=model, **options)
    check_pass_k(config)
    folder = Path(out) if out is not None else new_folder(find_benchmark(benchmark, config.data_dir).name, model)
    finished = execute(config, folder)
    save_report(finished, summarize(finished))
    return finished


def new_folder(benchmark: str, model: str) -> Path:
    """A folder below `runs/` that says when, what and who."""
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", model).strip("-")[-40:]
    return Path("runs") / f"{stamp}-{benchmark}-{slug}"


def execute(config: RunConfig, out: Path, on_mark: OnMark | None = None) -> Run:
    """Ask, mark and keep everything; returns the finished run. Missing responses are counted in its manifest."""
    bench = find_benchmark(config.benchmark, config.data_dir)
    questions = bench.questions(
        variant=config.prompt, fewshot=config.fewshot, fewshot_seed=config.fewshot_seed, limit=config.limit
    )
    protocol = get_protocol(config.protocol or bench.protocol)
    sampling = _sampling(config)
    model = load_model(config.model, config)
    fewshot_ids = questions[0].prompt.fewshot_ids if questions else ()
    manifest = Manifest(
        config=config,
        benchmark=bench.name,
        model=config.model,
        protocol=f"{protocol.name}@{protocol.version}",
        samples=config.samples,
        problems=len(questions),
        data=bench.files + (bench.pool_files if fewshot_ids else ()),
        prompt_sha256=prompts_sha256(question.prompt for question in questions),
        fewshot_ids=fewshot_ids,
        sampling=msgspec.to_builtins(sampling),
        started=_now(),
        packages=_package_versions(),
        python=platform.python_version(),
        platform=platform.platform(),
        git_revision=_git_revision(),
    )
    run = Run.create(out, manifest, questions)
    return _finish(run, questions, model, sampling, on_mark)


def resume(run: Run, on_mark: OnMark | None = None) -> Run:
    """Finish what is missing or errored; what is there is never asked again."""
    questions = run.questions()
    config = run.manifest.config
    return _finish(run, questions, load_model(config.model, config), _sampling(config), on_mark)


def _finish(run: Run, questions: Sequence[Question], model: Model, sampling: Sampling, on_mark: OnMark | None) -> Run:
    done = {(response.key, response.sample) for response in run.responses() if response.error is None}
    requests = [
        _request(run, question, sample, sampling)
        for sample in range(run.manifest.samples)  # all problems once before any twice: early figures mean something
        for question in questions
        if (question.problem.key, sample) not in done
    ]
    problems = {question.problem.key: question.problem for question in questions}
    try:
        server = asyncio.run(_ask_all(run, model, requests, problems, on_mark))
    except KeyboardInterrupt:
        _close(run, "interrupted", None)
        raise
    _close(run, "complete", server)
    return run


async def _ask_all(
    run: Run, model: Model, requests: list[Request], problems: dict[str, Problem], on_mark: OnMark | None
) -> str | None:
    protocol = run.manifest.protocol.partition("@")[0]
    concurrency = run.manifest.config.concurrency or model.concurrency
    server = run.manifest.server_model
    try:
        with Journal(run.path / "responses.jsonl") as facts, Journal(run.marks_file(protocol)) as opinions:
            async for response in ask(model, requests, min(concurrency, max(1, len(requests)))):
                facts.append(response)
                opinion = mark(response, problems[response.key], protocol=protocol)
                opinions.append(opinion)
                server = server or response.model
                if on_mark is not None:
                    on_mark(response, opinion)
    finally:
        await model.close()
    return server


def _close(run: Run, status: str, server: str | None) -> None:
    counts = Counter(str(opinion.verdict) for opinion in run.marks(run.manifest.protocol))
    missing = run.manifest.problems * run.manifest.samples - counts.total() + counts["error"]
    run.save_manifest(
        msgspec.structs.replace(
            run.manifest,
            ended=_now(),
            status="incomplete" if status == "complete" and missing else status,
            counts=dict(counts),
            server_model=server or run.manifest.server_model,
        )
    )


def _request(run: Run, question: Question, sample: int, sampling: Sampling) -> Request:
    problem = question.problem
    return Request(
        benchmark=run.manifest.benchmark,
        problem_id=problem.id,
        key=problem.key,
        statement=problem.statement,
        prompt=question.prompt,
        samples=(sample,),
        seeds=(derive_seed(run.manifest.config.seed, problem.key, sample),),
        sampling=sampling,
    )


def _sampling(config: RunConfig) -> Sampling:
    default = 0.0 if config.samples == 1 else SEVERAL_SAMPLES_TEMPERATURE
    return Sampling(
        temperature=default if config.temperature is None else config.temperature,
        top_p=config.top_p,
        top_k=config.top_k,
        max_tokens=config.max_tokens,
        stop=config.stop,
    )


def _package_versions() -> dict[str, str]:
    """Of what can change a result: ourselves and the libraries that ask, mark and count."""
    versions = {}
    for name in ("markscheme", "msgspec", "numpy", "aiohttp", "sympy"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def _git_revision() -> str | None:
    """Of the folder the user stands in: their experiment's code, not ours."""
    try:
        answer = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() or None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
