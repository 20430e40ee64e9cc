"""The MATH-500 golds, where the data folder is at hand."""

import json

import pytest


@pytest.fixture(scope="session")
def golds(real_data):
    lines = (real_data / "math500" / "test.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["answer"] for line in lines]
