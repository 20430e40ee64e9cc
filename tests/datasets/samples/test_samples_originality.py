"""The sample sets are original: no long run of words stands in the real benchmarks too, nor in both halves of a sample."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sample_files import Row, rows

RUN = 8  # words in a row that two texts may not share; `what is the sum of the first` is still common property

SETS = ("gsm8k-sample", "gsm8k-sample-fewshot", "math-sample", "aime-sample")
OFFICIAL = (
    "gsm8k/train.jsonl",
    "gsm8k/test.jsonl",
    "math500/test.jsonl",
    "aime2024/I.jsonl",
    "aime2024/II.jsonl",
    "aime2025/I.jsonl",
    "aime2025/II.jsonl",
)
REPOSITORY = Path(__file__).parents[3]


def word_runs(text: str) -> set[tuple[str, ...]]:
    """Every `RUN` words in a row; runs of numbers are left out, for `2 * 2 * 2` belongs to nobody."""
    words = re.findall(r"[a-z0-9]+", re.sub(r"<<.*?>>", "", text.lower()))
    runs = (tuple(words[i : i + RUN]) for i in range(len(words) - RUN + 1))
    return {run for run in runs if sum(word.isalpha() and len(word) > 1 for word in run) >= 3}


def texts(row: Row) -> Iterator[str]:
    """The statement and the worked solution of a row, whatever the set calls them."""
    for field in ("question", "problem", "solution", "answer"):
        if isinstance(row.get(field), str):
            yield row[field]


def sample_runs() -> dict[tuple[str, ...], str]:
    """Every run of words in the sample sets, with the id of a problem that has it."""
    runs = {}
    for row in (row for name in SETS for row in rows(name)):
        for text in texts(row):
            runs |= dict.fromkeys(word_runs(text), row.get("id") or row["unique_id"])
    return runs


def official_data() -> Path:
    candidates = [Path(os.environ["MARKSCHEME_DATA"])] if "MARKSCHEME_DATA" in os.environ else []
    candidates.append(REPOSITORY.parent / "shared" / "data")
    for folder in candidates:
        if any((folder / name).exists() for name in OFFICIAL):
            return folder
    pytest.skip("the official data is not here: set MARKSCHEME_DATA to a folder that has it")


def test_samples_when_compared_with_official_data_then_share_no_long_run_of_words():
    folder, ours = official_data(), sample_runs()
    shared: dict[tuple[str, ...], str] = {}
    compared = 0
    for path in (folder / name for name in OFFICIAL if (folder / name).exists()):
        for line in path.read_text(encoding="utf-8").splitlines():
            compared += 1
            for text in texts(json.loads(line)):
                shared |= {run: ours[run] for run in word_runs(text) if run in ours}
    assert compared > 0
    assert shared == {}


def test_fewshot_pool_when_compared_with_evaluation_then_shares_no_long_run_of_words():
    evaluation = {run for row in rows("gsm8k-sample") for run in word_runs(row["question"])}
    pool = {run for row in rows("gsm8k-sample-fewshot") for run in word_runs(row["question"])}
    assert evaluation
    assert pool & evaluation == set()


def test_word_runs_when_a_text_is_lightly_edited_then_still_share_one():
    original = "Amara strings bracelets for the school fair. Each bracelet takes 14 small beads and 3 large beads."
    edited = "Maya strings bracelets for the school fair! Each bracelet takes 14 SMALL beads and 5 large beads."
    assert word_runs(original) & word_runs(edited)
    assert not word_runs("one two three") & word_runs("one two three")
