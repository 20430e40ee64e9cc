"""`ms.list_benchmarks`, `ms.show`, `ms.push`, `ms.export`, `ms.import_log`: what there is, and what goes to other tools."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markscheme.api.frames import Listing
from markscheme.errors import UsageError

if TYPE_CHECKING:
    from markscheme.api.reports import Runs
    from markscheme.api.run import Run
    from markscheme.benchmarks import Benchmark
    from markscheme.types import Question


def list_benchmarks() -> Listing:
    """What can be asked, by name."""
    from markscheme.benchmarks import benchmarks

    rows = [
        {"name": each.name, "protocol": each.protocol, "prompts": ", ".join(each.templates), "summary": each.summary}
        for each in benchmarks().values()
    ]
    return Listing(rows, dict.fromkeys(("name", "protocol", "prompts", "summary"), str))


def list_protocols() -> Listing:
    """How it can be marked, by name."""
    from markscheme.marking import get_protocol, protocol_names

    rules = map(get_protocol, protocol_names())
    rows = [{"name": rule.name, "version": rule.version, "summary": rule.description} for rule in rules]
    return Listing(rows, {"name": str, "version": str, "summary": str})


def list_models() -> Listing:
    """Who can answer: the backends, as in `openai/NAME`."""
    from markscheme.models import backend_names

    rows = [{"name": name, "summary": summary} for name, summary in backend_names().items()]
    return Listing(rows, {"name": str, "summary": str})


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
    """A benchmark's problem (by id or key; the first without), and the prompt really sent for it."""
    from markscheme.benchmarks import Benchmark, with_examples
    from markscheme.benchmarks import benchmark as find_benchmark

    if (fewshot or 0) < 0 or fewshot_seed < 0:
        raise UsageError("--fewshot and --fewshot-seed take numbers from 0 up")
    bench = benchmark if isinstance(benchmark, Benchmark) else find_benchmark(benchmark, data_dir)
    if fewshot_pool:
        bench = with_examples(bench, fewshot_pool, data_dir)
    questions = bench.questions(variant=prompt, fewshot=fewshot, fewshot_seed=fewshot_seed, system_prompt=system_prompt)
    wanted = [each for each in questions if problem is None or problem in (each.problem.id, each.problem.key)]
    if not wanted:
        ids = ", ".join(question.problem.id for question in questions[:3])
        raise UsageError(f"{bench.name} has no problem {problem!r}; its ids are like {ids}")
    return Shown(bench, wanted[0], questions)


class Shown:
    """One question as a model would see it, and its gold."""

    def __init__(self, bench: Benchmark, question: Question, questions: list[Question]) -> None:
        from markscheme.prompts import prompts_sha256

        self.question, self.problem, self.messages = question, question.problem, question.prompt.messages
        self.prompt_sha256 = prompts_sha256(each.prompt for each in questions)
        """The hash of the prompts of all problems, as a manifest has it."""
        self._bench, self._count = bench, len(questions)

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


def push(*runs: Runs | Iterable[Runs], to: str, public: bool = False, model_repo: str | None = None) -> list[str]:
    """Runs to a tracker (`"wandb"`, `"mlflow"`, `"trackio"`, `"tensorboard"`), or one as `"owner/name"` to the Hub.

    Returns where they are. `model_repo` also proposes the score to a model of the Hub, in a pull request.
    """
    from markscheme.api.reports import paths_of
    from markscheme.runs.folder import find_runs
    from markscheme.tracking import push_runs

    return list(push_runs(find_runs(paths_of(runs)), to, public=public, model_repo=model_repo))


def export(
    *runs: Runs | Iterable[Runs], to: str = "inspect", output: str | Path = "logs", redact: bool = False
) -> list[Path]:
    """Runs as logs of another tool (Inspect's, for `inspect view`), or one run as a file to send, `NAME.msz`; the files.

    `to="every-eval-ever"` and `to="lm-eval"` write the figures alone, as those collect them.

    `redact` leaves statements, solutions and prompts out of a `.msz`.
    """
    from markscheme.api.reports import paths_of
    from markscheme.plugins.inspect_export import export_inspect
    from markscheme.plugins.results_export import FORMATS, export_results
    from markscheme.runs.archive import SUFFIX, pack
    from markscheme.runs.folder import find_runs

    opened, place = find_runs(paths_of(runs)), Path(output)
    if redact and place.suffix != SUFFIX:
        raise UsageError(f"statements are left out of a run as one file; name it with -o FILE{SUFFIX}")
    if to not in ("inspect", *FORMATS):
        raise UsageError(f"a run is exported to inspect, {' or '.join(FORMATS)}, not to {to!r}")
    if len(opened) > 1 and place.suffix:
        raise UsageError(f"{len(opened)} runs do not go into one log; name a folder with -o")
    if place.suffix == SUFFIX:
        return [pack(opened[0].path, place, redact)]
    if to in FORMATS:
        return [export_results(each, place, to) for each in opened]
    return [export_inspect(each, place) for each in opened]


def import_log(
    log: str | Path, *, benchmark: str | None = None, protocol: str | None = None, out: str | Path | None = None
) -> Run:
    """A log of Inspect, lm-evaluation-harness, lighteval, OpenCompass, EvalScope, verifiers or MathArena as a run, marked by us."""
    from markscheme.api.reports import named_benchmark
    from markscheme.api.run import Run
    from markscheme.plugins.logs import import_log as read_log
    from markscheme.running import new_folder

    place = Path(out) if out is not None else new_folder("import", Path(log).stem)
    made: Any = read_log(Path(log), place, benchmark=named_benchmark(benchmark), protocol=protocol)
    return Run(made.path, made.manifest)
