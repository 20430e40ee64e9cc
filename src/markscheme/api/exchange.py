"""`ms.show`, `ms.list_benchmarks` …, `ms.push`, `ms.export`, `ms.import_log`: list what is available, and move runs in
and out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from markscheme.api.reports import Some, named_benchmark, open_runs
from markscheme.api.run import Run
from markscheme.benchmarks import Benchmark, benchmarks, with_examples
from markscheme.benchmarks import benchmark as find_benchmark
from markscheme.errors import UsageError, option
from markscheme.marking import get_protocol, protocol_names
from markscheme.models import backend_names
from markscheme.pages.frames import Columns, Listing, Result, Rows, Several
from markscheme.pages.parts import Part
from markscheme.prompts import prompts_sha256
from markscheme.types import Question


def catalogue() -> Several:
    """Return benchmarks, protocols and model backends, as `markscheme list` prints them."""
    return Several({"benchmarks": list_benchmarks(), "protocols": list_protocols(), "models": list_models()})


def list_benchmarks() -> Listing:
    """Return the benchmarks by name."""
    names = ("name", "protocol", "prompts", "summary")
    each = [(one.name, one.protocol, [*one.templates], one.summary) for one in benchmarks().values()]
    rows = ((name, protocol, ", ".join(prompts), summary) for name, protocol, prompts, summary in each)
    return _listing(names, rows, content=[dict(zip(names, one, strict=True)) for one in each])


def list_protocols() -> Listing:
    """Return the protocols by name."""
    rules = map(get_protocol, protocol_names())
    return _listing(("name", "version", "summary"), ((rule.name, rule.version, rule.description) for rule in rules))


def list_models() -> Listing:
    """Return the model backends, as in `openai/NAME`."""
    return _listing(("name", "summary"), backend_names().items())


def _listing(names: tuple[str, ...], rows: Iterable[tuple[str, ...]], content: Any = None) -> Listing:
    return Listing((dict(zip(names, row, strict=True)) for row in rows), dict.fromkeys(names, str), content=content)


def show(
    benchmark: str | Benchmark,
    *,
    problem: str | None = None,
    prompt: str | None = None,
    system_prompt: str | None = None,
    fewshot: int | None = None,
    fewshot_pool: str | None = None,
    fewshot_seed: int = 42,
    data_dir: str | None = None,
) -> Shown:
    """Return a problem of a benchmark (by id or key, else the first) and the exact prompt."""
    if (fewshot or 0) < 0 or fewshot_seed < 0:
        raise UsageError(f"{option('fewshot')} and {option('fewshot_seed')} take numbers from 0 up")
    bench = benchmark if isinstance(benchmark, Benchmark) else find_benchmark(benchmark, data_dir)
    if fewshot_pool:
        bench = with_examples(bench, fewshot_pool, data_dir)
    questions = bench.questions(variant=prompt, fewshot=fewshot, fewshot_seed=fewshot_seed, system_prompt=system_prompt)
    wanted = [each for each in questions if problem is None or problem in (each.problem.id, each.problem.key)]
    if not wanted:
        ids = ", ".join(question.problem.id for question in questions[:3])
        raise UsageError(f"{bench.name} has no problem {problem!r}; its ids are like {ids}")
    return Shown(bench, wanted[0], questions)


class Shown(Result):
    """A question as a model sees it, and its gold."""

    _COLUMNS: ClassVar[Columns] = {"role": str, "content": str}

    def __init__(self, bench: Benchmark, question: Question, questions: list[Question]) -> None:
        self.question, self.problem, self.messages = question, question.problem, question.prompt.messages
        self.prompt_sha256 = prompts_sha256(each.prompt for each in questions)
        """The hash of the prompts of all problems, as in a manifest."""
        self._bench, self._count = bench, len(questions)

    def rows(self) -> Rows:
        """Return one record per message."""
        return [{"role": each.role, "content": each.content} for each in self.messages]

    def content(self) -> dict[str, Any]:
        """Return what `show --json` prints."""
        return {"question": self.question, "prompt_sha256": self.prompt_sha256}

    def page(self) -> Iterator[Part]:
        """Yield the messages as they are sent, and the gold."""
        yield Part("text", repr(self))

    def __repr__(self) -> str:
        problem, gold = self.problem, self.problem.gold
        lines = [f"{self._bench.name}, problem {problem.id} (key {problem.key}), {self._count} problems in all"]
        if self._bench.reading:
            lines.append(f"read as {self._bench.reading}")
        for message in self.messages:
            lines += ["", f"── {message.role} " + "─" * 60, message.content]
        made = gold if isinstance(gold, str) else f"any way to make {gold.target} from {', '.join(map(str, gold.nums))}"
        lines += ["", "── gold, never sent " + "─" * 50, made]
        lines += [f"{name}: {value}" for name, value in problem.metadata.items()]
        return "\n".join([*lines, "", f"marked with {self._bench.protocol} by default"])


def push(*runs: Some, to: str, public: bool = False, model_repo: str | None = None) -> list[str]:
    """Push runs to a tracker (`"wandb"`, `"mlflow"`, `"trackio"`, `"tensorboard"`), or one to the Hub as `"owner/name"`.

    Returns where they are. `model_repo` also opens a pull request that adds the score to a model on the Hub.
    """
    from markscheme.tracking import push_runs

    return list(push_runs(open_runs(runs), to, public=public, model_repo=model_repo))


def export(*runs: Some, to: str = "inspect", output: str | Path = "logs", redact: bool = False) -> list[Path]:
    """Write runs as logs for Inspect, or one run as an archive `NAME.msz`, and return the files.

    `to="every-eval-ever"` and `to="lm-eval"` write the figures alone. `redact` leaves statements, solutions and prompts
    out of an archive.
    """
    from markscheme.plugins.inspect_export import export_inspect
    from markscheme.plugins.results_export import FORMATS, export_results
    from markscheme.runs.archive import SUFFIX, pack

    opened, place = open_runs(runs), Path(output)
    if redact and place.suffix != SUFFIX:
        raise UsageError(f"{option('redact')} works on an archive; name one with {option('output', f'FILE{SUFFIX}')}")
    if to not in ("inspect", *FORMATS):
        raise UsageError(f"a run is exported to inspect, {' or '.join(FORMATS)}, not to {to!r}")
    if place.suffix == SUFFIX and (to != "inspect" or len(opened) > 1):
        raise UsageError(
            f"FILE{SUFFIX} is an archive of one whole run: leave {option('to')} out, and pack each run by itself"
        )
    if len(opened) > 1 and place.suffix:
        raise UsageError(f"one log cannot hold {len(opened)} runs; name a folder with {option('output')}")
    if place.suffix == SUFFIX:
        return [pack(opened[0].path, place, redact)]
    return [export_results(each, place, to) if to in FORMATS else export_inspect(each, place) for each in opened]


def import_log(
    log: str | Path, *, benchmark: str | None = None, protocol: str | None = None, out: str | Path | None = None
) -> Run:
    """Import a log of Inspect, lm-evaluation-harness, lighteval, OpenCompass, EvalScope, verifiers or MathArena as a run."""
    from markscheme.plugins.logs import import_log as read_log
    from markscheme.running import new_folder

    place = Path(out) if out is not None else new_folder("import", Path(log).stem)
    made: Any = read_log(Path(log), place, benchmark=named_benchmark(benchmark), protocol=protocol)
    return Run(made.path, made.manifest)
