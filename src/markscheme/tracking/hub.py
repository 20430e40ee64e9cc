"""A run on the Hugging Face Hub: its folder as a dataset with a card, its score as an evaluation result of the model.

The client's settings apply (`HF_TOKEN`, `HF_ENDPOINT` …). New repositories are private by default: a run folder holds the
questions and answers of a benchmark, and public ones end up in training data.
"""

from __future__ import annotations

import re
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any

from markscheme.benchmarks import benchmark as find_benchmark
from markscheme.datasets.sources import HubFile
from markscheme.errors import UsageError, first_line, needed
from markscheme.redaction import redacted, remember
from markscheme.reporting.figures import figures_of, percent, value_and_interval
from markscheme.reporting.summary import Summary, summarize
from markscheme.runs.folder import Run
from markscheme.tracking import TrackingError

if TYPE_CHECKING:
    from huggingface_hub import HfApi

# Files that are useless on other machines, also in the folders of judges.
LEFT_BEHIND = [where + name for where in ("", "*/") for name in ("lock*", "*.lock", "reserve*", ".*")]


def push_dataset(run: Run, repo: str, *, public: bool = False) -> str:
    """Upload the run folder as a dataset; return its address."""
    summary = summarize(run)
    api, errors = _client()
    _check_secrets(run)
    try:
        made = api.create_repo(repo, repo_type="dataset", private=not public, exist_ok=True)
        api.upload_folder(
            repo_id=repo,
            repo_type="dataset",
            folder_path=run.path,
            ignore_patterns=[*LEFT_BEHIND, "README.md"],
            commit_message=f"{summary.benchmark}, {summary.model}",
        )
        api.upload_file(
            path_or_fileobj=dataset_card(run, summary).encode(),
            path_in_repo="README.md",
            repo_id=repo,
            repo_type="dataset",
            commit_message="Card",
        )
    except errors as error:
        raise TrackingError(f"the Hub refused {run.path} as {repo}: {first_line(error)}") from error
    return str(made)


def propose_result(run: Run, model: str, dataset: str | None = None) -> str:
    """Open a pull request that adds the score to a model's repository as `.eval_results/…yaml`; return its address."""
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    summary = summarize(run)
    source = _source(run)
    if summary.accuracy.value is None:
        raise UsageError(f"{run.path} has no accuracy to propose")
    api, errors = _client()
    entry = EvalResultEntry(
        dataset_id=source.repo,
        task_id=summary.benchmark,
        value=round(100 * summary.accuracy.value, 2),
        dataset_revision=source.revision if source.pinned else None,
        date=run.manifest.ended or run.manifest.started or None,
        source_url=f"{api.endpoint}/datasets/{dataset}" if dataset else None,
        source_name="markscheme run" if dataset else None,
        notes=f"{value_and_interval(summary.accuracy)[1]}; {summary.samples} samples per problem, protocol {summary.protocol}",
    )
    try:
        made = api.upload_file(
            path_or_fileobj=_yaml(eval_result_entries_to_yaml([entry])).encode(),
            path_in_repo=f".eval_results/{_slug(summary.benchmark)}-markscheme.yaml",
            repo_id=model,
            commit_message=f"Evaluation result: {summary.benchmark}",
            create_pr=True,
        )
    except errors as error:
        raise TrackingError(f"the Hub refused the result for {model}: {first_line(error)}") from error
    return str(made.pr_url or made.commit_url)


def dataset_card(run: Run, summary: Summary) -> str:
    """Return the text of the dataset page, with the parts that its viewer shows."""
    marks = [f"marks/{protocol}.jsonl" for protocol in run.snapshot().protocols]
    parts = [
        ("responses", "responses*.jsonl"),
        ("problems", "problems.jsonl"),
        *zip(map(_slug, marks), marks, strict=True),
    ]
    head = {
        "tags": ["markscheme", "evaluation", summary.benchmark],
        "configs": [{"config_name": name, "data_files": files} for name, files in parts],
    }
    rows = "\n".join(f"| {name} | {percent(figure)} |" for name, figure in figures_of(summary).items())
    files = "\n".join(f"- `{name}`: sha256 `{sha256}`" for name, sha256 in summary.data.items())
    return (
        f"---\n{_yaml(head)}---\n\n# {summary.benchmark}: {summary.model}\n\n"
        f"{summary.problems} problems × {summary.samples} samples, marked with `{summary.protocol}`; "
        f"{summary.responses} responses, {summary.missing} missing.\n\n| figure | value |\n|---|---|\n{rows}\n\n"
        f"Data:\n\n{files}\n\nPrompts: sha256 `{summary.prompt_sha256}`. The whole run folder is here: download it and "
        "`markscheme report`, `mark`, `audit`, `compare` and `view` work on it.\n"
    )


def _check_secrets(run: Run) -> None:
    """Refuse a folder with a secret: a file may hold a key that was not known when it was written."""
    for file in run.path.rglob("*"):
        name = str(file.relative_to(run.path))
        if not file.is_file() or any(fnmatch(name, pattern) for pattern in LEFT_BEHIND):
            continue
        with file.open("rb") as lines:
            if any(redacted(line) != line for line in lines):
                raise UsageError(f"{file} contains a key from your environment; remove it, then push again")


def _source(run: Run) -> HubFile:
    """Return the Hub repository of the benchmark's problems."""
    name = run.manifest.benchmark
    bench = find_benchmark(name)
    for source in bench.sources:
        hub = source.hub if isinstance(source.hub, tuple) else (source.hub,)
        if hub and source not in bench.pool_sources:
            return hub[0]
    raise UsageError(f"the problems of {name} are not from the Hub, so a result cannot be proposed there")


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower().removesuffix(".jsonl")).strip("-")


def _yaml(content: Any) -> str:
    import yaml  # comes with the Hub's client

    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True))


def _client() -> tuple[HfApi, tuple[type[Exception], ...]]:
    needed("huggingface_hub", "data")
    from huggingface_hub import HfApi, get_token
    from huggingface_hub.errors import HfHubHTTPError

    remember([get_token() or ""])  # it may come from the client's own file, and the Hub may repeat it
    # Each major version of the client uses another HTTP library.
    http = tuple(base for base in HfHubHTTPError.__mro__ if base.__name__ == "HTTPError")
    return HfApi(), (HfHubHTTPError, *http, OSError, ValueError, RuntimeError)
