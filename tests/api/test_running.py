"""Running from Python: inside an event loop, cancelled, interrupted, grown; what was paid for is kept."""

import asyncio
import os
import signal
import threading
import time

import pytest
from loopback import Loopback, Plan

import markscheme as ms
from markscheme.errors import JournalError, UsageError


@pytest.fixture
def server():
    """Answers after a tenth of a second, and counts what it is asked."""
    with Loopback(Plan(latency=0.1, text="ANSWER: 18"), count=True) as running:
        yield running


def options(server):
    return {"model": "openai/m", "base_url": server.url, "concurrency": 2, "samples": 4, "progress": False}


def wait_for(condition, seconds=200):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_run_async_when_cancelled_then_what_came_is_kept_and_not_asked_again(server, tmp_path):
    async def cancelled():
        task = asyncio.create_task(ms.run_async("gsm8k-sample", out=tmp_path / "run", **options(server)))
        await asyncio.to_thread(wait_for, lambda: sum(server.answered.values()) >= 6)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    stopped = ms.load(tmp_path / "run")
    kept = stopped.snapshot().answered
    assert 0 < kept < stopped.snapshot().expected
    before = sum(server.answered.values())
    stopped.resume(progress=False, concurrency=8)
    assert stopped.manifest.status == "complete"
    assert sum(server.answered.values()) - before == stopped.snapshot().expected - kept


def test_run_when_a_loop_is_running_already_then_it_runs_as_ever(solver, tmp_path):
    async def cell():
        return ms.run("countdown-sample", model="solver", limit=8, out=tmp_path / "run", progress=False)

    assert asyncio.run(cell()).accuracy == solver.accuracy


def test_runs_when_awaited_together_then_each_has_its_own(tmp_path):
    async def both():
        work = [
            ms.run_async("countdown-sample", model="solver", limit=n, out=tmp_path / str(n), progress=False)
            for n in (3, 5)
        ]
        return await asyncio.gather(*work)

    assert [run.manifest.problems for run in asyncio.run(both())] == [3, 5]


def test_run_when_the_cell_is_interrupted_then_what_came_is_kept(server, tmp_path):
    """As a notebook does it: Ctrl-C in the main thread while its own loop is running."""

    async def cell():
        return ms.run("gsm8k-sample", out=tmp_path / "run", **options(server))

    def interrupt():
        wait_for(lambda: sum(server.answered.values()) >= 6)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    loop = asyncio.new_event_loop()  # asyncio.run would take the signal for itself; a notebook's kernel does not
    with pytest.raises(KeyboardInterrupt):
        loop.run_until_complete(cell())
    loop.close()
    kept = ms.load(tmp_path / "run").snapshot().answered
    assert 0 < kept < 49 * 4
    assert kept == sum(server.asked.values())  # what was in flight was paid for, and came


def test_extend_when_samples_are_added_then_eight_are_those_of_eight_at_once(tmp_path):
    run = ms.run("countdown-sample", model="nano", limit=2, samples=4, out=tmp_path / "grown", progress=False)
    run.extend(samples=8, progress=False)
    whole = ms.run("countdown-sample", model="nano", limit=2, samples=8, out=tmp_path / "whole", progress=False)
    texts = [{(one.key, one.sample): one.text for one in each.responses()} for each in (run, whole)]
    assert texts[0] == texts[1]
    assert run.summary.samples == 8
    assert ms.resume(run.path, progress=False).accuracy == run.accuracy
    with pytest.raises(UsageError, match="samples=16"):
        run.extend()


def test_experiment_when_run_from_python_then_its_runs_come_back(tmp_path):
    file = tmp_path / "both.toml"
    file.write_text(
        'benchmarks = ["countdown-sample"]\nlimit = 3\n[models.exact]\nmodel = "solver"\n[models.box]\nmodel = "nano"\n'
    )
    runs = ms.experiment(file, out=tmp_path / "out", progress=False)
    assert {run.manifest.model for run in runs} == {"solver", "nano"}
    assert len(ms.report(tmp_path / "out").runs) == 2
    with pytest.raises(JournalError, match=r"ms\.report"):
        ms.load(tmp_path / "out")


def test_progress_when_asked_for_outside_a_notebook_then_it_goes_to_standard_error(
    server, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr("markscheme.running.progress.Lines.every", 0.05)
    ms.run("gsm8k-sample", out=tmp_path / "run", **{**options(server), "progress": True, "limit": 4})
    out, err = capsys.readouterr()
    assert "gsm8k-sample: " in err
    assert "done" in err
    assert out == ""
