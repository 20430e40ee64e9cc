"""Make the JSON Schemas of the files in a run folder: `python -m markscheme.schemas docs/schemas`.

They are in a folder named by the version of the run folder (`format` in a manifest); those of older versions are kept.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec

from markscheme.reporting.summary import Summary
from markscheme.runs.folder import FORMAT, Manifest
from markscheme.runs.usage import Ledger
from markscheme.types import Mark, Question, Response

# The files of a run folder and the types of their content, for `.jsonl` of each line.
FILES: dict[str, Any] = {
    "manifest.json": Manifest,
    "problems.jsonl": Question,
    "responses.jsonl": Response,
    "marks.jsonl": Mark,
    "report.json": Summary,
    "usage.json": Ledger,
}


def schema_files() -> dict[str, bytes]:
    """Return the schema of each file by its name."""
    return {
        f"v{FORMAT}/{name}.schema.json": msgspec.json.format(msgspec.json.encode(_schema(name, kind)), indent=2) + b"\n"
        for name, kind in FILES.items()
    }


def _schema(name: str, kind: Any) -> dict[str, Any]:
    schema = msgspec.json.schema(kind)
    identity = {"$id": f"urn:markscheme:run-folder:{FORMAT}:{name}", "title": f"{name}, version {FORMAT}"}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **identity, **schema}


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for name, content in schema_files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
