"""Logs of five further tools, in the shapes that their own writers give them, become runs; figures go out as others read them."""

import json

import pytest

import markscheme as ms
from markscheme.cli import main
from markscheme.errors import DataError, UsageError


def write(file, content):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        "".join(json.dumps(row) + "\n" for row in content) if isinstance(content, list) else json.dumps(content)
    )
    return file


def user(text):
    return [{"role": "user", "content": text}]


def assistant(text, **more):
    return {"role": "assistant", "content": text, **more}


def math_arena(folder):
    for number, right in ((1, "4"), (2, "9")):
        said = [
            [*user(f"Please: {number} squared plus 3?"), assistant("hm", type="cot"), assistant(f"\\boxed{{{each}}}")]
            for each in ("4", "7")
        ]
        row = {
            "idx": number,
            "problem": f"{number} squared plus 3?",
            "gold_answer": right if number == 1 else "7",
            "messages": said,
        }
        write(folder / "aime_2030" / "model-x" / f"{number}.json", row)
    return folder / "aime_2030" / "model-x"


def open_compass(folder):
    rows = {
        str(n): {
            "origin_prompt": [{"role": "HUMAN", "prompt": f"{n} squared plus 3?"}],
            "prediction": [f"\\boxed{{{each}}}" for each in (4, 7)],
        }
        | {"gold": str(n * n + 3)}
        for n in (1, 2)
    }
    return write(folder / "predictions" / "model-x" / "squares.json", rows)


def eval_scope(folder):
    rows = [
        {"index": 2 * n + k, "target": str(n * n + 3), "sample_score": {"group_id": n, "score": {}}}
        | {"messages": [*user(f"{n} squared plus 3?"), assistant([{"type": "text", "text": f"\\boxed{{{said}}}"}])]}
        for n in (1, 2)
        for k, said in enumerate((4, 7))
    ]
    return write(folder / "reviews" / "model-x" / "squares_default.jsonl", rows)


def eval_scope_texts(folder):
    """Without a conversation: the prompt as one text, and what was said beside the score."""
    rows = [
        {"index": 2 * n + k, "input": f"**User**: \n{n} squared plus 3?", "target": str(n * n + 3)}
        | {"sample_score": {"score": {"value": {"acc": 1.0}, "prediction": f"\\boxed{{{said}}}"}, "group_id": n}}
        for n in (1, 2)
        for k, said in enumerate((4, 7))
    ]
    return write(folder / "reviews" / "model-x" / "squares_default.jsonl", rows)


def verifiers(folder):
    write(folder / "metadata.json", {"model": "model-x", "env_id": "squares"})
    rows = [
        {
            "example_id": n,
            "prompt": user(f"{n} squared plus 3?"),
            "completion": [assistant(f"\\boxed{{{said}}}")],
            "answer": str(n * n + 3),
        }
        | {"reward": 1.0, "is_truncated": False, "metrics": {}, "token_usage": {"output_tokens": 5.0}}
        for n in (1, 2)
        for said in (4, 7)
    ]
    return write(folder / "results.jsonl", rows)


def lighteval(folder):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = [
        {"doc": {"query": f"{n} squared plus 3?", "choices": [str(n * n + 3)], "gold_index": [0], "id": str(n)}}
        | {
            "model_response": {"text": ["\\boxed{4}", "\\boxed{7}"], "reasonings": [None, "hm"], "input": None},
            "metric": {"em": 1.0},
        }
        for n in (1, 2)
    ]
    file = folder / "details" / "model-x" / "now" / "details_squares|0_now.parquet"
    file.parent.mkdir(parents=True)
    parquet.write_table(pyarrow.Table.from_pylist(rows), file)
    return file


@pytest.mark.parametrize("make", [math_arena, open_compass, eval_scope, eval_scope_texts, verifiers, lighteval])
def test_log_when_it_is_of_another_tool_then_it_becomes_a_marked_run(make, tmp_path):
    run = ms.import_log(make(tmp_path / "log"), protocol="math", out=tmp_path / "run")
    assert run.manifest.model == "model-x"
    assert (run.manifest.problems, run.manifest.samples) == (2, 2)
    assert ms.report(run).accuracy.value == 0.5
    assert {question.problem.gold for question in run.questions()} == {"4", "7"}
    assert all("squared" in question.prompt.messages[-1].content for question in run.questions())


def test_log_when_it_holds_prompts_only_then_the_benchmark_has_the_statement_and_the_gold(tmp_path):
    problems = ms.benchmark("math-sample").problems[:2]
    rows = {
        str(n): {"origin_prompt": f"Solve this.\n{p.statement}\nBox the answer.", "prediction": f"\\boxed{{{p.gold}}}"}
        for n, p in enumerate(problems)
    }
    run = ms.import_log(write(tmp_path / "m" / "x.json", rows), benchmark="math-sample", out=tmp_path / "run")
    assert ms.report(run).accuracy.value == 1.0
    for row in rows.values():  # of a subjective set: what is asked, not the answer
        row["gold"] = {"capability": "arithmetic"}
    with pytest.raises(DataError, match="say which benchmark it is from"):
        ms.import_log(write(tmp_path / "m" / "y.json", rows), out=tmp_path / "other")
    assert [question.problem.id for question in run.questions()] == [p.id for p in problems]


def test_log_when_a_row_is_damaged_then_one_sentence(tmp_path):
    file = verifiers(tmp_path)
    file.write_text(file.read_text() + '{"example_id": 9, "completion": 5, "prompt": []}\n')
    with pytest.raises(DataError, match="looks like verifiers, but a row cannot be read"):
        ms.import_log(file, protocol="math", out=tmp_path / "run")
    with pytest.raises(UsageError, match="folder without a log"):
        ms.import_log((tmp_path / "empty").mkdir() or tmp_path / "empty", out=tmp_path / "other")


def test_export_when_to_every_eval_ever_then_every_figure_has_its_interval(tmp_path, capsys):
    run = ms.import_log(verifiers(tmp_path / "log"), protocol="math", out=tmp_path / "run")
    assert main(["export", str(run.path), "--to", "every-eval-ever", "-o", str(tmp_path / "out")]) == 0
    made = json.loads((tmp_path / "out" / "run.every-eval-ever.json").read_text())
    assert made["schema_version"] == "0.3.0"
    first = made["evaluation_results"][0]
    assert first["score_details"]["score"] == 0.5
    bounds = first["score_details"]["uncertainty"]["confidence_interval"]
    assert bounds["lower"] < 0.5 < bounds["upper"]
    assert bounds["confidence_level"] == 0.95
    assert {each["metric_config"]["metric_name"] for each in made["evaluation_results"]} == {
        "accuracy",
        "pass@1",
        "pass@2",
        "truncation",
    }


def test_export_when_to_lm_eval_then_its_results_are_under_the_task(tmp_path):
    run = ms.import_log(verifiers(tmp_path / "log"), protocol="math", out=tmp_path / "run")
    (file,) = ms.export(run, to="lm-eval", output=tmp_path / "out")
    made = json.loads(file.read_text())
    assert file.name.startswith("results_")
    assert made["results"]["squares"]["accuracy,none"] == 0.5
    assert made["n-samples"]["squares"] == {"original": 2, "effective": 2}
    assert made["higher_is_better"]["squares"]["truncation"] is False
