"""What every test may ask for."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of official data, where there is one: `$MARKSCHEME_DATA`, or beside the checkout."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("MARKSCHEME_DATA", beside))
    if not (folder / "gsm8k" / "test.jsonl").is_file():
        pytest.skip("no official data: set MARKSCHEME_DATA to a folder made by `markscheme data prepare`")
    return folder
