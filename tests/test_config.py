"""The one list of options: what is wrong is said in the user's words."""

import pytest

from markscheme.config import make_config
from markscheme.errors import UsageError


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"samples": 0}, "--samples cannot be 0: expected `int` >= 1"),
        ({"temperature": float("inf")}, "--temperature cannot be inf"),
        ({"top_p": 2.0}, "--top-p cannot be 2.0"),
        ({"fewshot": "three"}, "--fewshot cannot be 'three': expected `int"),
        ({"nonsense": 1}, "there is no option 'nonsense'"),
    ],
)
def test_option_when_out_of_range_then_named_as_typed(options, said):
    with pytest.raises(UsageError) as caught:
        make_config(benchmark="b", model="m", **options)
    assert str(caught.value).startswith(said)


def test_option_when_one_address_is_given_as_text_then_taken():
    assert make_config(benchmark="b", model="m", base_url="http://x").base_url == ("http://x",)
