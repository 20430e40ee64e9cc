"""Keys, passwords and tokens have a form that may be written down."""

import pytest

from markscheme.config import make_config
from markscheme.errors import UsageError
from markscheme.models import load_model
from markscheme.models.secrets import (
    Scrubber,
    hidden_options,
    hide_config,
    hide_spec,
    hide_url,
    is_secret,
    secret_values,
)

SECRET = """key api_key apiKey x-api-key apikey token access_token hf_token client_secret password Authorization
aws_credentials private_key sig"""
HARMLESS = """stop_token_ids eos_token_id eos_token max_tokens max_new_tokens prompt_cache_key top_k skip_special_tokens
tokenizer keyword monkey author min_tokens stop_token ??"""


def test_url_when_it_holds_credentials_then_they_are_hidden_and_the_rest_is_not():
    assert hide_url("https://user:pw@host:8000/v1?key=s3cret&api-version=2024") == (
        "https://***@host:8000/v1?key=***&api-version=2024"
    )
    assert hide_url("http://localhost:8000/v1") == "http://localhost:8000/v1"


def test_spec_when_it_holds_an_address_then_its_credentials_are_hidden():
    assert hide_spec("http/https://user:pw@host/generate") == "http/https://***@host/generate"
    assert hide_spec("openai/Qwen3-8B") == "openai/Qwen3-8B"


def test_config_when_stored_then_secret_fields_are_hidden_and_named():
    config = make_config(
        benchmark="b",
        model="openai/m",
        base_url=("http://u:pw@h/v1",),
        extra_field=("api_key=abc", "temperature=1", "max_tokens=5"),
    )
    stored = hide_config(config)
    assert stored.base_url == ("http://***@h/v1",)
    assert stored.extra_field == ("api_key=***", "temperature=1", "max_tokens=5")
    assert hidden_options(stored) == ["base_url", "extra_field"]
    assert hidden_options(config) == []


def test_scrubber_when_a_server_repeats_a_key_then_it_is_taken_out():
    scrub = Scrubber(["https://bob:hunter2@host/v1?sig=abcdef"], ["sk-live-123", None, ""])
    assert scrub("bad key sk-live-123 for bob with hunter2 and abcdef") == "bad key *** for *** with *** and ***"


@pytest.mark.parametrize("name", SECRET.split())
def test_name_when_it_speaks_of_a_secret_then_hidden(name):
    assert is_secret(name)


@pytest.mark.parametrize("name", HARMLESS.split())
def test_name_when_it_only_sounds_like_a_secret_then_shown(name):
    assert not is_secret(name)


def test_field_when_its_value_holds_a_secret_then_that_is_hidden_and_the_rest_is_not():
    field = 'proxy={"url": "x", "headers": [{"Authorization": "Bearer abc"}], "password": 123456}'
    config = make_config(benchmark="b", model="openai/m", extra_field=(field, "api_key=tok-1", "stop_token_ids=[7]"))
    [proxy, key, stop] = hide_config(config).extra_field
    assert proxy == 'proxy={"url":"x","headers":[{"Authorization":"***"}],"password":"***"}'
    assert (key, stop) == ("api_key=***", "stop_token_ids=[7]")
    assert secret_values(config) == ["Bearer abc", "123456", "tok-1"]


def test_scrubber_when_a_secret_is_written_in_another_way_then_it_is_taken_out_too():
    scrub = Scrubber(["http://bob:p%40ss%2Fword@host"], ['quo"te'])
    assert scrub(r"p@ss/word p%40ss%2Fword Basic Ym9iOnBAc3Mvd29yZA== quo\"te quo%22te") == "*** *** Basic *** *** ***"


@pytest.mark.parametrize("given", ["sk-live-abc123", "abc def", "", "9lives", "UNSETabc123"])
def test_key_variable_when_it_is_none_then_refused_without_repeating_it(given):
    config = make_config(benchmark="b", model="openai/m", api_key_env=given, base_url=("http://h/v1",))
    with pytest.raises(UsageError, match="--api-key-env") as refused:
        load_model("openai/m", config)
    assert not given or given not in str(refused.value)


def test_key_when_it_holds_a_line_break_then_refused_without_showing_it(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abc\nsk-def")
    config = make_config(benchmark="b", model="openai/m", base_url=("http://h/v1",))
    with pytest.raises(UsageError, match="OPENAI_API_KEY") as refused:
        load_model("openai/m", config)
    assert "sk-" not in str(refused.value)
