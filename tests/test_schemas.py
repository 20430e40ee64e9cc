"""The schemas in docs/ are those of the types, and what a run writes is as they say."""

import json
from pathlib import Path

import pytest

import markscheme as ms
from markscheme.runs.folder import FORMAT
from markscheme.schemas import FILES, schema_files

DOCS = Path(__file__).parents[1] / "docs" / "schemas"


def test_schemas_in_docs_when_types_change_then_must_be_made_again():
    kept = {f"v{FORMAT}/{file.name}": file.read_bytes() for file in (DOCS / f"v{FORMAT}").glob("*.json")}
    assert kept == schema_files(), "run `python -m markscheme.schemas docs/schemas`"


def test_schemas_in_docs_when_the_format_has_moved_on_then_older_ones_are_kept():
    assert {folder.name for folder in DOCS.iterdir()} == {f"v{number}" for number in range(1, FORMAT + 1)}


@pytest.mark.needs("jsonschema")
def test_run_folder_when_written_then_every_line_is_as_its_schema_says(tmp_path):
    from jsonschema import Draft202012Validator

    run = ms.run("countdown-sample", model="nano", samples=2, limit=4, out=tmp_path / "run", progress=False)
    schemas = {name: json.loads((DOCS / f"v{FORMAT}" / f"{name}.schema.json").read_text()) for name in FILES}
    for name, schema in schemas.items():
        Draft202012Validator.check_schema(schema)
        file = run.marks_file("countdown") if name == "marks.jsonl" else run.path / name
        text = file.read_text()
        lines = text.splitlines() if name.endswith(".jsonl") else [text]
        assert lines
        for line in lines:
            Draft202012Validator(schema).validate(json.loads(line))
