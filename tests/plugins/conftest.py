"""Scripted models and comparison with a run of our own, for both tools."""

import json

import pytest

import markscheme as ms


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
