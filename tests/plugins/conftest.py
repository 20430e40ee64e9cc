"""Scripted models and comparison with a run of our own, for both tools."""

import json

import pytest
from warm_commands import warm_commands

import markscheme as ms

LM_EVAL = ("lm_eval.__main__", "lm_eval.evaluator", "lm_eval.models.huggingface", "lm_eval.models.openai_completions")


@pytest.fixture(scope="session")
def lm_eval_programs(tmp_path_factory):
    """The folder of `markscheme` and `python -c` that have lm_eval and torch already: ten seconds of a core each time."""
    folder = tmp_path_factory.mktemp("lm_eval")
    with warm_commands(folder, *LM_EVAL, HF_HUB_OFFLINE="1", OMP_NUM_THREADS="1") as programs:
        yield programs


@pytest.fixture
def rerun(tmp_path):
    """Ask `markscheme run` with the responses of an imported run: what it makes of each (problem, sample)."""

    def marks_of(imported, benchmark, **options):
        lines = [
            {"key": one.key, "sample": one.sample, "text": one.text, "finish_reason": one.finish_reason}
            for one in imported.responses()
            if one.error is None
        ]
        stored = tmp_path / f"stored-{benchmark}.jsonl"
        stored.write_text("".join(json.dumps(line) + "\n" for line in lines))
        run = ms.run(
            benchmark,
            model=f"replay/{stored}",
            samples=imported.manifest.samples,
            out=tmp_path / f"rerun-{benchmark}",
            **options,
        )
        return {(mark.key, mark.sample): mark for mark in run.marks(run.manifest.protocol)}

    return marks_of
