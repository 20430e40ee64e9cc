"""Verifying: the state of each file."""

import json

import pytest

from markscheme.benchmarks import benchmark
from markscheme.datasets.folder import inspect

PUZZLES = [{"nums": [n, 2, 3], "target": n + 5} for n in range(1, 1001)]


def write(folder, name, rows):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize(
    ("present", "rows", "state", "detail"),
    [
        (None, [], "missing", "not fetched"),
        ("countdown/sample.jsonl", PUZZLES, "stand-in", "only countdown/sample.jsonl is there"),
        ("countdown/test.jsonl", PUZZLES, "unrecorded", "nothing to compare with"),
        ("countdown/test.jsonl", PUZZLES[:7], "differs", "7 rows instead of 1000"),
        ("countdown/test.jsonl", [{"nums": []}], "unreadable", "row 1"),
    ],
)
def test_inspect_when_the_file_is_in_a_state_then_it_is_reported(tmp_path, present, rows, state, detail):
    if present:
        write(tmp_path, present, rows)
    report = inspect(benchmark("countdown").sources[0], tmp_path)
    assert (report.name, report.state) == ("countdown/test.jsonl", state)
    assert detail in report.detail
    assert (report.file.rows if report.file else 0) == (0 if state in ("missing", "unreadable") else len(rows))
