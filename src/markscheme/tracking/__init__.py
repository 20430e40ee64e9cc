"""Log runs to experiment trackers: a table of trackers and one small file each.

A tracker gets the options, the figures with their intervals, a table of responses and the run folder as an artefact. Where
its client sends them is up to the client's own settings.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from markscheme.errors import MarkschemeError, UsageError, first_line, nearest, needed, option

if TYPE_CHECKING:
    from markscheme.reporting.estimates import Estimate
    from markscheme.reporting.summary import Summary
    from markscheme.running.progress import Quiet
    from markscheme.runs.folder import Run

# The module here and the extra have the same name; both are imported only when needed.
TRACKERS = {"wandb": "Weights & Biases", "mlflow": "MLflow", "trackio": "Trackio", "tensorboard": "TensorBoard"}

PROJECT = "markscheme"  # the project, unless the client's settings name another

COLUMNS = (
    *("problem_id", "sample", "problem", "gold", "text", "extracted", "verdict", "why"),
    *("completion_tokens", "error"),
)

ROWS = 10_000  # responses in the table; the run folder, which is logged too, has them all


class Tracker(Protocol):
    """One run in a tracker. Its module has `create(run)`, which starts or continues the record of the run."""

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        """Log figures at a step: the number of responses, or the training step of a checkpoint."""

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Log the responses."""

    def artefact(self, folder: Path) -> None:
        """Log the run folder."""

    def close(self) -> None:
        """Finish the record."""


class TrackingError(MarkschemeError):
    """A tracker or the Hub refused what it was sent."""


def check_trackers(names: Sequence[str]) -> None:
    """Refuse a tracker that does not exist or whose client is not installed."""
    for name in names:
        if name not in TRACKERS:
            raise UsageError(f"there is no tracker {name!r}; {nearest(name, TRACKERS)}")
        _module(name)


def open_tracker(name: str, run: Run) -> Tracker:
    check_trackers([name])
    tracker: Tracker = _module(name).create(run)
    return tracker


def push_runs(runs: Sequence[Run], to: str, *, public: bool = False, model_repo: str | None = None) -> Iterator[str]:
    """Push runs to a tracker, or one to the Hub as `OWNER/NAME`; yield where each is."""
    if "/" not in to:
        if to not in TRACKERS:
            raise UsageError(
                f"{option('to')} takes a tracker or OWNER/NAME for the Hub, not {to!r}; {nearest(to, TRACKERS)}"
            )
        if public or model_repo:
            raise UsageError(
                f"{option('public')} and {option('model_repo')} are for the Hub: {option('to', 'OWNER/NAME')}"
            )
        check_trackers([to])
        for each in runs:
            push(each, to)
            yield f"{each.path} is in {TRACKERS[to]}"
        return
    from markscheme.tracking.hub import propose_result, push_dataset

    if len(runs) > 1:
        raise UsageError("a dataset holds one run; name only one")
    yield push_dataset(runs[0], to, public=public)
    if model_repo:
        yield propose_result(runs[0], model_repo, to)


def push(run: Run, name: str) -> None:
    """Push a finished run to a tracker."""
    try:
        log_run(open_tracker(name, run), run)
    except MarkschemeError:
        raise
    except Exception as error:  # a client may raise anything
        raise TrackingError(f"{TRACKERS[name]} refused {run.path}: {first_line(error)}") from error


def log_run(tracker: Tracker, run: Run) -> None:
    """Log the figures, the table and the folder."""
    from markscheme.reporting.results import result_lines
    from markscheme.reporting.summary import summarize

    summary = summarize(run)
    step = run.manifest.config.step
    tracker.log(summary.responses if step is None else step, final_figures(summary))
    lines = islice(result_lines(run, summary.protocol), ROWS)
    tracker.table(COLUMNS, [[_plain(line.get(name)) for name in COLUMNS] for line in lines])
    tracker.artefact(run.path)
    tracker.close()


def final_figures(summary: Summary) -> dict[str, float]:
    """Return every figure with its bounds, the verdicts, and the usage."""
    import msgspec

    from markscheme.reporting.figures import figures_of

    figures: dict[str, float] = {}
    for name, each in figures_of(summary).items():
        figures |= with_bounds(name, each)
    figures |= {f"verdicts/{verdict}": count for verdict, count in summary.verdicts.items()}
    figures["missing"] = summary.missing
    usage = msgspec.to_builtins(summary.usage) if summary.usage is not None else {}
    figures |= {f"usage/{name}": value for name, value in usage.items() if isinstance(value, int | float)}
    return figures


def with_bounds(name: str, figure: Estimate) -> dict[str, float]:
    """Return `accuracy`, `accuracy_low`, `accuracy_high`; nothing if undefined."""
    given = {name: figure.value, f"{name}_low": figure.low, f"{name}_high": figure.high}
    return {each.replace("@", "_at_"): value for each, value in given.items() if value is not None}


def title(run: Run) -> str:
    """Return the name of the record: the run folder, or of a series the folder of its checkpoints."""
    return (
        run.path.name
        if run.manifest.config.step is None
        else f"{run.path.absolute().parent.name}-{run.manifest.benchmark}"
    )


def identity(run: Run) -> str:
    """Stable for a run even if its folder moves, so pushing twice updates one record."""
    manifest = run.manifest
    facts: tuple[str, ...] = (manifest.started, manifest.benchmark, manifest.model, manifest.prompt_sha256)
    if manifest.config.step is not None:  # all checkpoints of a series are one curve
        facts = (run.path.absolute().parent.name, manifest.benchmark, manifest.prompt_sha256)
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]


def logged_options(run: Run) -> dict[str, Any]:
    """Return the options that differ from their defaults, the sampling, and the hashes of data and prompts."""
    import msgspec

    manifest = run.manifest
    usual = {field.name: field.default for field in msgspec.structs.fields(manifest.config)}
    given = {name: getattr(manifest.config, name) for name in usual}  # secrets are hidden there already
    options = {name: value for name, value in given.items() if value != usual[name]}
    hashes = {f"data/{file.name}": file.sha256 for file in manifest.data}
    named = {
        "protocol": manifest.protocol,
        "server_model": manifest.server_model,
        "git_revision": manifest.git_revision,
    }
    return {**options, **manifest.sampling, **named, **hashes, "prompt_sha256": manifest.prompt_sha256}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | int | float):
        return str(value) if isinstance(value, str) else value  # a verdict is an enum
    import msgspec

    return msgspec.json.encode(value).decode()


def _module(name: str) -> Any:
    return needed(f"markscheme.tracking.{name}", name)


def tracked(display: Quiet, names: str | Sequence[str], folder: Path) -> AbstractContextManager[Quiet]:
    """Return a context manager with a display that also logs to the named trackers."""
    if not names:
        return nullcontext(display)
    from markscheme.tracking.live import Tracked

    return Tracked(display, [names] if isinstance(names, str) else names, folder).telling()
