"""What a resumed run may change, what it must keep, and how it grows: more samples per problem, or more problems.

A sample's seed depends only on the run's seed, the problem and the sample's number, so 8 samples and then 8 more are the
same requests as 16 at once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from markscheme.config import RunConfig, fixed_options, make_config
from markscheme.errors import JournalError, MarkschemeError, UsageError, option
from markscheme.marking import get_protocol
from markscheme.models import STARTED
from markscheme.models.secrets import hidden_options, hide_config
from markscheme.objects import file_of, is_object_spec, load_object
from markscheme.prompts import prompts_sha256
from markscheme.redaction import HIDDEN
from markscheme.running.prepare import prepare
from markscheme.runs.folder import IMPORTED, Manifest, Run
from markscheme.types import Problem, Prompt, Question, content_key

# Fixed options that may change when a run is resumed, since they only add to what is asked.
GROWING = ("samples", "limit")


def resumed_config(run: Run, changes: Mapping[str, Any]) -> RunConfig:
    """Return the stored options with the changes. A change of what is asked is refused."""
    stored = run.manifest.config
    if stored.model == IMPORTED and run.manifest.status == "incomplete":
        raise UsageError(
            f"{run.path} was imported from a log, and only the tool that wrote the log can ask for what is missing in it"
        )
    options = msgspec.structs.asdict(stored)
    if changes.get("engine") == "local" and stored.engine == "ray":
        options["ray_address"] = None
        if stored.model.partition("/")[0] not in STARTED:
            options["gpus_per_replica"] = None
    changed = make_config(**{**options, **changes})
    hidden = hide_config(changed)
    differences = [
        f"{name}: {_shown(getattr(stored, name))} in the run, {_shown(getattr(hidden, name))} now"
        for name in fixed_options()
        if getattr(stored, name) != getattr(hidden, name) and not _may_grow(stored, hidden, name)
    ]
    if differences:
        raise UsageError(
            f"{run.path} holds a run with other questions or sampling ({'; '.join(differences)}): "
            "keep these options as they were, or start a new run in another folder"
        )
    _check_objects(run, changed, changes)
    for name in (name for name in hidden_options(changed) if name not in changes):
        raise UsageError(
            f"{run.path}: {option(name)} contained a secret, which was saved as {HIDDEN}; give it again to resume"
        )
    return changed


def object_digests(config: RunConfig) -> dict[str, str]:
    """Return the SHA-256 of the source of each option that is a Python object, and register such a protocol."""
    digests = {}
    if is_object_spec(config.model):
        digests["model"] = load_object(config.model, "model").sha256
    if config.protocol is not None and is_object_spec(config.protocol):
        digests["protocol"] = get_protocol(config.protocol).sha256
    return digests


def _check_objects(run: Run, config: RunConfig, given: Mapping[str, Any]) -> None:
    """Refuse another model than the run began with. A changed protocol is a new version and marks again.

    Somebody else may have written the manifest, so code in the run folder is not run because the manifest names it.
    """
    for name in ("model", "protocol"):
        file = file_of(getattr(config, name) or "")
        if file is None:
            continue
        if name not in given and file.resolve().is_relative_to(run.path.resolve()):
            raise UsageError(f"{run.path} names code in its own folder, {file}, which is not run; move it elsewhere")
    before, file = run.manifest.objects.get("model"), file_of(config.model)
    if before is None:
        return
    if file is not None and file.is_file():  # compared before it is run
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
    else:
        digest = object_digests(config).get("model", before)
    if digest != before:
        raise UsageError(f"{config.model} has changed since {run.path} began; restore it, or start a new run")


def checked_questions(run: Run, config: RunConfig) -> list[Question]:
    """Return the problems that the run started with, and restore them if they are lost."""
    file, manifest = run.path / "problems.jsonl", run.manifest
    questions = run.questions()
    # A key is a hash of statement and gold, so an altered gold is found here.
    altered = [one.id for one in (question.problem for question in questions) if not _keeps_key(one)]
    if altered:
        raise JournalError(
            f"{file} is not what this run started with: the statement or gold answer of {altered[0]} was changed. "
            "Restore the file, or start a new run"
        )
    if _promised(manifest, questions):
        return questions
    with suppress(MarkschemeError):  # the benchmark's data may be gone
        made = prepare(config).questions
        if manifest.prompt_sha256 and _promised(manifest, made):
            run.save_questions(made)
            return made
    raise JournalError(
        f"{file} is not what this run started with: {len(questions)} problems, prompts {_hash(questions)[:12]}…; the "
        f"manifest says {manifest.problems}, {manifest.prompt_sha256[:12]}…. Restore the file, or start a new run"
    )


def _promised(manifest: Manifest, questions: Sequence[Question]) -> bool:
    return len(questions) == manifest.problems and manifest.prompt_sha256 in (_hash(questions), "")


def _hash_of(prompt: Prompt | None) -> str:
    return prompts_sha256([prompt]) if prompt else ""


def _hash(questions: Sequence[Question]) -> str:
    return prompts_sha256(question.prompt for question in questions)


def _keeps_key(problem: Problem) -> bool:
    return problem.key.partition("-")[0] == content_key(problem.statement, problem.gold)


def _shown(value: object) -> str:
    return "the default" if value is None or value == () else repr(value)


def _may_grow(stored: RunConfig, wanted: RunConfig, name: str) -> bool:
    """True if a changed option only adds to what was asked."""
    if name == "samples":
        return wanted.samples > stored.samples and stored.until is None and wanted.until is None
    if name == "limit":
        return stored.limit is not None and (wanted.limit is None or wanted.limit > stored.limit)
    return False


def grow(run: Run, config: RunConfig) -> None:
    """Record that more is asked; refuse what would not extend the same run."""
    manifest = run.manifest
    if config.until is None and config.samples > manifest.samples:
        # An explicit temperature of 0 is the user's choice; by default only one sample is greedy.
        if manifest.sampling.get("temperature") == 0 and config.temperature is None:
            raise UsageError(
                f"{run.path} was asked at temperature 0, where further samples would be the same; start a new run with {option('samples')}"
            )
        manifest = msgspec.structs.replace(manifest, samples=config.samples)
    questions = None
    if config.limit != manifest.config.limit:
        questions = prepare(config).questions
        prompts = {question.problem.key: question.prompt for question in questions}
        there = run.questions()
        if any(_hash_of(prompts.get(each.problem.key)) != _hash_of(each.prompt) for each in there):
            raise UsageError(
                f"{run.path} cannot be extended: its problems or prompts are not among those of {config.benchmark} as it is "
                "now; start a new run"
            )
        manifest = msgspec.structs.replace(manifest, problems=len(questions), prompt_sha256=_hash(questions))
    if manifest is not run.manifest:
        # If we are killed now, the run is not complete.
        run.save_manifest(msgspec.structs.replace(manifest, config=config, status="incomplete"))
    if questions is not None:  # last: if we are killed before, `checked_questions` restores them
        run.save_questions(questions)
