"""The recipes of docs/run-folder.md for pandas, polars, DuckDB and jq, on runs in which not everything went well."""

import json
import re
import subprocess
from pathlib import Path

import pytest

import markscheme as ms

PAGE = (Path(__file__).parents[2] / "docs" / "run-folder.md").read_text().partition("## With other tools")[2]
RECIPES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
JQ = re.search(r"```console\n\$ (jq .*?)\n```", PAGE)[1]


@pytest.fixture(scope="session")
def troubled(tmp_path_factory):
    """Two samples of six problems: right, wrong, cut off, failed, never asked for; one that failed was asked again."""
    folder = tmp_path_factory.mktemp("troubled")
    keys = {problem.key: problem.gold for problem in ms.benchmark("gsm8k-sample").problems[:6]}
    first, second, third, fourth, fifth, sixth = keys
    lines = [
        *({"key": first, "text": f"ANSWER: {keys[first]}"} for _ in range(2)),
        {"key": second, "text": "ANSWER: -1"},
        {"key": second, "error": "the server went away", "error_kind": "server"},
        {"key": third, "text": "so far", "finish_reason": "length"},
        {"key": third, "text": f"ANSWER: {keys[third]}"},
        *({"key": fourth, "error": "the server went away", "error_kind": "server"} for _ in range(2)),
        {"key": fifth, "text": f"ANSWER: {keys[fifth]}"},
    ]
    stored = folder / "stored.jsonl"
    stored.write_text("\n".join(map(json.dumps, lines)))
    run = ms.run("gsm8k-sample", model=f"replay/{stored}", limit=6, samples=2, out=folder / "run", progress=False)
    lines[3] = {"key": second, "text": f"ANSWER: {keys[second]}"}
    stored.write_text("\n".join(map(json.dumps, lines)))
    run.resume(progress=False)
    for file in (
        run.path / "responses.jsonl",
        *(run.path / "marks").iterdir(),
    ):  # as if it had been killed before these
        file.write_text("".join(line for line in file.read_text().splitlines(True) if sixth not in line))
    return ms.load(run)


def test_run_when_troubled_then_it_has_all_that_can_go_wrong(troubled):
    summary = troubled.summary
    assert {"correct", "wrong", "truncated", "error"} <= summary.verdicts.keys()
    assert summary.missing > summary.verdicts["error"]
    lines = [json.loads(line) for line in (troubled.path / "responses.jsonl").read_text().splitlines()]
    assert len({(line["key"], line["sample"]) for line in lines}) < len(lines)
    assert troubled.accuracy == pytest.approx((1 + 1 / 2 + 1 / 2 + 1) / 4)


@pytest.mark.needs("pandas", "polars", "duckdb")
def test_recipes_when_a_run_is_troubled_then_they_give_the_reports_accuracy(troubled):
    names = {"ms": ms}
    for code in RECIPES:
        exec(
            code.replace("runs/x", str(troubled.path)).replace("countdown.jsonl", f"{protocol(troubled)}.jsonl"), names
        )
    given = [names[f"{tool}_accuracy"] for tool in ("pandas", "polars", "duckdb")]
    assert given == pytest.approx([troubled.accuracy] * 3)


@pytest.mark.needs_program("jq")
def test_recipe_of_jq_when_a_run_is_troubled_then_it_gives_the_reports_accuracy(troubled):
    command = JQ.replace("runs/x/marks/countdown.jsonl", str(troubled.marks_file(protocol(troubled))))
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert float(done.stdout) == pytest.approx(troubled.accuracy)


def protocol(run):
    return run.manifest.protocol.partition("@")[0]
