"""The official data sets: where each comes from, at which revision, and the hash its rows must have.

Nothing here is fetched or read. A hash is over the canonical rows (`files.content_hash`), so it does not change with
the container. What could not be pinned is marked as such and never passes for pinned.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from markscheme.datasets import rows as forms
from markscheme.datasets.files import Row, content_hash
from markscheme.errors import UsageError

UNPINNED = "main"
"""The revision of a source for which no commit is known: whatever its branch holds at the first fetch is recorded."""


@dataclass(frozen=True)
class HubFile:
    """One file in a dataset repository of the Hugging Face Hub, and which of its rows are wanted."""

    repo: str
    revision: str
    path: str
    select: Callable[[list[Row]], list[Row]] = forms.all_rows

    @property
    def pinned(self) -> bool:
        """Whether the revision is a commit, which can never come to mean other content."""
        return self.revision != UNPINNED

    def at(self, commit: str) -> str:
        """The address with the commit that was really served, in the notation of the Hub's own tools."""
        return f"hf://datasets/{self.repo}@{commit}/{self.path}"

    def __str__(self) -> str:
        return self.at(self.revision)


@dataclass(frozen=True)
class OfficialFile:
    """One file of the data folder: its form, its sources (the first that exists is used), and what its rows must be.

    `hashed` names the fields that `sha256` covers, all of them if empty. Without a `sha256` the first fetch is
    trusted and recorded beside the file, and every later one must equal it; `examine` then refuses what cannot be right.
    """

    name: str
    rows: int
    form: Callable[[Row], Row]
    sources: tuple[HubFile, ...]
    sha256: str | None
    hashed: tuple[str, ...] = ()
    examine: Callable[[list[Row]], None] = forms.no_more_checks
    stand_in: str | None = None

    def hash_of(self, rows: list[Row]) -> str:
        """The hash of canonical rows that is to be compared with `sha256`."""
        if not self.hashed:
            return content_hash(rows)
        return content_hash({field: row[field] for field in self.hashed} for row in rows)


@dataclass(frozen=True)
class OfficialDataset:
    """A data set under the name that `markscheme data prepare` takes."""

    name: str
    licence: str
    sample: str
    files: tuple[OfficialFile, ...]


# Commits: each stands, with the same file, in several unrelated public repositories that pin it.
_GSM8K = ("openai/gsm8k", "740312add88f781978c0658806c59bc2815b9866")
_MATH500 = ("HuggingFaceH4/MATH-500", "6e4ed1a2a79af7d8630a6b768ec859cb5af4d3be")
_AIME_2024_I = ("MathArena/aime_2024_I", "ea5b061c3e8039dc9858defaafc407d04b995e9f")
_AIME_2024_II = ("MathArena/aime_2024_II", "29d5d31e9b46e215fc24d9b2a3047506823dd101")
_AIME_2025 = ("MathArena/aime_2025", "c94da77eb22bbd6439e62a323bec18493a421302")
_ONE_SHARD = "data/train-00000-of-00001.parquet"

# The wording of a contest problem differs a little between transcriptions; its number and its answer do not. So these
# two are what is pinned by hash, and the wording by the commit (and by the record of the first fetch).
_ANSWERS = ("answer", "problem_idx")

_GSM8K_DATASET = OfficialDataset(
    name="gsm8k",
    licence="MIT",
    sample="gsm8k-sample",
    files=(
        OfficialFile(
            name="gsm8k/test.jsonl",
            rows=1319,
            form=forms.gsm8k_row,
            sources=(HubFile(*_GSM8K, "main/test-00000-of-00001.parquet"),),
            sha256="32c548f08195e19e33408b844dd7be6aa4bcae457d957bc05909ff4bd4a00595",
        ),
        OfficialFile(
            name="gsm8k/train.jsonl",
            rows=7473,
            form=forms.gsm8k_row,
            sources=(HubFile(*_GSM8K, "main/train-00000-of-00001.parquet"),),
            sha256="dca449882e67a1e7716b5da453650a7b16588a1f2d1a0d82394a43d75ea7e9ca",
        ),
    ),
)

_MATH500_DATASET = OfficialDataset(
    name="math500",
    licence="MIT",
    sample="math-sample",
    files=(
        OfficialFile(
            name="math500/test.jsonl",
            rows=500,
            form=forms.math_row,
            sources=(HubFile(*_MATH500, "test.jsonl"),),
            sha256="8c64443b4679d04084c214ae2cd13788f384ae5e3b17c33086a8960e97aa686b",
        ),
    ),
)

_AIME_2024_DATASET = OfficialDataset(
    name="aime2024",
    licence="CC BY-NC-SA 4.0; problems © MAA",
    sample="aime-sample",
    files=(
        OfficialFile(
            name="aime2024/I.jsonl",
            rows=15,
            form=forms.aime_row,
            sources=(HubFile(*_AIME_2024_I, _ONE_SHARD),),
            sha256="88fd802ec4e22d00ba7cdc8f11cc74af3898974080e765cff6d6bdc14da327dd",
            hashed=_ANSWERS,
        ),
        OfficialFile(
            name="aime2024/II.jsonl",
            rows=15,
            form=forms.aime_row,
            sources=(HubFile(*_AIME_2024_II, _ONE_SHARD),),
            sha256="242e65b0d6e89dc0a1a05c693a9fec1d03e4937f8d6b2cd417267dd622a78a7a",
            hashed=_ANSWERS,
        ),
    ),
)

_AIME_2025_DATASET = OfficialDataset(
    name="aime2025",
    licence="CC BY-NC-SA 4.0; problems © MAA",
    sample="aime-sample",
    files=(
        OfficialFile(
            name="aime2025/I.jsonl",
            rows=15,
            form=forms.aime_row,
            sources=(HubFile(*_AIME_2025, _ONE_SHARD, forms.first_contest),),
            sha256="03e2305a8d54007a603548a313ce7f6c4fa2a66c985ec87f0b3fe922d6643367",
            hashed=_ANSWERS,
        ),
        OfficialFile(
            name="aime2025/II.jsonl",
            rows=15,
            form=forms.aime_row,
            sources=(HubFile(*_AIME_2025, _ONE_SHARD, forms.second_contest),),
            sha256="32c12c40de646ad40459ba111b517590a7962faf522e2280c8e21eabe562181b",
            hashed=_ANSWERS,
        ),
    ),
)

# No commit and no hash of either set could be established, so the first fetch is trusted and recorded.
_COUNTDOWN_DATASET = OfficialDataset(
    name="countdown",
    licence="not stated",
    sample="countdown-sample",
    files=(
        OfficialFile(
            name="countdown/test.jsonl",
            rows=forms.COUNTDOWN_TEST_ROWS,
            form=forms.countdown_row,
            sources=(
                HubFile("Stephen-Xie/Countdown", UNPINNED, "data/test-00000-of-00001.parquet"),
                HubFile("Jiayi-Pan/Countdown-Tasks-3to4-Unique", UNPINNED, _ONE_SHARD, forms.countdown_test_split),
            ),
            sha256=None,
            examine=forms.every_puzzle_solvable,
            stand_in="countdown/sample.jsonl",
        ),
    ),
)

DATASETS = {
    dataset.name: dataset
    for dataset in (_GSM8K_DATASET, _MATH500_DATASET, _AIME_2024_DATASET, _AIME_2025_DATASET, _COUNTDOWN_DATASET)
}
"""Every official data set, by name."""

FILES = {file.name: file for dataset in DATASETS.values() for file in dataset.files}
"""Every official file, by its name in the data folder."""


def find_dataset(name: str) -> OfficialDataset:
    """The data set that a user means: `gsm8k`, and also `MATH-500`, `aime24`, `aime-2025-II`."""
    plain = "".join(letter for letter in name.lower() if letter.isalnum())
    plain = {"math": "math500"}.get(plain, plain)
    plain = re.sub(r"^aime(2[0-9])(?=i{0,2}$)", r"aime20\1", plain)  # aime24 is AIME 2024
    for dataset in DATASETS.values():
        part = plain.removeprefix(dataset.name)
        if plain.startswith(dataset.name) and (not part or (part in ("i", "ii") and dataset.name.startswith("aime"))):
            return dataset
    raise UsageError(f"There is no official data set named {name!r}; there are {', '.join(DATASETS)}.")
