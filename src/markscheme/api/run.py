"""`Run`: a run folder as a Python object."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from markscheme.api.awaiting import awaitable
from markscheme.api.notebook import html_response
from markscheme.errors import JournalError, MarkschemeError, UsageError
from markscheme.objects import named_objects
from markscheme.pages.frames import Columns, Frames, Rows
from markscheme.pages.terminal import gold_line
from markscheme.reporting.figures import percent
from markscheme.reporting.summary import Summary, finish, marked_label, summarize
from markscheme.runs import folder
from markscheme.runs.answers import error_mark, marked_responses
from markscheme.types import Mark, Problem, Response

if TYPE_CHECKING:
    from markscheme.marking.bulk.audit import Audit
    from markscheme.reporting.report import Report
    from markscheme.reporting.token_limits import TokenLimits
    from markscheme.running import Display
    from markscheme.runs.snapshot import Snapshot

SHOWN = 1_000  # characters of a response in a repr: the last ones, since the answer comes at the end

# The columns of a run's responses. `correct` is a number, so that its mean over the responses that arrived is a share.
COLUMNS: Columns = {
    **dict.fromkeys(("run", "benchmark", "model", "key"), str),
    "sample": int,
    **dict.fromkeys(("problem_id", "statement", "gold", "protocol", "verdict"), str),
    "correct": float,
    **dict.fromkeys(("answer", "why", "flags", "text", "reasoning", "finish_reason"), str),
    **dict.fromkeys(("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens"), int | None),
    **dict.fromkeys(("latency", "first_token", "tokens_per_second"), float),
    "attempts": int,
    **dict.fromkeys(("calls", "tool_errors", "tool_tokens"), int | None),
    **dict.fromkeys(("error", "error_kind", "earlier"), str),
}
FACTS = tuple(COLUMNS)[tuple(COLUMNS).index("text") : -1]  # attributes of the response


class Answer:
    """One response with its problem and its mark."""

    def __init__(self, problem: Problem, response: Response, mark: Mark | None) -> None:
        self.problem, self.response, self.mark = problem, response, mark

    def __repr__(self) -> str:
        verdict = "not marked" if self.mark is None else f"{self.mark.verdict}: {self.mark.why}"
        text = self.response.text if self.response.error is None else f"no answer: {self.response.error}"
        cut = f"… {len(text) - SHOWN:,} characters …\n" if len(text) > SHOWN else ""
        question = self.problem.statement
        question = question if len(question) <= SHOWN // 2 else f"{question[: SHOWN // 2]}…"
        return (
            f"{self.problem.id}, sample {self.response.sample} ({verdict})\n{question}\ngold: {gold_line(self.problem.gold)}\n"
            f"{cut}{text[-SHOWN:]}"
        )

    def _repr_html_(self) -> str:
        return html_response(self.problem, self.response, self.mark)

    def row(self) -> dict[str, Any]:
        """Return the columns of `COLUMNS`, except those that are the same for all responses of the run."""
        response, mark = self.response, self.mark
        return {
            "key": response.key,
            "sample": response.sample,
            "problem_id": self.problem.id,
            "statement": self.problem.statement,
            "gold": gold_line(self.problem.gold),
            "protocol": mark.protocol if mark else None,
            "verdict": str(mark.verdict) if mark else None,
            "correct": mark.score if mark else None,
            "answer": mark.answer if mark else None,
            "why": mark.why if mark else None,
            "flags": ", ".join(mark.flags) if mark else None,
            "earlier": ", ".join(mark.earlier) if mark and mark.earlier else None,
            **{name: getattr(response, name) for name in FACTS},
        }


class Run(folder.Run, Frames):
    """A run folder: its figures, its responses one by one or as a data frame, and methods to continue it."""

    _summary: tuple[int, Summary] | None = None

    @property
    def summary(self) -> Summary:
        """The current figures under the run's own protocol; another process may be adding to the folder."""
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
        """Return `ms.report(run, …)`."""
        from markscheme.api.reports import report

        return report(self, **options)

    def audit(self, **options: Any) -> Audit:
        """Return `ms.audit(run, …)`."""
        from markscheme.api.reports import audit

        return audit(self, **options)

    def push(self, to: str, *, public: bool = False, model_repo: str | None = None) -> list[str]:
        """Return `ms.push(run, to=…)`: push to a tracker, or as `"owner/name"` to the Hub."""
        from markscheme.tracking import push_runs

        return list(push_runs([self], to, public=public, model_repo=model_repo))

    def token_limits(
        self, limits: str | Sequence[int], *, protocol: str | None = None, tokenizer: str | None = None
    ) -> TokenLimits:
        """Return the figures under smaller token limits (`"1k,2k"`, `[1024, 2048]`): `.rows`, `.frontier`, `.offsets`."""
        from markscheme.reporting.token_limits import read_limits, token_limits

        text = limits if isinstance(limits, str) else ",".join(map(str, limits))
        return token_limits(self, read_limits(text), protocol, tokenizer=tokenizer)

    def mark(self, protocol: Any) -> Self:
        """Mark every response again under one or several protocols; existing marks are kept."""
        from markscheme.marking import get_protocol
        from markscheme.runs.judging import judge_all

        rules = [get_protocol(name) for name in (protocol if isinstance(protocol, list | tuple) else [protocol])]
        problems = {question.problem.key: question.problem for question in self.questions()}
        for rule in rules:
            pairs = ((response, problems[response.key]) for response in self.responses())
            self.mark_again(rule.label, judge_all(pairs, rule.name))
        return self

    def resume(self, *, progress: bool = True, track: str | Sequence[str] = (), **options: Any) -> Self:
        """Ask for what is missing or failed, and nothing twice. `options` may change how it is asked."""
        from markscheme.running import resume

        with shown_and_tracked(self.manifest.benchmark, progress, track, self.path) as display:
            self.manifest = resume(self, named_objects(options), display).manifest
            finish(self)
        return self

    def extend(self, *, progress: bool = True, track: str | Sequence[str] = (), **options: Any) -> Self:
        """Ask for more: `samples=16`, `limit=200`. 8 samples and then 8 more are the same as 16 at once."""
        if not options:
            raise UsageError("name what to add: extend(samples=16) or extend(limit=200)")
        return self.resume(progress=progress, track=track, **options)

    resume_async = awaitable(resume)
    extend_async = awaitable(extend)

    def answers(self, protocol: str | None = None) -> Iterator[Answer]:
        """Yield every response with its problem and its mark, or None for a run that is not marked yet."""
        snapshot = self.snapshot()
        return (Answer(*each) for each in marked_responses(snapshot, _label(snapshot, protocol)))

    def answer(self, problem: str | int, sample: int = 0, *, marked: bool = True) -> Answer:
        """Return one response, by its problem's id, key or number; with `marked=False` without its mark."""
        snapshot = self.snapshot()
        if isinstance(problem, str):
            names = snapshot.ids if problem in snapshot.ids else snapshot.keys
            if problem not in names:
                raise KeyError(f"{self.path} has no problem {problem!r}; its ids are in run.snapshot().ids")
            number = names.index(problem)
        else:
            number = problem + snapshot.problems if problem < 0 else problem
            if not 0 <= number < snapshot.problems:
                raise IndexError(f"{self.path} has {snapshot.problems} problems, but none with the number {problem}")
        row, question = snapshot.row(number, sample), snapshot.question(number)
        response = snapshot.response(row) if row is not None else None
        if question is None or response is None or row is None:
            raise KeyError(f"{self.path} has no sample {sample} of problem {problem}")
        label = _label(snapshot) if marked else None
        mark = (snapshot.mark(label, row) or error_mark(response, label)) if label else None
        return Answer(question.problem, response, mark)

    def __getitem__(self, place: str | int | tuple[str | int, int]) -> Answer:
        """Return a sample of a problem: `run["aime-3"]`, `run[2]`, `run[2, 5]`."""
        problem, sample = place if isinstance(place, tuple) else (place, 0)
        try:
            return self.answer(problem if isinstance(problem, str) else index(problem), index(sample))
        except TypeError:
            raise UsageError(
                'a run is indexed by problem and sample: run[2], run[2, 5], run["id"]; list(run) has all responses'
            ) from None

    def rows(self, protocol: str | None = None) -> Rows:
        """Return one flat record per response: problem, verdict, extracted answer, tokens, text, problem metadata."""
        named = {"run": str(self.path), "benchmark": self.manifest.benchmark, "model": self.manifest.model}
        fields = self._metadata()
        return [
            {**named, **each.row(), **{name: _as(kind, each.problem.metadata.get(key)) for name, key, kind in fields}}
            for each in self.answers(protocol)
        ]

    def columns(self) -> Columns:
        """Return the type of each column; problem metadata come last, as `metadata_…` if a name is taken."""
        return {**COLUMNS, **{name: kind for name, _, kind in self._metadata()}}

    def _metadata(self) -> list[tuple[str, str, Any]]:
        """Return the column, the key and the type of each field of the problems' metadata."""
        kinds: dict[str, set[type]] = {}
        for question in self.snapshot().questions():
            for key, value in question.problem.metadata.items():
                huge = isinstance(value, int) and abs(value) >= 2**63  # too large for the integers of data frames
                kinds.setdefault(key, set()).add(str if huge else type(value))
        return [(f"metadata_{key}" if key in COLUMNS else key, key, _common(types)) for key, types in kinds.items()]

    def plot(self) -> Any:
        """Return pass@k against k as a matplotlib figure."""
        return self.report().plot()

    def __len__(self) -> int:
        return len(self.snapshot())

    def __iter__(self) -> Iterator[Answer]:
        return self.answers()

    def __contains__(self, problem: object) -> bool:
        return problem in self.snapshot().ids or problem in self.snapshot().keys

    def __bool__(self) -> bool:
        return True  # even before the first response

    def __repr__(self) -> str:
        manifest = self.manifest
        head = f"Run({str(self.path)!r}): {manifest.benchmark} · {manifest.model}"
        try:
            summary = self.summary
        except UsageError as not_marked:
            return f"{head}: {not_marked}"
        head = f"{head} · {self.manifest.status}"
        if not summary.responses:
            return f"{head}, nothing answered yet"
        lines = [head, f"  accuracy {percent(summary.accuracy)}"]
        lines += [f"  pass@{k} {percent(each)}" for k, each in summary.pass_at_k.items() if k != "1"]
        counts = ", ".join(f"{count:,} {verdict}" for verdict, count in summary.verdicts.items() if count)
        return "\n".join([*lines, f"  {manifest.problems:,} problems × {manifest.samples}: {counts}"])

    def _repr_html_(self) -> str | None:
        try:
            return self.report()._repr_html_()
        except UsageError:  # not marked: a notebook falls back to the repr, which says so
            return None


@contextmanager
def shown_and_tracked(title: str, progress: bool, track: str | Sequence[str], place: Path) -> Iterator[Display]:
    """Show progress and log to trackers while a run is asked. A run that a failure stops is reported too."""
    from markscheme.running.progress import progress as display
    from markscheme.tracking import tracked

    with tracked(display(title, quiet=not progress), track, place) as shown, shown:
        try:
            yield shown
        except MarkschemeError as failure:
            keep_stopped(failure)
            raise


def keep_stopped(failure: MarkschemeError) -> None:
    """Report the run that a failure stopped, and attach it to the failure as a `Run`."""
    if isinstance(failure.stopped_run, folder.Run):
        finish(failure.stopped_run)
        failure.stopped_run = Run(failure.stopped_run.path, failure.stopped_run.manifest)


def _label(snapshot: Snapshot, protocol: str | None = None) -> str | None:
    """Return the label of the marks; None for a run that is not marked if no protocol is named."""
    try:
        return marked_label(snapshot, protocol)
    except UsageError:
        if protocol is not None:
            raise
        return None


def _common(kinds: set[type]) -> Any:
    if kinds == {int}:
        return int | None
    return float if kinds <= {int, float} else str


def _as(kind: Any, value: Any) -> Any:
    return str(value) if kind is str and value is not None else value
