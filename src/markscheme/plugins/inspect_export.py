"""Export a run as an Inspect log (`.eval`) with Inspect's own writer: a sample is an epoch, a protocol a scorer.

`markscheme import` reads it back as the same responses. The log is built in memory, as Inspect's writer requires.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markscheme.errors import JournalError, needed, os_reason
from markscheme.plugins.inspect_types import STOP_REASONS, chat_messages
from markscheme.plugins.records import gold_text, record
from markscheme.reporting.figures import figures_of
from markscheme.reporting.summary import Summary, summarize
from markscheme.runs.folder import Run
from markscheme.runs.snapshot import Snapshot
from markscheme.tracking import identity, logged_options
from markscheme.types import Mark, Question, Response, Verdict

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalResults, EvalSample, EvalScore, EvalStatus
    from inspect_ai.model import ModelOutput, ModelUsage
    from inspect_ai.scorer import Score

_STATUS: dict[str, EvalStatus] = {
    "complete": "success",
    "incomplete": "success",
    "running": "started",
    "interrupted": "cancelled",
}


def export_inspect(run: Run, place: Path) -> Path:
    """Write the log to `place` if that ends in `.eval` or `.json`, else to a new file in that folder."""
    needed("inspect_ai.log", "inspect")
    from inspect_ai.log import write_eval_log

    name = f"{run.manifest.benchmark}_{run.path.name}_{identity(run)}.eval"
    file = place if place.suffix in (".eval", ".json") else place / name
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_eval_log(make_log(run), str(file))
    except OSError as error:
        raise JournalError(f"cannot write {file}: {os_reason(error)}") from None
    return file


def make_log(run: Run) -> EvalLog:
    """Return the log with everything that Inspect has a field for."""
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalPlan, EvalSpec, EvalStats
    from inspect_ai.model import GenerateConfig

    manifest, snapshot = run.manifest, run.snapshot()
    samples = list(_samples(run, snapshot))
    used = [usage for sample in samples for usage in sample.model_usage.values()]
    sampling = {name: value for name, value in manifest.sampling.items() if name in GenerateConfig.model_fields}
    return EvalLog(
        status=_STATUS.get(manifest.status, "error"),
        eval=EvalSpec(
            created=manifest.started,
            task=manifest.benchmark,
            task_id=identity(run),
            run_id=identity(run),
            eval_id=identity(run),
            task_args=logged_options(run),
            dataset=EvalDataset(
                name=manifest.benchmark,
                location=", ".join(file.source or file.name for file in manifest.data),
                samples=manifest.problems,
                sample_ids=list(snapshot.ids),
            ),
            model=manifest.model,
            model_generate_config=GenerateConfig(**sampling),
            config=EvalConfig(epochs=manifest.samples, epochs_reducer=["mean"]),
            packages=manifest.packages,
            metadata={"prompt_sha256": manifest.prompt_sha256, "run_folder": str(run.path)},
        ),
        plan=EvalPlan(config=GenerateConfig(**sampling)),
        results=_results(run, snapshot) if samples else None,
        stats=EvalStats(
            started_at=manifest.started,
            completed_at=manifest.ended or "",
            model_usage={manifest.model: reduce(add, used)} if used else {},
        ),
        samples=samples,
    )


def _results(run: Run, snapshot: Snapshot) -> EvalResults:
    from inspect_ai.log import EvalResults

    own = run.manifest.protocol.partition("@")[0]
    protocols = sorted(snapshot.protocols, key=lambda name: name != own)  # the run's own protocol is the headline
    scores = [_score(summarize(run, protocol)) for protocol in protocols]
    return EvalResults(total_samples=snapshot.expected, completed_samples=snapshot.answered, scores=scores)


def _score(summary: Summary) -> EvalScore:
    """Return every figure with its bounds as separate metrics: Inspect has no field for an interval."""
    from inspect_ai.log import EvalMetric, EvalScore

    values: dict[str, float | None] = {}
    for name, figure in figures_of(summary).items():
        values |= {name: figure.value, f"{name}, low": figure.low, f"{name}, high": figure.high}
    metrics = {name: EvalMetric(name=name, value=value) for name, value in values.items() if value is not None}
    return EvalScore(
        name=summary.protocol.partition("@")[0],
        scorer=summary.protocol,
        reducer="mean" if summary.samples > 1 else None,
        scored_samples=summary.responses,
        unscored_samples=summary.missing,
        metrics=metrics,
        metadata={"population": summary.population, "level": summary.accuracy.level},
    )


def _samples(run: Run, snapshot: Snapshot) -> Iterator[EvalSample]:
    questions = {question.problem.key: question for question in snapshot.questions()}
    marks: dict[tuple[str, int], dict[str, Mark]] = {}
    for protocol in snapshot.protocols:
        for mark in snapshot.marks(snapshot.label_of(protocol)):
            marks.setdefault((mark.key, mark.sample), {})[protocol] = mark
    for response in snapshot.responses():
        given = marks.get((response.key, response.sample), {})
        yield _sample(run, questions[response.key], response, given)


def _sample(run: Run, question: Question, response: Response, marks: dict[str, Mark]) -> EvalSample:
    from inspect_ai.log import EvalError, EvalSample

    problem, usage = question.problem, _usage(response)
    asked = chat_messages(question.prompt)
    output = _output(response, run.manifest.model, usage)
    failed = response.error is not None
    known = {"seed": response.seed, "attempts": response.attempts, "finish_reason": response.finish_reason}
    fields = record(problem, run.manifest.benchmark, run.manifest.protocol.partition("@")[0])
    error = EvalError(message=response.error or "", traceback="", traceback_ansi="") if failed else None
    return EvalSample(
        id=problem.id,
        epoch=response.sample + 1,
        input=asked if len(asked) > 1 else asked[0].text,
        choices=list(problem.choices) or None,
        target=gold_text(problem.gold),
        messages=asked if failed else [*asked, output.message],
        output=output,
        scores=None if failed else {protocol: _judged(mark) for protocol, mark in marks.items()},
        metadata={**problem.metadata, **{name: value for name, value in known.items() if value is not None}, **fields},
        model_usage={run.manifest.model: usage} if usage else {},
        completed_at=response.created or None,
        total_time=response.latency,
        working_time=response.latency,
        error=error,
    )


def _output(response: Response, model: str, usage: ModelUsage | None) -> ModelOutput:
    from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant, ContentReasoning, ContentText, ModelOutput

    content: Any = response.text
    if response.reasoning:
        content = [ContentReasoning(reasoning=response.reasoning), ContentText(text=response.text)]
    message = ChatMessageAssistant(content=content, model=response.model or model, source="generate")
    choice = ChatCompletionChoice(message=message, stop_reason=STOP_REASONS.get(response.finish_reason, "unknown"))
    choices = [choice] if response.error is None else []
    return ModelOutput(
        model=response.model or model, choices=choices, usage=usage, time=response.latency, error=response.error
    )


def _usage(response: Response) -> ModelUsage | None:
    from inspect_ai.model import ModelUsage

    prompt, completion = response.prompt_tokens, response.completion_tokens
    if prompt is None and completion is None:
        return None
    prompt, completion = prompt or 0, completion or 0
    return ModelUsage(
        input_tokens=prompt,
        output_tokens=completion,
        total_tokens=prompt + completion,
        reasoning_tokens=response.reasoning_tokens,
    )


def _judged(mark: Mark) -> Score:
    """Map a verdict to Inspect's right, wrong or no answer; the original verdict is in the metadata."""
    from inspect_ai.scorer import CORRECT, INCORRECT, NOANSWER, Score

    value = CORRECT if mark.correct else NOANSWER if mark.verdict is Verdict.NO_ANSWER else INCORRECT
    metadata = {"verdict": str(mark.verdict), "protocol": mark.protocol, "flags": list(mark.flags)}
    return Score(value=value, answer=mark.answer, explanation=mark.why or str(mark.verdict), metadata=metadata)
