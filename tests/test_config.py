"""The one list of options: what is wrong is said in the user's words."""

import json

import pytest

from markscheme.cli import main
from markscheme.config import make_config
from markscheme.errors import UsageError


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"samples": 0}, "--samples cannot be 0: it must be a whole number of at least 1"),
        ({"samples": 10**20}, "--samples cannot be 100000000000000000000: a problem has at most 1000000 samples"),
        ({"max_samples": 2_000_000}, "--max-samples cannot be 2000000"),
        ({"temperature": float("inf")}, "--temperature cannot be inf"),
        ({"top_p": 2.0}, "--top-p cannot be 2:"),
        ({"fewshot": "three"}, "--fewshot cannot be 'three': it must be a whole number"),
        ({"nonsense": 1}, "there is no option 'nonsense'"),
    ],
)
def test_option_when_out_of_range_then_named_as_typed(options, said):
    with pytest.raises(UsageError) as caught:
        make_config(benchmark="b", model="m", **options)
    assert str(caught.value).startswith(said)


def test_option_when_one_address_is_given_as_text_then_taken():
    assert make_config(benchmark="b", model="m", base_url="http://x").base_url == ("http://x",)


def test_manifest_when_an_older_version_let_more_samples_through_then_it_is_still_read(tmp_path, capsys):
    assert main(["run", "countdown-sample", "--model", "solver", "--limit", "1", "--out", str(tmp_path / "run")]) == 0
    file = tmp_path / "run" / "manifest.json"
    manifest = json.loads(file.read_text())
    manifest["config"]["max_samples"] = 2_000_000
    file.write_text(json.dumps(manifest))
    assert main(["report", str(tmp_path / "run")]) == 0
