"""A run in somebody's tracker: one table of trackers, one small file each, all told the same.

A tracker gets the options, the figures with their intervals, a table of responses and the run folder as an artefact.
Its client does the rest: where it sends to, offline or not, is decided by that client's own settings.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from markscheme.errors import MarkschemeError, UsageError, first_line, needed, option

if TYPE_CHECKING:
    from markscheme.reporting.estimates import Estimate
    from markscheme.reporting.summary import Summary
    from markscheme.running.progress import Quiet
    from markscheme.runs.folder import Run

# What can be told of a run. The module here and the extra have the same name; nothing is imported before it is asked
# for.
TRACKERS = {"wandb": "Weights & Biases", "mlflow": "MLflow", "trackio": "Trackio", "tensorboard": "TensorBoard"}

PROJECT = "markscheme"  # what runs stand under where the client's settings name nothing else

COLUMNS = (
    *("problem_id", "sample", "problem", "gold", "text", "extracted", "verdict", "why"),
    *("completion_tokens", "error"),
)

ROWS = 10_000  # Responses in a tracker's table: browsers show no more. The run folder, which goes along, has them all.


class Tracker(Protocol):
    """One run at one tracker. Its module has `create(run)`, which begins or goes on with what was told of the run earlier."""

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        """Figures at a step: a response that has come, or the training step of a checkpoint."""

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """The responses."""

    def artefact(self, folder: Path) -> None:
        """The run folder."""

    def close(self) -> None:
        """Everything has been told."""


class TrackingError(MarkschemeError):
    """A tracker or hub did not take what it was told."""


def check_trackers(names: Sequence[str]) -> None:
    """Refuse a tracker that does not exist or whose client is not installed, before anything is asked."""
    for name in names:
        if name not in TRACKERS:
            raise UsageError(f"no tracker {name!r}; there are {', '.join(TRACKERS)}")
        _module(name)


def open_tracker(name: str, run: Run) -> Tracker:
    """Begin to tell a tracker of a run."""
    check_trackers([name])
    tracker: Tracker = _module(name).create(run)
    return tracker


def push_runs(runs: Sequence[Run], to: str, *, public: bool = False, model_repo: str | None = None) -> Iterator[str]:
    """Each run to a tracker, or one as `OWNER/NAME` to the Hub; says of each, when it is done, where it is."""
    if "/" not in to:
        if public or model_repo:
            raise UsageError(
                f"{option('public')} and {option('model_repo')} are for the Hub: {option('to', 'OWNER/NAME')}"
            )
        check_trackers([to])
        for each in runs:
            push(each, to)
            yield f"told {TRACKERS[to]} of {each.path}"
        return
    from markscheme.tracking.hub import propose_result, push_dataset

    if len(runs) > 1:
        raise UsageError("a dataset holds one run; name just that run")
    yield push_dataset(runs[0], to, public=public)
    if model_repo:
        yield propose_result(runs[0], model_repo, to)


def push(run: Run, name: str) -> None:
    """Tell a tracker of a run that is there."""
    try:
        log_run(open_tracker(name, run), run)
    except MarkschemeError:
        raise
    except Exception as error:  # whatever somebody else's client may raise
        raise TrackingError(f"{TRACKERS[name]} did not take {run.path}: {first_line(error)}") from error


def log_run(tracker: Tracker, run: Run) -> None:
    """The figures, the table, the folder; then it is done."""
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
    """Every figure with its bounds, how many responses got each verdict, and what it took."""
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
    """`accuracy`, `accuracy_low`, `accuracy_high`; nothing where it is undefined."""
    given = {name: figure.value, f"{name}_low": figure.low, f"{name}_high": figure.high}
    return {each.replace("@", "_at_"): value for each, value in given.items() if value is not None}


def title(run: Run) -> str:
    """What a tracker calls it: the run's folder, or of a series that of all its checkpoints."""
    return (
        run.path.name
        if run.manifest.config.step is None
        else f"{run.path.absolute().parent.name}-{run.manifest.benchmark}"
    )


def identity(run: Run) -> str:
    """Stable for a run even if its folder moves, so pushing twice updates one record."""
    manifest = run.manifest
    facts: tuple[str, ...] = (manifest.started, manifest.benchmark, manifest.model, manifest.prompt_sha256)
    if manifest.config.step is not None:  # all checkpoints of a series are one curve over steps
        facts = (run.path.absolute().parent.name, manifest.benchmark, manifest.prompt_sha256)
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]


def logged_options(run: Run) -> dict[str, Any]:
    """What was asked and how, flat: the options that say something, the sampling, data and prompts by their hash."""
    import msgspec

    manifest = run.manifest
    usual = {field.name: field.default for field in msgspec.structs.fields(manifest.config)}
    given = {name: getattr(manifest.config, name) for name in usual}  # keys and headers are hidden there already
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
    """Around a run: the display to ask with, which tells the named trackers too."""
    if not names:
        return nullcontext(display)
    from markscheme.tracking.live import Tracked

    return Tracked(display, [names] if isinstance(names, str) else names, folder).telling()
