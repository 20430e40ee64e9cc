"""A dataset of the Hub with an `eval.yaml` is a benchmark by its name."""

import io

import pytest
from hub_server import running_hub

import markscheme as ms
from markscheme.cli import main
from markscheme.errors import MarkschemeError

pyarrow = pytest.importorskip("pyarrow")
pytest.importorskip("huggingface_hub")

EVAL = """
name: Squares
evaluation_framework: inspect-ai
tasks:
  - id: squares
    config: main
    split: test
    field_spec: {input: question, target: answer}
    solvers: [{name: generate}]
    scorers: [{name: match}]
"""


@pytest.fixture
def hub(monkeypatch, tmp_path):
    from pyarrow import parquet

    rows = [{"question": f"What is {n} squared?", "answer": str(n * n), "level": n % 2} for n in range(4)]
    table = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(rows), table)
    with running_hub() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
        monkeypatch.setenv("MARKSCHEME_DATA", str(tmp_path / "data"))
        monkeypatch.chdir(tmp_path)
        server.files["someone/squares", "eval.yaml"] = EVAL.encode()
        server.files["someone/squares", "main/test/0000.parquet"] = table.getvalue()
        yield server


def test_dataset_when_it_has_an_eval_yaml_then_it_is_prepared_shown_and_asked_by_its_name(hub, tmp_path, capsys):
    assert main(["data", "prepare", "hf/someone/squares"]) == 0
    bench = ms.benchmark("hf/someone/squares")
    assert [problem.gold for problem in bench.problems] == ["0", "1", "4", "9"]
    assert bench.name == "someone-squares"
    asked = len(hub.requests)
    outputs = tmp_path / "o.jsonl"
    outputs.write_text("".join(f'{{"problem_id": "{p.id}", "text": "\\\\\\\\boxed{{4}}"}}\n' for p in bench.problems))
    run = ms.run("hf/someone/squares", model=f"replay/{outputs}", out=tmp_path / "run", progress=False)
    assert ms.report(run).accuracy.value == 0.25
    assert len(hub.requests) == asked  # the yaml and the data are kept


def test_dataset_when_its_data_is_not_here_then_the_command_that_fetches_it_is_named(hub, capsys):
    assert main(["run", "hf/someone/squares", "--model", "solver"]) in (1, 2)
    assert "data prepare hf/someone/squares" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("hf/someone/squares/cubes", EVAL, "choose one of hf/someone/squares/squares"),
        ("hf/someone/squares", "tasks: 4", "has no task"),
        ("hf/someone/squares", "tasks: [", "cannot be read"),
        ("hf/someone/squares", EVAL.replace("target: answer", "target: 'literal:yes'"), "not a gold answer"),
        ("hf/nobody/nothing", EVAL, "eval.yaml of nobody/nothing"),
    ],
)
def test_name_when_it_cannot_be_asked_then_one_sentence(hub, name, content, said):
    hub.files["someone/squares", "eval.yaml"] = content.encode()
    with pytest.raises(MarkschemeError, match=said):
        ms.benchmark(name)
