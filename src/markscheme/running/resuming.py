"""What a resumed run may change, and what it must keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from markscheme.config import RunConfig, fixed_options, make_config
from markscheme.errors import JournalError, UsageError
from markscheme.models import STARTED
from markscheme.models.secrets import hidden_options, hide_config
from markscheme.prompts import prompts_sha256
from markscheme.redaction import HIDDEN
from markscheme.running.growing import may_grow
from markscheme.runs.folder import IMPORTED, Run
from markscheme.types import Problem, Question, content_key


def resumed_config(run: Run, changes: Mapping[str, Any]) -> RunConfig:
    """The stored options with the changed ones; refuses a change of what is asked, and shows it."""
    stored = run.manifest.config
    if stored.model == IMPORTED and run.manifest.status == "incomplete":
        raise UsageError(
            f"{run.path} was imported from a log, and only the tool that wrote the log can ask for what is missing in it"
        )
    kept = msgspec.structs.asdict(stored)
    if changes.get("engine") == "local" and stored.engine == "ray":  # the cluster is left
        kept["ray_address"] = None
        if stored.model.partition("/")[0] not in STARTED:
            kept["gpus_per_replica"] = None
    changed = make_config(**{**kept, **changes})
    hidden = hide_config(changed)
    differences = [
        f"{name}: {_shown(getattr(stored, name))} in the run, {_shown(getattr(hidden, name))} now"
        for name in fixed_options()
        if getattr(stored, name) != getattr(hidden, name) and not may_grow(stored, hidden, name)
    ]
    if differences:
        raise UsageError(
            f"{run.path} cannot be resumed with other questions or sampling ({'; '.join(differences)}); "
            "leave these options out, or start a new run"
        )
    for name in (name for name in hidden_options(changed) if name not in changes):
        raise UsageError(
            f"{run.path}: --{name.replace('_', '-')} held something secret, which was not stored (it is kept as "
            f"{HIDDEN}); give it again to resume"
        )
    return changed


def check_questions(run: Run, questions: Sequence[Question]) -> None:
    """Refuse a folder whose problems are not those it started with."""
    manifest = run.manifest
    found = prompts_sha256(question.prompt for question in questions)
    # A key is a hash of statement and gold: an altered gold answer shows here.
    altered = [one.id for one in (question.problem for question in questions) if not _keeps_key(one)]
    if altered:
        raise JournalError(
            f"{run.path / 'problems.jsonl'} is not what this run started with: the statement or gold answer of "
            f"{altered[0]} was changed. Restore the file, or start a new run"
        )
    if len(questions) == manifest.problems and manifest.prompt_sha256 in (found, ""):
        return
    raise JournalError(
        f"{run.path / 'problems.jsonl'} is not what this run started with: {len(questions)} problems, prompts "
        f"{found[:12]}…; the manifest says {manifest.problems}, {manifest.prompt_sha256[:12]}…. "
        "Restore the file, or start a new run"
    )


def _keeps_key(problem: Problem) -> bool:
    return problem.key.partition("-")[0] == content_key(problem.statement, problem.gold)


def _shown(value: object) -> str:
    return "the default" if value is None or value == () else repr(value)
