"""The sandbox: limits are kept, the next task runs, no process stays behind, wherever it is called from."""

import asyncio
import os
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from markscheme.marking import sandbox

HERE = Path(__file__).parent


def task(name):
    return f"sandbox_tasks:{name}"


@pytest.fixture
def pool(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(HERE), prepend=os.pathsep)
    made = sandbox.Pool(2, memory_mb=512)
    yield made
    made.close()


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z" if Path("/proc").is_dir() else True


def gone(pid, within=60.0):
    end = time.monotonic() + within
    while time.monotonic() < end:
        if not alive(pid):
            return True
        time.sleep(0.05)
    return False


def test_a_task_when_it_returns_then_its_value_comes_back_and_the_worker_stays(pool):
    assert pool.run(task("add"), [2, 3], time_limit=60).value == 5
    first, second = (pool.run(task("pid"), [], time_limit=60).value for _ in range(2))
    assert first == second


def test_a_task_when_it_raises_then_the_reason_comes_back(pool):
    outcome = pool.run(task("fail"), [], time_limit=60)
    assert (outcome.status, outcome.why) == ("failed", "ValueError: no such thing")
    assert pool.run(task("add"), [1, 1], time_limit=60).value == 2


@pytest.mark.parametrize("hostile", ["spin", "tower"])
def test_a_task_when_it_does_not_end_then_it_is_killed_in_time_and_the_next_runs(pool, hostile):
    pid = pool.run(task("pid"), [], time_limit=60).value
    start = time.monotonic()
    outcome = pool.run(task(hostile), [], time_limit=0.3)
    assert outcome.status == "timeout"
    assert time.monotonic() - start < 60
    assert gone(pid)
    assert pool.run(task("add"), [1, 1], time_limit=60).value == 2


def test_a_task_when_it_takes_too_many_steps_then_it_ends_however_much_time_is_left(pool):
    most = next(
        size for size in range(1, 20) if pool.run(task("gather"), [size], time_limit=60, steps=10).status != "done"
    )
    assert 5 < most < 10  # 700 objects are a step
    for _ in range(5):  # the count is always the same
        assert pool.run(task("gather"), [most - 1], time_limit=60, steps=10).value == most - 1
        outcome = pool.run(task("gather"), [most], time_limit=60, steps=10)
        assert (outcome.status, outcome.why) == ("timeout", "took too many steps")


def test_a_task_when_it_takes_too_much_memory_then_it_fails_alone(pool):
    outcome = pool.run(task("hoard"), [2000], time_limit=60)
    assert (outcome.status, outcome.why) == ("failed", "ran out of memory")
    assert pool.run(task("hoard"), [10], time_limit=60).value == 10 << 20


def test_a_worker_when_it_dies_in_a_task_then_that_is_said_and_the_next_task_runs(pool):
    assert pool.run(task("die"), [], time_limit=60).status == "died"
    assert pool.run(task("add"), [1, 1], time_limit=60).value == 2


def test_an_idle_worker_when_killed_from_outside_then_the_next_task_runs_in_another(pool):
    pid = pool.run(task("pid"), [], time_limit=60).value
    os.kill(pid, 9)
    assert pool.run(task("add"), [1, 1], time_limit=60).value == 2


def test_a_task_when_it_prints_then_the_answer_is_not_disturbed(pool):
    assert pool.run(task("chatter"), [], time_limit=60).value == "quiet"


@pytest.mark.parametrize(("state", "wants_more"), [("R", True), ("D", True), ("S", False), ("Z", False)])
def test_a_worker_when_it_computes_or_waits_for_a_disk_then_it_is_not_idle(monkeypatch, state, wants_more):
    stat = f"7 (a) b) {state} 1 7 7 0 -1 4194304 0 0 0 0 150 50 0 0 20 0 1 0 0 0 0"
    monkeypatch.setattr(Path, "read_text", lambda self: stat)
    worked = sandbox._Worker(type("process", (), {"pid": 7})()).worked()
    assert worked == (200 / os.sysconf("SC_CLK_TCK") if wants_more else None)


def test_a_limit_when_tasks_queue_then_it_counts_from_the_start_of_work(pool):
    # Forty tasks of 0.1 s on two workers wait up to 1.9 s for their turn; none may time out at 1.5 s.
    with ThreadPoolExecutor(40) as threads:
        outcomes = list(threads.map(lambda _: pool.run(task("sleep"), [0.1], time_limit=1.5), range(40)))
    assert [o.value for o in outcomes] == ["slept"] * 40


def test_the_pool_when_used_from_asyncio_and_short_lived_threads_then_works(pool):
    async def many():
        return await asyncio.gather(
            *(asyncio.to_thread(pool.run, task("add"), [n, n], time_limit=60) for n in range(20))
        )

    assert [o.value for o in asyncio.run(many())] == [2 * n for n in range(20)]
    found = []
    for n in range(3):
        thread = threading.Thread(target=lambda n=n: found.append(pool.run(task("add"), [n, 1], time_limit=60).value))
        thread.start()
        thread.join()
    assert found == [1, 2, 3]


def test_the_pool_when_bombarded_then_never_has_more_processes_than_its_size(pool):
    seen = set()
    for n in range(30):
        pool.run(task("die" if n % 3 == 0 else "pid"), [], time_limit=60)
        seen |= {w.process.pid for w in [*pool._idle, *pool._busy]}
        assert len(pool._idle) + len(pool._busy) <= pool.size
    pool.close()
    assert all(gone(pid) for pid in seen)


def test_a_worker_when_it_has_done_its_share_then_it_is_replaced(pool, monkeypatch):
    monkeypatch.setattr(sandbox, "TASKS_PER_WORKER", 3)
    pids = [pool.run(task("pid"), [], time_limit=60).value for _ in range(6)]
    assert len(set(pids)) == 2


def test_a_worker_when_killed_then_the_next_does_not_import_everything_again(pool):
    """With sympy's import in each new worker, every hostile answer cost a second and more."""
    pool.run("sympy:sympify", [1], time_limit=60)  # the nursery has it now
    began = children()
    for _ in range(4):
        assert pool.run(task("spin"), [], time_limit=0.2).status == "timeout"
        assert pool.run("sympy:isprime", [7], time_limit=60).value is True
    assert (children() - began) / 4 < 0.2 + 0.25


def children():
    """CPU seconds of all descendants of this process that live or were waited for."""
    total, known = 0.0, {os.getpid()}
    for folder in sorted(Path("/proc").glob("[0-9]*"), key=lambda each: int(each.name)):
        try:
            counts = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(counts[1]) in known:
            known.add(int(folder.name))
            total += sum(map(int, counts[11:15])) / os.sysconf("SC_CLK_TCK")
    return total


def test_a_nursery_when_killed_from_outside_then_the_next_task_runs_all_the_same(pool):
    pool.run(task("pid"), [], time_limit=60)
    pool._nursery._process.kill()
    assert pool.run(task("die"), [], time_limit=60).status == "died"
    assert pool.run(task("add"), [1, 1], time_limit=60).value == 2


SCRIPT = """
    import os, sys, threading
    from markscheme.marking import sandbox

    def pid():
        return sandbox.default_pool().run("sandbox_tasks:pid", [], time_limit=20).value

    first = pid()
    print(first, flush=True)
    {then}
"""


def run_script(then, **options):
    code = textwrap.dedent(SCRIPT).replace("{then}", textwrap.dedent(then))
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])},
        **options,
    )


def test_a_script_without_a_main_guard_when_it_ends_then_its_worker_ends_too():
    process = run_script("")
    out, _ = process.communicate(timeout=200)
    assert process.returncode == 0
    assert gone(int(out))


def test_a_parent_when_killed_then_its_worker_ends_too():
    process = run_script("os.kill(os.getpid(), 9)")
    out, _ = process.communicate(timeout=200)
    assert gone(int(out))


def test_a_pool_when_the_process_forks_then_the_child_has_workers_of_its_own():
    process = run_script(
        """
        child = os.fork()
        if child == 0:
            own = pid()
            os._exit(0 if own != first else 1)
        status = os.waitpid(child, 0)[1]
        assert status == 0, status
        assert pid() == first
        """
    )
    out, _ = process.communicate(timeout=200)
    assert process.returncode == 0
    assert gone(int(out))
