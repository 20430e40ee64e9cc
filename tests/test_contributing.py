"""CONTRIBUTING.md, followed to the letter in a copy of the package: what it says to write is all that has to be written.

The backend is followed in tests/models/test_plugins.py, as a package of its own.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hub_server import jsonl, parquet, running_hub

ROOT = Path(__file__).parents[1]
ROWS = [{"problem": f"What is {n} + {n}?", "solution": f"It is \\boxed{{{2 * n}}}."} for n in range(272)]


def blocks(title):
    """The first fenced block of each language below a heading."""
    section = (ROOT / "CONTRIBUTING.md").read_text().partition(f"## {title}\n")[2].partition("\n## ")[0]
    fenced = re.findall(r"^```(\w+)\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    return dict(reversed(fenced))


@pytest.fixture
def copy(tmp_path):
    """A copy of the package to write into; `copy.run(…)` is its command line, in a scratch folder without data."""
    package = tmp_path / "src" / "markscheme"
    shutil.copytree(ROOT / "src" / "markscheme", package, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "work").mkdir()

    def run(*words, **variables):
        environment = {
            **os.environ,
            "PYTHONPATH": str(package.parent),
            "MARKSCHEME_DATA": str(tmp_path / "data"),
            "HF_HOME": str(tmp_path / "hf"),
            **variables,
        }
        done = subprocess.run(
            [sys.executable, "-m", "markscheme", *map(str, words)],
            cwd=tmp_path / "work", env=environment, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def add_line(file, table, line):
        """Put a line at the top of a table."""
        text = (package / file).read_text()
        start = text.index("(\n", re.search(rf"^{table}\b.*$", text, re.MULTILINE).start()) + 2
        (package / file).write_text(text[:start] + line + text[start:])

    return SimpleNamespace(run=run, add_line=add_line, package=package)


def served(repo, path):
    return SimpleNamespace(repo=repo, path=path)


def test_contributing_when_its_benchmark_is_written_then_prepared_verified_and_shown(copy):
    (copy.package / "benchmarks" / "shipped" / "mine.toml").write_text(blocks("Add a benchmark")["toml"])
    with running_hub() as hub:
        hub.add(served("somebody/mine", "data/test.parquet"), parquet(ROWS))
        assert "272 rows" in copy.run("data", "prepare", "mine", HF_ENDPOINT=hub.endpoint)
    assert "mine" in copy.run("data", "verify", "mine")
    assert "What is 0 + 0?" in copy.run("show", "mine")


def test_contributing_when_its_mirror_is_written_then_it_stands_in_for_the_first_source(copy):
    definition = blocks("Add a benchmark")["toml"]
    line = next(line for line in definition.splitlines() if line.startswith("hub"))
    mirrored = definition.replace(line, blocks("Add a data source")["text"].strip())
    (copy.package / "benchmarks" / "shipped" / "mine.toml").write_text(mirrored)
    with running_hub() as hub:
        hub.add(served("mirror/mine", "test.jsonl"), jsonl(ROWS))
        assert "272 rows" in copy.run("data", "prepare", "mine", HF_ENDPOINT=hub.endpoint)


def test_contributing_when_its_protocol_is_written_then_listed_and_marks(copy, tmp_path):
    written = blocks("Add a protocol")
    judging = written["python"].partition("\n\nPROTOCOL")[0]
    (copy.package / "marking" / "protocols" / "verbatim.py").write_text(judging)
    copy.add_line("marking/protocols/table.py", "PROTOCOLS", written["text"])
    assert "the whole output, to the letter" in copy.run("list")
    outputs = [{"gold": "6", "text": "6"}, {"gold": "6", "text": "It is 6."}]
    (tmp_path / "work" / "outputs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in outputs))
    (score,) = json.loads(copy.run("mark", "outputs.jsonl", "--protocol", "verbatim", "--json"))["protocols"]
    assert score["verdicts"] == {"correct": 1, "wrong": 1}


def test_contributing_when_its_metric_is_written_then_reported_and_compared_with_intervals(copy):
    copy.add_line("statistics/metrics.py", "TABLE", blocks("Add a metric")["text"])
    for seed in ("1", "2"):
        copy.run(
            *("run", "countdown-sample", "--model", "nano", "-n", "4", "-k", "2", "--limit", "6", "--max-tokens", "60"),
            *("--seed", seed, "--out", f"runs/{seed}"),
        )
    (report,) = json.loads(copy.run("report", "runs/1", "-k", "2", "--metric", "fail@2", "--format", "json"))["runs"]
    failed, passed = report["metrics"]["fail@2"], report["pass_at_k"]["2"]
    assert 0 < failed["value"] == pytest.approx(1 - passed["value"])
    assert (failed["low"], failed["high"]) == pytest.approx((1 - passed["high"], 1 - passed["low"]))
    compared = json.loads(copy.run("compare", "runs/1", "runs/2", "--metric", "fail@2", "--json"))["comparison"]
    assert compared["a"]["estimate"] == pytest.approx(failed["value"])
    assert compared["difference"]["low"] <= compared["difference"]["estimate"] <= compared["difference"]["high"]


CALCULATOR = """
import ast, operator
from markscheme.tools.base import Result, Tool
from markscheme.types import ToolSpec

DO = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


class Calculator(Tool):
    spec = ToolSpec(name="calculator", description="Calculate.", parameters={
        "type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]})

    async def run(self, arguments, earlier):
        try:
            return Result(f"{value(ast.parse(self.read(arguments)['expression'], mode='eval').body):g}")
        except (ValueError, TypeError, KeyError, SyntaxError, ZeroDivisionError, OverflowError, RecursionError):
            return Result("that cannot be calculated", failed=True)


def value(node):
    if isinstance(node, ast.BinOp):
        return DO[type(node.op)](value(node.left), value(node.right))
    return float(node.value)


def create(config):
    return Calculator()
"""


@pytest.mark.parametrize(
    ("name", "code", "arguments", "answer"),
    [
        ("factor", None, {"number": 84}, "2 * 2 * 3 * 7"),
        ("calculator", CALCULATOR, {"expression": "12 * (3 + 4)"}, "84"),
    ],
)
def test_contributing_when_a_tool_is_written_by_it_then_a_model_calls_it(copy, name, code, arguments, answer):
    """The one that it shows, and a calculator as somebody else would write it: two files each."""
    (copy.package / "tools" / f"{name}.py").write_text(code or blocks("Add a tool")["python"])
    table = copy.package / "tools" / "base.py"
    row = blocks("Add a tool")["text"].replace("factor", name, 1)
    table.write_text(table.read_text().replace("TOOLS = {\n", f"TOOLS = {{\n{row}"))
    work = copy.package.parents[1] / "work"
    (work / "problems.jsonl").write_text(
        json.dumps({"question": "What is it?", "answer": answer.split(" ")[-1]}) + "\n"
    )
    call = {"id": "c", "name": name, "arguments": json.dumps(arguments)}
    turns = [{"role": "assistant", "tool_calls": [call]}, {"role": "assistant", "text": "done"}]
    stored = {"question": "What is it?", "text": "done", "turns": turns}
    (work / "stored.jsonl").write_text(json.dumps(stored) + "\n")
    asked = ("run", "problems.jsonl", "--model", "replay/stored.jsonl", "--tools", name, "--out", "runs/one", "--json")
    report = json.loads(copy.run(*asked))
    assert report["tools"]["calls"] == 1
    [response] = map(json.loads, (work / "runs" / "one" / "responses.jsonl").read_text().splitlines())
    assert response["turns"][1]["text"] == answer
    written = "".join(map(str, arguments.values()))
    turns = [{"role": "assistant", "text": f"<|python_start|>{written}"}, {"role": "assistant", "text": "done"}]
    (work / "stored.jsonl").write_text(json.dumps({**stored, "turns": turns}) + "\n")
    copy.run(*asked[:-2], "runs/text", "--json", "--tool-format", "nanochat")
    [response] = map(json.loads, (work / "runs" / "text" / "responses.jsonl").read_text().splitlines())
    assert response["turns"][1]["text"] == f"<|python_end|><|output_start|>{answer}<|output_end|>"
