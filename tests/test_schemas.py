"""The schemas in docs/ are those of the types."""

from pathlib import Path

from markscheme.schemas import schema_files

DOCS = Path(__file__).parents[1] / "docs" / "schemas"


def test_schemas_in_docs_when_types_change_then_must_be_made_again():
    kept = {file.name: file.read_bytes() for file in DOCS.glob("*.json")}
    assert kept == schema_files(), "run `python -m markscheme.schemas docs/schemas`"
