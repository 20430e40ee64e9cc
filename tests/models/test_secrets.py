"""Keys, passwords and tokens have a form that may be written down."""

from markscheme.config import make_config
from markscheme.models.secrets import Scrubber, hidden_options, hide_config, hide_spec, hide_url


def test_url_when_it_holds_credentials_then_they_are_hidden_and_the_rest_is_not():
    assert hide_url("https://user:pw@host:8000/v1?key=s3cret&x=1") == "https://***@host:8000/v1?key=***&x=***"
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
