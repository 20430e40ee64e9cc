"""Export a run's figures in shared formats: Every Eval Ever's schema 0.3, and lm-evaluation-harness' results."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from markscheme.errors import UsageError, os_reason
from markscheme.models import STARTED
from markscheme.redaction import redacted_text
from markscheme.reporting.estimates import Estimate
from markscheme.reporting.figures import asked_with, figures_of
from markscheme.reporting.summary import Summary, summarize
from markscheme.reporting.table import interval_of
from markscheme.runs.folder import Run, write_atomically
from markscheme.tracking import identity

SCHEMA = "0.3.0"
HERE = {"hf", "nano", "nanochat", "solver", *STARTED}  # backends with models on the user's own machines


def export_results(run: Run, place: Path, to: str) -> Path:
    """Write the file to `place` if that ends in `.json`, else to a new file in that folder."""
    made, name = FORMATS[to](run, summarize(run))
    file = place if place.suffix == ".json" else place / name
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {file.parent}: {os_reason(error)}") from None
    write_atomically(file, msgspec.json.format(msgspec.json.encode(made), indent=2) + b"\n")
    return file


def _every_eval_ever(run: Run, summary: Summary) -> tuple[dict[str, Any], str]:
    manifest, now = run.manifest, f"{time.time():.0f}"
    backend, _, name = manifest.model.partition("/")
    deployed = (
        "self_deployed" if backend in HERE else "externally_managed" if not manifest.config.base_url else "unknown"
    )
    engine = {"inference_engine": {"name": backend}} if backend in STARTED else {}
    made = {
        "schema_version": SCHEMA,
        "evaluation_id": f"{summary.benchmark}/{manifest.model}/{now}",
        "retrieved_timestamp": now,
        "source_metadata": {
            "source_name": "markscheme",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {
            "name": "markscheme",
            "version": version("markscheme"),
            "additional_details": dict(manifest.packages),
        },
        "model_info": {
            "name": manifest.config.name or name or backend,
            "id": name or backend,
            **engine,
            "additional_details": {
                "deployment_type": deployed,
                "model_availability": "unknown",
                "spec": manifest.model,
            },
        },
        "evaluation_results": _results(run, summary),
    }
    if manifest.ended:
        made["evaluation_timestamp"] = manifest.ended
    return made, f"{run.path.name}.every-eval-ever.json"


def _results(run: Run, summary: Summary) -> list[dict[str, Any]]:
    """Return a result for each figure."""
    manifest = run.manifest
    sampling = {key: value for key, value in manifest.sampling.items() if key in GENERATION and value is not None}
    details = {
        "settings": asked_with(manifest),
        "prompt_sha256": manifest.prompt_sha256,
        "seed": str(manifest.config.seed),
    }
    return [
        {
            "evaluation_result_id": f"{identity(run)}/{figure}",
            "evaluation_name": summary.benchmark,
            "source_data": _source(run),
            "metric_config": _metric(figure, summary),
            "score_details": {
                "score": each.value,
                "details": {"problems": str(summary.problems), "samples_per_problem": str(summary.samples)}
                | {"missing_responses": str(summary.missing), "protocol": summary.protocol},
                "uncertainty": _uncertainty(each, summary),
            },
            "generation_config": {
                "generation_args": sampling,
                "additional_details": {k: v for k, v in details.items() if v},
            },
        }
        for figure, each in figures_of(summary).items()
        if each.value is not None
    ]


GENERATION = ("temperature", "top_p", "top_k", "max_tokens")


def _source(run: Run) -> dict[str, Any]:
    files = {file.name: file.sha256 for file in run.manifest.data}
    return {"dataset_name": run.manifest.benchmark, "source_type": "other", "additional_details": files}


def _metric(figure: str, summary: Summary) -> dict[str, Any]:
    name, _, k = figure.partition("@")
    return {
        "metric_id": f"{name.replace(' ', '_')}_at_k" if k else figure.replace(" ", "_"),
        "metric_name": figure,
        "metric_kind": "pass_rate" if k else "accuracy" if "accuracy" in figure else figure,
        "metric_unit": "proportion",
        "metric_parameters": {"k": int(k)} if k.isdecimal() else {},
        "lower_is_better": figure == "truncation",
        "score_type": "continuous",
        "min_score": 0.0,
        "max_score": 1.0,
        "additional_details": {"protocol": summary.protocol},
    }


def _uncertainty(figure: Estimate, summary: Summary) -> dict[str, Any]:
    if figure.low is None or figure.high is None:
        return {"num_samples": summary.responses}
    bounds = {"lower": figure.low, "upper": figure.high, "confidence_level": figure.level}
    return {
        "confidence_interval": {**bounds, "method": interval_of(summary.population)},
        "num_samples": summary.responses,
    }


def _lm_eval(run: Run, summary: Summary) -> tuple[dict[str, Any], str]:
    manifest, task = run.manifest, summary.benchmark
    figures: dict[str, Any] = {"alias": task}
    for name, each in figures_of(summary).items():
        if each.value is not None:
            figures[f"{name},none"] = each.value
            spread = (each.high or 0) - (each.low or 0)
            figures[f"{name}_stderr,none"] = spread / 2 / 1.959964 if each.low is not None else "N/A"
            figures[f"{name}_low,none"], figures[f"{name}_high,none"] = each.low, each.high
    made = {
        "results": {task: figures},
        "group_subtasks": {task: []},
        "configs": {
            task: {
                "task": task,
                "num_fewshot": manifest.fewshot,
                "repeats": manifest.samples,
                "metadata": {"version": 1.0},
            }
        },
        "versions": {task: 1.0},
        "n-shot": {task: manifest.fewshot},
        "higher_is_better": {task: {name: name != "truncation" for name in figures_of(summary)}},
        "n-samples": {task: {"original": manifest.drawn_from or manifest.problems, "effective": manifest.problems}},
        "config": {
            "model": manifest.model.partition("/")[0],
            "model_args": redacted_text(manifest.model.partition("/")[2]),
            "gen_kwargs": manifest.sampling,
            "random_seed": manifest.config.seed,
            "limit": manifest.config.limit,
        },
        "model_source": manifest.model.partition("/")[0],
        "model_name": manifest.model.partition("/")[2] or manifest.model,
        "git_hash": manifest.git_revision,
        "date": time.time(),
        "task_hashes": {task: manifest.prompt_sha256},
        "markscheme_version": version("markscheme"),
        "markscheme_protocol": summary.protocol,
    }
    return made, f"results_{time.strftime('%Y-%m-%dT%H-%M-%S')}.{run.path.name}.json"


FORMATS: dict[str, Callable[[Run, Summary], tuple[dict[str, Any], str]]] = {
    "every-eval-ever": _every_eval_ever,
    "lm-eval": _lm_eval,
}
