"""Runs to report on, made by replaying stored outputs."""

import json

import pytest

import markscheme as ms


@pytest.fixture(scope="session")
def replayed(tmp_path_factory):
    """Makes a run of `aime-sample`, four samples, in which the first `right` of each problem's samples are correct."""

    def make(right, *, limit=6, name="outputs", benchmark="aime-sample", pass_k=(1, 2)):
        folder = tmp_path_factory.mktemp("reporting")
        lines = [
            {
                "problem_id": problem.id,
                "sample": sample,
                "text": f"\\boxed{{{problem.gold if sample < right(index) else 'no'}}}",
                "completion_tokens": 10,
            }
            for index, problem in enumerate(ms.benchmark(benchmark).problems[:limit])
            for sample in range(4)
        ]
        file = folder / f"{name}.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return ms.run(benchmark, model=f"replay/{file}", samples=4, limit=limit, pass_k=pass_k, out=folder / "run")

    return make
