"""What a user's script uses, as `mypy --strict` sees it."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import assert_type

import markscheme as ms


def figures(folder: Path) -> float | None:
    run = ms.run("countdown-sample", model="nano", samples=4, out=folder)
    assert_type(run, ms.Run)
    assert_type(ms.load(folder), ms.Run)
    assert_type(run.extend(samples=8), ms.Run)
    report = ms.report(run, [folder, str(folder)], pass_k=(1, 4))
    assert_type(report, ms.Report)
    comparison = ms.compare(run, folder, margin=2.0)
    assert_type(comparison, ms.Comparison)
    assert_type(ms.audit(run), ms.Audit)
    assert_type(ms.plan(detect=5, pilot=run), ms.Plan)
    assert_type(ms.experiment("eval.toml"), ms.Experiment)
    assert_type(ms.mark("5", gold="5"), ms.Mark)
    assert_type(ms.list_benchmarks(), ms.Listing)
    assert_type(ms.judge(run, model="openai/x"), ms.Opinions)
    assert_type([answer.mark for answer in run], list[ms.Mark | None])
    problems: Sequence[ms.Problem] = ms.benchmark("gsm8k-sample").problems
    assert_type(ms.equal("1/2", "0.5"), bool)
    assert_type(comparison.p_value, float)
    print(report.text("markdown"), problems[0].gold, ms.data.list().to_pandas())
    return report.accuracy.value


async def several() -> list[ms.Run]:
    return [await ms.run_async("countdown-sample", model="solver"), await ms.resume_async("runs/x")]


if __name__ == "__main__":
    print(figures(Path("runs/x")), asyncio.run(several()))
