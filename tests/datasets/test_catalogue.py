"""The catalogue: every pin is complete, and the pinned hashes are those of the real rows."""

import re

import pytest

from markscheme.datasets import read_data_file
from markscheme.datasets.catalogue import DATASETS, FILES, find_dataset
from markscheme.errors import UsageError

PINNED = [file for file in FILES.values() if file.sha256 is not None]


@pytest.mark.parametrize("file", FILES.values(), ids=lambda file: file.name)
def test_catalogue_when_a_source_counts_as_pinned_then_its_revision_is_a_commit(file):
    for source in file.sources:
        assert bool(re.fullmatch("[0-9a-f]{40}", source.revision)) == source.pinned
    assert re.fullmatch("[0-9a-f]{64}", file.sha256) if file.sources[0].pinned else file.sha256 is None


@pytest.mark.parametrize("file", PINNED, ids=lambda file: file.name)
def test_catalogue_when_compared_with_the_real_rows_then_count_and_hash_are_theirs(file, real_data):
    rows, read = read_data_file(file.name, real_data, "a benchmark")
    assert (len(rows), file.hash_of(rows)) == (file.rows, file.sha256)
    assert read.check == ("answers" if file.hashed else "content")


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("gsm8k", "gsm8k"),
        ("GSM-8K", "gsm8k"),
        ("math-500", "math500"),
        ("MATH", "math500"),
        ("aime24", "aime2024"),
        ("AIME-2024-I", "aime2024"),
        ("aime-2025-II", "aime2025"),
        ("aime_2025", "aime2025"),
        ("countdown", "countdown"),
    ],
)
def test_find_dataset_when_typed_as_people_do_then_it_is_found(typed, name):
    assert find_dataset(typed) is DATASETS[name]


@pytest.mark.parametrize("typed", ["", "gsm", "aime", "aime2024iii", "gsm8k-sample", "i"])
def test_find_dataset_when_it_is_none_then_the_names_are_told(typed):
    with pytest.raises(UsageError, match="gsm8k, math500, aime2024, aime2025, countdown"):
        find_dataset(typed)
