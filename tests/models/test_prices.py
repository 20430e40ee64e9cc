"""Costs: from a table with a date, the user's before ours, and none for a model that is in neither."""

import pytest

from markscheme.config import make_config
from markscheme.errors import UsageError
from markscheme.models.prices import price_of


def price(model, **options):
    return price_of(make_config(benchmark="b", model=model, **options))


@pytest.fixture
def table(tmp_path):
    file = tmp_path / "prices.toml"
    file.write_text('as_of = "2026-01-02"\n[models]\n"Qwen3-8B" = { input = 0.5, output = 1.5 }\n')
    return str(file)


def test_price_when_the_model_is_known_then_its_own_with_the_date():
    known = price("openai/gpt-4.1")
    assert (known.input, known.output) == (2.0, 8.0)
    assert known.of(1_000_000, 500_000) == 2.0 + 4.0
    assert str(known) == "2 / 0.5 / 8 USD per million tokens in / cached / out (as of 2025-08-07)"


@pytest.mark.parametrize("dated", ["openai/gpt-4.1-2025-04-14", "openai/gpt-4.1-latest"])
def test_price_when_the_name_has_a_date_then_that_of_the_model(dated):
    assert price(dated) == price("openai/gpt-4.1")


@pytest.mark.parametrize("model", ["openai/Qwen3-8B", "openai/gpt-4.1-mini-finetuned", "solver", "replay/x.jsonl"])
def test_price_when_the_model_is_not_in_the_table_then_none(model):
    assert price(model) is None


def test_price_when_somebody_elses_server_answers_then_only_the_users_table_counts(table):
    assert price("openai/gpt-4.1", base_url=("http://localhost:8000/v1",)) is None
    own = price("openai/Qwen3-8B", base_url=("http://localhost:8000/v1",), prices=table)
    assert own is not None
    assert (own.input, own.output, own.as_of) == (0.5, 1.5, "2026-01-02")


def test_price_when_the_variable_names_a_table_then_it_is_read(table, monkeypatch):
    assert price("openai/Qwen3-8B") is None
    monkeypatch.setenv("MARKSCHEME_PRICES", table)
    assert price("openai/Qwen3-8B").of(2_000_000, 1_000_000) == 2 * 0.5 + 1.5
    assert price("openai/gpt-4.1").input == 2.0  # the table of the box still counts for the others


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("not toml [", "not valid TOML"),
        ('[models]\n"m" = { input = 1 }', "needs input and output"),
        (None, "cannot be read"),
    ],
)
def test_price_when_the_table_is_bad_then_says_what_is_wrong(tmp_path, content, said):
    file = tmp_path / "bad.toml"
    if content is not None:
        file.write_text(content)
    with pytest.raises(UsageError, match=said):
        price("openai/m", prices=str(file))
