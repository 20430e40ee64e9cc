"""Keys, passwords and tokens have a form that may be written down."""

import json
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote

import pytest

from markscheme import redaction
from markscheme.config import make_config
from markscheme.errors import UsageError
from markscheme.experiments.plan import typed_cells
from markscheme.models import load_model
from markscheme.models.secrets import (
    address_secrets,
    guard,
    hidden_options,
    hide_config,
    hide_spec,
    hide_url,
    secret_values,
)
from markscheme.redaction import Scrubber, is_secret
from markscheme.running.execute import new_folder

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
    scrub = Scrubber([*address_secrets(["https://bob:hunter2@host/v1?sig=abcdef"]), "sk-live-123", None, ""])
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
    assert secret_values(config) == ["Bearer abc", "123456", "tok-1", "abc"]


def test_scrubber_when_a_secret_is_written_in_another_way_then_it_is_taken_out_too():
    scrub = Scrubber([*address_secrets(["http://bob:p%40ss%2Fword@host"]), 'quo"te'])
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


KEY = "zq7Rk2Wx9LmP4vTn8BsY1c"  # as a provider of which nobody has heard might issue it


@pytest.mark.parametrize(
    "field",
    [
        f"openai_key={KEY}",
        f"OPENAI-KEY={KEY}",
        f"hf_pat={KEY}",
        f"Cookie=session={KEY}",
        f"forwarded=Bearer {KEY}",
        f'deep={{"forwarded": "Token {KEY}"}}',
        f'headers={{"Authorization": "Bearer {KEY}",}}',
        f'headers=["Authorization: Bearer {KEY}"]',
        f'headers=[["Authorization", "Bearer {KEY}"]]',
        f'headers=[{{"name": "X-Api-Key", "value": "{KEY}"}}]',
        f'headers=["Authorization", "Bearer {KEY}",]',
        f"curl=-H 'Authorization: Bearer {KEY}'",
        f"proxy=https://host/x?api_key={KEY}",
        f'proxy="https://user:{KEY}@host/x"',
        f'deep={{"proxy": "https://user:{KEY}@host/x"}}',
        f'deep={{"a": [{{"b": {{"client_secret": ["{KEY}"]}}}}]}}',
        "note=sk-proj-abcdefghijklmnop1234",
        "note=hf_abcdefghijklmnopqrst",
        'note={"a": "ghp_abcdefghijklmnop1234"}',
    ],
)
def test_field_when_it_holds_a_key_however_it_is_written_then_hidden(field):
    config = make_config(benchmark="b", model="openai/m", extra_field=(field,), base_url=("http://h/v1",))
    stored = hide_config(config)
    assert KEY not in str(stored)
    assert "abcdefghijklmnop" not in str(stored)
    assert hidden_options(stored) == ["extra_field"]
    assert any(KEY in value or "abcdefghijklmnop" in value for value in secret_values(config))


@pytest.mark.parametrize(
    "field",
    [
        "prompt_cache_key=a",
        "note=Name the key idea, then stop",
        "level=basic understanding",
        "stop=[7]",
        "min_p=0.1",
        "n=null",
        "a={}",
        "t=Qwen3-8B",
    ],
)
def test_field_when_it_holds_no_key_then_kept_to_the_letter(field):
    config = make_config(benchmark="b", model="openai/m", extra_field=(field,))
    assert hide_config(config) == config


@pytest.mark.parametrize(
    "url",
    [
        f"http://user:{KEY}@host/v1",
        f"https://host/{KEY}/v1",
        f"https://host/v1?x={KEY}",
        f"https://host/v1?{KEY}",
        "https://host/v1?route=abcdefghijklmnop",
        "https://host/v1?abcdefghijklmnop",
        "https://host/abcdefghijklmnopabcdefghijklmnop/v1",
        "https://host/sk-proj-abcdefghijklmnop1234/v1",
    ],
)
def test_address_when_a_key_stands_anywhere_in_it_then_hidden(url):
    assert KEY not in hide_url(url)
    assert "abcdefghijklmnop" not in hide_url(url)
    assert "***" in hide_spec(f"http/{url}")


@pytest.mark.parametrize(
    "url",
    [
        "http://node1:8000/v1",
        "https://gateway.example/v1/accounts/my-team/deployments/Qwen3-Coder-30B/chat",
        "http://[::1]:8000/v1?api-version=2024-10-21",
        "http://[bad/v1",
    ],
)
def test_address_when_it_holds_no_key_then_kept_to_the_letter(url):
    assert hide_url(url) == url


def test_spec_when_the_key_was_typed_in_place_of_the_name_then_no_folder_bears_it(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert hide_spec(f"openai/{KEY}") == "openai/***"
    assert hide_spec("openai/sk-proj-abcdefghijklmnop1234") == "openai/***"
    assert KEY not in str(new_folder("gsm8k", f"openai/{KEY}"))
    (cell,) = typed_cells([f"openai/{KEY}"], ["gsm8k"], {"prompt": [f"{{statement}} {KEY}"]})
    assert KEY not in cell.folder + cell.model + cell.variation


def test_field_when_it_is_the_key_of_the_environment_then_hidden_whatever_its_name(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "hunter")  # short, and a word
    monkeypatch.setenv("SOME_SERVICE_TOKEN", KEY)
    config = make_config(
        benchmark="b", model="openai/m", extra_field=("note=hunter", "title=the hunter"), system_prompt=f"use {KEY}"
    )
    stored = hide_config(config)
    assert stored.extra_field == ("note=***", "title=the hunter")
    assert stored.system_prompt == "use ***"


def test_gate_when_a_key_is_known_then_it_passes_in_no_form(monkeypatch):
    monkeypatch.setenv("SOME_SERVICE_TOKEN", f'{KEY}"/+')
    redaction.remember(["another-Secret-1"])
    line = json.dumps({"text": f'{KEY}"/+ or {quote(KEY + chr(34) + "/+", safe="")} and another-Secret-1'})
    assert redaction.redacted(line.encode()) == b'{"text":"*** or *** and ***"}'
    assert redaction.redacted_text(f'{KEY}"/+') == "***"


@pytest.mark.parametrize("key", [KEY + "\\", "n" + KEY, "u" + KEY, "0001" + KEY, '"' + KEY, KEY + '"'])
def test_gate_when_an_escape_looks_like_a_part_of_the_key_then_the_line_stays_whole(monkeypatch, key):
    monkeypatch.setattr(redaction, "_known", frozenset())
    monkeypatch.setattr(redaction, "_forms", ())
    redaction.remember([key])
    for text in (f'"{KEY}"', f"\n{KEY}", f"\1{KEY}", f"\\{KEY}\\", f"\\{key}", f"{key}\n"):
        kept = json.loads(redaction.redacted(json.dumps({"text": text}, separators=(",", ":")).encode()))
        assert key not in kept["text"]
        assert key in text or kept["text"] == text


@pytest.mark.parametrize(
    "form",
    [
        KEY.encode().hex(),
        b64encode(KEY.encode()).decode().rstrip("="),
        b64encode(f"me:{KEY}".encode()).decode(),
        b64encode(f"Bearer {KEY}, and so on".encode()).decode(),
        urlsafe_b64encode(f"{KEY}??>>~~".encode()).decode(),
        quote(f"{KEY}??>>~~", safe="").lower(),
        quote(f"{KEY}??>>~~"),
        f"{KEY}/".replace("/", r"\/"),
    ],
)
def test_gate_when_a_program_passed_the_key_on_in_its_own_form_then_it_is_known(form):
    redaction.remember([KEY, f"{KEY}??>>~~"])
    assert "***" in redaction.redacted_text(f"the header was {form} here")


@pytest.mark.parametrize(
    "header", [f"Cookie: a=b; session={KEY}; c=d", f"Authorization: {KEY},", f"X-Other: Bearer {KEY}"]
)
def test_header_when_the_server_repeats_only_the_key_in_it_then_it_is_known(header):
    config = make_config(benchmark="b", model="openai/m", header=(header,), base_url=("http://h/v1",))
    assert KEY in secret_values(config)
    assert KEY not in str(hide_config(config))


def test_gate_when_a_variable_holds_bytes_that_are_no_text_then_it_still_works(monkeypatch):
    monkeypatch.setenv("SOME_TOKEN", "abc\udcff-Xy12345678")
    assert redaction.redacted_text("a plain word") == "a plain word"


@pytest.mark.parametrize(
    "word", ["EMPTY", "dummy", "password", "12345678901234", "token", "secret", "Placeholder", "", "not-needed"]
)
def test_gate_when_a_key_may_be_an_ordinary_word_then_facts_are_not_altered(monkeypatch, word):
    monkeypatch.setenv("OPENAI_API_KEY", word)
    redaction.remember([word])
    text = f"The answer is {word}, as the password said."
    assert redaction.redacted(text.encode()) == text.encode()


def test_gate_when_a_key_has_capitals_then_the_same_word_in_small_letters_stays(monkeypatch):
    redaction.remember(["firstName9"])
    assert redaction.redacted(b"firstname9, firstName9") == b"firstname9, ***"


def test_warning_when_something_looks_like_a_key_nobody_told_us_of_then_the_field_is_named_and_not_its_value():
    config = make_config(benchmark="b", model="openai/m", extra_field=(f"session={KEY}", "revision=" + "0a" * 20))
    (warning,) = guard(config)
    assert "session" in warning
    assert KEY not in warning


@pytest.mark.parametrize("text", ["plain", "zwei\nZeilen\tund", "→ π"])
def test_printable_when_harmless_then_unchanged(text):
    assert redaction.printable(text) == text


@pytest.mark.parametrize("text", ["\x1b[2J", "\x9b31m", "\x1b]0;title\x07", "a\rb", "\u202egnp.exe", "\x7f", "\x00"])
def test_printable_when_a_terminal_would_obey_then_shown_and_not_done(text):
    assert all(one.isprintable() for one in redaction.printable(text))


def test_environment_when_a_telling_name_holds_a_path_then_that_is_no_secret(monkeypatch):
    monkeypatch.setenv("PWD", "/home/someone/runs2")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/tmp/ssh-Xy12/agent.7")
    assert redaction.redacted_text("see /home/someone/runs2/x and /tmp/ssh-Xy12/agent.7").count("***") == 0
