"""The MATH-500 golds, where the data folder is at hand, and the generator of rewritings from `perf`."""

import json
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "perf"))


@pytest.fixture(scope="session")
def golds():
    folder = Path(os.environ.get("MARKSCHEME_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        folder = ROOT.parent.parent / "shared" / "data"
    path = folder / "math500" / "test.jsonl"
    if not path.is_file():
        pytest.skip("the MATH-500 data is not here: set MARKSCHEME_DATA to a folder with math500/test.jsonl")
    return [json.loads(line)["answer"] for line in path.read_text("utf-8").splitlines()]
