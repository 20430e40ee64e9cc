"""What `--server-arg` and the environment say to a server of ours, and what is written down of it."""

import sys
from importlib import invalidate_caches

import pytest
from stand_in_server import install

import markscheme as ms
from markscheme.config import make_config
from markscheme.errors import ModelError, UsageError
from markscheme.models import load_model
from markscheme.models.fleet.managed import as_flags, find_program, is_installed, server_arguments
from markscheme.models.secrets import hide_config


def run(sums, tmp_path, *server_arg, **options):
    return ms.run(
        str(sums), model="vllm/tiny", protocol="gsm8k-numeric", out=tmp_path / "run", server_arg=server_arg, **options
    )


def written(tmp_path):
    """Everything in the run folder."""
    return {file.name: file.read_text() for file in (tmp_path / "run").rglob("*") if file.is_file()}


def test_run_when_the_program_is_missing_then_one_sentence_and_no_folder(sums, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    for spec, advice in (
        ("vllm/m", "pip install vllm"),
        ("transformers/m", r"pip install 'transformers\[serving\]>=5"),
    ):
        with pytest.raises(UsageError, match=advice):
            ms.run(str(sums), model=spec, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("spec", "advice"),
    [
        ("vllm/", "needs a model"),
        ("sglang/", "needs a model"),
        ("sglang/Qwen3", "pip install 'sglang"),
        ("llamacpp/nowhere.gguf", "nowhere.gguf"),
    ],
)
def test_model_when_it_cannot_be_started_then_says_what_is_missing(spec, advice, monkeypatch):
    monkeypatch.setattr("markscheme.models.fleet.managed.find_spec", lambda _: None)
    with pytest.raises(UsageError, match=advice):
        load_model(spec, make_config(benchmark="b", model=spec))


def test_program_when_it_cannot_be_executed_then_not_taken_for_one(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", "/nowhere")
    (tmp_path / "vllm").write_text("no program")
    assert find_program("vllm") is None
    (tmp_path / "vllm").chmod(0o755)
    assert find_program("vllm") == str(tmp_path / "vllm")


def test_package_when_there_is_only_a_folder_of_its_name_then_not_installed(tmp_path, monkeypatch):
    (tmp_path / "sglang_of_mine").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    assert not is_installed("sglang_of_mine")
    (tmp_path / "sglang_of_mine" / "__init__.py").touch()
    invalidate_caches()
    assert is_installed("sglang_of_mine")


@pytest.mark.parametrize("there", ["4.57.6", "5.4.0", "5.4"])
def test_transformers_when_it_is_too_old_then_says_which_version_it_takes(tmp_path, monkeypatch, there):
    install(tmp_path, "transformers")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr("markscheme.models.transformers.version", lambda _: there)
    config = make_config(benchmark="b", model="transformers/m")
    with pytest.raises(UsageError, match=rf"{there} is too old: pip install 'transformers\[serving\]>=5.5'"):
        load_model("transformers/m", config)
    monkeypatch.setattr("markscheme.models.transformers.version", lambda _: "5.10.0rc1")
    assert load_model("transformers/m", config).name == "transformers/m"


def test_server_arguments_when_written_either_way_then_the_same_flags():
    config = make_config(benchmark="b", model="m", server_arg=("tensor-parallel-size=2", "--enforce-eager", "x=a=b"))
    assert as_flags(server_arguments(config)) == ["--tensor-parallel-size", "2", "--enforce-eager", "--x", "a=b"]


def test_server_arguments_when_one_is_given_twice_then_both_are_passed_on():
    config = make_config(benchmark="b", model="m", server_arg=("lora=a.gguf", "n_ctx=9", "lora=b.gguf"))
    assert as_flags(server_arguments(config)) == ["--lora", "a.gguf", "--n_ctx", "9", "--lora", "b.gguf"]


@pytest.mark.parametrize("given", ["", "=3", "--a 1 --b 2", "port=8000"])
def test_server_arguments_when_they_cannot_be_meant_then_refused(given):
    with pytest.raises(UsageError, match="--server-arg"):
        server_arguments(make_config(benchmark="b", model="m", server_arg=(given,)))


def test_manifest_when_a_server_argument_is_a_key_then_hidden_but_a_tokenizer_is_not():
    config = make_config(benchmark="b", model="m", server_arg=("api-key=sesame", "tokenizer=org/name"))
    assert hide_config(config).server_arg == ("api-key=***", "tokenizer=org/name")


@pytest.mark.parametrize("size", ["tensor-parallel-size=2", "tensor_parallel_size=2"])
def test_replicas_when_there_are_gpus_then_each_server_has_its_own_group(sums, tmp_path, stand_in, monkeypatch, size):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5,6,7")
    finished = run(sums, tmp_path, size, "latency=0.01", samples=2, replicas=2, concurrency=4)
    assert {one.model for one in finished.responses()} == {"tiny on 4,5", "tiny on 6,7"}


@pytest.mark.parametrize("given", ["api-key", "api_key"])
def test_key_when_it_is_a_server_argument_then_sent_and_written_nowhere(sums, tmp_path, stand_in, given):
    finished = run(sums, tmp_path, f"{given}=sesame-123")
    assert finished.manifest.status == "complete"
    assert "'api_key': '***'" in written(tmp_path)["0.log"]  # said by the server, which logs its options
    assert f"--{given} '***'" in written(tmp_path)["0.log"]
    assert [name for name, text in written(tmp_path).items() if "sesame" in text] == []


def test_key_when_the_server_takes_it_from_the_environment_then_sent_and_written_nowhere(
    sums, tmp_path, stand_in, monkeypatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "of-another-server")
    monkeypatch.setenv("VLLM_API_KEY", "sesame-123")
    assert run(sums, tmp_path).manifest.status == "complete"
    assert [name for name, text in written(tmp_path).items() if "sesame" in text or "another" in text] == []


def test_key_when_the_server_repeats_one_it_refuses_then_not_in_the_message(sums, tmp_path, stand_in, monkeypatch):
    monkeypatch.setenv("MINE", "wrong-456")
    monkeypatch.setenv("VLLM_API_KEY", "sesame-123")
    with pytest.raises(ModelError, match="MINE") as refused:
        run(sums, tmp_path, "hf-token=hf-789", api_key_env="MINE")
    assert "wrong" not in str(refused.value)
    assert [name for name, text in written(tmp_path).items() if "sesame" in text or "hf-789" in text] == []


def test_key_when_no_key_can_be_like_it_then_refused_before_anything_is_started(sums, tmp_path, stand_in):
    with pytest.raises(UsageError, match="key of the server is not a key"):
        run(sums, tmp_path, "api-key=a\nb-secret")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("given", ["served-model-name", "served_model_name"])
def test_model_when_the_server_gives_it_another_name_then_asked_for_by_that(sums, tmp_path, stand_in, given):
    finished = run(sums, tmp_path, f"{given}=small")
    assert finished.manifest.status == "complete"
    assert {one.model for one in finished.responses()} == {"small on "}


def test_log_when_the_server_speaks_until_it_is_killed_then_its_last_words_are_there(sums, tmp_path, stand_in):
    with pytest.raises(ModelError, match="CUDA out of memory"):
        run(sums, tmp_path, "api-key=sesame-123", "fault=crash")
