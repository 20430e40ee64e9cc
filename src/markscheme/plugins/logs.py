"""Convert another tool's log to a run: its questions, prompts and responses, marked by us.

The folder is created completely or not at all. The other tool's own scores are not imported.
"""

from __future__ import annotations

import hashlib
import platform
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from markscheme.benchmarks import benchmark as find_benchmark
from markscheme.benchmarks.registry import own_problems
from markscheme.config import make_config
from markscheme.datasets import DataFile
from markscheme.datasets.stored import squeezed
from markscheme.errors import DataError, JournalError, UsageError, os_reason
from markscheme.marking import get_protocol
from markscheme.plugins.records import is_record, problem_of
from markscheme.prompts import prompts_sha256
from markscheme.reporting.summary import finish
from markscheme.running.closing import close, mark_the_rest
from markscheme.running.event_loop import run_async
from markscheme.running.prepare import package_versions, platform_name
from markscheme.runs.folder import IMPORTED, Manifest, Run
from markscheme.runs.journal import Journal
from markscheme.types import Problem, Prompt, Question, Response


@dataclass(frozen=True)
class Entry:
    """A response of a log. `asked` is the tool's own id of the question, `fields` the question's other fields."""

    asked: str
    fields: dict[str, Any]
    prompt: Prompt
    response: Response


@dataclass
class Log:
    """An open log: its metadata, and its responses as a stream."""

    tool: str
    name: str  # of the questions
    model: str
    entries: Iterator[Entry]
    started: str = ""
    ended: str | None = None
    sampling: dict[str, Any] = field(default_factory=dict)


def open_log(path: Path) -> Log:
    """Open a log by its format; any other `.jsonl` is read as lm_eval's samples, and everything else by Inspect."""
    if not path.exists():
        raise UsageError(f"there is no log {path}")
    from markscheme.plugins.other_logs import open_other

    if (other := open_other(path)) is not None:
        return other
    if path.is_dir():
        raise UsageError(f"{path} is a folder without a log that could be read; name the log itself")
    if path.suffix == ".jsonl":
        from markscheme.plugins.lm_eval_log import open_samples

        return open_samples(path)
    from markscheme.plugins.inspect_log import open_eval

    return open_eval(path)


def import_log(path: Path, out: Path, *, benchmark: str | None = None, protocol: str | None = None) -> Run:
    """Make a run folder from a log and mark it.

    Questions of our own tasks are recognized; those of other tasks are looked up in `benchmark` by their text, or
    without one taken from the log as they are.
    """
    if out.exists():
        raise JournalError(f"{out} exists already; choose another --out")
    log = open_log(path)
    questions = _Questions(benchmark, path)
    samples = answered = 0
    with _whole_folder(out) as folder:
        with Journal(folder / "responses.jsonl") as journal:
            for entry in log.entries:
                problem = questions.problem(entry)
                one = msgspec.structs.replace(entry.response, key=problem.key, problem_id=problem.id)
                journal.write([one])
                answered += one.error is None
                samples = max(samples, one.sample + 1)
        if not samples:
            raise DataError(f"{path} holds no responses")
        asked = questions.asked()
        rule = get_protocol(protocol or questions.protocol or asked[0].problem.protocol)
        name = questions.benchmark or log.name
        manifest = Manifest(
            config=make_config(benchmark=name, model=IMPORTED, samples=samples, protocol=rule.name),
            benchmark=name,
            model=log.model,
            protocol=rule.label,
            samples=samples,
            problems=len(asked),
            data=(_evidence(path, log.tool, answered),),
            prompt_sha256=prompts_sha256(question.prompt for question in asked),
            server_model=log.model,
            started=log.started,
            packages=package_versions(),
            python=platform.python_version(),
            platform=platform_name(),
            sampling=log.sampling,
        )
        run = Run.create(folder, manifest, asked)
        run_async(mark_the_rest(run, {question.problem.key: question.problem for question in asked}))
        close(run, "complete", ended=log.ended)
    finished = Run.open(out)
    finish(finished)
    return finished


class _Questions:
    """Match each entry with its problem."""

    def __init__(self, benchmark: str | None, log: Path) -> None:
        self._log = log
        bench = find_benchmark(benchmark) if benchmark else None
        self.benchmark = bench.name if bench else None
        self.protocol = bench.protocol if bench else None
        self._known = {squeezed(problem.statement): problem for problem in bench.problems} if bench else None
        self._asked: dict[str, Question] = {}
        self._keys: Counter[str] = Counter()

    def problem(self, entry: Entry) -> Problem:
        """Return the problem of an entry, the same for all samples of a question."""
        if entry.asked not in self._asked:
            self._asked[entry.asked] = Question(problem=self._find(entry), prompt=entry.prompt)
        return self._asked[entry.asked].problem

    def asked(self) -> list[Question]:
        """Return every question of the log in order."""
        return list(self._asked.values())

    def _find(self, entry: Entry) -> Problem:
        if is_record(entry.fields):
            problem = problem_of(entry.fields)
            if self._known is None:
                self.benchmark = str(entry.fields["benchmark"])
                return problem
        else:
            problem = self._foreign(entry)
        if self._known is not None:
            known = self._known.get(squeezed(problem.statement)) or self._inside(squeezed(problem.statement))
            if known is None:
                raise DataError(
                    f"question {entry.asked} of the log is not in {self.benchmark}: {problem.statement[:80]!r}"
                )
            problem = known
        self._keys[problem.key] += 1
        if self._keys[problem.key] > 1:  # the log really asks the same question twice
            problem = msgspec.structs.replace(problem, key=f"{problem.key}-{self._keys[problem.key]}")
        return problem

    def _inside(self, prompt: str) -> Problem | None:
        """Return the longest statement contained in the prompt, for a log that holds only prompts."""
        held = [statement for statement in self._known or () if statement in prompt]
        return (self._known or {})[max(held, key=len)] if held else None

    @cached_property
    def _make(self) -> Callable[[int, dict[str, Any]], Problem]:
        """Build the problems from the whole log, because a single row cannot show how an answer names its choice."""
        return own_problems([*{entry.asked: entry.fields for entry in open_log(self._log).entries}.values()])

    def _foreign(self, entry: Entry) -> Problem:
        """Return the problem of another tool's task as found in its log."""
        if self._known is not None:  # the gold comes from the benchmark
            asked = str(entry.fields.get("question") or entry.fields.get("problem") or "")
            if asked:
                return Problem(id=entry.asked, statement=asked, gold="")
        try:
            return self._make(len(self._asked), entry.fields)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"question {entry.asked} of the log has no statement and answer that could be read ({error}); "
                "say which benchmark it is from with -b"
            ) from None


@contextmanager
def _whole_folder(out: Path) -> Iterator[Path]:
    """Yield a temporary folder that gets its final name only when complete."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    except OSError as error:
        raise JournalError(f"cannot make the run folder {out}: {os_reason(error)}") from None
    try:
        yield folder
        folder.chmod(0o755)  # mkdtemp makes a private one; a run folder is shared
        folder.rename(out)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _evidence(path: Path, tool: str, responses: int) -> DataFile:
    digest = hashlib.sha256()
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        with file.open("rb") as log:
            digest.update(hashlib.file_digest(log, "sha256").digest() if path.is_dir() else log.read())
    sha256 = digest.hexdigest()
    return DataFile(
        name=path.name,
        path=str(path.absolute()),
        sha256=sha256,
        rows=responses,
        content_sha256=sha256,
        source=f"log of {tool}",
    )
