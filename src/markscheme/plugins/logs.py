"""A log of another tool becomes a run: its questions, prompts and responses as facts, marked by us.

The folder appears whole or not at all. What the other tool thought of a response is not taken over.
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
from markscheme.errors import DataError, JournalError, UsageError
from markscheme.marking import get_protocol
from markscheme.plugins.records import is_record, problem_of
from markscheme.prompts import prompts_sha256
from markscheme.reporting.summary import finish
from markscheme.running.closing import close, mark_the_rest
from markscheme.running.event_loop import run_async
from markscheme.running.prepare import package_versions
from markscheme.runs.folder import IMPORTED, Manifest, Run
from markscheme.runs.journal import Journal
from markscheme.types import Problem, Prompt, Question, Response


@dataclass(frozen=True)
class Entry:
    """One response of a log. `asked` is the tool's own id of the question, `fields` what it knows about the question."""

    asked: str
    fields: dict[str, Any]
    prompt: Prompt
    response: Response


@dataclass
class Log:
    """A log that was opened: what it says of itself, and its responses in a stream."""

    tool: str
    name: str  # of what was asked
    model: str
    entries: Iterator[Entry]
    started: str = ""
    ended: str | None = None
    sampling: dict[str, Any] = field(default_factory=dict)


def open_log(path: Path) -> Log:
    """Told by its shape; of the rest `.jsonl` is what lm_eval logs its samples as, and everything else is for Inspect to read."""
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

    The questions of our own tasks are known; those of other tasks are looked up in `benchmark` by their text, or, without
    one, taken from the log as they stand there.
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
            platform=platform.platform(),
            sampling=log.sampling,
        )
        run = Run.create(folder, manifest, asked)
        run_async(mark_the_rest(run, {question.problem.key: question.problem for question in asked}))
        close(run, "complete", ended=log.ended)
    finished = Run.open(out)
    finish(finished)
    return finished


class _Questions:
    """Which problem each entry answers."""

    def __init__(self, benchmark: str | None, log: Path) -> None:
        self._log = log
        bench = find_benchmark(benchmark) if benchmark else None
        self.benchmark = bench.name if bench else None
        self.protocol = bench.protocol if bench else None
        self._known = {squeezed(problem.statement): problem for problem in bench.problems} if bench else None
        self._asked: dict[str, Question] = {}
        self._keys: Counter[str] = Counter()

    def problem(self, entry: Entry) -> Problem:
        """The problem of an entry; the same for every sample of it."""
        if entry.asked not in self._asked:
            self._asked[entry.asked] = Question(problem=self._find(entry), prompt=entry.prompt)
        return self._asked[entry.asked].problem

    def asked(self) -> list[Question]:
        """Every question of the log, in its order."""
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
        if self._keys[problem.key] > 1:  # the log really asks the same thing twice
            problem = msgspec.structs.replace(problem, key=f"{problem.key}-{self._keys[problem.key]}")
        return problem

    def _inside(self, prompt: str) -> Problem | None:
        """Where a log holds the prompt only: the longest statement that stands in it."""
        held = [statement for statement in self._known or () if statement in prompt]
        return (self._known or {})[max(held, key=len)] if held else None

    @cached_property
    def _make(self) -> Callable[[int, dict[str, Any]], Problem]:
        """Settled over the whole log, each question once: no single row can say how an answer names its choice."""
        return own_problems([*{entry.asked: entry.fields for entry in open_log(self._log).entries}.values()])

    def _foreign(self, entry: Entry) -> Problem:
        """The problem of another's task, as its log has it."""
        if self._known is not None:  # the benchmark has the gold
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
    """A folder to fill, which gets its name only when it is done."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    except OSError as error:
        raise JournalError(f"cannot make the run folder {out}: {error.strerror}") from None
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
