"""Benchmarks `hf/OWNER/NAME[/TASK][@REVISION]`: datasets of the Hub whose `eval.yaml` says how they are asked.

That file is fetched once and kept with the data. `markscheme data prepare` fetches the data, as for every benchmark.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from markscheme.benchmarks.definition import Definition
from markscheme.benchmarks.fields import Fields
from markscheme.datasets.small_texts import read_small_text
from markscheme.datasets.sources import CONVERTED, HubFile, Source
from markscheme.errors import DataError, UsageError, needed, os_reason

NAME = re.compile(r"hf/(?P<repo>[\w.-]+/[\w.-]+)(?:/(?P<task>[\w.:-]+))?(?:@(?P<revision>[\w./-]+))?")


class FieldSpec(msgspec.Struct, frozen=True):
    """The columns of the question, its answer and its choices."""

    input: str
    target: str
    choices: str | tuple[str, ...] | None = None


class Task(msgspec.Struct, frozen=True):
    """One task of an `eval.yaml`. Its solvers and scorers are for Inspect and are not used."""

    field_spec: FieldSpec
    id: str | None = None
    config: str = "default"
    split: str = "test"
    epochs: int = 1


def hub_definition(typed: str, folder: Path, like: Definition) -> Definition | None:
    """Return the definition for such a name, read like a bare file of problems; None for any other name."""
    named = NAME.fullmatch(typed)
    if named is None:
        return None
    repo, revision = named["repo"], named["revision"] or "main"
    tasks = _tasks(_eval_yaml(repo, revision, folder), repo)
    chosen = [task for task in tasks if named["task"] in (None, task.id)]
    if len(chosen) != 1:
        ids = ", ".join(f"hf/{repo}/{task.id}" for task in tasks)
        raise UsageError(f"{repo} has {len(tasks)} tasks; choose one of {ids}")
    (task,) = chosen
    spec = task.field_spec
    if spec.target.startswith("literal:"):
        raise UsageError(f"{repo}: a target that is the same for all rows ({spec.target}) is not a gold answer")
    shards = [
        HubFile(repo=repo, revision=CONVERTED, path=f"{task.config}/{task.split}/0000.parquet"),
        HubFile(repo=repo, revision=revision, path=f"{task.config}/{task.split}-00000-of-00001.parquet"),
        HubFile(repo=repo, revision=revision, path=f"data/{task.split}-00000-of-00001.parquet"),
    ]
    name = "-".join([repo.replace("/", "-"), *([task.id] if task.id and len(tasks) > 1 else [])])
    source = Source(file=f"hub/{repo}/{task.config}-{task.split}.jsonl", hub=tuple(shards))
    fields = Fields(statement=spec.input, gold=spec.target, choices=spec.choices, metadata="rest")
    return msgspec.structs.replace(
        like,
        name=name,
        typed=typed,
        summary=f"{repo} of the Hub, by its eval.yaml",
        data={"test": source},
        fields=fields,
        columns={},
        fewshot=None,
    )


def _eval_yaml(repo: str, revision: str, folder: Path) -> Any:
    kept = folder / "hub" / repo / f"eval-{revision.replace('/', '-')}.yaml"
    if not kept.is_file():
        from markscheme.datasets.hub import download

        with tempfile.TemporaryDirectory() as place:
            got = download(repo, revision, "eval.yaml", Path(place)).path.read_bytes()
        try:
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(got)
        except OSError as problem:
            raise DataError(f"cannot write {kept}: {os_reason(problem)}") from None
    yaml: Any = needed("yaml", "data")
    try:
        return yaml.safe_load(read_small_text(kept))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as problem:
        raise DataError(f"{kept} cannot be read: {problem}") from None


def _tasks(content: Any, repo: str) -> list[Task]:
    try:
        return msgspec.convert(content["tasks"], list[Task])
    except (KeyError, TypeError, msgspec.ValidationError) as problem:
        raise DataError(f"the eval.yaml of {repo} has no task that can be asked: {problem}") from None
