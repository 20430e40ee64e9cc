"""The live display on a real (pseudo) terminal."""

import os
import pty
import subprocess
import sys

from loopback import Loopback, Plan


def test_display_when_on_a_terminal_then_redrawn_in_place_and_gone_at_the_end(sums, right, tmp_path):
    ours, theirs = pty.openpty()
    with Loopback(Plan(answer=right, latency=0.2)) as server:
        command = [
            *(sys.executable, "-m", "markscheme", "run", str(sums(40)), "--protocol", "gsm8k-numeric"),
            *("--model", "openai/m", "--base-url", server.url, "--concurrency", "8", "--out", str(tmp_path / "run")),
        ]
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
        process = subprocess.Popen(command, stderr=theirs, stdout=subprocess.PIPE, env=environment)
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            shown += part
        report, _ = process.communicate(timeout=200)
    os.close(ours)
    assert process.returncode == 0
    assert shown.count(b"in flight") >= 3
    assert b"accuracy" in shown
    assert b"\x1b[2K" in shown  # lines are wiped
    assert b"run folder" in report
    assert b"in flight" not in report
