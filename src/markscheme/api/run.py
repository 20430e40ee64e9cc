"""`Run`: a run folder with everything that can be asked of it from Python."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from markscheme.api.frames import Frames, Rows
from markscheme.errors import JournalError, UsageError
from markscheme.reporting.figures import percent
from markscheme.reporting.summary import Summary, marked_label, summarize
from markscheme.runs import folder
from markscheme.types import Mark, Problem, Response

if TYPE_CHECKING:
    from markscheme.api.results import Audit, Report


class Answer:
    """One response with its problem and its mark."""

    def __init__(self, problem: Problem, response: Response, mark: Mark | None) -> None:
        self.problem, self.response, self.mark = problem, response, mark

    def __repr__(self) -> str:
        verdict = "not marked" if self.mark is None else f"{self.mark.verdict}: {self.mark.why}"
        return f"{self.problem.id}, sample {self.response.sample} ({verdict})\n{self.response.text}"

    def _repr_html_(self) -> str:
        from markscheme.api.notebook import html_response

        return html_response(self.problem, self.response, self.mark)


class Run(folder.Run, Frames):
    """A run folder, opened: its figures, its responses one by one or as a data frame, and how to go on with it."""

    _summary: tuple[int, Summary] | None = None

    @property
    def summary(self) -> Summary:
        """The figures under the run's own protocol as they are now: another process may be adding to the folder."""
        with suppress(JournalError):
            self.manifest = folder.Run.open(self.path).manifest
        version = self.snapshot().version
        if self._summary is None or self._summary[0] != version:
            self._summary = version, summarize(self)
        return self._summary[1]

    @property
    def accuracy(self) -> float | None:
        """The headline figure; its interval is in `summary.accuracy`."""
        return self.summary.accuracy.value

    def report(self, **options: Any) -> Report:
        """The same as `ms.report(run, …)`."""
        from markscheme.api import report

        return report(self, **options)

    def audit(self, **options: Any) -> Audit:
        """The same as `ms.audit(run, …)`."""
        from markscheme.api import audit

        return audit(self, **options)

    def mark(self, protocol: str) -> Self:
        """Judge every response again under a protocol; the marks stand beside the others."""
        from markscheme.marking import get_protocol, mark_many

        problems = {question.problem.key: question.problem for question in self.questions()}
        pairs = ((response, problems[response.key]) for response in self.responses())
        self.mark_again(get_protocol(protocol).label, mark_many(pairs, protocol))
        return self

    def resume(self, *, progress: bool = True, **options: Any) -> Self:
        """Ask for what is missing or failed, and nothing twice; `options` that say how to ask may be new ones."""
        from markscheme.api.notebook import display
        from markscheme.reporting.summary import finish
        from markscheme.running import resume

        with display(self.manifest.benchmark, quiet=not progress) as shown:
            self.manifest = resume(self, options, shown).manifest
        finish(self)
        return self

    def extend(self, *, progress: bool = True, **options: Any) -> Self:
        """Ask for more: `samples=16`, `limit=200`. What is there is kept; 8 samples and 8 more are the 16 asked at once."""
        if not options:
            raise UsageError("say what to add: extend(samples=16) or extend(limit=200)")
        return self.resume(progress=progress, **options)

    def push(self, to: str, *, public: bool = False) -> None:
        """Tell a tracker (`"wandb"`, `"mlflow"`, `"trackio"`, `"tensorboard"`), or make it `"owner/name"` on the Hub."""
        if "/" in to:
            from markscheme.tracking.hub import push_dataset

            push_dataset(self, to, public=public)
        else:
            from markscheme.tracking import push

            push(self, to)

    def answers(self, protocol: str | None = None) -> Iterator[Answer]:
        """Every response with its problem and mark, streamed."""
        snapshot = self.snapshot()
        label = marked_label(snapshot, protocol)
        problems = {question.problem.key: question.problem for question in snapshot.questions()}
        marks = {(mark.key, mark.sample): mark for mark in snapshot.marks(label)}
        for response in snapshot.responses():
            yield Answer(problems[response.key], response, marks.get((response.key, response.sample)))

    def __getitem__(self, place: str | int | tuple[str | int, int]) -> Answer:
        """`run["aime-3"]`, `run[2]`, `run[2, 5]`: the first or another sample of a problem, by its id, key or number."""
        problem, sample = place if isinstance(place, tuple) else (place, 0)
        if isinstance(problem, slice):
            raise UsageError(
                'a run is indexed by problem and sample: run[2], run[2, 5], run["id"]; list(run) has all responses'
            )
        snapshot = self.snapshot()
        if isinstance(problem, str):
            names = snapshot.ids if problem in snapshot.ids else snapshot.keys
            if problem not in names:
                raise KeyError(f"{self.path} has no problem {problem!r}; its ids are in run.snapshot().ids")
            problem = names.index(problem)
        row = snapshot.row(problem, sample) if 0 <= problem < snapshot.problems else None
        question, response = snapshot.question(problem), snapshot.response(row) if row is not None else None
        if question is None or response is None or row is None:
            raise KeyError(f"{self.path} has no sample {sample} of problem {problem}")
        return Answer(question.problem, response, snapshot.mark(marked_label(snapshot), row))

    def rows(self, protocol: str | None = None) -> Rows:
        """One flat record a response: problem, verdict, extracted answer, tokens, text."""
        return [_flat(each) for each in self.answers(protocol)]

    def plot(self) -> Any:
        """pass@k against k, as a matplotlib figure."""
        return self.report().plot()

    def __len__(self) -> int:
        return len(self.snapshot())

    def __iter__(self) -> Iterator[Answer]:
        return self.answers()

    def __contains__(self, problem: object) -> bool:
        return problem in self.snapshot().ids or problem in self.snapshot().keys

    def __bool__(self) -> bool:
        return True  # also before its first response

    def __repr__(self) -> str:
        try:
            summary = self.summary
        except UsageError as reason:  # nothing is marked
            return f"Run({str(self.path)!r}): {self.manifest.benchmark} · {self.manifest.model}: {reason}"
        told = self.manifest
        head = f"Run({str(self.path)!r}): {told.benchmark} · {told.model} · {told.status}"
        if not summary.responses:
            return f"{head}, nothing answered yet"
        lines = [head, f"  accuracy {percent(summary.accuracy)}"]
        lines += [f"  pass@{k} {percent(each)}" for k, each in summary.pass_at_k.items() if k != "1"]
        counts = ", ".join(f"{count:,} {verdict}" for verdict, count in summary.verdicts.items() if count)
        return "\n".join([*lines, f"  {told.problems:,} problems × {told.samples}: {counts}"])

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()


def _flat(answer: Answer) -> dict[str, Any]:
    problem, response, mark = answer.problem, answer.response, answer.mark
    gold = problem.gold if isinstance(problem.gold, str) else f"{list(problem.gold.nums)} -> {problem.gold.target}"
    return {
        "key": response.key,
        "sample": response.sample,
        "problem_id": problem.id,
        "statement": problem.statement,
        "gold": gold,
        "protocol": mark.protocol if mark else None,
        "verdict": str(mark.verdict) if mark else None,
        "correct": mark.score if mark else None,
        "answer": mark.answer if mark else None,
        "why": mark.why if mark else None,
        "flags": ", ".join(mark.flags) if mark else None,
        "text": response.text,
        "reasoning": response.reasoning,
        "finish_reason": response.finish_reason,
        "prompt_tokens": response.prompt_tokens,
        "completion_tokens": response.completion_tokens,
        "reasoning_tokens": response.reasoning_tokens,
        "latency": response.latency,
        "attempts": response.attempts,
        "error": response.error,
        "error_kind": response.error_kind,
    }
