"""The sample sets that ship with the package: original problems, so that everything works offline."""

from __future__ import annotations

from importlib.resources import as_file, files

from markscheme.datasets.files import DataFile, Row, describe, read_rows_and_hash
from markscheme.errors import DataError


def read_sample(name: str) -> tuple[list[Row], DataFile]:
    """The rows of a packaged sample set, such as `gsm8k-sample`, and what was read."""
    resource = files("markscheme.datasets") / "samples" / f"{name}.jsonl"
    if not resource.is_file():
        raise DataError(f"There is no packaged sample set named {name!r}.")
    with as_file(resource) as path:
        rows, sha256 = read_rows_and_hash(path)
    return rows, describe(f"samples/{name}.jsonl", path, rows, sha256, "packaged with markscheme")
