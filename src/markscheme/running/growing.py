"""A run grows: more samples of each problem, or more problems. What is there stays, and is never asked again.

A sample's seed depends on the run's seed, the problem and the sample's number alone, so 8 samples and then 8 more are the
same requests as 16 at once.
"""

from __future__ import annotations

import msgspec

from markscheme.config import RunConfig
from markscheme.errors import UsageError
from markscheme.prompts import prompts_sha256
from markscheme.running.prepare import prepare
from markscheme.runs.folder import Run

GROWING = ("samples", "limit")
"""Options that may change when a run is resumed, though they are part of what is asked: they only add to it."""


def may_grow(stored: RunConfig, wanted: RunConfig, name: str) -> bool:
    """Whether a changed option only adds to what was asked."""
    if name == "samples":
        return wanted.samples > stored.samples and stored.until is None and wanted.until is None
    if name == "limit":
        return stored.limit is not None and (wanted.limit is None or wanted.limit > stored.limit)
    return False


def grow(run: Run, config: RunConfig) -> None:
    """Write down that more is asked, where it is; refuses what would not be an extension of the same run."""
    manifest = run.manifest
    if config.until is None and config.samples > manifest.samples:
        # Somebody who typed -t 0 knows; one sample is greedy without a word, and several would not have been.
        if manifest.sampling.get("temperature") == 0 and config.temperature is None:
            raise UsageError(
                f"{run.path} was asked at temperature 0, where further samples are the same again; start a new run with -n"
            )
        manifest = msgspec.structs.replace(manifest, samples=config.samples)
    if config.limit != manifest.config.limit:
        questions = prepare(config).questions
        prompts = {question.problem.key: question.prompt.messages for question in questions}
        there = run.questions()
        if any(prompts.get(each.problem.key) != each.prompt.messages for each in there):
            raise UsageError(
                f"{run.path} cannot be extended: its problems or prompts are not among those of {config.benchmark} as it is "
                "now; start a new run"
            )
        manifest = msgspec.structs.replace(
            manifest,
            problems=len(questions),
            prompt_sha256=prompts_sha256(question.prompt for question in questions),
        )
        run.save_questions(questions)
    if manifest is not run.manifest:
        run.save_manifest(msgspec.structs.replace(manifest, config=config))
