"""`ms.attack`, `ms.audit_rollouts`, `ms.select`: check a reward before training, audit it during training, select
prompts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from markscheme.api.options import plain_numbers
from markscheme.api.reports import Runs, load, path_of
from markscheme.benchmarks import Benchmark
from markscheme.benchmarks import benchmark as find_benchmark
from markscheme.errors import UsageError, counted, needed, option
from markscheme.pages.frames import Columns, Result, Rows
from markscheme.pages.parts import Part
from markscheme.reporting.summary import marked_label
from markscheme.rewards import attacks, gaming
from markscheme.rewards.rollouts import Reader, golds_of, lines_to_label, read_rollouts
from markscheme.runs.folder import write_atomically
from markscheme.types import CountdownGold


def attack(
    reward: Any,
    benchmark: str | Benchmark,
    *,
    strict: str | bool | None = None,
    limit: int | None = None,
    beside: bool = True,
    data_dir: str | None = None,
) -> attacks.Attacked:
    """Try every known trick on a protocol or reward function: `.rows` are the earnings, `.above` those that beat a
    constant.

    `reward` is a protocol's name, `module:function`, `file.py:function`, or a function in the signature of TRL, verl or
    `(response, gold)`. `beside` compares with Math-Verify and with the last number of a response.
    """
    bench = benchmark if isinstance(benchmark, Benchmark) else find_benchmark(benchmark, data_dir)
    problems = list(bench.problems)[:limit]
    return attacks.attack(reward, problems, bench.name, strict=strict, beside=beside)


def serve(
    *,
    host: str,
    port: int,
    protocol: str | None = None,
    strict: str | None = None,
    queue: int = 4096,
    benchmark: str | None = None,
    data_dir: str | None = None,
) -> None:
    """Answer reward requests of trainers over HTTP until stopped; `/reset` draws from the problems of `benchmark`."""
    from markscheme.rewards.serving import serve as answer

    problems = list(find_benchmark(benchmark, data_dir).problems) if benchmark else []
    with suppress(KeyboardInterrupt):
        answer(host, port, protocol=protocol, strict=strict, queue=queue, problems=problems)


def audit_rollouts(
    rollouts: str | Path,
    *,
    by: str = "step",
    protocol: Any = None,
    beside: Sequence[Any] | None = None,
    strict: str = "tricks",
    benchmark: str | None = None,
    data_dir: str | None = None,
    plot: str | None = None,
    html: str | Path | None = None,
) -> gaming.Watched:
    """Judge the stored rollouts of a training run step by step: `.steps`, and `.alarms` where a signal rose beyond
    chance.

    Reads verl's, TRL's and verifiers' files and plain JSON lines. `benchmark` provides golds for rows without one, by their
    statement. `beside` names protocols whose disagreement is shown (default: those of `gaming.BESIDE` that fit the golds).
    `plot` draws the curves into a file, `html` writes a page with all of it into a folder.
    """
    if by != "step":
        raise UsageError(f"rollouts are audited by step, not by {by}")
    following = follow(
        rollouts, protocol=protocol, beside=beside, strict=strict, benchmark=benchmark, data_dir=data_dir
    )
    for _ in following.read(whole=True):
        pass
    watched = following.watched()
    if not watched.steps:
        raise UsageError(
            f"no rollout has a gold answer; add {option('benchmark', 'NAME')} for the benchmark they were drawn from"
        )
    if plot:
        gaming.plot(watched, plot)
    if html is not None:
        from markscheme.view.rollouts import write_page

        write_page(watched, Path(html))
    return watched


def follow(
    rollouts: str | Path,
    *,
    protocol: Any = None,
    beside: Sequence[Any] | None = None,
    strict: str = "tricks",
    benchmark: str | None = None,
    data_dir: str | None = None,
) -> gaming.Following:
    """Return the audit of a training run that is still writing rollouts."""
    golds = golds_of(list(find_benchmark(benchmark, data_dir).problems)) if benchmark else None
    return gaming.Following(Reader(rollouts, golds), gaming.Monitor(protocol, strict, beside))


def label_sample(
    rollouts: str | Path,
    count: int,
    output: str | Path,
    *,
    seed: int = 0,
    benchmark: str | None = None,
    data_dir: str | None = None,
) -> int:
    """Draw rollouts at random and write them to `output` with an empty `label`; return how many.

    Set each `label` to true or false and audit the file: it then shows the reward's false positives and negatives.
    """
    if count < 1:
        raise UsageError(f"a sample has at least 1 rollout, not {count}")
    golds = golds_of(list(find_benchmark(benchmark, data_dir).problems)) if benchmark else None
    rows = [each for each in read_rollouts(rollouts, golds)[0] if each.gold is not None]
    write_atomically(Path(output), lines_to_label(rows, count, seed))
    return min(count, len(rows))


class Selected(Result, list[dict[str, Any]]):
    """The selected problems, one row each."""

    def __init__(self, between: tuple[float, float], out: str | Path | None) -> None:
        super().__init__()
        self._between, self._out = between, out

    _COLUMNS: ClassVar[Columns] = {
        "id": str, "key": str, "statement": str, "answer": str, "solve_rate": float, "samples": int, "correct": int,
    }  # fmt: skip

    def rows(self) -> Rows:
        """Return one record per problem, without the messages."""
        return [{name: each.get(name) for name in self._COLUMNS} for each in self]

    def content(self) -> dict[str, Any]:
        """Return what `select --json` prints."""
        return {"selected": len(self), "between": self._between, "file": self._out}

    def page(self) -> Iterator[Part]:
        """Yield how many there are, and in a notebook which."""
        low, high = self._between
        place = "" if self._out is None else f" in {self._out}"
        yield Part("text", f"{counted(len(self), 'problem')} with a solve rate from {low:g} to {high:g}{place}")
        if self._out is None:
            yield Part("table", self.rows())


@plain_numbers
def select(
    run: Runs,
    *,
    between: tuple[float, float] = (0.0, 1.0),
    out: str | Path | None = None,
    protocol: str | None = None,
) -> Selected:
    """Return the problems of a run whose solve rate is within `between`, and write them to `out` (.parquet or .jsonl).

    A row has the prompt as sent (`prompt`, a list of messages), `statement`, `answer`, and for Countdown `nums` and
    `target`: a data set for TRL and verl.
    """
    low, high = between
    if not 0 <= low <= high <= 1:
        raise UsageError(
            f"{option('between')} takes two solve rates from 0 to 1, the lower first, not {low:g} and {high:g}"
        )
    opened = load(path_of(run))
    snapshot = opened.snapshot()
    counts = snapshot.counts(marked_label(snapshot, protocol))
    solved = {key: (int(n), int(c)) for key, n, c in zip(counts.keys, counts.n, counts.c, strict=True)}
    rows = Selected((low, high), out)
    for question in opened.questions():
        problem = question.problem
        n, c = solved.get(problem.key, (0, 0))
        if not n or not low <= c / n <= high:
            continue
        messages = [{"role": each.role, "content": each.content} for each in question.prompt.messages]
        row: dict[str, Any] = {"id": problem.id, "key": problem.key, "statement": problem.statement, "prompt": messages}
        row |= {**_gold(problem.gold), "solve_rate": c / n, "samples": n, "correct": c}
        rows.append(row)
    if out is not None:
        _write(rows, Path(out))
    return rows


def _gold(gold: Any) -> dict[str, Any]:
    if isinstance(gold, CountdownGold):
        return {"nums": list(gold.nums), "target": gold.target}
    return {"answer": gold}


def _write(rows: Selected, out: Path) -> None:
    if out.suffix == ".parquet":
        table = needed("pyarrow", "data").Table.from_pylist(list(rows))
        sink = needed("pyarrow", "data").BufferOutputStream()
        needed("pyarrow.parquet", "data").write_table(table, sink)
        write_atomically(out, sink.getvalue().to_pybytes(), gate=False)
    elif out.suffix == ".jsonl":
        write_atomically(out, b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    else:
        raise UsageError(f"{out} must end in .parquet or .jsonl")
