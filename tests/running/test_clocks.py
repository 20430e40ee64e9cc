"""A clock that jumps, by a day and in both directions: nothing waits for it, nothing is counted by it."""

import json
import shutil
from pathlib import Path

import pytest
from kept_runs import answers, wait_until
from loopback import Loopback, Plan

from markscheme.runs.folder import Run

LIBRARIES = [*Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), *Path("/usr/lib/faketime").glob("libfaketime.so.1")]


@pytest.mark.skipif(not LIBRARIES or shutil.which("env") is None, reason="no libfaketime here")
@pytest.mark.parametrize("jump", ["-1d", "+1d"])
def test_clock_when_it_jumps_in_mid_run_then_the_run_goes_on_as_if_nothing_was(
    process, sums, right, fast, tmp_path, jump
):
    folder, clock = tmp_path / "run", tmp_path / "clock"
    clock.write_text("+0d\n")
    jumping = ("env", f"LD_PRELOAD={LIBRARIES[0]}", f"FAKETIME_TIMESTAMP_FILE={clock}", "FAKETIME_NO_CACHE=1")
    steady = ("DONT_FAKE_MONOTONIC=1", "FAKETIME_DONT_FAKE_MONOTONIC=1")  # as when somebody sets the time of a machine
    plan = Plan(answer=right, latency=0.02, faults={"429": 0.1}, retry_after=0.1)
    with Loopback(plan) as server:
        options = ("--base-url", server.url, "--concurrency", 4, "--out", folder)
        asking = process("run", sums(120), *fast, *options, prefix=(*jumping, *steady))
        wait_until(lambda: folder.exists() and len(answers(folder)) >= 30, 60)
        clock.write_text(f"{jump}\n")
        out, said = asking.communicate(timeout=200)
    assert asking.returncode == 0, said
    report = json.loads(out)
    assert report["responses"] == 120
    assert report["seconds"] is None or report["seconds"] >= 0
    responses = list(Run.open(folder).responses())
    assert all(0 <= one.latency < 60 for one in responses)
    days = {one.created[:10] for one in responses}
    assert len(days) == 2, "the clock did not jump"
